"""Stops asking a backend that keeps failing, and finds out when it is well again."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from mentis.errors import ProviderPaused

from .faults import is_passing


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    failures: int = 5
    seconds: float = 30.0


class Breaker:
    """After `failures` of them in a row it opens; after `seconds` one call, the probe, may try.

    The probe always resolves: it succeeds and closes the breaker, fails and opens it anew, or is
    given up (cancelled, or stopped by a fault that says nothing about the backend) and frees its
    place for the next.
    """

    def __init__(
        self, name: str, now: Callable[[], float], *, failures: int = 5, seconds: float = 30.0
    ) -> None:
        self._name = name
        self._now = now
        self._most = failures
        self._seconds = seconds
        self._failures = 0
        self._opened = 0.0
        self._probing = False
        self._last = ""

    @property
    def is_open(self) -> bool:
        return self._failures >= self._most

    @contextmanager
    def attempt(self) -> Generator[None]:
        """Around one attempt to get a first output; refused while the breaker is open."""
        probe = self.is_open
        if probe:
            self._begin_probe()
        try:
            yield
        except Exception as error:
            if is_passing(error):
                self._fail(error)
            raise
        else:
            self._failures = 0
        finally:
            if probe:
                self._probing = False

    def _begin_probe(self) -> None:
        left = self._opened + self._seconds - self._now()
        if left > 0 or self._probing:
            raise ProviderPaused(
                f"{self._name} failed {self._failures} times in a row, the last time with: "
                f"{self._last}",
                hint=f"it is asked again in {max(left, 0):.0f} seconds",
                backend=self._name,
                retry_after=max(left, 0),
            )
        self._probing = True

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        self._last = str(error)
        if self.is_open:
            self._opened = self._now()

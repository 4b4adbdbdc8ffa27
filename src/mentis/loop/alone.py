"""One loop for one agent: a second one is told who runs it already."""

from __future__ import annotations

from contextlib import AbstractContextManager

from mentis.ports.clock import Clock
from mentis.stores.files.home import Home
from mentis.turn.lock import named


def running(home: Home, persona: str, clock: Clock) -> AbstractContextManager[None]:
    """Be the one that runs it, for the length of the block."""
    return named(
        home,
        persona,
        clock,
        taken=f"{persona} is run already by",
        hint="stop that one first: it ends cleanly on SIGTERM",
    )

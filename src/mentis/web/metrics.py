"""Figures in the text format of Prometheus: counters, gauges and histograms, and nothing more."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(slots=True)
class _Family:
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    series: dict[tuple[tuple[str, str], ...], list[float]] = field(
        default_factory=dict[tuple[tuple[str, str], ...], list[float]]
    )


class Metrics:
    """All figures of one process. It belongs to one event loop."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def count(self, name: str, help_text: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        self._values(name, "counter", help_text, labels, size=1)[0] += amount

    def gauge(self, name: str, help_text: str, value: float, **labels: str) -> None:
        """Say how much there is now."""
        self._values(name, "gauge", help_text, labels, size=1)[0] = value

    def seconds(self, name: str, help_text: str, value: float, **labels: str) -> None:
        """Add a time to a histogram."""
        values = self._values(name, "histogram", help_text, labels, size=len(_SECONDS) + 2)
        values[bisect_left(_SECONDS, value)] += 1
        values[-1] += value

    def text(self) -> str:
        """All of it, in the order it was first told."""
        return "".join(f"{line}\n" for line in self._lines())

    def _values(
        self,
        name: str,
        kind: Literal["counter", "gauge", "histogram"],
        help_text: str,
        labels: Mapping[str, str],
        *,
        size: int,
    ) -> list[float]:
        family = self._families.get(name)
        if family is None:
            family = self._families[name] = _Family(kind, help_text)
        key = tuple(sorted(labels.items()))
        values = family.series.get(key)
        if values is None:
            values = family.series[key] = [0.0] * size
        return values

    def _lines(self) -> Iterator[str]:
        for name, family in self._families.items():
            yield f"# HELP {name} {family.help}"
            yield f"# TYPE {name} {family.kind}"
            for labels, values in family.series.items():
                if family.kind == "histogram":
                    yield from _histogram(name, labels, values)
                else:
                    yield f"{name}{_labels(labels)} {values[0]:.16g}"


def _histogram(
    name: str, labels: tuple[tuple[str, str], ...], values: list[float]
) -> Iterator[str]:
    total = 0.0
    for bound, count in zip((*_SECONDS, "+Inf"), values[:-1], strict=True):
        total += count
        yield f"{name}_bucket{_labels((*labels, ('le', str(bound))))} {total:.16g}"
    yield f"{name}_sum{_labels(labels)} {values[-1]:.16g}"
    yield f"{name}_count{_labels(labels)} {total:.16g}"


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    told = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels)
    return f"{{{told}}}"

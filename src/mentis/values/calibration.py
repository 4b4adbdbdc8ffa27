"""How far an estimate of tokens was off for one model, learned from what the provider reported."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True, slots=True)
class Calibration(Value):
    """Multiply an estimate by `ratio`; `seen` reports taught it, none means nothing is known."""

    model: str
    ratio: float = 1.0
    seen: int = 0

"""A run of resolved prompt text that knows where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .stability import Stability
from .trust import Trust
from .value import Value


@dataclass(frozen=True, slots=True)
class Span(Value):
    """Text of a prompt that knows its origin.

    `source` names the origin in words a person can follow (`shipped`, `persona`, `clock`)."""

    text: str
    block: str = ""
    placeholder: str = ""
    source: str = ""
    trust: Trust = Trust.OWNER
    stability: Stability = Stability.STABLE
    reason: str = ""


def join_spans(spans: Iterable[Span]) -> str:
    return "".join([span.text for span in spans])

"""A runtime value that says where it came from, so that its span can say so too."""

from __future__ import annotations

from dataclasses import dataclass

from .stability import Stability
from .trust import Trust
from .value import Value


@dataclass(frozen=True, slots=True)
class GivenText(Value):
    """Text for a placeholder; without a `stability` it has the one its key is registered with.

    `head` is a line of ours above it. `bare` is for a replay alone: it was told as it is, in the
    time before text that is not ours was made plain.
    """

    text: str
    source: str = "runtime"
    trust: Trust = Trust.RUNTIME
    stability: Stability | None = None
    head: str = ""
    bare: bool = False

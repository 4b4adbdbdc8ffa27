"""The two marks around a text from outside, and the number in them that nothing inside can know."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value

FENCE = "untrusted"


@dataclass(frozen=True, slots=True)
class Fence(Value):
    """`note` says before the marks what they mean; without one they stand alone."""

    nonce: str
    note: str = ""

    @property
    def opening(self) -> str:
        mark = f"<{FENCE} {self.nonce}>\n"
        return f"{self.note}\n{mark}" if self.note else mark

    @property
    def closing(self) -> str:
        return f"\n</{FENCE} {self.nonce}>"

    def around(self, text: str) -> str:
        return f"{self.opening}{text}{self.closing}"

"""A fact about a model that its provider taught by refusing something."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value


@dataclass(frozen=True, slots=True)
class LearnedFact(Value):
    """`fact` is one of the table, `value` what it is here: an ability that is off (False), another
    name, or, for `refuses`, one option more. `said` are the provider's words, `place` whose.
    """

    fact: str
    value: str | bool
    said: str
    place: str = ""
    time: str = ""

    @property
    def told(self) -> str:
        if self.fact == "refuses":
            return f"it takes no {self.value}"
        return f"{self.fact} is off" if self.value is False else f"{self.fact} is {self.value}"

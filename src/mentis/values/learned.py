"""A fact about a model that its provider taught by refusing something."""

from __future__ import annotations

from dataclasses import dataclass

from .value import Value

CONTEXT = "context_tokens"


@dataclass(frozen=True, slots=True)
class LearnedFact(Value):
    """`fact` is one of the table, `value` what it is here: an ability that is off (False), another
    name, or, for `refuses`, one option more; for `context_tokens`, how many the model holds. `said`
    are the provider's words, `place` whose.
    """

    fact: str
    value: str | bool | int
    said: str
    place: str = ""
    time: str = ""

    @property
    def told(self) -> str:
        if self.fact == "refuses":
            return f"it takes no {self.value}"
        if self.fact == CONTEXT:
            return f"it holds {self.value} tokens"
        return f"{self.fact} is off" if self.value is False else f"{self.fact} is {self.value}"

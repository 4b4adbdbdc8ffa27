"""The form of an answer: a JSON Schema that the final words of a turn are held to."""

from __future__ import annotations

from dataclasses import dataclass, field

from .json import JsonObject
from .value import Value

# The tool that gives the answer, where a provider takes no schema for the words themselves.
OUTPUT_TOOL = "final_answer"
# The one member of an answer that is no object by itself: every wire wants one.
OUTPUT_MEMBER = "value"


@dataclass(frozen=True, slots=True)
class OutputSchema(Value):
    """`schema` is of an object. `wrapped`: what is meant is the value of its one member, because it
    is a list, a text, a number, or one of several things.
    """

    name: str
    schema: JsonObject = field(hash=False)
    wrapped: bool = False

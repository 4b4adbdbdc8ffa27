"""IDENTITY.md of an agent's workspace: a list of what it is called and how it comes across."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mentis.values.value import Value

# `- **Name:** Ada`, or with the value on the line below.
_FIELD = re.compile(
    r"^[ \t]*[-*][ \t]+\**(Name|Creature|Vibe|Emoji|Avatar)\**:?\**:?[ \t]*(.*(?:\n[ \t]+\S.*)?)",
    re.MULTILINE | re.IGNORECASE,
)
_LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class AgentIdentity(Value):
    """What the file says; empty where it was not filled in."""

    name: str = ""
    creature: str = ""
    vibe: str = ""
    emoji: str = ""
    avatar: str = ""


def read_identity(text: str) -> AgentIdentity:
    """The fields that are filled in: a hint in brackets is the template's own."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        plain = " ".join(value.split()).strip("*_` ")
        if plain and not plain.startswith("(") and plain.isprintable():
            found.setdefault(name.lower(), plain[:_LONGEST])
    return AgentIdentity(**found)

"""Lines of a chat log into turns. A line of another form is named, never dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from mentis.values.part import TextPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.value import Value

# [from elsewhere] [01/01/26:1200] sender (replying to somebody): "what was said"
_LINE = re.compile(
    r"""\s* (?:\[from\s[^\]]*\]\s*)?
    \[(?P<when>[^\s\]]+)\] \s*
    (?P<sender>[^\s:"(\[][^:"(\[]*?) \s*
    (?:[(\[][^)\]]*[)\]]\s*)?
    : \s* "(?P<said>.*)" \s*""",
    re.DOTALL | re.VERBOSE,
)
_SELF = "self"


@dataclass(frozen=True, slots=True)
class Unread(Value):
    """`number` counts from 1."""

    number: int
    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class Transcript(Value):
    turns: tuple[Turn, ...] = ()
    unread: tuple[Unread, ...] = ()


def read_transcript(lines: Iterable[str], names: Collection[str], *, owner: str = "") -> Transcript:
    """`names` are the agent's own; everybody else is a user.

    A name is what somebody calls themselves, so nobody is trusted for it. Whoever is not the owner
    keeps theirs in the text: with more than two people in a conversation, nobody could tell
    otherwise who said what.
    """
    own = {name.casefold() for name in (*names, _SELF)}
    turns: list[Turn] = []
    unread: list[Unread] = []
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            unread.append(Unread(number, line, 'not of the form [time] sender: "text"'))
        elif not found["said"].strip():
            unread.append(Unread(number, line, "nothing was said"))
        else:
            turns.append(_turn(found["sender"], found["said"], own, owner))
    return Transcript(tuple(turns), tuple(unread))


def _turn(sender: str, said: str, own: Collection[str], owner: str) -> Turn:
    if sender.casefold() in own:
        return Turn("assistant", (TextPart(said),), Trust.UNTRUSTED)
    if not (owner and sender.casefold() == owner.casefold()):
        said = f"{sender}: {said}"
    return Turn("user", (TextPart(said),), Trust.UNTRUSTED)

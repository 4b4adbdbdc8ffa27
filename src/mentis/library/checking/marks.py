"""The markers Mentis sets itself, and finding them in a text that somebody wrote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

# Text between these markers is read as something else than a rule of the owner. A block that
# closes or opens one could pass outside text off as its own, or its own as outside text.
# Names are matched from their start, so that `untrusted-x` counts too.
FENCES: Mapping[str, str] = {
    "untrusted": "text from outside stands between these",
    "mentis": "every marker of ours to come",
    "|": "chat templates of local models part the speakers with these",
}
# The sections of a tick: what cortex blocks explain, and what no other block has to name.
SECTIONS: Mapping[str, str] = {
    "input-ir": "all that the primary is told",
    "senses": "what reached the agent",
    "act-descriptor": "what it can do",
    "goal-tree": "what it wants",
    "l1-memory": "what it holds in mind",
    "output-ir": "the answer of the primary; acts are read from it",
    "acts": "the acts in that answer",
}
# Angle brackets that NFKC leaves alone, and dashes.
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2039\u2329\u27e8\u276e\u02c2\u1438\u3008", "<"),
        **dict.fromkeys("_\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u115f\u1160\u2800\u3164"),  # letters that show nothing
    }
)
_UNSEEN = ("Cf", "Mn", "Me")
_NAMES = "|".join(re.escape(name) for name in (*FENCES, *SECTIONS))
_MARK = re.compile(rf"<\s*/?\s*({_NAMES})")


def marks_in(text: str) -> Iterator[str]:
    """The names of our markers that a text holds, however they are disguised."""
    if text.isascii() and "<" not in text:
        return
    yield from dict.fromkeys(_MARK.findall(_undisguised(text)))


def _undisguised(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_ALIKE)
    seen = (letter for letter in folded if unicodedata.category(letter) not in _UNSEEN)
    return "".join(seen).casefold()

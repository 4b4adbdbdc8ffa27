"""What a model is told, in a few words, about something that could not be sent as it is.

Not prompts: each states a fact about the payload it stands in, in square brackets.
"""

from __future__ import annotations

from mentis.values.part import MediaPart
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

CONTINUE = "[no new message]"
BEGINS = "[the conversation begins with the assistant]"
NO_RESULT = "[no result of this call was recorded]"
CATALOGUE = 'Tools. To use one, write {"actions":[{"type":NAME,"payload":ARGUMENTS}]}.'


def notice(text: str, stability: Stability = Stability.SESSION, *, why: str) -> Span:
    return Span(text, source="layout", trust=Trust.RUNTIME, stability=stability, reason=why)


def not_sent(part: MediaPart, reason: str) -> str:
    return f"[{part.kind} {label(part)} was attached but not sent: {reason}]"


def opens_document(part: MediaPart) -> str:
    return f"[document {label(part)}]\n"


def closes_document(part: MediaPart) -> str:
    return f"\n[end of document {label(part)}]"


def orphan(name: str) -> str:
    return f"[result of {name}, whose call is not in this conversation]\n"


def result_of(name: str, *, failed: bool) -> str:
    return f"[{'failed ' if failed else ''}result of {name}]\n"


def label(part: MediaPart) -> str:
    """A name on one line: it comes from outside and stands between our brackets."""
    name = "".join(c if c.isprintable() and c not in "[]" else "_" for c in part.name)
    return name or part.mime

"""Notices to a model, in a few words, about something that could not be sent as it is.

The words are the library's and come with the request, in the language it speaks. Where they are
missing (a request made by hand), the topic itself stands there with its facts: a code, no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mentis.values.part import MediaPart
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust

_KEY = re.compile(r"\{\{(\w+)\}\}")
# How a model without native tools writes a call; not words, but what `settle` reads.
CALL_FORM = '{"actions":[{"type":NAME,"payload":ARGUMENTS}]}'
# Every topic a renderer may ask for, and what it says of it: the library has words for each.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "notice_continue": (),
    "notice_begins": (),
    "notice_no_result": (),
    "notice_result": ("name",),
    "notice_failed_result": ("name",),
    "notice_orphan": ("name",),
    "notice_catalogue": ("form",),
    "notice_not_sent": ("kind", "name", "reason"),
    "notice_document": ("name",),
    "notice_document_end": ("name",),
    "notice_images": (),
    "notice_also_match": ("schema",),
    "reason_no_address": (),
    "reason_only_text": (),
    "reason_no_vision": (),
    "reason_no_hearing": (),
    "reason_no_video": (),
    "reason_no_documents": (),
    "reason_not_carried": (),
    "reason_type": ("mime",),
    "reason_not_what_it_says": ("mime",),
    "reason_own": (),
    "reason_too_many": ("most",),
    "kind_image": (),
    "kind_audio": (),
    "kind_video": (),
    "kind_document": (),
}


@dataclass(frozen=True, slots=True)
class Notices:
    words: Mapping[str, str]

    def say(self, topic: str, **facts: object) -> str:
        told = {name: str(fact) for name, fact in facts.items()}
        template = self.words.get(topic)
        if template is None:
            return f"[{' '.join((topic, *told.values()))}]"
        return _KEY.sub(lambda key: told.get(key[1], key[0]), template)

    def has(self, topic: str) -> bool:
        return topic in self.words

    def not_sent(self, part: MediaPart, reason: str) -> str:
        kind = self.words.get(f"kind_{part.kind}", part.kind)
        return self.say("notice_not_sent", kind=kind, name=label(part), reason=reason)


def notice(text: str, stability: Stability = Stability.SESSION, *, why: str) -> Span:
    return Span(text, source="layout", trust=Trust.RUNTIME, stability=stability, reason=why)


def label(part: MediaPart) -> str:
    """A name on one line: it comes from outside and stands between our brackets."""
    name = part.name or part.mime
    return "".join(c if c.isprintable() and c not in "[]" else "_" for c in name)

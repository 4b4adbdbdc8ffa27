"""Sections about the surroundings: short lists under headings, nothing under an empty one.

What lasts a while stands in the summary, what changes with each message at the end of the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mentis.codec.document_text import contained_text
from mentis.values.block import Mode
from mentis.values.part import MediaPart
from mentis.values.recalled import RecalledContext
from mentis.values.selection import Capability
from mentis.values.span import Span
from mentis.values.stability import Stability, least_stable
from mentis.values.surroundings import NOWHERE, Person, Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.value import Value

from .computed import Facts
from .fences import fence_spans, one_item

_GAP = Span("\n\n", source="layout")
_DASH = Span("- ", source="layout")
_LINE = Span("\n- ", source="layout")
_NEWLINE = Span("\n", source="layout")
# JSON leaves these as they are, and they end a line all the same.
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
TOPICS = (
    "summary_place",
    "summary_people",
    "summary_thoughts",
    "summary_memories",
    "summary_memories_now",
    "summary_recent",
    "summary_acts",
    "summary_tools",
    "summary_skills",
    "summary_voice",
    "summary_feeling",
    "summary_weather",
    "summary_talk",
    "summary_documents",
)
# In the origin's form: joy (5.0 - moderate)
_MEASURED = re.compile(r"([^,;()]*[^,;()\s])\s*\(\s*[\d.]+\s*-\s*([^()]+?)\s*\)")


@dataclass(frozen=True, slots=True)
class Section(Value):
    """`topic` names its heading in the library's words. Where room is short, sections of a lower
    `rank` go first, and of a section the items at the end or, if `oldest_first`, at the front."""

    topic: str
    items: tuple[Span, ...]
    rank: int
    oldest_first: bool = False

    @property
    def region(self) -> Stability:
        return least_stable((Stability.SESSION, *(item.stability for item in self.items)))


def sections_of(
    recalled: RecalledContext, around: Surroundings, mode: Mode, facts: Facts
) -> list[Section]:
    """In the order they are told. A beat only learns how much there is to remember."""
    brought = (recalled.memories, recalled.news, recalled.revealed, recalled.skills)
    brought += (recalled.diary, recalled.recaps)
    if around is NOWHERE and not any(brought):
        return []
    news = Section("summary_acts", recalled.news, 8)
    able = (
        Section("summary_tools", _tools(recalled.revealed), 7),
        Section("summary_skills", _skills(recalled.skills), 5),
    )
    if mode == "beat":
        found = [news, *_count(recalled, facts), *able]
    elif mode == "delivery":
        found = []
    else:
        thoughts = (*recalled.diary, *_own("thought", around.thoughts))
        recent = (*recalled.recaps, *_recent(around.recent))
        found = [
            Section("summary_place", _items("place", Trust.RUNTIME, around.place), 9),
            Section("summary_people", _people(around.people, facts), 6),
            Section("summary_thoughts", thoughts, 4, oldest_first=True),
            *_memories(recalled.memories),
            Section("summary_recent", recent, 1, oldest_first=True),
            news,
            *able,
        ]
    return [section for section in found if section.items]


def live_sections(
    around: Surroundings, talk: Sequence[str], documents: Iterable[MediaPart]
) -> list[Section]:
    """What a spoken conversation is told at its beginning, since it has no other place for it."""
    turn = Stability.TURN
    feeling = _MEASURED.sub(r"\2 \1", around.feeling)
    found = [
        Section("summary_voice", _items("voice", Trust.OWNER, around.voice), 8),
        Section("summary_feeling", _items("feeling", Trust.SELF, feeling, stability=turn), 7),
        Section(
            "summary_weather", _items("weather", Trust.RUNTIME, around.weather, stability=turn), 5
        ),
        Section(
            "summary_talk",
            _items("history", Trust.UNTRUSTED, *talk, stability=turn),
            2,
            oldest_first=True,
        ),
        Section("summary_documents", tuple(_documents(documents)), 2),
    ]
    return [section for section in found if section.items]


def joined_sections(sections: Iterable[Section], facts: Facts) -> tuple[Span, ...]:
    """Headings in brackets, one item a line, a blank line between sections."""
    sections, spans = tuple(sections), list[Span]()
    ours = _headings(facts) if sections else ()
    for section in sections:
        spans.extend([_GAP] if spans else [])
        if heading := " ".join(facts.word(section.topic)):
            text = f"[{heading}]\n"
            spans.append(
                Span(text, placeholder=section.topic, source="words", stability=section.region)
            )
        spans.extend(_listed((_entry(item, ours) for item in section.items), facts))
    return tuple(spans)


def _headings(facts: Facts) -> tuple[str, ...]:
    """All that a section may be headed by, told or not."""
    return tuple(f"[{heading}]" for topic in TOPICS if (heading := " ".join(facts.word(topic))))


def _entry(item: Span, headings: tuple[str, ...]) -> Span:
    """Nobody's text passes for our marks or for another section, however much it is trusted."""
    text = one_item(item.text, headings)
    return item if text == item.text else replace(item, text=text)


def _listed(items: Iterable[Span], facts: Facts) -> Iterator[Span]:
    """One item a line; runs of those from outside stand between marks."""
    for number, (outside, run) in enumerate(groupby(items, key=_from_outside)):
        if number:
            yield _NEWLINE
        row: list[Span] = []
        for item in run:
            row += (_LINE if row else _DASH, item)
        if outside:
            yield from fence_spans(row, facts.secret, " ".join(facts.word("notice_outside")))
        else:
            yield from row


def _from_outside(item: Span) -> bool:
    """What was said in this conversation is not trusted either, but it is what is talked about."""
    return item.trust is Trust.UNTRUSTED and item.source != "history"


def _count(recalled: RecalledContext, facts: Facts) -> list[Section]:
    number = len(recalled.memories)
    phrase = " ".join(facts.word("summary_memory_count")).replace("{{n}}", str(number))
    told = _items("memory", Trust.RUNTIME, phrase, stability=Stability.TURN) if number else ()
    return [Section("summary_memories", told, 3)]


def _memories(memories: Sequence[Span]) -> list[Section]:
    """Those that were told before keep their place; what comes to mind now is told at the end."""
    lasting = tuple(one for one in memories if one.stability is not Stability.TURN)
    fleeting = tuple(one for one in memories if one.stability is Stability.TURN)
    later = "summary_memories_now" if lasting else "summary_memories"
    return [Section("summary_memories", lasting, 3), Section(later, fleeting, 3)]


def _tools(tools: Iterable[ToolDeclaration]) -> tuple[Span, ...]:
    """Facts under names, as a declaration has them: a model reads JSON in any language."""
    told = (
        (
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            f"tool {tool.name}",
            tool.trust,
        )
        for tool in tools
    )
    return _facts(told)


def _skills(skills: Iterable[Capability]) -> tuple[Span, ...]:
    told = (
        (
            {"name": skill.name, "description": skill.description, "file": skill.source},
            f"skill {skill.name}",
            Trust.REFERENCE,
        )
        for skill in skills
    )
    return _facts(told)


def _facts(told: Iterable[tuple[Mapping[str, object], str, Trust]]) -> tuple[Span, ...]:
    return tuple(
        Span(
            json.dumps(fact, ensure_ascii=False, separators=(",", ":")).translate(_LINE_ENDS),
            source=source,
            trust=trust,
            stability=Stability.TURN,
            reason="needed for this message",
        )
        for fact, source, trust in told
    )


def _people(people: Iterable[Person], facts: Facts) -> tuple[Span, ...]:
    """Only people of whom there is something to tell."""
    lines = (_person(person, facts) for person in people if person.bio.strip())
    return _items("people", Trust.SELF, *lines)


def _person(person: Person, facts: Facts) -> str:
    also = (
        f" ({' '.join(facts.word('label_also'))}: {', '.join(person.also)})" if person.also else ""
    )
    feels = f" [{' '.join(facts.word('label_feels'))}: {person.feels}]" if person.feels else ""
    return f"{person.name}{also}: {person.bio.strip()}{feels}"


def _own(source: str, texts: Iterable[str]) -> tuple[Span, ...]:
    return _items(source, Trust.SELF, *texts)


def _recent(lines: Iterable[str]) -> tuple[Span, ...]:
    return _items("recent", Trust.UNTRUSTED, *lines, stability=Stability.TURN)


def _documents(attachments: Iterable[MediaPart]) -> Iterator[Span]:
    for part in attachments:
        if told := (contained_text(part) or "").strip():
            name = f"{part.name}: " if part.name else ""
            text = f"{name}{told}"
            yield Span(text, source="document", trust=Trust.UNTRUSTED, stability=Stability.TURN)


def _items(
    source: str, trust: Trust, *texts: str, stability: Stability = Stability.SESSION
) -> tuple[Span, ...]:
    told = (text.strip() for text in texts)
    return tuple(
        Span(text, source=source, trust=trust, stability=stability) for text in told if text
    )

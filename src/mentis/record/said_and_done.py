"""Words and deeds of an agent side by side: a stretch of its record, turn by turn.

Windows make claims, which were held against acts when the turn ended (`settle.claims`); acts have
their stories. Here both stand side by side, and each argument that was taken from the result of an
earlier act is led back to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

from mentis.act import entries as act_entries
from mentis.ledger.origin import window_of
from mentis.ports.entries import Entries
from mentis.values.entry import Entry
from mentis.values.json import json_object
from mentis.values.window import Claim, Claims, Support

from .act_stories import ActStory, act_stories

_LOOKED_BACK = 100  # entries before a stretch whose results are searched as well
_SHORTEST = 12  # characters of an argument that is looked for; addresses may be shorter
_AROUND = 60
_CUT = "…"


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """An argument, and the result of an earlier act that it stands in.

    `source` is what the gate said of it when it judged the act: only then it is `tainted`. `key` is
    empty where no result of this stretch holds it.
    """

    path: str
    value: str
    source: str = ""
    key: str = ""
    type: str = ""
    entry: int | None = None
    excerpt: tuple[str, str, str] | None = None  # what stands before it, itself, and after it

    @property
    def tainted(self) -> bool:
        return bool(self.source)


@dataclass(frozen=True, slots=True)
class DoneAct:
    """An act, where its arguments came from, and whether the window of its turn named it."""

    story: ActStory
    origins: tuple[ValueOrigin, ...] = ()
    said: bool | None = None


@dataclass(frozen=True, slots=True)
class SaidAndDone:
    """One turn, or one window from outside. `claims` is None where no window was held against acts.

    `refused` says why the guardian did not let the window pass.
    """

    entry: int | None
    time: str
    session: str
    kind: str
    goal: str = ""
    actions: tuple[str, ...] = ()
    claims: Claims | None = None
    refused: str = ""
    acts: tuple[DoneAct, ...] = ()


@dataclass(frozen=True, slots=True)
class SaidAndDoneStretch:
    """The newest first. `first` is where the stretch begins, of `count` entries in all."""

    rows: tuple[SaidAndDone, ...]
    first: int
    count: int


def read_said_and_done(
    store: Entries, agent: str, count: int, *, before: int | None = None
) -> SaidAndDoneStretch:
    """What the last `count` entries tell, or those before an index. It blocks."""
    length = store.count(agent)
    end = length if before is None else max(0, min(before, length))
    first = max(0, end - count)
    start = max(0, first - _LOOKED_BACK)
    found = list(islice(store.entries(agent, start=start), end - start))
    stories = {one.key: one for one in _whole_stories(store, agent, found)}
    origins = _origins(list(stories.values()))
    rows = list(_rows([one for one in found if one.index >= first], stories, origins))
    return SaidAndDoneStretch(tuple(reversed(rows)), first, length)


def find_act(store: Entries, agent: str, key: str) -> DoneAct | None:
    """One act by its key, with where its arguments came from; None where there is none."""
    begun = [act_entries.delivery(key, stage) for stage in ("intent", "waiting", "outcome")]
    told = [entry for one in begun if (entry := store.find_delivery(agent, one))]
    if not told:
        return None
    first = min(entry.index for entry in told)
    start = max(0, first - _LOOKED_BACK)
    around = list(islice(store.entries(agent, start=start), 2 * _LOOKED_BACK))
    known = {entry.index: entry for entry in (*around, *told, *_stages(store, agent, key))}
    stories = act_stories(known[index] for index in sorted(known))
    story = next((one for one in stories if one.key == key), None)
    return None if story is None else DoneAct(story, _origins(stories).get(key, ()))


def _stages(store: Entries, agent: str, key: str) -> Iterator[Entry]:
    for stage in (*act_entries.DECIDED, "released"):
        if entry := store.find_delivery(agent, act_entries.delivery(key, stage)):
            yield entry


def _whole_stories(store: Entries, agent: str, found: Sequence[Entry]) -> Iterator[ActStory]:
    """Also of acts that were asked for long before: their beginning is looked up."""
    for story in act_stories(found):
        known = story.payload is not None or "payload" in story.erased
        yield story if known else _begun(store, agent, story)


def _begun(store: Entries, agent: str, story: ActStory) -> ActStory:
    asked = [act_entries.delivery(story.key, stage) for stage in ("intent", "waiting")]
    older = [entry for one in asked if (entry := store.find_delivery(agent, one))]
    for told in act_stories(older):
        return replace(story, payload=told.payload, tainted=story.tainted or told.tainted)
    return story


# Turns with their acts


@dataclass(slots=True)
class _Open:
    """Acts of one session since its last turn."""

    keys: dict[str, Entry] = field(default_factory=dict[str, Entry])


def _rows(
    found: Sequence[Entry],
    stories: Mapping[str, ActStory],
    origins: Mapping[str, tuple[ValueOrigin, ...]],
) -> Iterator[SaidAndDone]:
    waiting: dict[str, _Open] = {}
    for entry in found:
        if entry.kind == act_entries.KIND:
            head = json_object(entry.body.get("act"))
            session = str(head.get("session", ""))
            waiting.setdefault(session, _Open()).keys[str(head.get("key", ""))] = entry
        elif entry.kind == "turn":
            session = str(json_object(entry.body.get("turn")).get("session", ""))
            keys = waiting.pop(session, _Open()).keys
            row = _row(entry, session, [stories[key] for key in keys if key in stories], origins)
            if row.acts or row.claims or row.goal or row.refused:
                yield row
        elif window_of(entry) is not None:
            yield _row(entry, "", [], origins)
    for session, left in waiting.items():  # done by hand, after the turn, or still being done
        acts = [stories[key] for key in left.keys if key in stories]
        last = max(left.keys.values(), key=lambda one: one.index)
        done = tuple(DoneAct(one, origins.get(one.key, ())) for one in acts)
        yield SaidAndDone(None, last.time, session, "acts", acts=done)


def _row(
    entry: Entry,
    session: str,
    acts: Sequence[ActStory],
    origins: Mapping[str, tuple[ValueOrigin, ...]],
) -> SaidAndDone:
    window = window_of(entry) or json_object(entry.body.get("refused_window"))
    claims = _claims(entry.body.get("claims"))
    done = tuple(DoneAct(one, origins.get(one.key, ()), _is_said(one, claims)) for one in acts)
    return SaidAndDone(
        entry.index,
        entry.time,
        session,
        entry.kind,
        goal=str(window.get("goal", ""))[:500],
        actions=tuple(_texts(window.get("actions")))[:64],
        claims=claims,
        refused=_refused(entry),
        acts=done,
    )


def _is_said(story: ActStory, claims: Claims | None) -> bool | None:
    if claims is None:
        return None
    return story.type not in claims.unclaimed


def _claims(value: object) -> Claims | None:
    told = json_object(value)
    if not told:
        return None
    made = [json_object(one) for one in cast("list[object]", told.get("claims") or [])]
    return Claims(
        cast("Support", str(told.get("verdict", "unverifiable"))),
        tuple(
            Claim(
                str(one.get("text", "")),
                cast("Support", str(one.get("verdict", "unverifiable"))),
                str(one.get("act", "")),
                str(one.get("why", "")),
            )
            for one in made
        ),
        tuple(_texts(told.get("unclaimed"))),
    )


def _refused(entry: Entry) -> str:
    if "window" in entry.body:
        return ""
    found = cast("list[object]", json_object(entry.body.get("judgement")).get("findings") or [])
    blocked = [one for one in map(json_object, found) if one.get("level") == "block"]
    return "; ".join(f"{one.get('rule')}: {one.get('what')}" for one in blocked[:5])


def _texts(value: object) -> list[str]:
    listed = cast("list[object]", value) if isinstance(value, list | tuple) else []
    return [one for one in listed if isinstance(one, str)]


# Where arguments came from


def _origins(stories: Sequence[ActStory]) -> dict[str, tuple[ValueOrigin, ...]]:
    """For each act, what of its arguments stands in the result of one before it."""
    results = [(story, _normal(story.text), _ended(story)) for story in stories if story.text]
    made: dict[str, tuple[ValueOrigin, ...]] = {}
    for story in stories:
        begun = min((step.entry for step in story.steps), default=0)
        earlier = [(one, text, at) for one, text, at in reversed(results) if at < begun]
        told = {one.path: (one.value, one.source) for one in story.tainted}
        plain = {path: (text, "") for path, text in _leaves("", story.payload) if path not in told}
        found = [
            origin
            for path, (value, source) in {**told, **plain}.items()
            if (origin := _origin(ValueOrigin(path, value, source), earlier)) is not None
        ]
        if found:
            made[story.key] = tuple(found)
    return made


def _origin(asked: ValueOrigin, earlier: Sequence[tuple[ActStory, str, int]]) -> ValueOrigin | None:
    sought = _normal(asked.value.removesuffix(_CUT))
    if sought and (asked.tainted or len(sought) >= _SHORTEST or "@" in sought):
        for story, text, at in earlier:
            place = text.find(sought)
            if place >= 0:
                shown = _excerpt(story.text, text, place, place + len(sought))
                return replace(asked, key=story.key, type=story.type, entry=at, excerpt=shown)
    return asked if asked.tainted else None


def _excerpt(text: str, normal: str, start: int, end: int) -> tuple[str, str, str]:
    """As it was written, where writing it small changed no places."""
    plain = " ".join(text.split())
    told = plain if len(plain) == len(normal) else normal
    return told[max(0, start - _AROUND) : start], told[start:end], told[end : end + _AROUND]


def _ended(story: ActStory) -> int:
    ends = (step.entry for step in story.steps if step.stage == "outcome")
    return max(ends, default=max((step.entry for step in story.steps), default=0))


def _leaves(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value[:2000]
    elif isinstance(value, Mapping):
        for name, one in cast("Mapping[str, object]", value).items():
            yield from _leaves(f"{path}/{name}", one)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(cast("Sequence[object]", value)):
            yield from _leaves(f"{path}/{number}", one)


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()

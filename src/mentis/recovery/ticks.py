"""The intent of a tick, written down before anything of it is done: a kill leaves no riddle.

The next tick, or the next loop, finds what was left there and closes it: an entry says that the
tick was cut off, and what came of its acts is sensed. The tick has a number, and so has the state
that it saved: what is saved already is not thought again, so nothing is kept twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.act import entries
from mentis.act.senses import sense_of
from mentis.codec.forms import to_object
from mentis.errors import BadInput
from mentis.home.identity import Identity
from mentis.ports.blob_store import BlobStore
from mentis.ports.state_store import StateStore
from mentis.record.agent_record import AgentRecord
from mentis.record.tick_entries import INTENT, INTENT_KEY, append_tick
from mentis.record.tick_senses import LOST, read_senses, seal_senses, senses_left, write_senses
from mentis.values.action import Action, Outcome
from mentis.values.cognition import REVIEW, Sense
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.tick import DRAFT_DROPPED, Tick
from mentis.values.trust import Trust
from mentis.values.value import Value

SESSION = "tick"  # of the acts of a tick
CUT_OFF = "tick.cut_off"  # the kind of the sense that tells of it


@dataclass(frozen=True, slots=True)
class _Left(Value):
    """What of the acts of a tick is in the ledger: their names, and what came of them."""

    begun: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()


def note_tick(
    record: AgentRecord,
    who: Identity,
    thought: Tick,
    *,
    before: int,
    taken: Sequence[str],
    calls: Sequence[JsonObject],
    told: Sequence[str] = (),
) -> int:
    """Write down what is to be saved and done; the number that the tick has by that. It blocks.

    What it senses next, what it wants to do, what it asked (`calls`, as its entry says them) and of
    which acts it was told (`told` are their keys) is in the mark alone: it goes with the tick.
    """
    start, left = (
        record.ledger.count(record.agent),
        write_senses((*thought.senses, *_wanted(thought))),
    )
    intent: dict[str, object] = {
        "before": before,
        "revision": thought.state.revision,
        "acts": [one.name for one in thought.acts],
    }
    value = {
        **intent,
        "taken": list(taken),
        "told": list(told),
        "calls": list(calls),
        "start": start,
        "left": left.decode(),
        "seal": seal_senses(who, left),
    }
    mark = Mark(INTENT, INTENT_KEY, value)
    record.append("tick", {"intent": intent}, marks=[mark])
    return start


def words_of(number: int) -> str:
    """What the revision says that the tick of this number saved."""
    return f"tick {number}"


def close_cut_off(
    record: AgentRecord,
    who: Identity,
    blobs: BlobStore,
    states: StateStore,
    *,
    news: Callable[[], Sequence[Outcome]],
) -> tuple[str, ...]:
    """Close a tick that was cut off, if there is one: the deliveries that count as taken now.

    Where none of its acts was begun and its state was not saved they do not: what it sensed is
    sensed again, and the news it was told are told again. `news` finds what came of acts outside
    of it, which is told anyway. It blocks, and whoever calls it is the only one who ticks.
    """
    mark = record.ledger.mark(record.agent, INTENT, INTENT_KEY)
    if mark is None or mark.value is None:
        return ()
    was = mark.value
    left = _left(record, news, _number(was, "start"))
    saved = _is_saved(record.agent, states, was)
    heard = bool(left.begun) or saved
    taken = tuple(map(str, _list(was, "taken"))) if heard else ()
    told = [*map(str, _list(was, "told"))] if heard else []
    tick: dict[str, object] = {
        "acts": len(left.begun),
        "revision": _number(was, "revision"),
        "before": _number(was, "before"),
        "noop": "cut_off",
        "stages": {},
        **({} if heard else {"unheard": True}),
        **({} if saved or was.get("revision") == was.get("before") else {"unsaved": True}),
    }
    next_ = (*_handed_on(who, was, left), *map(sense_of, left.outcomes))
    senses = (
        _cut_off(was, left, saved=saved),
        *(next_ if heard else senses_left(record, who, blobs)),
    )
    body = {"tick": tick, "calls": _list(was, "calls"), **({"told": told} if told else {})}
    marks = [*map(entries.told_mark, told)]
    append_tick(record, who, blobs, body, senses=senses, taken=taken, marks=marks)
    return taken


def _is_saved(agent: str, states: StateStore, was: JsonObject) -> bool:
    """Whether the state that it came to is among the revisions: as its own, not another's."""
    number, start = _number(was, "revision"), _number(was, "start")
    newest = states.history(agent, last=1)
    if number == _number(was, "before") or not newest or newest[-1].number < number:
        return False
    found = states.history(agent, last=newest[-1].number - number + 1)[0]
    return found.number == number and found.words.removesuffix(REVIEW) == words_of(start)


def _wanted(thought: Tick) -> Iterator[Sense]:
    """Each act, as it is told if it was not begun. Nobody vouches for what it was made from."""
    for index, one in enumerate(thought.acts):
        payload: dict[str, object] = {
            "section": "acts",
            "index": index,
            "code": "blocked",
            "reason": "the process ended before it was begun",
            "draft": to_object(one),
        }
        name = f"{DRAFT_DROPPED}:{thought.state.revision}:acts:{index}:cut_off"
        yield Sense(name, DRAFT_DROPPED, payload, Trust.UNTRUSTED)


def _handed_on(who: Identity, was: JsonObject, left: _Left) -> Iterator[Sense]:
    """What it had for the next tick, with what it wanted to do and did not begin."""
    content, names = str(was.get("left", "")).encode(), [*map(str, _list(was, "acts"))]
    try:
        senses = read_senses(who, content, str(was.get("seal", "")))
    except BadInput as refusal:
        yield Sense(f"{LOST}:{INTENT}", LOST, {"reason": refusal.message}, Trust.RUNTIME)
        return
    own = max(0, len(senses) - len(names))
    yield from senses[:own]
    begun = Counter(left.begun)
    for name, sense in zip(names, senses[own:], strict=False):  # of an older version: none
        begun[name] -= 1
        if begun[name] < 0:
            yield sense


def _left(record: AgentRecord, news: Callable[[], Sequence[Outcome]], start: int) -> _Left:
    last: dict[str, Entry] = {}
    for entry in record.ledger.entries(record.agent, start=start):
        head = _head(entry)
        if head.get("session") == SESSION and head.get("mode") == "beat":
            last[str(head.get("key"))] = entry
    own = {key: entry for key, entry in last.items() if _is_new(record, key, start)}
    told = {outcome.key for outcome in news()}
    came = [entry for key, entry in own.items() if key not in told]
    names = [str(_head(entry).get("type")) for entry in own.values()]
    return _Left(tuple(names), tuple(_outcomes(came)))


def _is_new(record: AgentRecord, key: str, start: int) -> bool:
    """An act of an earlier tick may be begun later: when a person says yes."""
    asked = record.ledger.find_delivery(record.agent, entries.delivery(key, "waiting"))
    return asked is None or asked.index >= start


def _outcomes(acts: Sequence[Entry]) -> Iterator[Outcome]:
    """Of what came to something; what is still open is told when somebody has looked after it."""
    for entry in acts:
        action = Action(str(_head(entry).get("type")), {}, "output_ir")
        if (outcome := entries.recorded_outcome(entry, action)) is not None:
            yield outcome


def _cut_off(was: JsonObject, left: _Left, *, saved: bool) -> Sense:
    wanted = Counter(map(str, _list(was, "acts")))
    payload: dict[str, object] = {
        "reason": "the process ended in the middle of a tick",
        "begun": list(left.begun),
        "not_begun": sorted((wanted - Counter(left.begun)).elements()),
        "saved": saved,
    }
    return Sense(f"{CUT_OFF}:{_number(was, 'start')}", CUT_OFF, payload, Trust.RUNTIME)


def _head(entry: Entry) -> JsonObject:
    return _object(entry.body.get("act")) if entry.kind == entries.KIND else {}


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def _list(value: JsonObject, name: str) -> list[object]:
    found = value.get(name)
    return [*cast("Sequence[object]", found)] if isinstance(found, list | tuple) else []


def _number(value: JsonObject, name: str) -> int:
    found = value.get(name)
    return found if isinstance(found, int) else 0

"""What a tick is about to do, written down before it does it, so that a kill leaves no riddle.

The next tick, or the next loop, finds what was left there and closes it: an entry says that the
tick was cut off, and what came of its acts is sensed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.act import entries
from mentis.act.senses import sense_of
from mentis.ports.blob_store import BlobStore
from mentis.runtime.mind import Mind
from mentis.values.action import Action, Outcome, OutcomeState
from mentis.values.cognition import Sense
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.tick import Tick
from mentis.values.trust import Trust
from mentis.values.value import Value

from .asking import Asked
from .health import recorded
from .kept import UNDERWAY, UNDERWAY_KEY, keep_body, pending, record

SESSION = "tick"  # of the acts of a tick
CUT_OFF = "tick.cut_off"  # the kind of the sense that tells of it


@dataclass(frozen=True, slots=True)
class _Left(Value):
    """What of the acts of a tick is in the ledger: their names, and what came of them."""

    begun: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()


def begin(
    mind: Mind, thought: Tick, *, before: int, taken: Sequence[str], calls: Sequence[Asked]
) -> None:
    """Write down what is to be saved and done. It blocks."""
    told: dict[str, object] = {
        "before": before,
        "revision": thought.state.revision,
        "acts": [one.name for one in thought.acts],
    }
    value = {
        **told,
        "taken": list(taken),
        "calls": [call.recorded() for call in calls],
        "start": mind.ledger.count(mind.agent),
    }
    mark = Mark(UNDERWAY, UNDERWAY_KEY, value)
    record(mind, {"intent": told}, [mark], kind="tick")


def close(mind: Mind, blobs: BlobStore) -> tuple[str, ...]:
    """Close a tick that was cut off, if there is one: the deliveries that count as taken now.

    Where none of its acts was begun they do not: what it sensed is sensed again. It blocks, and
    whoever calls it is the only one who ticks.
    """
    mark = mind.ledger.mark(mind.agent, UNDERWAY, UNDERWAY_KEY)
    if mark is None or mark.value is None:
        return ()
    was = mark.value
    left = _left(mind, _number(was, "start"))
    taken = tuple(map(str, _list(was, "taken"))) if left.begun else ()
    tick = {
        "acts": len(left.begun),
        "revision": _number(was, "revision"),
        "before": _number(was, "before"),
        "noop": "cut_off",
        **recorded(()),
    }
    told = map(sense_of, left.outcomes) if left.begun else pending(mind, blobs)
    senses = (_cut_off(was, left), *told)
    keep_body(mind, blobs, {"tick": tick, "calls": _list(was, "calls")}, senses, taken=taken)
    return taken


def _left(mind: Mind, start: int) -> _Left:
    last: dict[str, Entry] = {}
    for entry in mind.ledger.entries(mind.agent, start=start):
        head = _head(entry)
        if head.get("session") == SESSION and head.get("mode") == "beat":
            last[str(head.get("key"))] = entry
    own = {key: entry for key, entry in last.items() if _is_new(mind, key, start)}
    news = {outcome.key for outcome in mind.acting.news()}
    came = [entry for key, entry in own.items() if key not in news]
    names = [str(_head(entry).get("type")) for entry in own.values()]
    return _Left(tuple(names), tuple(_outcomes(came)))


def _is_new(mind: Mind, key: str, start: int) -> bool:
    """An act of an earlier tick may be begun later: when a person says yes."""
    asked = mind.ledger.find_delivery(mind.agent, entries.delivery(key, "waiting"))
    return asked is None or asked.index >= start


def _outcomes(acts: Sequence[Entry]) -> Iterator[Outcome]:
    """Of what came to something; what is still open is told when somebody has looked after it."""
    for entry in acts:
        head = _head(entry)
        stage, result = head.get("stage"), _object(entry.body.get("result"))
        if stage not in ("outcome", "waiting"):
            continue
        state = "waiting" if stage == "waiting" else head.get("state")
        yield Outcome(
            Action(str(head.get("type")), {}, "output_ir"),
            cast("OutcomeState", state),
            text=str(result.get("text") or ""),
            reason=str(head.get("reason") or ""),
            key=str(head.get("key")),
            source=str(head.get("source") or ""),
            blob=str(result.get("blob") or ""),
            size=_number(result, "size"),
        )


def _cut_off(was: JsonObject, left: _Left) -> Sense:
    wanted = Counter(map(str, _list(was, "acts")))
    payload: dict[str, object] = {
        "reason": "the process ended in the middle of a tick",
        "begun": list(left.begun),
        "not_begun": sorted((wanted - Counter(left.begun)).elements()),
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

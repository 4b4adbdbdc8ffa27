"""Entries of an act in the ledger, one for each of its stages, and the marks that go with them.

A draft and its marks are appended together. The delivery `act/KEY/STAGE` makes every stage one
entry, however often it is tried; a mark that `replaces` something lets one of several writers win.
Payload, result, tainted values and words are body fields of their own: each can be erased alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias, TypeVar, cast

from mentis.codec.forms import from_json, to_object
from mentis.errors import BadInput, StoreDamaged
from mentis.values.act import ActCall, ActSpec, Decision, TaintedValue, WaitingAct
from mentis.values.action import Action, InnerTurn, Outcome, OutcomeState
from mentis.values.cognition import Screening
from mentis.values.digest import Digest, digest
from mentis.values.entry import Draft, Entry
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.value import Value

KIND = "act"  # of the entries
SOURCE = "act"
OPEN, WAITING, APPROVED, NEWS = "act", "waiting", "approved", "news"  # kinds of marks
Stage: TypeAlias = Literal[
    "intent", "waiting", "approved", "denied", "expired", "outcome", "released"
]
DECIDED: tuple[Stage, ...] = ("denied", "expired", "approved")  # a yes can be taken back
_SHOWN = ("act", "payload", "tainted")
T = TypeVar("T", bound=Value)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenAct(Value):
    """An act that was begun and has no outcome yet, and which process began it."""

    call: ActCall
    spec: Digest
    owner: str
    idempotent: bool = False
    source: str = ""
    endpoint: str = ""
    seal: str = ""  # that this home's own process began it


@dataclass(frozen=True, slots=True)
class ApprovalDecision(Value):
    """Who said yes or no to what waits, in which words; `id` tells two of them apart."""

    id: str
    by: str
    words: str = ""


def delivery(key: str, stage: Stage, attempt: int = 1) -> str:
    """Only intents and outcomes are tried again."""
    return f"act/{key}/{stage}" + (f"/{attempt}" if attempt > 1 else "")


# What was begun, and what came of it.


def intent_draft(
    call: ActCall,
    spec: ActSpec,
    spec_digest: Digest,
    decision: Decision | None = None,
    *,
    owner: str = "",
) -> Draft:
    """`decision` as the gate made it: an allowed act may still carry tainted values. With its
    owner, two processes cannot begin the same act: the second says something else.
    """
    extra = {"endpoint": spec.endpoint, "source": spec.source, "spec": spec_digest, "owner": owner}
    if decision is not None:
        extra |= _judged(decision)
    body = {"act": _head(call, "intent", **extra), "payload": dict(call.action.payload)}
    body |= _tainted(decision.tainted if decision else ())
    return _draft(body, delivery(call.key, "intent", call.attempt))


def open_mark(
    call: ActCall, spec: ActSpec, spec_digest: Digest, owner: str, *, seal: str = ""
) -> Mark:
    """A first attempt finds nothing open; a later one takes the place of the one before."""
    standing = OpenAct(
        call, spec_digest, owner, spec.declaration.idempotent, spec.source, spec.endpoint, seal
    )
    first = call.attempt == 1
    return Mark(OPEN, call.key, to_object(standing), "nothing" if first else "something")


def outcome_draft(
    call: ActCall,
    outcome: Outcome,
    *,
    spec_digest: Digest = "",
    endpoint: str = "",
    decision: Decision | None = None,
) -> Draft:
    """Also of what was never begun: `decision` then says which rule kept it from being done."""
    extra = {"endpoint": endpoint, "source": outcome.source, "spec": spec_digest}
    if decision is not None:
        extra |= _judged(decision)
    extra |= {"state": outcome.state, "reason": outcome.reason}
    if outcome.turn is not None:
        extra |= {"turn": to_object(outcome.turn)}
    body: dict[str, object] = {"act": _head(call, "outcome", **extra), "result": _result(outcome)}
    body |= _tainted(decision.tainted if decision else ())
    return _draft(body, delivery(call.key, "outcome", call.attempt))


def _result(outcome: Outcome) -> dict[str, object]:
    return {
        "text": outcome.text,
        "size": outcome.size,
        "blob": outcome.blob,
        **verdict_fields(outcome),
        **media_fields(outcome),
    }


def released_draft(ended: Entry, outcome: Outcome, decided: ApprovalDecision) -> Draft:
    """What was withheld of the act that `ended` so, and who lets it be told."""
    came = cast("JsonObject", ended.body["act"])
    head: dict[str, object] = {**came, "stage": "released", "reason": outcome.reason}
    body = {"act": head, "decided": to_object(decided), "result": _result(outcome)}
    return _draft(body, delivery(outcome.key, "released"))


def recorded_outcome(entry: Entry, action: Action) -> Outcome | None:
    """What an act came to, as its entry says; None where it says nothing of that."""
    head = cast("JsonObject", entry.body.get("act") or {})
    stage, result = head.get("stage"), cast("JsonObject", entry.body.get("result") or {})
    if stage not in ("outcome", "waiting"):
        return None
    size = result.get("size")
    return Outcome(
        action,
        cast("OutcomeState", "waiting" if stage == "waiting" else head.get("state")),
        text=str(result.get("text") or ""),
        reason=str(head.get("reason") or ""),
        key=str(head.get("key")),
        source=str(head.get("source") or ""),
        blob=str(result.get("blob") or ""),
        size=size if isinstance(size, int) else 0,
        screening=_recorded_verdict(result.get("screening")),
        turn=inner_turn(head.get("turn")),
    )


def _recorded_verdict(told: object) -> Screening | None:
    try:
        return None if told is None else from_json(Screening, json.dumps(told))
    except (BadInput, TypeError):
        return None


def inner_turn(told: object) -> InnerTurn | None:
    """The turn that an outcome names, as its entry says."""
    try:
        return None if told is None else from_json(InnerTurn, json.dumps(told))
    except (BadInput, TypeError):
        return None


def verdict_fields(outcome: Outcome) -> dict[str, object]:
    """What screening said of it, with the result: its reason quotes it, and is erased with it."""
    said = outcome.screening
    if said is None:
        return {}
    why = {"reason": said.reason, "category": said.category}
    told = {name: one for name, one in why.items() if one}
    return {"screening": {"outcome": said.outcome, **told}}


def media_fields(outcome: Outcome) -> dict[str, list[dict[str, object]]]:
    """What came with the text: the bytes themselves are kept with the turn."""
    told: list[dict[str, object]] = [
        {
            "type": part.kind,
            "mimeType": part.mime,
            "bytes": len(part.data or b""),
            "digest": digest(part.data or b""),
        }
        for part in outcome.media
    ]
    return {"media": told} if told else {}


def closed_mark(key: str) -> Mark:
    """Whoever comes second to close an act finds it closed."""
    return Mark(OPEN, key, None, "something")


# What waits for a person, and what the person said.


def waiting_draft(waiting: WaitingAct) -> Draft:
    call = waiting.call
    extra = {"source": waiting.source, "spec": waiting.spec, "expires": waiting.expires}
    extra |= {"where": waiting.where, "outside": waiting.external_effects, "since": waiting.since}
    extra |= {"payload": payload_digest(call.action.payload), **_judged(waiting.decision)}
    body = {"act": _head(call, "waiting", **extra), "payload": dict(call.action.payload)}
    body |= _tainted(waiting.decision.tainted)
    return _draft(body, delivery(call.key, "waiting"))


def waiting_mark(waiting: WaitingAct) -> Mark:
    return Mark(WAITING, waiting.call.key, to_object(waiting), "nothing")


def decided_draft(waiting: WaitingAct, stage: Stage, decided: ApprovalDecision) -> Draft:
    """Binds what was decided on: the digests of the declaration and of the payload."""
    extra = {"source": waiting.source, "spec": waiting.spec}
    extra["payload"] = payload_digest(waiting.call.action.payload)
    body = {"act": _head(waiting.call, stage, **extra), "decided": to_object(decided)}
    return _draft(body, delivery(waiting.call.key, stage))


def says_the_same(entry: Entry, waiting: WaitingAct) -> bool:
    """Whether the entry that asks for it holds all that a person is shown of it."""
    asked = waiting_draft(waiting).body
    return all(is_same_json(entry.body.get(name), asked.get(name)) for name in _SHOWN)


def waiting_digest(waiting: WaitingAct) -> Digest:
    """Of all of it: what a yes is to."""
    return payload_digest(to_object(waiting))


def sealed_text(call: ActCall, spec_digest: Digest) -> str:
    """What another process may do once more, and nothing else."""
    return f"{payload_digest(to_object(call))} {spec_digest}"


def approved_marks(waiting: WaitingAct) -> tuple[Mark, Mark]:
    key = waiting.call.key
    return (
        Mark(WAITING, key, None, "something"),
        Mark(APPROVED, key, to_object(waiting), "nothing"),
    )


def declined_marks(
    waiting: WaitingAct, outcome: Outcome, *, kind: str = WAITING
) -> tuple[Mark, Mark]:
    """Denied or expired, also after a yes: what came of it is news for the next turn."""
    key = waiting.call.key
    return Mark(kind, key, None, "something"), news_mark(key, outcome)


def begun_mark(key: str) -> Mark:
    """Goes with the intent of an approved act: only one process begins it."""
    return Mark(APPROVED, key, None, "something")


# What came outside of a turn and is told in the next one.


def news_mark(key: str, outcome: Outcome) -> Mark:
    return Mark(NEWS, key, to_object(outcome))


def told_mark(key: str) -> Mark:
    return Mark(NEWS, key, None)


# Marks, read back.


def open_act(mark: Mark) -> OpenAct:
    return _read(OpenAct, mark)


def waiting_act(mark: Mark) -> WaitingAct:
    """Of a mark of kind `waiting` or `approved`."""
    return _read(WaitingAct, mark)


def news(mark: Mark) -> Outcome:
    return _read(Outcome, mark)


def read_all(
    marks: Sequence[Mark], read: Callable[[Mark], R]
) -> tuple[tuple[R, ...], tuple[StoreDamaged, ...]]:
    """What they say, and what of it cannot be read."""
    found, faults = list[R](), list[StoreDamaged]()
    for mark in marks:
        try:
            found.append(read(mark))
        except StoreDamaged as fault:
            faults.append(fault)
    return tuple(found), tuple(faults)


def moment(when: datetime) -> str:
    """As the ledger writes times, so that texts sort as times do."""
    return f"{when.astimezone(UTC).isoformat(timespec='microseconds')[:-6]}Z"


def payload_digest(payload: JsonObject) -> Digest:
    """The same for a payload that was written and read back: `1.0` and `1` are one number."""
    text = json.dumps(_settled(payload), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return digest(text.encode())


def is_same_json(one: object, other: object) -> bool:
    """Whether both say the same, also where one was written and read back."""
    return _plain(one) == _plain(other)


def _plain(value: object) -> str:
    return json.dumps(_settled(value), sort_keys=True)


def _settled(value: object) -> object:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            members = cast("Mapping[str, object]", value).items()
            return {name: _settled(member) for name, member in members}
        case list() | tuple():
            return [_settled(item) for item in cast("Sequence[object]", value)]
        case _:
            return value


def _head(call: ActCall, stage: Stage, **extra: object) -> dict[str, object]:
    return {
        "key": call.key,
        "type": call.action.type,
        "stage": stage,
        "mode": call.mode,
        "session": call.session,
        "attempt": call.attempt,
        "lineage": call.lineage.value,
        **{name: value for name, value in extra.items() if value != ""},
    }


def _judged(decision: Decision) -> dict[str, object]:
    judged: dict[str, object] = {"rule": decision.rule, "reason": decision.reason}
    return judged | ({"review": True} if decision.review else {})


def _tainted(values: Sequence[TaintedValue]) -> dict[str, object]:
    return {"tainted": [to_object(value) for value in values]} if values else {}


def _draft(body: JsonObject, delivery: str) -> Draft:
    return Draft(KIND, SOURCE, body, delivery=delivery)


def _read(cls: type[T], mark: Mark) -> T:
    try:
        return from_json(cls, json.dumps(mark.value))
    except BadInput as error:
        raise StoreDamaged(
            f"the mark {mark.kind} {mark.key!r} cannot be read: {error.message}",
            hint="`mentis acts log` shows what the record says of it",
            kind=mark.kind,
            key=mark.key,
        ) from error

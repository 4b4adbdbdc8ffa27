"""The story of each act in the ledger, folded by its key: asked for, decided, begun, ended.

Only entries that are still in the store are read; what rotation moved into a segment is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from mentis.act import entries
from mentis.values.act import TaintedValue
from mentis.values.action import InnerTurn
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.value import LATE, Value


@dataclass(frozen=True, slots=True)
class ActStep(Value):
    """One stage of an act, as one entry says it."""

    stage: str
    time: str
    entry: int
    attempt: int = 1
    state: str = ""
    reason: str = ""
    rule: str = ""
    by: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class ActStory(Value):
    """Everything the ledger says of one act.

    `state` is where it stands: `waiting`, `approved`, `denied`, `expired`, `begun`, or what it came
    to. `payload` is None where it was never recorded or has been erased; `erased` names the fields
    that have been. `turn` is that of the agent that was asked.
    """

    key: str
    type: str
    state: str
    source: str = ""
    mode: str = ""
    session: str = ""
    lineage: str = ""
    payload: JsonObject | None = None
    tainted: tuple[TaintedValue, ...] = ()
    text: str = ""
    blob: str = ""
    size: int = 0
    erased: tuple[str, ...] = ()
    steps: tuple[ActStep, ...] = ()
    turn: InnerTurn | None = field(default=None, metadata=LATE)

    @property
    def reason(self) -> str:
        """Why it stands where it does, as the last entry that says so puts it."""
        return next((step.reason for step in reversed(self.steps) if step.reason), "")


@dataclass(slots=True)
class _Draft:
    """A story while it is read."""

    steps: list[ActStep] = field(default_factory=list[ActStep])
    head: dict[str, Any] = field(default_factory=dict[str, Any])
    payload: JsonObject | None = None
    tainted: tuple[TaintedValue, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict[str, Any])
    erased: set[str] = field(default_factory=set[str])


def act_stories(found: Iterable[Entry]) -> tuple[ActStory, ...]:
    """One for each act among these entries, in the order they were first heard of."""
    drafts: dict[str, _Draft] = {}
    for entry in found:
        if entry.kind == entries.KIND:
            head = _head(entry)
            _read(drafts.setdefault(str(head.get("key", "")), _Draft()), head, entry)
    return tuple(_story(key, draft) for key, draft in drafts.items())


def _head(entry: Entry) -> dict[str, Any]:
    told = entry.body.get("act")
    if isinstance(told, Mapping):
        return dict(cast("Mapping[str, Any]", told))
    # The head was erased: the delivery still says which act it was, and how far it had come.
    _, key, stage, *_ = [*(entry.delivery or "").split("/"), "", "", ""]
    return {"key": key or f"entry-{entry.index}", "stage": stage or "erased"}


def _read(draft: _Draft, head: dict[str, Any], entry: Entry) -> None:
    body = cast("Mapping[str, Any]", entry.body)
    draft.head |= {name: value for name, value in head.items() if value not in ("", None)}
    draft.erased.update(name for name in entry.fields if name not in body)
    draft.payload = _mapping(body.get("payload")) or draft.payload
    if "payload" in body and draft.payload is None:
        draft.payload = {}
    draft.result = _mapping(body.get("result")) or draft.result
    draft.tainted = _tainted(body.get("tainted")) or draft.tainted
    draft.steps.append(_step(head, _mapping(body.get("decided")) or {}, entry))


def _step(head: Mapping[str, Any], decided: Mapping[str, Any], entry: Entry) -> ActStep:
    return ActStep(
        str(head.get("stage", "")),
        entry.time,
        entry.index,
        attempt=int(head.get("attempt", 1)),
        state=str(head.get("state", "")),
        reason=str(head.get("reason", "")),
        rule=str(head.get("rule", "")),
        by=str(decided.get("by", "")),
        words=str(decided.get("words", "")),
    )


def _story(key: str, draft: _Draft) -> ActStory:
    head, result = draft.head, draft.result
    return ActStory(
        key,
        str(head.get("type", "")),
        _state(draft.steps),
        source=str(head.get("source", "")),
        mode=str(head.get("mode", "")),
        session=str(head.get("session", "")),
        lineage=str(head.get("lineage", "")),
        payload=draft.payload,
        tainted=draft.tainted,
        text=str(result.get("text", "")),
        blob=str(result.get("blob", "")),
        size=int(result.get("size", 0)),
        erased=tuple(sorted(draft.erased)),
        steps=tuple(draft.steps),
        turn=entries.inner_turn(head.get("turn")),
    )


def _state(steps: Sequence[ActStep]) -> str:
    last = steps[-1]
    return last.state or ("begun" if last.stage == "intent" else last.stage)


def _mapping(value: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def _tainted(value: object) -> tuple[TaintedValue, ...]:
    if not isinstance(value, list | tuple):
        return ()
    told = [_mapping(one) or {} for one in cast("Sequence[object]", value)]
    return tuple(
        TaintedValue(*(str(one.get(name, "")) for name in ("path", "value", "source")))
        for one in told
    )

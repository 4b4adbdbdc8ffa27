"""Corrects a reply of which something failed: asks again for exactly that, or stops.

One plan serves calls that cannot be read, actions that were refused their schema, and rules that
were broken; one budget of calls counts them all. Nothing is asked for here: the runtime loops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from mentis.values.action import Action, Outcome, OutcomeState
from mentis.values.digest import Digest, digest
from mentis.values.part import ToolCallPart
from mentis.values.reply import Reply, ReplyProblem
from mentis.values.tool import ToolDeclaration
from mentis.values.value import Value

FailureKind: TypeAlias = Literal["json", "call", "action", "rule"]
CorrectionBlock: TypeAlias = Literal["correction", "correction_partial", "correction_json"]
StopReason: TypeAlias = Literal["nothing-failed", "not-fixable", "budget", "same-answer", "broken"]

# The model can mend what it wrote. It cannot mend a policy, a timeout or a crash.
_FIXABLE: tuple[OutcomeState, ...] = ("invalid", "not_found")
_KINDS: dict[str, FailureKind] = {
    "bad-json": "json",
    "bad-shape": "json",
    "bad-arguments": "call",
    "malformed-call": "call",
    "unfinished-call": "call",
    "blocked": "rule",
}


@dataclass(frozen=True, slots=True)
class Failure(Value):
    """One thing that failed. `call_id` says which call; a rule may be about the whole reply."""

    kind: FailureKind
    message: str
    call_id: str = ""
    action: str = ""
    fixable: bool = True


@dataclass(frozen=True, slots=True)
class Attempts(Value):
    """How many calls of the model this turn has made and may make, and what came back so far."""

    budget: int
    calls: int = 1
    seen: tuple[Digest, ...] = ()


@dataclass(frozen=True, slots=True)
class Correction(Value):
    """The library block to send next with its values; `done` must not happen again."""

    block: CorrectionBlock
    values: Mapping[str, str | tuple[str, ...]]
    attempts: Attempts
    failed: tuple[Failure, ...]
    done: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop(Value):
    """Why nothing more is asked for."""

    reason: StopReason
    failed: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedMessage(Value):
    """What the reply was an answer to: the person's own words and the tools that were offered."""

    message: str
    tools: tuple[ToolDeclaration, ...] = ()
    allowed: tuple[str, ...] | None = field(default=None)

    def names(self) -> tuple[str, ...]:
        offered = tuple(tool.name for tool in self.tools)
        return offered if self.allowed is None else self.allowed


def plan_correction(
    reply: Reply, failures: Sequence[Failure], *, asked: AskedMessage, attempts: Attempts
) -> Correction | Stop:
    """Ask again for what failed and can be mended, as long as calls are left and it moves on."""
    failed = tuple(failures)
    if not failed:
        return Stop("nothing-failed", ())
    fixable = tuple(failure for failure in failed if failure.fixable)
    sign = _signature(reply)
    if stop := _reason_to_stop(reply, failed, attempts, sign):
        return Stop(stop, failed)
    done = _done(reply, failed)
    values = _values(reply, fixable, done, asked)
    spent = replace(attempts, calls=attempts.calls + 1, seen=(*attempts.seen, sign))
    return Correction(_block(fixable, done), values, spent, fixable, done)


def failures_of(reply: Reply, outcomes: Sequence[Outcome]) -> tuple[Failure, ...]:
    """What failed: calls that cannot be read, then actions that came to nothing. What waits for a
    person, or for the caller, has not failed: it is not asked for again.
    """
    unread = [_unread(error) for error in reply.errors if error.code in _KINDS]
    undone = [
        Failure(
            "action",
            outcome.reason or outcome.text or outcome.state,
            outcome.action.call_id,
            outcome.action.type,
            fixable=outcome.state in _FIXABLE,
        )
        for outcome in outcomes
        if outcome.state not in ("done", "waiting", "deferred")
    ]
    return (*unread, *undone)


def without_repeats(reply: Reply, done: Sequence[Action]) -> Reply:
    """The corrected reply without what has happened already: the same call, not the same kind."""
    left = [(action.type, _written(action.payload)) for action in done]
    kept: list[Action] = []
    notes = list(reply.notes)
    for action in reply.actions:
        same = action.type, _written(action.payload)
        if same not in left:
            kept.append(action)
            continue
        left.remove(same)
        message = f"{action.type!r} was done before and is not done again"
        notes.append(ReplyProblem("already-done", message, "", action.call_id, action.type))
    return replace(reply, actions=tuple(kept), notes=tuple(notes))


def _reason_to_stop(
    reply: Reply, failed: tuple[Failure, ...], attempts: Attempts, sign: Digest
) -> StopReason | None:
    if reply.stop in ("interrupted", "error"):
        return "broken"
    if not any(failure.fixable for failure in failed):
        return "not-fixable"
    if sign in attempts.seen:
        return "same-answer"
    return "budget" if attempts.calls >= attempts.budget else None


def _done(reply: Reply, failed: tuple[Failure, ...]) -> tuple[Action, ...]:
    """Actions that nothing is known against; what cannot be mended did not happen either."""
    calls = {failure.call_id for failure in failed if failure.call_id}
    about_all = any(not failure.call_id and failure.kind == "rule" for failure in failed)
    return () if about_all else tuple(a for a in reply.actions if a.call_id not in calls)


def _block(fixable: tuple[Failure, ...], done: tuple[Action, ...]) -> CorrectionBlock:
    if done:
        return "correction_partial"
    unread = all(failure.kind == "json" for failure in fixable)
    return "correction_json" if unread else "correction"


def _values(
    reply: Reply, fixable: tuple[Failure, ...], done: tuple[Action, ...], asked: AskedMessage
) -> dict[str, str | tuple[str, ...]]:
    """A value for every placeholder of the three blocks; each takes those it has."""
    hints = [failure.message for failure in fixable if failure.kind in ("json", "call")]
    return {
        "original_message": asked.message,
        "previous_reply": _said(reply),
        "failures": tuple(map(_line, fixable)),
        "already_done": tuple(f"{a.type} {_written(a.payload)}" for a in done),
        "allowed_actions": asked.names(),
        "action_schema": _schemas(fixable, asked),
        "decoder_hint": "\n".join(hints),
    }


def _said(reply: Reply) -> str:
    parts = {part.id: part for part in reply.parts if isinstance(part, ToolCallPart)}
    calls = [_call(action, parts.get(action.call_id)) for action in reply.actions]
    broken = [f"{e.action} {e.raw}" for e in reply.errors if e.action and e.raw]
    return "\n".join(part for part in (reply.text, *calls, *broken) if part)


def _call(action: Action, part: ToolCallPart | None) -> str:
    """As the model said it: a call through the doorway is one of the doorway."""
    if part is None:
        return f"{action.type} {_written(action.payload)}"
    return f"{part.name} {_written(part.arguments)}"


def _line(failure: Failure) -> str:
    return f"{failure.action}: {failure.message}" if failure.action else failure.message


def _schemas(fixable: tuple[Failure, ...], asked: AskedMessage) -> str:
    tried = {failure.action for failure in fixable}
    forms = [
        f"{tool.name}: {json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in asked.tools
        if tool.name in tried and tool.name in asked.names()
    ]
    return "\n".join(forms)


def _unread(error: ReplyProblem) -> Failure:
    kind, fixable = _KINDS[error.code], error.code != "blocked"
    return Failure(kind, error.message, error.call_id, error.action, fixable)


def _written(payload: Mapping[str, object]) -> str:
    return json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _signature(reply: Reply) -> Digest:
    """The same for the same answer; call ids differ each time and say nothing."""
    acts = [[action.type, _written(action.payload)] for action in reply.actions]
    errors = [[error.code, error.action, error.raw] for error in reply.errors]
    return digest(json.dumps([reply.text, acts, errors]).encode())

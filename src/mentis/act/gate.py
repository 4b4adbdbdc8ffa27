"""Decides whether a call may become an act: done now, never, or once a person has said yes.

The rules in their order: `offered`, `mode`, `schema` (nothing can be checked against it),
`payload`, `budget`, `policy`, `ask`. That the act is known and its definition still trusted is
asked before, of the registry. What cannot be judged waits (`unjudged`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mentis.errors import BadInput
from mentis.values.act import ActCall, ActSpec, Decision, Policy, Scope, TaintedValue, asks_agent
from mentis.values.action import OutcomeState
from mentis.values.block import Mode
from mentis.values.json import JsonObject
from mentis.values.trust import Trust
from mentis.values.value import Value

from .budget import ActBudget, ActCounts, ActTally, exceeded_limit
from .fields import fields_of
from .likeness import TooMuch
from .payloads import fault_in
from .seen import SeenRequest
from .taint import tainted_in

_MESSAGE = "message_"
_OURS = ("python", "builtin")  # sources whose names can be relied on
_ANSWERS = ("interface_path", "reply_to")  # where a message goes, and what it answers
_STATES: dict[str, OutcomeState] = {
    "payload": "invalid",
    "schema": "unavailable",
    "offered": "not_found",
}
_NOTHING_SPENT = ActCounts()
_NO_LIMITS = ActBudget()
_ALLOWED, _HELD, _REVIEWED = Decision("allow"), Decision("wait"), Decision("allow", review=True)


@dataclass(frozen=True, slots=True)
class GateRules(Value):
    """`ask` lists acts that a person always approves: by name, by source, or `*` for all.

    `outreach`: messages may be sent that nobody asked for. `unasked`: what may be done when nobody
    asked; None: whatever the other rules allow. That is so in beats and ticks, and in a turn of
    another mode that is not `asked` for, as an afterthought.
    """

    policy: Policy = "values"
    ask: tuple[str, ...] = ()
    outreach: bool = False
    budget: ActBudget = _NO_LIMITS
    unasked: tuple[str, ...] | None = None
    asked: bool = True


class Gate:
    """The gate of one turn or tick; a tally that outlives it counts the hour."""

    def __init__(self, rules: GateRules, tally: ActTally | None = None) -> None:
        self.rules = rules
        self._tally = tally
        self._in_turn = 0
        self._suspected = ""

    def judge(self, call: ActCall, spec: ActSpec, seen: SeenRequest | None) -> Decision:
        """Never raises. What is allowed or set to wait counts for the budget."""
        try:
            spent = ActCounts(self._in_turn)
            if self._tally:
                spent = self._tally.spent(self._in_turn, self.rules.budget)
            decision = judge(self.rules, call, spec, seen=seen, spent=spent)
            decision = self._after_suspicion(decision, spec)
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not open the gate
            reason = f"it cannot be judged: {_told(error)}"
            decision = Decision("wait", "unjudged", reason, lineage=Trust.UNTRUSTED)
        if decision.verdict != "refuse":
            self._in_turn += 1
            if self._tally:
                self._tally.note(call.key, spec.name)
        return decision

    def _after_suspicion(self, decision: Decision, spec: ActSpec) -> Decision:
        """Whoever was talked into one act may have been talked into the next: once one of them
        waits for its values, all that reach outside in the same turn wait with it."""
        if decision.verdict == "wait" and decision.tainted:
            self._suspected = self._suspected or spec.name
        elif self._suspected and decision.verdict == "allow" and spec.declaration.external_effects:
            reason = f"{self._suspected!r} waits in the same turn for values from untrusted text"
            return replace(decision, verdict="wait", rule="policy", reason=reason)
        return decision


def judge(
    rules: GateRules,
    call: ActCall,
    spec: ActSpec,
    *,
    seen: SeenRequest | None,
    spent: ActCounts = _NOTHING_SPENT,
) -> Decision:
    """What the rules say of a call, given what its request showed the model."""
    if reason := _not_in(call.mode, spec, rules):
        return Decision("refuse", "mode", reason)
    try:
        if fault := fault_in(call.action.payload, spec.declaration):
            return Decision("refuse", "payload", fault)
    except BadInput as error:
        return Decision("refuse", "schema", error.message)
    if reason := exceeded_limit(rules.budget, spent, spec.name):
        return Decision("refuse", "budget", reason)
    decision = _by_policy(rules.policy, call, spec, seen)
    if decision.verdict == "allow" and _is_asked(rules.ask, spec):
        return replace(
            decision, verdict="wait", rule="ask", reason="a person approves it each time"
        )
    return decision


def judge_again(
    rules: GateRules, call: ActCall, spec: ActSpec, *, spent: ActCounts = _NOTHING_SPENT
) -> Decision:
    """What they say now of a call that was let through once and would be repeated.

    What the model was shown is gone. So only the owner's `open` lets tainted arguments reach
    outside again, and under `strict` nothing does.
    """
    if reason := _not_in(call.mode, spec, rules):
        return Decision("refuse", "mode", reason)
    if reason := exceeded_limit(rules.budget, spent, spec.name):
        return Decision("refuse", "budget", reason)
    doubtful = rules.policy == "strict" or call.lineage is Trust.UNTRUSTED
    if spec.declaration.external_effects and rules.policy != "open" and doubtful:
        return Decision("wait", "policy", "what the model was shown is not known any more")
    if _is_asked(rules.ask, spec):
        return Decision("wait", "ask", "a person approves it each time")
    return _ALLOWED


def not_offered(spec: ActSpec) -> Decision:
    """Of a call of something that the request did not tell of: it is not there for this turn."""
    return Decision("refuse", "offered", f"no tool {spec.name!r} was told of")


def state_of(decision: Decision) -> OutcomeState:
    """What a call comes to that the gate did not let through."""
    return "waiting" if decision.verdict == "wait" else _STATES.get(decision.rule, "refused")


def scope_of(spec: ActSpec) -> Scope:
    """A name that begins with `message_` sends messages, whatever else is declared."""
    return "message" if spec.name.startswith(_MESSAGE) else spec.scope


def depends_on_origin(spec: ActSpec) -> bool:
    """Whether it matters where its arguments came from; else nobody has to look."""
    return asks_agent(spec) or spec.declaration.external_effects or _is_kept(spec)


def _not_in(mode: Mode, spec: ActSpec, rules: GateRules) -> str:
    messages = scope_of(spec) == "message"
    if mode == "delivery" and not (spec.scope == "message" or (messages and _kind(spec) in _OURS)):
        return "a delivery may only send messages"
    alone = mode == "beat" or not rules.asked
    if alone and messages and not rules.outreach:
        return "a beat may not send messages" if mode == "beat" else "nobody asked for a message"
    if alone and rules.unasked is not None and spec.name not in rules.unasked:
        return f"{spec.name!r} is not among acts.unasked, and nobody asked"
    if spec.modes and mode not in spec.modes:
        return f"{spec.name!r} is for {' and '.join(spec.modes)}, and this is {mode}"
    return ""


def _by_policy(policy: Policy, call: ActCall, spec: ActSpec, seen: SeenRequest | None) -> Decision:
    """Only what reaches outside, or stays in the mind, depends on where its arguments came from."""
    if not depends_on_origin(spec):
        return _ALLOWED
    if asks_agent(spec):  # what another agent is asked is made from all that this one has read
        lineage = Trust.UNTRUSTED if seen is None else seen.lineage
        return replace(_ALLOWED, lineage=lineage)
    held = _HELD if spec.declaration.external_effects else _REVIEWED
    if seen is None:
        reason = "what the model was shown is not known"
        return replace(held, rule="unjudged", reason=reason, lineage=Trust.UNTRUSTED)
    decision = _by_values(policy, call, spec, seen=seen, held=held)
    # What stays in the mind was made from all the model had read, not only from what it quotes.
    return replace(decision, lineage=seen.lineage) if _is_kept(spec) else decision


def _is_kept(spec: ActSpec) -> bool:
    return scope_of(spec) in ("memory", "goal")


def _by_values(
    policy: Policy, call: ActCall, spec: ActSpec, *, seen: SeenRequest, held: Decision
) -> Decision:
    try:
        tainted = tainted_in(_judged(call, spec, seen), seen, fields_of(spec.declaration))
    except TooMuch as error:
        return replace(held, rule="unjudged", reason=str(error))
    if policy == "open" or not (reason := _suspicion(policy, tainted, seen)):
        if policy != "open" and seen.unread:
            reason = f"what the model saw in it cannot be compared: {seen.unread}"
            return replace(held, rule="unjudged", reason=reason)
        return Decision("allow", tainted=tainted) if tainted else _ALLOWED
    return replace(held, rule="policy", reason=reason, tainted=tainted)


def _judged(call: ActCall, spec: ActSpec, seen: SeenRequest) -> JsonObject:
    """All of the payload, but for where a message of ours goes when that is where it is answered:
    whoever speaks has named the place, and is heard there."""
    payload = call.action.payload
    if not seen.here or scope_of(spec) != "message" or spec.source not in _OURS:
        return payload
    return {
        key: value
        for key, value in payload.items()
        if not (key in _ANSWERS and isinstance(value, str) and value in seen.here)
    }


def _suspicion(policy: Policy, tainted: tuple[TaintedValue, ...], seen: SeenRequest) -> str:
    if tainted:
        first = tainted[0]
        return f"{first.path} came from untrusted text: {first.source}"
    if policy == "strict" and seen.sources:
        return f"untrusted text was in the request: {', '.join(seen.sources[:3])}"
    return ""


def _is_asked(ask: tuple[str, ...], spec: ActSpec) -> bool:
    return any(one in ("*", spec.name, spec.source, _kind(spec)) for one in ask)


def _kind(spec: ActSpec) -> str:
    """`python` of `python:NAME`."""
    return spec.source.partition(":")[0]


def _told(error: Exception) -> str:
    said = f"{type(error).__name__}: {error}"[:200]
    return said.encode("utf-8", "backslashreplace").decode()

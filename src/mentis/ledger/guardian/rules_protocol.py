"""Rules about what the ledger's own state asks of the next window: reset, audit, breach."""

from __future__ import annotations

from collections.abc import Iterator

from mentis.values.guardian import CYCLE_LENGTH, GuardianState
from mentis.values.json import JsonObject

from .case import Case, Check, Fault, Rule
from .reading import (
    array_at,
    does,
    object_at,
    plans,
    status_of,
    text_at,
)

LAST_CYCLE = f"{CYCLE_LENGTH}/{CYCLE_LENGTH}"
PLACE = "MENTIS-PLACE"
FIRST_CYCLE = f"1/{CYCLE_LENGTH}"


def _reset(case: Case) -> Iterator[Fault]:
    before = case.state.previous
    if before is None or text_at(before, "cycle") != LAST_CYCLE or not case.state.known:
        return
    if case.window.get("step_id") == before.get("step_id"):
        yield Fault("/step_id", f"the step before ended with {LAST_CYCLE}, this is the same step")
    if case.window.get("cycle") != FIRST_CYCLE:
        yield Fault("/cycle", f"after {LAST_CYCLE} comes {FIRST_CYCLE}")


def misplaced(window: JsonObject, state: GuardianState) -> tuple[str, ...]:
    """The places where a draft says another step or cycle than the ledger."""
    ours = (("step_id", state.step_id), ("cycle", state.cycle_text))
    return tuple(
        f"/{key}" for key, value in ours if state.known and window.get(key) not in (None, value)
    )


def _place(case: Case) -> Iterator[Fault]:
    for where in misplaced(case.window, case.state):
        ours = case.state.step_id if where == "/step_id" else case.state.cycle_text
        given = case.window.get(where[1:])
        yield Fault(where, f"the draft says {given!r}, the ledger {ours}")


def _audit(case: Case) -> Iterator[Fault]:
    if not case.state.audit_due:
        return
    if not does(case.window, "audit"):
        yield Fault("/actions", "an audit is due and no action names it")
    if not array_at(object_at(case.window, "rule_tangency"), "checked_rules"):
        yield Fault("/rule_tangency/checked_rules", "an audit is due and no rule was checked")


def _breach_status(case: Case) -> Iterator[Fault]:
    if case.state.after_breach and status_of(case.window) != "RED":
        yield Fault("/critical_summary/status", "after a breach the status is RED")


def _breach_action(case: Case) -> Iterator[Fault]:
    if case.state.after_breach and not does(case.window, "recovery"):
        yield Fault("/actions", "after a breach an action names the recovery")


def _breach_plan(case: Case) -> Iterator[Fault]:
    if case.state.after_breach and not plans(case.window, "repair"):
        yield Fault(
            "/output_plan", "after a breach an item repairs the chain or restores persistence"
        )


def _unsure(case: Case) -> Iterator[Fault]:
    if not case.state.unsure:
        return
    if status_of(case.window) not in ("YELLOW", "RED"):
        yield Fault("/critical_summary/status", "whether the last window was kept is unsure")
    if not plans(case.window, "recovery", "repair"):
        yield Fault("/output_plan", "the last window may be lost, and no item recovers it")


def _row(number: int, name: str, what: str, check: Check, *, why: str, fix: str) -> Rule:
    return Rule(f"S2-{name}", str(number), "block", "draft", "state", what, why, fix, check)


_BREACH = "a breach must not be passed over"
RULES = (
    _row(
        58,
        "CYCLE-RESET",
        "after 5/5 comes a new step with 1/5",
        _reset,
        why="five windows are a step; a step without an end is no step",
        fix="repeat step and cycle of the ledger's state",
    ),
    _row(
        59,
        "AUDIT6",
        "every 6th window has an audit action and a checked rule",
        _audit,
        why="rules nobody looks at wear off",
        fix="add an action such as `Audit the rules` and name what was checked",
    ),
    _row(
        61,
        "BREACH-STATUS",
        "the window after a breach has status RED",
        _breach_status,
        why=_BREACH,
        fix="set critical_summary.status to RED",
    ),
    _row(
        62,
        "BREACH-ACT",
        "the window after a breach has an action naming recovery",
        _breach_action,
        why=_BREACH,
        fix="add an action such as `Start the recovery`",
    ),
    _row(
        63,
        "BREACH-PLAN",
        "the window after a breach plans to repair the chain or restore persistence",
        _breach_plan,
        why=_BREACH,
        fix="add `Repair the chain` to output_plan",
    ),
    Rule(
        PLACE,
        "M2",
        "warn",
        "draft",
        "state",
        "step and cycle are those of the ledger",
        "the ledger counts: its own is written, and what the draft said is kept under `attempts`",
        "repeat step and cycle of the ledger's state",
        _place,
    ),
    Rule(
        "S2-ACK-UNSURE",
        "66",
        "warn",
        "draft",
        "state",
        "without the log line of the last window: status YELLOW and a recovery plan",
        "unsure is not lost, but somebody has to look",
        "set the status to YELLOW and plan to recover the last window",
        _unsure,
    ),
)

"""Rules about the shape of a draft: which fields there are, of which type, with which constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from .case import Case, Check, Fault, Rule
from .reading import STATUSES, number_in, object_at, text_at

_CYCLE = re.compile(r"[0-5]/5")
_TEXT = (str,)
_OBJECT = (Mapping,)
_ARRAY = (list, tuple)
_NAMES: Mapping[tuple[type, ...], str] = {
    _TEXT: "a string",
    _OBJECT: "an object",
    _ARRAY: "an array",
}
# Every known field with its type; null is allowed where the ledger itself writes it.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "step_id": _TEXT,
    "cycle": _TEXT,
    "time_source": _TEXT,
    "goal": _TEXT,
    "inputs": _OBJECT,
    "actions": _ARRAY,
    "risk": _ARRAY,
    "rule_tangency": _OBJECT,
    "reflection_curve": _OBJECT,
    "output_plan": _ARRAY,
    "window_type": _TEXT,
    "schema_version": _TEXT,
    "window_source": _TEXT,
    "system_versions": _OBJECT,
    "critical_summary": _OBJECT,
    "project_awareness": _OBJECT,
    "window_hash": _TEXT,
    "mcp_trigger": _OBJECT,
}
_TRIGGER_TYPES: Mapping[str, tuple[type, ...]] = {
    "action": _TEXT,
    "target": _TEXT,
    "timestamp": _TEXT,
}


def _goal(case: Case) -> Iterator[Fault]:
    if not text_at(case.window, "goal").strip():
        yield Fault("/goal", "there is no goal")


def _present(key: str, types: tuple[type, ...]) -> Check:
    def check(case: Case) -> Iterator[Fault]:
        if not isinstance(case.window.get(key), types):
            yield Fault(f"/{key}", f"`{key}` is missing or not {_NAMES[types]}")

    return check


def _actions(case: Case) -> Iterator[Fault]:
    actions = case.window.get("actions")
    if not isinstance(actions, list | tuple):
        yield Fault("/actions", "`actions` is missing or not an array")
        return
    for index, action in enumerate(actions):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # any JSON
        if not isinstance(action, str):
            yield Fault(f"/actions/{index}", "an action is not a string")


def _tangency(case: Case) -> Iterator[Fault]:
    tangency = case.window.get("rule_tangency")
    if not isinstance(tangency, Mapping):
        yield Fault("/rule_tangency", "`rule_tangency` is missing or not an object")
        return
    held = object_at(case.window, "rule_tangency")
    if not isinstance(held.get("tangency_detected"), bool):
        yield Fault("/rule_tangency/tangency_detected", "it is missing or not true or false")
    if held.get("notes") is None:
        yield Fault("/rule_tangency/notes", "there are no notes")


def _reflection(case: Case) -> Iterator[Fault]:
    if not isinstance(case.window.get("reflection_curve"), Mapping):
        yield Fault("/reflection_curve", "`reflection_curve` is missing or not an object")
        return
    held = object_at(case.window, "reflection_curve")
    for key in ("delta", "correction", "next"):
        if not isinstance(held.get(key), str):
            yield Fault(f"/reflection_curve/{key}", f"`{key}` is missing or not a string")


def _window_type(case: Case) -> Iterator[Fault]:
    given = case.window.get("window_type")
    if given not in case.profile.types:
        allowed = ", ".join(case.profile.types)
        yield Fault("/window_type", f"{given!r} is not one of {allowed}")


def _confidence(case: Case) -> Iterator[Fault]:
    number = number_in(case.window.get("confidence"))
    if number is None or not 0.0 <= number <= 1.0:
        yield Fault("/confidence", "it is missing, or not a number from 0.0 to 1.0")


def _trigger_enabled(case: Case) -> Iterator[Fault]:
    if object_at(case.window, "mcp_trigger").get("enabled") is not True:
        yield Fault("/mcp_trigger/enabled", "the trigger is not enabled")


def _trigger_has(key: str) -> Check:
    def check(case: Case) -> Iterator[Fault]:
        if not text_at(object_at(case.window, "mcp_trigger"), key).strip():
            yield Fault(f"/mcp_trigger/{key}", f"the trigger has no {key}")

    return check


def _types(case: Case) -> Iterator[Fault]:
    yield from _mistyped(case.window.get, "", _TYPES)
    yield from _mistyped(object_at(case.window, "mcp_trigger").get, "/mcp_trigger", _TRIGGER_TYPES)
    checked = object_at(case.window, "rule_tangency").get("checked_rules")
    if not isinstance(checked, _ARRAY) and checked is not None:
        yield Fault("/rule_tangency/checked_rules", "it is not an array")
    prev = case.window.get("prev_window_hash")
    if not isinstance(prev, str) and prev is not None:
        yield Fault("/prev_window_hash", "it is not a string or null")
    confidence = case.window.get("confidence")
    if confidence is not None and number_in(confidence) is None:
        yield Fault("/confidence", "it is not a number")
    yield from _status_word(case)


def _mistyped(
    get: Callable[[str], object], base: str, types: Mapping[str, tuple[type, ...]]
) -> Iterator[Fault]:
    for key, wanted in types.items():
        value = get(key)
        if value is not None and not isinstance(value, wanted):
            yield Fault(f"{base}/{key}", f"it is not {_NAMES[wanted]}")


def _status_word(case: Case) -> Iterator[Fault]:
    """The origin never says which words a status may have; where C5 is settled there are three."""
    status = object_at(case.window, "critical_summary").get("status")
    if "C5" in case.profile.settles and status is not None and status not in STATUSES:
        yield Fault("/critical_summary/status", f"{status!r} is not one of {', '.join(STATUSES)}")


def _schema(case: Case) -> Iterator[Fault]:
    given = case.window.get("schema_version")
    if given not in case.profile.schema_versions:
        allowed = ", ".join(case.profile.schema_versions) or "none"
        yield Fault("/schema_version", f"{given!r} is not an allowed version ({allowed})")


def _constant(key: str, wanted: object) -> Check:
    def check(case: Case) -> Iterator[Fault]:
        given = case.window.get(key)
        if given != wanted or type(given) is not type(wanted):
            yield Fault(f"/{key}", f"it is {given!r} instead of {wanted!r}")

    return check


def _step(case: Case) -> Iterator[Fault]:
    if not text_at(case.window, "step_id").strip():
        yield Fault("/step_id", "there is no step")


def _cycle(case: Case) -> Iterator[Fault]:
    if not _CYCLE.fullmatch(text_at(case.window, "cycle")):
        yield Fault("/cycle", "it is missing, or not `n/5` with n from 0 to 5")


_KNOW = "without it nobody can tell what the agent meant to do"
_REPEAT = "copy the value exactly as the canonical draft has it"


def _row(number: int, name: str, what: str, check: Check, *, why: str = _KNOW, fix: str) -> Rule:
    return Rule(f"S2-{name}", str(number), "block", "draft", "program", what, why, fix, check)


RULES = (
    _row(3, "FIELD-GOAL", "`goal` is there and not blank", _goal, fix="say the goal in a sentence"),
    _row(
        4,
        "FIELD-INPUTS",
        "`inputs` is an object",
        _present("inputs", _OBJECT),
        fix='give what the work starts from, or {"context": {}}',
    ),
    _row(
        5,
        "FIELD-ACTIONS",
        "`actions` is an array of strings",
        _actions,
        fix="list what will be done",
    ),
    _row(
        6,
        "FIELD-RISK",
        "`risk` is an array; it may be empty",
        _present("risk", _ARRAY),
        why="a draft that leaves the field out never thought about it (C4: missing blocks)",
        fix="list what could be wrong, or [] after having looked",
    ),
    _row(
        7,
        "FIELD-TANGENCY",
        "`rule_tangency` has a boolean `tangency_detected` and `notes`",
        _tangency,
        fix="say whether the task comes near a rule, and which",
    ),
    _row(
        8,
        "FIELD-REFLECTION",
        "`reflection_curve` has `delta`, `correction` and `next` as strings",
        _reflection,
        fix="fill the three; a correction may be empty",
    ),
    _row(
        9,
        "FIELD-PLAN",
        "`output_plan` is an array",
        _present("output_plan", _ARRAY),
        fix="list what the answer will contain",
    ),
    _row(
        10,
        "FIELD-TYPE",
        "`window_type` is one of those the profile allows",
        _window_type,
        why="the other rules depend on it",
        fix="choose planner, execution or verification",
    ),
    _row(
        11,
        "FIELD-CONF",
        "`confidence` is a finite number from 0.0 to 1.0",
        _confidence,
        why="caps and floors need a number; true is none",
        fix="give a number such as 0.8",
    ),
    _row(
        12,
        "FIELD-TRIGGER",
        "`mcp_trigger` is an object",
        _present("mcp_trigger", _OBJECT),
        why="it asks for the window to be kept",
        fix="copy the trigger of the canonical draft",
    ),
    _row(
        13,
        "TRIG-ENABLED",
        "`mcp_trigger.enabled` is true",
        _trigger_enabled,
        why="a window that asks not to be kept is no window",
        fix=_REPEAT,
    ),
    _row(
        14,
        "TRIG-ACTION",
        "`mcp_trigger.action` is there (`save_to_history`)",
        _trigger_has("action"),
        why="it names what to do with the window",
        fix=_REPEAT,
    ),
    _row(
        15,
        "TRIG-TARGET",
        "`mcp_trigger.target` is there",
        _trigger_has("target"),
        why="it names who keeps the window",
        fix=_REPEAT,
    ),
    _row(
        16,
        "TYPES",
        "every known field has its JSON type",
        _types,
        why="a program that reads the record must be able to rely on it",
        fix="correct the type at that place",
    ),
    _row(
        17,
        "CONST-SCHEMA",
        "`schema_version` is an allowed version",
        _schema,
        why="the rules are written for known versions (C6: the set is configurable)",
        fix="use an allowed version, or allow this one in your profile",
    ),
    _row(
        18,
        "CONST-SOURCE",
        "`window_source` is `backend_generated`",
        _constant("window_source", "backend_generated"),
        why="the ledger makes the window, the agent only drafts it",
        fix=_REPEAT,
    ),
    _row(
        19,
        "CONST-CYCLECTL",
        "`cycle_backend_controlled` is true",
        _constant("cycle_backend_controlled", True),  # the constant itself
        why="the ledger counts cycles, not the agent",
        fix=_REPEAT,
    ),
    _row(
        20,
        "FIELD-STEP",
        "`step_id` is there",
        _step,
        why="it ties the windows of one task together",
        fix="repeat the step of the ledger's state, or `unknown`",
    ),
    _row(
        21,
        "FIELD-CYCLE",
        "`cycle` is `n/5` with n from 0 to 5",
        _cycle,
        why="it says how far the step has come",
        fix="repeat the cycle of the ledger's state, or `0/5`",
    ),
)

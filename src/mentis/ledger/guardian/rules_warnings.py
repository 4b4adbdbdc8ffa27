"""Rules that only warn: what a good window has beyond what it must have."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case, Check, Fault, Rule
from .reading import array_at, object_at


def _no_risk(case: Case) -> Iterator[Fault]:
    if isinstance(case.window.get("risk"), list | tuple) and not array_at(case.window, "risk"):
        yield Fault("/risk", "no risk is named")


def _empty(key: str) -> Check:
    def check(case: Case) -> Iterator[Fault]:
        if not object_at(case.window, key):
            yield Fault(f"/{key}", f"`{key}` is empty or missing")

    return check


def _context_lacks(key: str) -> Check:
    def check(case: Case) -> Iterator[Fault]:
        if not object_at(object_at(case.window, "inputs"), "context").get(key):
            yield Fault(f"/inputs/context/{key}", f"`{key}` is empty or missing")

    return check


def _unchecked(case: Case) -> Iterator[Fault]:
    if not array_at(object_at(case.window, "rule_tangency"), "checked_rules"):
        yield Fault("/rule_tangency/checked_rules", "no rule was checked")


def _unclaimed(case: Case) -> Iterator[Fault]:
    for act in case.facts.unclaimed or ():
        yield Fault("/actions", f"{act} was done and no action names it")


def _row(number: str, name: str, what: str, check: Check, *, why: str, fix: str) -> Rule:
    return Rule(f"S2-W-{name}", number, "warn", "draft", "program", what, why, fix, check)


RULES = (
    _row(
        "W1",
        "RISKEMPTY",
        "`risk` names at least one",
        _no_risk,
        why="work without any risk is rare",
        fix="look again; [] is fine when there is none",
    ),
    _row(
        "W2",
        "VERSIONS",
        "`system_versions` is filled",
        _empty("system_versions"),
        why="what ran decides what happened",
        fix="name the versions that are known",
    ),
    _row(
        "W3",
        "SUMMARY",
        "`critical_summary` is filled",
        _empty("critical_summary"),
        why="it is the one line a busy reader looks at",
        fix='give at least {"status": "GREEN"}',
    ),
    _row(
        "W4",
        "AWARE",
        "`project_awareness` is filled",
        _empty("project_awareness"),
        why="it says what the agent believes about its surroundings",
        fix="say what is known of the project",
    ),
    _row(
        "W6",
        "ARCH",
        "`inputs.context.architecture_awareness` is filled where it matters",
        _context_lacks("architecture_awareness"),
        why="a change to parts needs a picture of the whole",
        fix="say in a line how the parts hang together",
    ),
    _row(
        "W7",
        "RESURRECT",
        "`inputs.context.resurrection_ref` is filled",
        _context_lacks("resurrection_ref"),
        why="whoever takes over needs a place to start from",
        fix="name the entry or file to start from",
    ),
    Rule(
        "S2-W-AUTONOMY",
        "W8",
        "warn",
        "draft",
        "heuristic",
        "what the agent does of its own accord is named in the actions",
        "an act that no window names comes out of nowhere; it is judged where the acts are known,"
        " by the words of their names",
        "add it to the actions",
        _unclaimed,
        prompt="status_conduct",
        needs=("unclaimed",),
    ),
    _row(
        "W13",
        "CHECKED",
        "`rule_tangency.checked_rules` names what was checked",
        _unchecked,
        why="a tangency can only be denied by who has looked",
        fix="name the rules you held the task against",
    ),
)

"""Cases with what must hold of an assembled prompt: checks that need no model, and a score."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TypeAlias, cast

from mentis.errors import BadInput, UsageError
from mentis.values.value import Value

# A path from the root of a machine; what follows a colon or another slash belongs to an address.
_ABSOLUTE = re.compile(r"(?<![\w:/.~-])(?:/[A-Za-z][\w.-]*(?:/[\w.-]+)+|[A-Za-z]:\\\w)")
_MISSING = object()
_HINT = "docs/concepts/selection.md says what a suite looks like"


@dataclass(frozen=True, slots=True)
class Assertion(Value):
    """`kind` is a key of CHECKS; `path` leads to a value by dots; the rest depends on the kind."""

    kind: str
    path: str = ""
    value: object = None


@dataclass(frozen=True, slots=True)
class SuiteCase(Value):
    name: str
    task: str
    assertions: tuple[Assertion, ...]
    mode: str = "auto"
    interactive: bool = False
    git_changes: bool = False


@dataclass(frozen=True, slots=True)
class Suite(Value):
    name: str
    cases: tuple[SuiteCase, ...]


@dataclass(frozen=True, slots=True)
class AssertionOutcome(Value):
    """One assertion of a case, and why it did not hold."""

    case: str
    assertion: str
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SuiteReport(Value):
    suite: str
    passed: int
    total: int
    score: float
    outcomes: tuple[AssertionOutcome, ...]


def report(suite: Suite, outcomes: Sequence[AssertionOutcome]) -> SuiteReport:
    passed = sum(one.passed for one in outcomes)
    score = round(passed / len(outcomes), 4) if outcomes else 0.0
    return SuiteReport(suite.name, passed, len(outcomes), score, tuple(outcomes))


def judge(case: SuiteCase, output: str) -> Iterator[AssertionOutcome]:
    """Every assertion of a case against what came out, as JSON text."""
    try:
        found: object = json.loads(output)
    except ValueError:
        found = _MISSING
    for one in case.assertions:
        problem = "" if found is not _MISSING else "is not JSON"
        if not problem and one.kind != "is_valid_json":
            problem = CHECKS[one.kind](_at(found, one.path), one.value)
        yield AssertionOutcome(case.name, f"{one.kind} {one.path}".strip(), not problem, problem)


def _at(found: object, path: str) -> object:
    for part in filter(None, path.split(".")):
        if isinstance(found, Mapping):
            found = cast("Mapping[str, object]", found).get(part, _MISSING)
        elif isinstance(found, list) and part.isdecimal():
            items = cast("list[object]", found)
            found = items[int(part)] if int(part) < len(items) else _MISSING
        else:
            return _MISSING
    return found


Check: TypeAlias = Callable[[object, object], str]


def _has(found: object, _: object) -> str:
    return "is not there" if found is _MISSING else ""


def _equals(found: object, value: object) -> str:
    return "" if found == value else f"is {_told(found)}, not {_told(value)}"


def _one_of(found: object, value: object) -> str:
    allowed = cast("list[object]", value) if isinstance(value, list) else [value]
    return "" if found in allowed else f"is {_told(found)}, none of {_told(allowed)}"


def _contains(found: object, value: object) -> str:
    if isinstance(found, str):
        return "" if str(value) in found else f"does not hold {_told(value)}"
    if isinstance(found, list):
        return "" if value in cast("list[object]", found) else f"does not hold {_told(value)}"
    return "is neither text nor a list"


def _at_most(found: object, value: object) -> str:
    if not isinstance(found, list) or not isinstance(value, int):
        return "is not a list that can be counted"
    count = len(cast("list[object]", found))
    return "" if count <= value else f"holds {count}, more than {value}"


def _relative(found: object, _: object) -> str:
    text = found if isinstance(found, str) else json.dumps(found, default=str)
    absolute = _ABSOLUTE.search(text)
    return f"holds {absolute[0]}" if absolute else ""


def _told(value: object) -> str:
    return "missing" if value is _MISSING else f"{json.dumps(value, ensure_ascii=False):.60}"


CHECKS: Mapping[str, Check] = {
    "is_valid_json": _has,
    "has_property": _has,
    "property_equals": _equals,
    "enum_check": _one_of,
    "contains": _contains,
    "max_count": _at_most,
    "no_absolute_paths": _relative,
}


def find_suite(name: str) -> Traversable:
    """A suite that ships, by its name."""
    place = files("mentis.recall") / "data/suites"
    file = place / f"{name}.json"
    if not name.isidentifier() or not file.is_file():
        shipped = ", ".join(sorted(one.name.removesuffix(".json") for one in place.iterdir()))
        raise UsageError(f"there is no suite {name!r}", hint=f"a file, or one of: {shipped}")
    return file


def read_suite(text: str, *, where: str) -> Suite:
    """A suite from its JSON. An assertion nobody knows is refused, never skipped."""
    try:
        found = json.loads(text)
        cases = tuple(_case(row, where) for row in found["cases"])
        return Suite(str(found["name"]), cases)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{where} is not a suite: {error}", hint=_HINT) from error


def _case(row: Mapping[str, object], where: str) -> SuiteCase:
    assertions = tuple(
        _assertion(one, where) for one in cast("list[Mapping[str, object]]", row["assertions"])
    )
    return SuiteCase(
        name=str(row["name"]),
        task=str(row["task"]),
        assertions=assertions,
        mode=str(row.get("mode", "auto")),
        interactive=row.get("interactive") is True,
        git_changes=row.get("git_changes") is True,
    )


def _assertion(row: Mapping[str, object], where: str) -> Assertion:
    kind = str(row["kind"])
    if kind not in CHECKS:
        raise BadInput(f"{where}: {kind!r} is no assertion", hint=", ".join(CHECKS))
    return Assertion(kind, str(row.get("path", "")), row.get("value"))

from __future__ import annotations

import json

import pytest

from mentis.errors import BadInput, UsageError
from mentis.recall.suite import (
    CHECKS,
    Assertion,
    Suite,
    SuiteCase,
    find_suite,
    judge,
    read_suite,
    report,
)

OUTPUT = json.dumps(
    {
        "mode": "act",
        "tools": ["a", "b"],
        "prompt": "see ./x and https://a.example/b/c",
        "cwd": "/home/me",
    }
)


@pytest.mark.parametrize(
    ("kind", "path", "value", "passed"),
    [
        ("is_valid_json", "", None, True),
        ("has_property", "tools.1", None, True),
        ("has_property", "tools.2", None, False),
        ("has_property", "mode.deeper", None, False),
        ("property_equals", "mode", "act", True),
        ("property_equals", "missing", None, False),
        ("enum_check", "mode", ["plan", "act"], True),
        ("enum_check", "mode", ["plan"], False),
        ("contains", "tools", "a", True),
        ("contains", "prompt", "./x", True),
        ("contains", "prompt", "nowhere", False),
        ("max_count", "tools", 2, True),
        ("max_count", "tools", 1, False),
        ("max_count", "mode", 9, False),
        ("no_absolute_paths", "prompt", None, True),
        ("no_absolute_paths", "", None, False),
        ("no_absolute_paths", "cwd", None, False),
    ],
)
def test_an_assertion_holds_or_says_why_not(
    kind: str, path: str, value: object, *, passed: bool
) -> None:
    (found,) = judge(SuiteCase("case", "task", (Assertion(kind, path, value),)), OUTPUT)
    assert found.passed is passed
    assert bool(found.reason) is not passed


def test_what_is_not_json_fails_every_assertion() -> None:
    case = SuiteCase("case", "task", tuple(Assertion(kind) for kind in CHECKS))
    assert {one.reason for one in judge(case, "{")} == {"is not JSON"}


def test_the_score_is_passed_over_total() -> None:
    case = SuiteCase("c", "t", (Assertion("is_valid_json"), Assertion("has_property", "gone")))
    found = report(Suite("s", (case,)), list(judge(case, "{}")))
    assert (found.passed, found.total, found.score) == (1, 2, 0.5)


def test_the_suite_that_ships_is_read_and_an_unknown_one_is_named() -> None:
    file = find_suite("assembly")
    suite = read_suite(file.read_text(encoding="utf-8"), where="assembly")
    assert {one.kind for case in suite.cases for one in case.assertions} <= set(CHECKS)
    for name in ("nothing", "../cuts"):
        with pytest.raises(UsageError, match="there is no suite"):
            find_suite(name)


@pytest.mark.parametrize("text", ["", "[]", '{"name": "x"}', '{"name": "x", "cases": [{}]}'])
def test_what_is_not_a_suite_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a suite"):
        read_suite(text, where="here")


def test_an_assertion_nobody_knows_is_refused() -> None:
    case = {"name": "c", "task": "t", "assertions": [{"kind": "is_nice"}]}
    with pytest.raises(BadInput, match="'is_nice' is no assertion"):
        read_suite(json.dumps({"name": "x", "cases": [case]}), where="here")

"""Words that rules look for: their forms, five languages, and windows nobody tuned the lists on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mentis.ledger.guardian.examples import good_state, good_window
from mentis.ledger.guardian.judge import judge_draft
from mentis.ledger.guardian.profiles import MENTIS
from mentis.ledger.guardian.response import check_response
from mentis.ledger.guardian.state import after_breach
from mentis.ledger.guardian.words import find_promise, says, words_of

HELD_OUT = Path(__file__).with_name("held_out.json")
# Of the held-out windows, when they were written and the lists had not seen them.
FOUND, QUIET = (85, 86), (90, 90)


class Row(NamedTuple):
    idea: str
    language: str
    text: str
    says: bool


def rows() -> Iterator[Row]:
    for idea, sides in json.loads(HELD_OUT.read_text(encoding="utf-8")).items():
        for side, languages in sides.items():
            for language, texts in languages.items():
                yield from (Row(idea, language, text, side == "says") for text in texts)


def findings(window: dict[str, Any], answer: str = "", *, breach: bool = False) -> set[str]:
    state = after_breach(good_state()) if breach else good_state()
    if answer:
        text = f"{json.dumps(window, ensure_ascii=False)}\n\n{answer}"
        judged = check_response(text, state, MENTIS)
    else:
        judged = judge_draft(window, state, MENTIS)
    return {f"{finding.rule}{finding.where}" for finding in judged.findings}


def heard(row: Row) -> bool:
    """What the guardian makes of a window with this text in it."""
    acting = {**good_window(), "actions": ["Open the folder", row.text]}
    match row.idea:
        case "verify":
            return "S2-H-VERACT/actions" not in findings({**acting, "window_type": "verification"})
        case "plan":
            return "S2-H-PLANACT/actions" not in findings({**acting, "window_type": "planner"})
        case "recovery":
            return "S2-BREACH-ACT/actions" not in findings(acting, breach=True)
        case "promise":
            return "S2-W-LATER" in findings({**good_window()}, row.text)
        case _:
            window = {**good_window(), "output_plan": ["The answer", row.text]}
            return "S2-PLACEHOLDER/output_plan/1" in findings(window)


def test_windows_that_nobody_tuned_the_lists_on_are_read_as_a_reader_would() -> None:
    judged = [(row, heard(row)) for row in rows()]
    missed = [row for row, found in judged if row.says and not found]
    alarms = [row for row, found in judged if not row.says and found]
    positive = sum(row.says for row, _ in judged)
    negative = len(judged) - positive
    assert (positive - len(missed), positive) == FOUND, missed
    assert (negative - len(alarms), negative) == QUIET, alarms
    assert {row.language for row, _ in judged} == {"en", "de", "fr", "pt", "es"}


@pytest.mark.parametrize(
    "action",
    [
        "Verified the chain",
        "Running tests",
        "verify_chain",
        "verifyChain",
        "Integrity verification",
        "verify_patch_compliance",
        "Prüfe die Kette",
        "pruefe die Kette",
        "No errors: tests passed",
    ],
)
def test_a_verification_may_say_so_in_any_form(action: str) -> None:
    window = {**good_window(), "window_type": "verification", "actions": [action]}
    assert findings(window) == set()


@pytest.mark.parametrize("action", ["Planning the work", "planned steps", "Designing", "Plane es"])
def test_a_planner_may_say_so_in_any_form(action: str) -> None:
    assert findings({**good_window(), "window_type": "planner", "actions": [action]}) == set()


@pytest.mark.parametrize(
    "text",
    ["will show next time", "I will do that later", "folgt", "siehe nächstes Mal", "später"],
)
def test_a_promise_in_place_of_a_value_is_a_filler_but_not_in_what_others_said(text: str) -> None:
    filled = {**good_window(), "output_plan": [text]}
    assert findings(filled) == {"S2-PLACEHOLDER/output_plan/0"}
    assert findings({**good_window(), "inputs": {"request": text}}) == {
        "S2-W-ARCH/inputs/context/architecture_awareness",
        "S2-W-RESURRECT/inputs/context/resurrection_ref",
    }


def test_a_promise_for_later_is_found_in_german_too() -> None:
    answer = "Ich mache das später. Den Rest liefere ich nach."
    assert findings({**good_window()}, answer) == {"S2-W-LATER"}
    assert find_promise(answer) == "Ich mache das später."


def test_words_are_cut_at_signs_and_capitals() -> None:
    assert words_of("run_all-tests: verifyChain2Prüfung") == [
        "run",
        "all",
        "tests",
        "verify",
        "chain2",
        "prüfung",
    ]


def test_an_accent_may_be_left_out_but_another_word_is_another_word() -> None:
    assert says("Verificacao dos dados", "verify")
    assert says("respuesta valida", "verify")
    assert not says("respuesta válida", "verify")

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import UsageError
from mentis.recall.stance import (
    STANCES,
    Hints,
    Stance,
    checked_mode,
    infer_stance,
    load_stances,
)


@pytest.mark.parametrize(
    ("task", "name", "why"),
    [
        ("Research the market for cellos", "plan", "research (english)"),
        ("EXPLORE the code base", "plan", "explore (english"),
        ("please analyze the logs", "plan", "analyze (english)"),
        ("Investigate: why does it fail?", "plan", "investigate (english)"),
        ("review this pull request", "review", "review (english)"),
        ("Audit the accounts", "review", "audit (english)"),
        ("verify the backup", "review", "verify (english)"),
        ("check the gas bill", "review", "check (english)"),
        ("Untersuche, warum der Test fehlschlägt", "plan", "untersuche (german)"),
        ("Bitte überprüfe die Rechnung", "review", "uberprufe (german)"),
        ("Bitte ueberpruefe die Rechnung", "review", "ueberpruefe (german)"),
        ("Étudie le code", "plan", "etudie (french)"),
        ("Verifie la facture", "review", "verifie (french)"),
        ("Pesquise hotéis em Lisboa", "plan", "pesquise (portuguese)"),
        ("Confira a fatura", "review", "confira (portuguese)"),
        ("Analiza los registros", "plan", "analiza (spanish)"),
        ("Comprueba la factura", "review", "comprueba (spanish)"),
    ],
)
def test_words_of_five_languages_decide(task: str, name: str, why: str) -> None:
    found = infer_stance(task)
    assert (found.name, found.rule) == (name, "keyword")
    assert found.why.startswith(why)


@pytest.mark.parametrize(
    "task",
    ["write a letter", "rechecking", "the checkbox", "preview it", "auditorium", "Schreibe", ""],
)
def test_only_whole_words_count_and_the_rest_is_act(task: str) -> None:
    assert infer_stance(task) == Stance("act", "default")


def test_plan_comes_before_review_wherever_the_words_stand() -> None:
    assert infer_stance("verify it, then research it").name == "plan"
    assert load_stances().priority == ("plan", "review")


def test_what_was_asked_for_comes_before_hints_and_hints_before_words() -> None:
    both = Hints(interactive=True, git_changes=True)
    assert infer_stance("review it", asked="act", hints=both) == Stance("act", "explicit")
    assert infer_stance("review it", hints=both) == Stance("plan", "hint", "interactive")
    changed = Hints(git_changes=True)
    assert infer_stance("research it", hints=changed) == Stance("act", "hint", "git_changes")


def test_meaning_decides_only_where_it_is_asked_and_clear() -> None:
    examples = {"plan": [[1.0, 0.0]], "act": [[0.0, 1.0]], "review": [[-1.0, 0.0]]}
    found = infer_stance("x", vector=(0.9, 0.1), examples=examples)  # pyright: ignore[reportArgumentType]  # keys are stances
    assert (found.name, found.rule) == ("plan", "meaning")
    undecided = infer_stance("x", vector=(0.5, 0.5), examples=examples)  # pyright: ignore[reportArgumentType]  # keys are stances
    assert undecided == Stance("act", "default")
    assert infer_stance("x", vector=(0.9, 0.1)) == Stance("act", "default")


def test_a_mode_there_is_none_of_is_refused() -> None:
    assert checked_mode("auto") is None
    assert checked_mode("review") == "review"
    with pytest.raises(UsageError, match="no mode 'dance'") as refused:
        checked_mode("dance")
    assert "plan, act, review or auto" in refused.value.hint


def test_every_stance_has_a_base_set_and_examples() -> None:
    data = load_stances()
    assert set(data.base) == set(data.examples) == set(STANCES)
    assert all(data.base.values())


@given(st.text())
def test_any_text_has_a_stance_and_always_the_same(task: str) -> None:
    assert infer_stance(task) == infer_stance(task)
    assert infer_stance(task).name in STANCES

"""Rules that look at the record: who speaks, where the window stands, what came before it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.errors import WindowRefused
from mentis.home.create import create_home
from mentis.ledger.guardian.examples import good_window
from mentis.memories.memories import open_memories
from mentis.status.statuses import Statuses, open_statuses
from mentis.values.entry import Entry
from mentis.values.memories import MemoryDraft

MakeHome = Callable[..., Path]


@pytest.fixture
def make_home(tmp_path: Path) -> MakeHome:
    def make(profile: str = "mentis") -> Path:
        home = create_home(tmp_path / "home")
        file = home / "mentis.toml"
        told = file.read_text(encoding="utf-8")
        file.write_text(f'{told}\n[status]\nprofile = "{profile}"\n', encoding="utf-8")
        return home

    return make


def draft(statuses: Statuses, **fields: object) -> dict[str, object]:
    """A good window that says where the ledger stands."""
    state = statuses.backend_state()
    return {**good_window(), "step_id": state.step_id, "cycle": state.cycle, **fields}


def body(entry: Entry | None) -> dict[str, Any]:
    assert entry is not None
    return cast("dict[str, Any]", entry.body)


def rules(refusal: pytest.ExceptionInfo[WindowRefused]) -> list[str]:
    return cast("list[str]", refusal.value.facts["rules"])


@pytest.mark.parametrize("profile", ["mentis", "s2-4.0", "strict"])
def test_a_window_that_does_not_say_who_speaks_is_refused(
    make_home: MakeHome, profile: str
) -> None:
    with open_statuses(make_home(profile)) as statuses:
        tangency = {"tangency_detected": False, "notes": "none", "checked_rules": ["Facts only"]}
        with pytest.raises(WindowRefused) as refusal:
            statuses.add(draft(statuses, rule_tangency=tangency), source="test")
        assert rules(refusal) == ["S2-IDENTITY"]


def test_step_and_cycle_are_the_ledgers_and_what_the_draft_said_is_an_attempt(
    make_home: MakeHome,
) -> None:
    with open_statuses(make_home()) as statuses:
        made_up = draft(statuses, step_id="made-up", cycle="5/5")
        kept = body(statuses.add(made_up, source="test").entry)
        assert (kept["window"]["step_id"], kept["window"]["cycle"]) == ("step-1", "1/5")
        assert kept["attempts"] == [
            {"where": "/step_id", "given": "made-up"},
            {"where": "/cycle", "given": "5/5"},
        ]
        assert {one["rule"] for one in kept["judgement"]["findings"]} == {"MENTIS-PLACE"}
        assert statuses.verify().intact


def test_strict_refuses_another_step_or_cycle(make_home: MakeHome) -> None:
    with open_statuses(make_home("strict")) as statuses:
        with pytest.raises(WindowRefused) as refusal:
            statuses.add(draft(statuses, cycle="4/5"), source="test")
        assert rules(refusal) == ["MENTIS-PLACE"]


def test_a_correction_shows_in_the_confidence_of_the_window_after(make_home: MakeHome) -> None:
    with open_statuses(make_home()) as statuses:
        statuses.add(draft(statuses, confidence=0.8), source="test")
        corrected = {"delta": "one more", "correction": "Count anew", "next": "Go on"}
        same = draft(statuses, reflection_curve=corrected, confidence=0.8)
        assert "S2-X-CORR-CONF" in {one.rule for one in _judged(statuses, same)}
        lower = {**same, "confidence": 0.7}
        assert "S2-X-CORR-CONF" not in {one.rule for one in _judged(statuses, lower)}
        none = {**same, "reflection_curve": {**corrected, "correction": "Keine nötig"}}
        assert "S2-X-CORR-CONF" not in {one.rule for one in _judged(statuses, none)}
        with pytest.raises(WindowRefused) as refusal:
            statuses.add(same, source="test")
        assert rules(refusal) == ["S2-X-CORR-CONF"]


def _judged(statuses: Statuses, window: dict[str, object]) -> tuple[Any, ...]:
    return statuses.check(json.dumps(window)).findings


async def test_a_thought_that_is_also_kept_as_a_fact_is_told_by_health(
    make_home: MakeHome,
) -> None:
    home = make_home()
    with open_memories(home) as memories:
        await memories.remember(MemoryDraft("Lena likes tea.", kind="fact"))
        await memories.remember(MemoryDraft("I wonder about bees.", kind="thought"))
    with open_statuses(home) as statuses:
        assert statuses.health().findings == ()
    with open_memories(home) as memories:
        await memories.remember(MemoryDraft("Lena  likes TEA.", kind="thought"))
    with open_statuses(home) as statuses:
        (found,) = statuses.health().findings
    assert (found.rule, found.level) == ("S2-W-FACTSPLIT", "warn")


RECOVERY: dict[str, object] = {
    "actions": ["Wiederherstellung beginnen"],
    "output_plan": ["Kette reparieren"],
    "critical_summary": {"status": "RED"},
}


def again(home: Path) -> tuple[Any, Any]:
    """State and health as another process finds them."""
    with open_statuses(home) as statuses:
        return statuses.backend_state(), statuses.health()


def test_a_refused_draft_is_a_breach_until_a_recovery_in_whatever_process(
    make_home: MakeHome,
) -> None:
    home = make_home()
    with open_statuses(home) as statuses:
        for _ in range(3):  # one breach is open, however often it is tried
            with pytest.raises(WindowRefused):
                statuses.add(draft(statuses, confidence=7), source="editor")
        assert statuses.stats().kinds == {"breach": 1}
    state, health = again(home)
    assert state.after_breach
    assert (health.status, health.persists) == ("RED", True)
    assert "recovery" in health.reason
    with open_statuses(home) as statuses:
        with pytest.raises(WindowRefused) as refusal:
            statuses.add(draft(statuses), source="editor")
        assert rules(refusal) == ["S2-BREACH-ACT", "S2-BREACH-PLAN", "S2-BREACH-STATUS"]
        statuses.add(draft(statuses, **RECOVERY), source="editor")
    state, health = again(home)
    assert (state.after_breach, health.status) == (False, "GREEN")


def test_what_a_draft_made_up_is_a_breach_also_where_it_is_only_overwritten(
    make_home: MakeHome,
) -> None:
    home = make_home()
    with open_statuses(home) as statuses:
        statuses.add(draft(statuses, window_hash="f" * 64), source="editor")
    assert again(home)[0].after_breach


def test_another_step_is_no_breach(make_home: MakeHome) -> None:
    home = make_home()
    with open_statuses(home) as statuses:
        statuses.add(draft(statuses, step_id="mine"), source="editor")
    assert not again(home)[0].after_breach


@pytest.mark.parametrize("way", ["add", "file"])
def test_without_its_log_line_the_next_window_is_yellow_in_whatever_process(
    make_home: MakeHome, way: str
) -> None:
    home = make_home()
    with open_statuses(home) as statuses:
        statuses.folder.log.mkdir(parents=True)
        if way == "add":
            statuses.add(draft(statuses), source="editor")
        else:
            statuses.write(draft(statuses))
            assert statuses.watcher().consume().unlogged
        statuses.folder.log.rmdir()
    state, health = again(home)
    assert (state.unsure, health.status) == (True, "YELLOW")
    with open_statuses(home) as statuses:
        findings = _judged(statuses, draft(statuses))
        assert {one.rule for one in findings} == {"S2-ACK-UNSURE"}
        plan = {"output_plan": ["Letztes Fenster wiederherstellen"]}
        yellow = draft(statuses, critical_summary={"status": "YELLOW"}, **plan)
        assert _judged(statuses, yellow) == ()
        statuses.add(yellow, source="editor")
        assert statuses.verify().intact
    state, health = again(home)
    assert (state.unsure, health.status) == (False, "GREEN")

"""The ledger's own state: steps, cycles, audits, breaches; and stamping."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from mentis.ledger.guardian.examples import apply_changes, good_window
from mentis.ledger.guardian.judge import judge_draft
from mentis.ledger.guardian.profiles import MENTIS
from mentis.ledger.guardian.reading import object_at
from mentis.ledger.guardian.stamp import stamp_window
from mentis.ledger.guardian.state import after_breach, next_state
from mentis.values.guardian import GuardianState
from mentis.values.json import JsonObject


def replay_state(windows: Iterable[JsonObject]) -> GuardianState:
    return reduce(next_state, windows, GuardianState())


TIME = "2026-01-01T00:00:00.000000+00:00"
AUDIT = {"/actions": ["Audit the rules"]}


def test_five_windows_are_a_step_and_then_a_new_one_begins() -> None:
    state = GuardianState()
    places: list[tuple[str, str]] = []
    for _ in range(7):
        places.append((state.step_id, state.cycle_text))
        state = next_state(state, good_window())
    assert places == [
        *(("step-1", f"{n}/5") for n in range(1, 6)),
        ("step-2", "1/5"),
        ("step-2", "2/5"),
    ]


def test_after_the_fifth_the_old_step_is_refused_and_the_ledgers_passes() -> None:
    state = replay_state([good_window()] * 5)
    old = apply_changes(good_window(), {"/step_id": "step-1", "/cycle": "5/5", **AUDIT})
    broken = {finding.rule for finding in judge_draft(old, state, MENTIS).findings}
    assert broken == {"S2-CYCLE-RESET", "MENTIS-PLACE"}
    new = apply_changes(
        good_window(), {"/step_id": state.step_id, "/cycle": state.cycle_text, **AUDIT}
    )
    assert not judge_draft(new, state, MENTIS).blocked


def test_every_sixth_window_is_an_audit_and_one_in_time_starts_the_count_anew() -> None:
    due = [replay_state([good_window()] * n).audit_due for n in range(6)]
    assert due == [False] * 5 + [True]
    audited = replay_state([good_window()] * 5 + [apply_changes(good_window(), AUDIT)])
    assert (audited.since_audit, audited.audit_due) == (0, False)


def test_a_breach_stands_until_a_window_answers_it_as_the_protocol_asks() -> None:
    state = after_breach(GuardianState())
    assert next_state(state, good_window()).after_breach
    answer = apply_changes(
        good_window(),
        {
            "/critical_summary/status": "RED",
            "/actions": ["Start the recovery"],
            "/output_plan": ["Repair the chain"],
        },
    )
    assert not judge_draft(answer, state, MENTIS).blocked
    assert not next_state(state, answer).after_breach


def test_an_unknown_state_asks_for_unknown_and_red() -> None:
    state = GuardianState(known=False)
    assert (state.step_id, state.cycle_text) == ("unknown", "0/5")


@given(st.lists(st.booleans(), max_size=40))
def test_cycle_and_step_count_every_window(audits: list[bool]) -> None:
    windows = [apply_changes(good_window(), AUDIT) if one else good_window() for one in audits]
    state = replay_state(windows)
    assert 1 <= state.cycle <= 5
    assert (state.step - 1) * 5 + state.cycle - 1 == len(windows)


def test_stamping_fills_what_only_the_ledger_knows_and_leaves_the_draft_alone() -> None:
    draft = good_window()
    before = str(draft)
    seen: list[object] = []

    def digest(window: object) -> str:
        seen.append(window)
        return "c" * 64

    stamped = stamp_window(draft, time=TIME, prev=None, digest=digest)
    assert stamped.window["time_source"] == f"metadata (STRICT_SYNC): {TIME}"
    assert stamped.window["prev_window_hash"] is None
    assert stamped.window["window_hash"] == "c" * 64
    assert stamped.window["mcp_trigger"] == {
        **object_at(draft, "mcp_trigger"),
        "timestamp": TIME,
    }
    assert seen == [{k: v for k, v in stamped.window.items() if k != "window_hash"}]
    assert (stamped.overwritten, str(draft)) == ((), before)


def test_stamping_overwrites_what_was_made_up_and_says_where() -> None:
    draft = apply_changes(
        good_window(), {"/time_source": "2020", "/window_hash": "d" * 64, "/mcp_trigger": "now"}
    )
    stamped = stamp_window(draft, time=TIME, prev="b" * 64, digest=lambda _: "c" * 64)
    assert stamped.overwritten == ("/time_source", "/window_hash")
    assert stamped.window["mcp_trigger"] == {"timestamp": TIME}
    assert stamped.window["window_hash"] == "c" * 64

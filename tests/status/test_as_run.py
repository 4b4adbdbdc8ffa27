"""Windows as the origin's agents really wrote them: kept, with findings beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.errors import WindowRefused
from mentis.home.create import create_home
from mentis.ledger.guardian.examples import good_window
from mentis.status.statuses import open_statuses
from mentis.values.entry import Entry

# Made up in the manner of the origin's history: own steps, other versions, words in German.
REAL: list[dict[str, object]] = [
    {
        "step_id": "S2_FIX_17",
        "cycle": "7/5",
        "time_source": "metadata (STRICT_SYNC): 2026-01-03T10:00:00+00:00",
        "goal": "Integrität der Kette herstellen",
        "inputs": {"raw_user_request": "mach weiter", "context": "frei"},
        "actions": ["verify_patch_compliance", {"tool": "grep"}],
        "risk": "keins",
        "rule_tangency": "none",
        "reflection_curve": {"delta": "ok"},
        "output_plan": "folgt",
        "window_type": "analysis",
        "schema_version": "4.0",
        "confidence": "0.9",
        "critical_summary": "ALLES GUT",
        "window_hash": "deadbeef",
        "prev_window_hash": "f" * 64,
    },
    {"goal": 5, "inputs": [], "actions": "none", "window_type": "banana", "confidence": 7},
    {"goal": "", "inputs": {}, "actions": [], "window_type": "planner", "confidence": 0},
]


def body(entry: Entry | None) -> dict[str, Any]:
    assert entry is not None
    return cast("dict[str, Any]", entry.body)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


@pytest.mark.parametrize("window", REAL, ids=["old", "wild", "bare"])
def test_what_the_origin_kept_is_kept_with_findings(home: Path, window: dict[str, object]) -> None:
    with open_statuses(home) as statuses:
        added = statuses.add(json.dumps(window).encode(), source="evoki")
        kept = body(added.entry)
        assert added.entry is not None
        assert added.entry.ruleset == "as-run"
        assert kept["judgement"]["findings"]
        assert {one["level"] for one in kept["judgement"]["findings"]} == {"warn"}
        own = {"time_source", "window_hash", "prev_window_hash", "mcp_trigger"}
        stays = {name: value for name, value in window.items() if name not in own}
        assert {name: kept["window"].get(name) for name in stays} == stays
        assert kept["window"]["prev_window_hash"] is None
        assert statuses.verify().intact


@pytest.mark.parametrize("key", ["goal", "inputs", "actions", "confidence", "window_type"])
def test_what_the_origin_refused_is_refused(home: Path, key: str) -> None:
    refused = pytest.raises(WindowRefused, match=f"`{key}` is missing")
    with open_statuses(home) as statuses, refused:
        statuses.add({**good_window(), key: None}, source="evoki")


@pytest.mark.parametrize(
    ("settings", "outside", "own"),
    [
        ("", "as-run", "mentis"),
        ('profile = "s2-4.0"', "s2-4.0", "s2-4.0"),
        ('profile = "s2-4.0"\noutside = "as-run"', "as-run", "s2-4.0"),
        ('outside = "strict"', "strict", "mentis"),
    ],
)
def test_who_chose_rules_chose_them_for_windows_from_outside_unless_others_are_named(
    home: Path, settings: str, outside: str, own: str
) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[status]\n{settings}\n")
    with open_statuses(home) as statuses:
        assert (statuses.profile.name, statuses.own_profile.name) == (outside, own)
        wild = json.dumps(REAL[1])
        assert statuses.check(wild).profile == outside
        assert statuses.check(wild, response=True).profile == own

"""Histories of the origin: in with their own times and sources, out again for its own checker."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mentis.errors import HistoryBroken
from mentis.home.create import create_home
from mentis.ledger.guardian.examples import good_window
from mentis.record.export import write_export
from mentis.record.record import open_record
from mentis.status.statuses import open_statuses

from .origin_checker import check_history

ALGORITHM = "sha256(canonical_without_window_hash|timestamp|salt)"


def hashed(window: dict[str, Any], time: str, salt: str) -> str:
    text = json.dumps(window, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{text}|{time}|{salt}".encode()).hexdigest()


def history(count: int, *, legacy: int = 0) -> dict[str, Any]:
    """As the origin writes it; the first `legacy` entries by its older recipe."""
    entries: list[dict[str, Any]] = []
    prev = None
    for n in range(count):
        time, salt = f"2026-01-0{n + 1}T10:00:00.000001+00:00", f"{n:032x}"
        window: dict[str, Any] = {
            "goal": f"Größe prüfen {n}",
            "cycle": f"{n % 5 + 1}/5",
            "confidence": 1.0,
            "prev_window_hash": prev,
        }
        old = n < legacy
        prev = hashed({**window, "window_hash": "OLD"} if old else window, time, salt)
        entry = {
            "entry_index": n + 1,
            "timestamp": time,
            "salt": salt,
            "source": "manual" if n % 2 else "pending_status_auto",
            "window_hash": prev,
            "status_window": {**window, "window_hash": prev},
            "metadata": {},
        }
        entries.append(entry if old else {**entry, "hash_algo": ALGORITHM})
    return {"version": "1.0", "created_at": "x", "total_entries": count, "entries": entries}


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def mentis(home: Path, *args: str | Path) -> str:
    command = [sys.executable, "-m", "mentis", "--home", str(home), "status", *map(str, args)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_an_imported_history_is_listed_and_counted_by_its_own_times_and_sources(
    home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "status_window_history.json"
    file.write_bytes(encoded(history(3)))
    mentis(home, "import", file)
    lines = mentis(home, "list").splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        f"2026-01-0{n}T10:00:00.000001+00:00" for n in (1, 2, 3)
    ]
    assert [line.split("  ")[4] for line in lines] == [
        "pending_status_auto",
        "manual",
        "pending_status_auto",
    ]
    stats = json.loads(mentis(home, "stats", "--json"))
    assert stats["sources"] == {"manual": 1, "pending_status_auto": 2}
    assert (stats["oldest_timestamp"][:10], stats["newest_timestamp"][:10]) == (
        "2026-01-01",
        "2026-01-03",
    )
    assert (stats["imported"], stats["unverified"], stats["windows"]) == (3, 0, 3)
    listed = json.loads(mentis(home, "list", "--json"))
    assert listed[0]["origin"]["source"] == "pending_status_auto"
    assert listed[0]["time"] > "2026-01-04"  # the header says when it came here


def test_counting_goes_on_where_an_imported_history_ended(home: Path) -> None:
    with open_statuses(home) as statuses:
        statuses.import_history(encoded(history(3)))
        state = statuses.backend_state()
        assert (state.step_id, state.cycle, state.audit_due) == ("step-1", "4/5", False)
        statuses.import_history(encoded(history(5)))
        state = statuses.backend_state()
        assert (state.step_id, state.cycle) == ("step-2", "1/5")


def test_an_imported_history_answers_no_breach(home: Path) -> None:
    told = history(1)
    with open_statuses(home) as statuses:
        with pytest.raises(Exception, match="missing"):
            statuses.add({"goal": "Half"}, source="editor")
        statuses.import_history(encoded(told))
        assert statuses.backend_state().after_breach


def test_a_history_goes_out_as_it_came_in_and_the_origins_checker_accepts_it(
    home: Path, tmp_path: Path
) -> None:
    told = history(4)
    file = tmp_path / "history.json"
    file.write_bytes(encoded(told))
    assert check_history(file.read_bytes()) == (
        0,
        "Chain + Hash integrity verified (4 entries)",
    )
    mentis(home, "import", file)
    out = tmp_path / "out.json"
    assert mentis(home, "export", out) == "Exported: 4 entries\n"
    written = json.loads(out.read_bytes())
    assert written["entries"] == told["entries"]
    assert (written["version"], written["total_entries"]) == ("1.0", 4)
    assert check_history(out.read_bytes())[0] == 0
    assert "Chain + Hash integrity verified (4 entries)" in mentis(home, "verify")


def test_windows_recorded_here_follow_the_imported_ones_in_the_origins_form(home: Path) -> None:
    with open_statuses(home) as statuses:
        first = statuses.add(good_window(), source="editor").entry
        statuses.import_history(encoded(history(2)))
        statuses.add(good_window(), source="manual")
        data, count = statuses.export_history()
        again, _ = statuses.export_history()
    assert count == 4
    assert check_history(data) == (0, "Chain + Hash integrity verified (4 entries)")
    entries = json.loads(data)["entries"]
    assert entries == json.loads(again)["entries"]
    assert [entry["entry_index"] for entry in entries] == [1, 2, 3, 4]
    assert entries[:2] == history(2)["entries"]
    assert first is not None
    assert entries[2]["metadata"]["mentis"]["hash"] == first.hash
    assert entries[2]["timestamp"].endswith("+00:00")
    assert entries[2]["status_window"]["goal"] == good_window()["goal"]
    broken = data.replace(b"address list", b"address LIST")
    assert check_history(broken) == (1, "Hash mismatch at entry 2!")
    # And it can be taken over elsewhere.
    with open_statuses(create_home(home.parent / "other")) as statuses:
        assert statuses.import_history(data).added == 4


def test_entries_of_an_older_recipe_are_taken_as_unverified_when_asked_for(
    home: Path, tmp_path: Path
) -> None:
    data = encoded(history(5, legacy=3))
    with open_statuses(home) as statuses:
        with pytest.raises(HistoryBroken, match="entry 0") as refusal:
            statuses.import_history(data)
        assert "--legacy" in refusal.value.hint
        done = statuses.import_history(data, legacy=True)
        assert (done.added, done.unverified) == (5, 3)
        assert statuses.import_history(data, legacy=True).known == 5
        places = [statuses.origin(entry) for entry in statuses.entries()]
        assert [place is not None and place.verified for place in places] == [
            False,
            False,
            False,
            True,
            True,
        ]
        stats = statuses.stats()
        assert (stats.imported, stats.unverified) == (5, 3)
        verdict = statuses.verify()
        assert verdict.intact
        assert any("unverified" in note for note in verdict.notes)
        exported, _ = statuses.export_history()
        assert check_history(exported)[0] == 0
    assert mentis(home, "list").count("[unverified]") == 3
    with open_record(home) as record:
        write_export(record, tmp_path / "bundle.zip")
    auditor = [sys.executable, "-m", "mentis.ledger.auditor", str(tmp_path / "bundle.zip")]
    told = subprocess.run(auditor, capture_output=True, check=False, text=True).stdout
    assert "5 entries" in told
    assert "entry 0" not in told

"""Real writers and real watchers: together, twice, killed, and ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import pytest

from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.verify import verify_chain
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Entry

SCRIPT = Path(__file__).with_name("channel_process.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mentis.db"
    Database(path).close()
    return path


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@contextmanager
def watching(path: Path, folder: StatusFolder) -> Generator[subprocess.Popen[str]]:
    with start("watch", path, folder.path) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert process.returncode == 0


def lines(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def entries(path: Path) -> list[Entry]:
    with Database(path) as database:
        return list(SqliteLedger(database).entries("ada"))


def test_a_hundred_writers_of_twenty_drafts_make_two_thousand_entries(
    path: Path, folder: StatusFolder
) -> None:
    with watching(path, folder) as watcher:
        writers = [start("write", folder.path, 25, 20) for _ in range(4)]
        for _ in range(2000):
            assert lines(watcher).readline().startswith("Added to history: ")
        assert [writer.wait(60) for writer in writers] == [0] * 4
        for writer in writers:
            lines(writer).close()
    made = entries(path)
    assert verify_chain("ada", made).intact
    assert len(made) == 2000
    by_writer: dict[str, list[int]] = {}
    for entry in made:
        window = cast("dict[str, Any]", entry.body["window"])
        by_writer.setdefault(window["writer"], []).append(window["n"])
    # Each of the hundred is complete, and in the order it was written.
    assert len(by_writer) == 100
    assert all(numbers == list(range(20)) for numbers in by_writer.values())
    assert (folder.waiting(), list(folder.quarantine.iterdir())) == ([], [])


def test_the_second_watcher_is_told_who_holds_the_lease_and_nothing_is_recorded_twice(
    path: Path, folder: StatusFolder
) -> None:
    with watching(path, folder) as first:
        with start("write", folder.path, 1, 1) as writer:
            assert writer.wait(60) == 0
        lines(first).readline()
        with start("watch", path, folder.path) as second:
            told = lines(second).readline()
            assert second.wait(60) == 1
        assert f":{first.pid} " in told
        assert "are consumed by watcher" in told
    assert len(entries(path)) == 1
    # The first ended well, so its lease is free.
    with watching(path, folder) as third, start("write", folder.path, 1, 1) as writer:
        assert "(total: 2)" in lines(third).readline()
        assert writer.wait(60) == 0


def test_a_watcher_killed_between_commit_and_removal_leaves_no_second_entry(
    path: Path, folder: StatusFolder
) -> None:
    with start("write", folder.path, 1, 3) as writer:
        assert writer.wait(60) == 0
    for survived in (1, 2):
        with start("watch", path, folder.path, "die-after-commit") as victim:
            assert victim.wait(60) == -signal.SIGKILL
        # Committed, and its file is still there.
        assert len(entries(path)) == survived
        assert len(folder.waiting()) == 4 - survived
    with watching(path, folder) as watcher:
        assert "(total: 3)" in lines(watcher).readline()
    made = entries(path)
    assert Counter(entry.delivery for entry in made).most_common(1)[0][1] == 1
    assert (len(made), folder.waiting()) == (3, [])
    events = [json.loads(line)["event"] for line in folder.log.read_text().splitlines()]
    assert events.count("known") == 2


def test_a_slot_that_is_replaced_all_the_time_gives_whole_drafts_only(
    path: Path, folder: StatusFolder
) -> None:
    with watching(path, folder) as watcher, start("slot", folder.path, 200) as writer:
        assert lines(watcher).readline().startswith("Added to history: ")
        assert writer.wait(60) == 0
    made = entries(path)
    assert verify_chain("ada", made).intact
    numbers = [cast("dict[str, int]", entry.body["window"])["n"] for entry in made]
    # The slot keeps only the last of what came too fast; what is kept is whole and in order.
    assert numbers == sorted(set(numbers))
    assert list(folder.quarantine.iterdir()) == []


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_watcher_that_is_asked_to_end_gives_the_lease_back(
    path: Path, folder: StatusFolder, ending: signal.Signals
) -> None:
    with start("write", folder.path, 1, 1) as writer:
        assert writer.wait(60) == 0
    with start("watch", path, folder.path) as watcher:
        lines(watcher).readline()
        watcher.send_signal(ending)
        assert watcher.wait(60) == 0
    with Database(path) as database:
        assert SqliteLedger(database).lease("ada", "consume") is None
    last = json.loads(folder.log.read_text(encoding="utf-8").splitlines()[-1])
    assert last["event"] == "stopped"

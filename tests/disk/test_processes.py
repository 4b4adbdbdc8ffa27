"""Owners of leases: which process each is, and what is known of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mentis.disk import processes
from mentis.disk.processes import is_there, owner_name, process_of


def test_this_process_is_there_and_one_without_a_number_cannot_be_judged() -> None:
    assert is_there(owner_name("run", "a")) is True
    for odd in ("", "health", "watcher 1", "watcher elsewhere:7 a", "a b:c d"):
        assert is_there(odd) is None


def test_a_process_that_hides_when_it_began_is_not_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    owner = owner_name("run", "a")
    gone = owner.replace(f":{os.getpid()} ", f":{2**22 + 1} ")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "ns").symlink_to("/proc/self/ns")
    monkeypatch.setattr(processes, "_PROCESSES", tmp_path)
    assert (is_there(owner), is_there(gone)) == (None, False)


def test_people_are_told_the_process_and_its_machine_if_it_is_another() -> None:
    assert process_of(owner_name("run", "a")) == f"process {os.getpid()}"
    assert process_of("watcher elsewhere:7 a") == "process 7 on elsewhere"
    assert process_of("health") == "health"

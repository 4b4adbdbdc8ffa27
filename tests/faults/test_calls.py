"""Faults 1, 4, 5, 6, 27: killed at every system call of an append, and lied to at every one."""

from __future__ import annotations

import pytest

from .aftermath import check
from .conftest import NewFolder, first_then_slow
from .tracing import Call, Victims

pytestmark = pytest.mark.needs_ptrace

_WRITE = {"write", "pwrite64", "ftruncate", "fallocate", "mkdir", "rename"}
_CHANGE = {*_WRITE, "unlink", "unlinkat", "chmod"}
_SYNC = {"fsync", "fdatasync"}


@pytest.mark.parametrize("act", first_then_slow("whole", "warm", "batch", "erase", "spool", "slot"))
def test_killed_at_any_call_an_acknowledged_entry_stays_and_nothing_is_half(
    traced: Victims, new_folder: NewFolder, act: str
) -> None:
    calls = traced.calls(act, new_folder())
    assert {"pwrite64", "fdatasync"} <= {call.name for call in calls}
    for call in calls:
        folder = new_folder()
        told = traced.run(act, folder, f"inject={call.name}:signal=KILL:when={call.k}")
        assert told.status == -9, f"{call} did not come: {told.lines}"
        check(folder, act, told, about=call)


@pytest.mark.parametrize("signal", ["TERM", "INT"])
def test_asked_to_end_in_the_middle_of_a_batch_all_of_it_is_kept_or_nothing(
    traced: Victims, new_folder: NewFolder, signal: str
) -> None:
    for call in traced.calls("batch", new_folder()):
        folder = new_folder()
        told = traced.run("batch", folder, f"inject={call.name}:signal={signal}:when={call.k}")
        assert told.status == -15 or told.of("interrupted") == [""], f"{call}: {told.lines}"
        check(folder, "batch", told, about=call)


def test_on_a_slow_disk_nothing_is_acknowledged_before_it_is_synced(
    traced: Victims, new_folder: NewFolder
) -> None:
    slow = "inject=fdatasync:delay_enter=100ms"
    traced.run("batch", new_folder(), "trace=fdatasync,pwrite64,write", slow)
    order = [line.split("(")[0] for line in traced.trace.splitlines() if "(" in line]
    assert order[-2:] == ["fdatasync", "write"]


def test_a_spooled_draft_is_synced_before_it_gets_its_name_and_the_name_before_it_is_acknowledged(
    traced: Victims, new_folder: NewFolder
) -> None:
    traced.run("spool", new_folder(), "trace=fsync,rename,write")
    order = [line.split("(")[0] for line in traced.trace.splitlines() if "(" in line]
    # The content, its sync, the name, the sync of the folder, and only then the word.
    assert order[:5] == ["write", "fsync", "rename", "fsync", "write"]


@pytest.mark.parametrize("act", first_then_slow("whole", "warm", "erase", "spool", "slot"))
@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EROFS", "EMFILE"])
def test_a_call_that_fails_once_is_told_and_the_next_try_works(
    traced: Victims, new_folder: NewFolder, act: str, error: str
) -> None:
    calls = [call for call in traced.calls(act, new_folder()) if _may_fail(call, error)]
    for call in calls:
        folder = new_folder()
        told = traced.run(act, folder, f"inject={call.name}:error={error}:when={call.k}")
        assert told.status == 0, f"{call}: {told.lines}"
        check(folder, act, told, about=call)
        assert act != "warm" or told.kept, f"{call}: {told.lines}"


@pytest.mark.parametrize("act", first_then_slow("whole", "spool"))
@pytest.mark.parametrize(
    ("error", "names"), [("ENOSPC", _WRITE), ("EROFS", _CHANGE), ("EIO", _SYNC)]
)
def test_calls_that_fail_from_some_point_on_lose_nothing_that_was_acknowledged(
    traced: Victims, new_folder: NewFolder, *, act: str, error: str, names: set[str]
) -> None:
    calls = [call for call in traced.calls(act, new_folder()) if call.name in names]
    for call in calls:
        folder = new_folder()
        told = traced.run(act, folder, f"inject={call.name}:error={error}:when={call.k}+")
        check(folder, act, told, about=call)


@pytest.mark.parametrize("act", first_then_slow("spool", "whole", "erase", "slot"))
@pytest.mark.parametrize(
    ("error", "names"),
    [("EIO", {*_CHANGE, *_SYNC}), ("ENOSPC", {*_WRITE, *_SYNC}), ("EROFS", _CHANGE)],
)
def test_a_disk_that_takes_nothing_at_all_is_told_and_harms_nothing(
    traced: Victims, new_folder: NewFolder, *, act: str, error: str, names: set[str]
) -> None:
    # Not `write`: what the victim says goes through it, too.
    all_of_them = ",".join(sorted(names - {"write"}))
    folder = new_folder()
    told = traced.run(act, folder, f"inject={all_of_them}:error={error}")
    assert told.of("refused"), told.lines
    check(folder, act, told, about=error)


@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EROFS"])
def test_a_signing_key_that_could_not_be_written_does_not_stand_in_the_way_of_the_next(
    traced: Victims, new_folder: NewFolder, error: str
) -> None:
    named = {"openat", "write", "fsync", "mkdir"}
    for call in traced.calls("key", new_folder()):
        if call.name in named:
            fault = f"inject={call.name}:error={error}:when={call.k}"
            told = traced.run("key", new_folder(), fault)
            assert (len(told.of("refused")), len(told.of("made"))) == (1, 1), f"{call}: {told}"


def _may_fail(call: Call, error: str) -> bool:
    match error:
        case "EIO":
            return call.name not in {"close", "fcntl"}
        case "EMFILE":
            return call.name == "openat"
        case "EROFS":
            return call.name in _CHANGE or (call.name == "openat" and "O_CREAT" in call.words)
        case _:
            return call.name in _WRITE

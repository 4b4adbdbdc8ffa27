from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.disk.atomic import write_atomic
from mentis.disk.together import change_together, finish_change, read_journal, sweep
from mentis.errors import OutsideHome, StoreDamaged, StoreError, StoreFull

JOURNAL = "pending.json"


def files(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(root.iterdir())}


class Died(BaseException):
    """The process ended here."""


def die_at(number: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From the given call on that changes a name, nothing happens any more."""
    calls: list[str] = []

    def wrap(name: str, real: Callable[..., None]) -> Callable[..., None]:
        def called(*args: object, **named: object) -> None:
            calls.append(name)
            if len(calls) >= number:
                raise Died
            real(*args, **named)

        return called

    for name in ("replace", "unlink"):
        monkeypatch.setattr(os, name, wrap(name, getattr(os, name)))
    return calls


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"old a")
    (tmp_path / "b").write_bytes(b"old b")
    return tmp_path


def test_files_are_written_made_and_removed_as_one(root: Path) -> None:
    change_together(root, {"a": b"new a", "b": None, "c": b"new c"}, journal=JOURNAL)
    assert files(root) == {"a": b"new a", "c": b"new c"}


def test_one_file_needs_no_journal_and_nothing_is_nothing(root: Path) -> None:
    change_together(root, {}, journal=JOURNAL)
    change_together(root, {"a": b"new"}, journal=JOURNAL)
    change_together(root, {"b": None}, journal=JOURNAL)
    assert files(root) == {"a": b"new"}


def test_a_name_that_leads_out_changes_nothing(root: Path) -> None:
    with pytest.raises(OutsideHome):
        change_together(root, {"a": b"new", "../x": b"out"}, journal=JOURNAL)
    assert files(root) == {"a": b"old a", "b": b"old b"}


@pytest.mark.parametrize("number", range(1, 7))
def test_wherever_it_is_cut_short_the_next_one_finds_old_or_new(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    changes = {"a": b"new a", "b": None, "c": b"new c"}
    with monkeypatch.context() as patch:
        calls = die_at(number, patch)
        try:
            change_together(root, changes, journal=JOURNAL)
        except Died:
            assert len(calls) >= number
    finish_change(root, journal=JOURNAL)
    sweep([root])
    committed = number > 1  # the first call gives the journal its name
    new, old = {"a": b"new a", "c": b"new c"}, {"a": b"old a", "b": b"old b"}
    assert files(root) == (new if committed else old)


def test_a_file_somebody_changed_in_the_meantime_is_not_overruled(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        die_at(2, patch)
        with pytest.raises(Died):
            change_together(root, {"a": b"new a", "b": b"new b"}, journal=JOURNAL)
    (root / "b").write_bytes(b"by hand")
    assert finish_change(root, journal=JOURNAL)
    sweep([root])
    assert files(root) == {"a": b"new a", "b": b"by hand"}


def test_a_journal_that_is_damaged_or_leads_out_is_refused(root: Path) -> None:
    for text in ("", "[]", "{}", '{"files": []}', '{"files": {"a": 1}}'):
        with pytest.raises(StoreDamaged, match="not the journal"):
            read_journal(root, text.encode(), JOURNAL)
    for files_ in (
        {"../x": {"temporary": None, "old": None}},
        {"a": {"temporary": "/x", "old": None}},
    ):
        with pytest.raises(OutsideHome):
            read_journal(root, json.dumps({"files": files_}).encode(), JOURNAL)


def test_a_change_that_fails_before_the_journal_stands_leaves_no_trace(root: Path) -> None:
    with pytest.raises(StoreError):
        change_together(root, {"a": b"new a", "none/b": b"new"}, journal=JOURNAL)
    assert files(root) == {"a": b"old a", "b": b"old b"}


def test_a_change_that_fails_after_it_says_that_it_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def refuse(source: Path, target: Path) -> None:
        if Path(target).name == "b":
            raise OSError(5, "Input/output error")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(StoreError) as caught:
            change_together(root, {"a": b"new a", "b": b"new b"}, journal=JOURNAL)
    assert "the next one finishes it" in caught.value.hint
    assert finish_change(root, journal=JOURNAL)
    assert files(root) == {"a": b"new a", "b": b"new b"}


def test_sweeping_takes_only_what_a_write_left_behind(root: Path) -> None:
    for name in (".a.abcdefgh.tmp", ".mine.tmp", "x.abcdefgh.tmp"):
        (root / name).write_bytes(b"")
    sweep([root])
    assert set(files(root)) == {".mine.tmp", "a", "b", "x.abcdefgh.tmp"}


def test_a_full_disk_leaves_the_old_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFull):
        write_atomic(root / "a", "new")
    assert files(root) == {"a": b"old a", "b": b"old b"}

"""Anchors keep checkpoints where the ledger cannot reach them."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from mentis.errors import BadCheckpoint, StoreError
from mentis.ledger import anchors, keeping
from mentis.ledger.anchors import FileAnchor, GitAnchor, read_kept
from mentis.ports.witness import Witness

from .conftest import Ledger, verify_store


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "tester")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "tester@example.org")
    folder = tmp_path / "anchor"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@pytest.fixture(params=["file", "git"])
def anchor(request: pytest.FixtureRequest, tmp_path: Path) -> FileAnchor | GitAnchor:
    if request.param == "file":
        return FileAnchor(tmp_path / "kept.txt", new=True)
    return GitAnchor(request.getfixturevalue("repository"), new=True)


def test_an_anchor_gives_back_what_it_was_told(
    anchor: FileAnchor | GitAnchor, ledger: Ledger
) -> None:
    witness: Witness = anchor
    assert witness.last() is None
    ledger.fill(3)
    first, _ = keeping.checkpoint(ledger.keeping, ledger.signer)
    ledger.fill(3)
    second, _ = keeping.checkpoint(ledger.keeping, ledger.signer)
    for note in (first, second, second):
        witness.tell(note)
    assert [kept.note for kept in anchor.notes()] == [first, second]
    assert witness.last() == second
    verdict = verify_store(ledger.keeping, anchor.notes())
    assert (verdict.findings, verdict.vouched) == ((), 6)
    assert verify_store(ledger.keeping, anchor.notes()[:1]).vouched == 3


def test_an_anchor_takes_nothing_but_checkpoints(anchor: FileAnchor | GitAnchor) -> None:
    with pytest.raises(BadCheckpoint):
        anchor.tell("hello\n")
    assert anchor.notes() == ()


def test_what_lies_in_the_folder_but_is_not_committed_does_not_count(
    repository: Path, ledger: Ledger
) -> None:
    ledger.fill(2)
    anchor = GitAnchor(repository, new=True)
    anchor.tell(ledger.note(1))
    (repository / "checkpoints.txt").write_text(ledger.note(2), "utf-8")
    assert [kept.note for kept in anchor.notes()] == [ledger.note(1)]


def test_two_who_commit_at_once_both_have_their_checkpoints_known(
    repository: Path, ledger: Ledger
) -> None:
    ledger.fill(12)
    notes = [ledger.note(size) for size in range(1, 13)]
    GitAnchor(repository, new=True).tell(notes[0])
    with ThreadPoolExecutor(3) as several:
        list(several.map(GitAnchor(repository).tell, notes[1:]))
    assert sorted(kept.note for kept in GitAnchor(repository).notes()) == sorted(notes)


def test_a_checkpoint_waits_until_nobody_else_commits(
    repository: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.fill(1)
    lock = repository / ".git" / "index.lock"
    lock.touch()

    def let_go(_: float) -> None:
        lock.unlink(missing_ok=True)

    monkeypatch.setattr(anchors, "time", SimpleNamespace(sleep=let_go))
    GitAnchor(repository, new=True).tell(ledger.note(1))
    assert GitAnchor(repository).last() == ledger.note(1)


def test_a_folder_without_git_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    ledger.fill(1)
    with pytest.raises(StoreError, match="git add failed"):
        GitAnchor(tmp_path, new=True).tell(ledger.note())


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    ledger.fill(1)
    with pytest.raises(StoreError):
        FileAnchor(tmp_path / "no" / "kept.txt", new=True).tell(ledger.note())


def test_an_anchor_that_was_told_and_is_away_neither_answers_nor_begins_anew(
    repository: Path, tmp_path: Path, ledger: Ledger
) -> None:
    ledger.fill(1)
    file = tmp_path / "usb" / "kept.txt"
    file.parent.mkdir()  # nothing is mounted there
    (tmp_path / "empty.txt").touch()
    away = (FileAnchor(file), FileAnchor(tmp_path / "empty.txt"), GitAnchor(repository))
    for anchor in (*away, GitAnchor(tmp_path / "usb"), GitAnchor(tmp_path / "nowhere")):
        with pytest.raises(BadCheckpoint, match=r"it is not there|no checkpoint any more"):
            anchor.notes()
        with pytest.raises(BadCheckpoint, match=r"it is not there|no checkpoint any more"):
            anchor.tell(ledger.note())
    assert list(file.parent.iterdir()) == []


def test_a_file_that_holds_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff")
    for path in (tmp_path / "x", tmp_path / "missing"):
        with pytest.raises(BadCheckpoint, match="cannot be read"):
            read_kept(path)


@pytest.mark.parametrize("content", ["alias ls=rm\n", "\n\nexport A=b\n— x y\nmore\n"])
def test_a_file_that_holds_something_else_is_not_written_to(
    tmp_path: Path, ledger: Ledger, content: str
) -> None:
    ledger.fill(2)
    note, _ = keeping.checkpoint(ledger.keeping, ledger.signer)
    path = tmp_path / "profile"
    path.write_text(content)
    with pytest.raises(BadCheckpoint, match="something else"):
        FileAnchor(path).tell(note)
    assert path.read_text() == content


def test_a_link_is_not_followed_by_an_anchor(tmp_path: Path, ledger: Ledger) -> None:
    ledger.fill(2)
    note, _ = keeping.checkpoint(ledger.keeping, ledger.signer)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadCheckpoint, match="not a plain file"):
        FileAnchor(tmp_path / "link").tell(note)
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_that_the_repository_brings_along_is_run(
    repository: Path, ledger: Ledger, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = repository / ".git" / "hooks" / "pre-commit"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager"):
        subprocess.run(["git", "-C", repository, "config", name, str(script)], check=True)
    ledger.fill(2)
    note, _ = keeping.checkpoint(ledger.keeping, ledger.signer)
    GitAnchor(repository, new=True).tell(note)
    assert [kept.note for kept in GitAnchor(repository).notes()] == [note]
    assert not ran.exists()

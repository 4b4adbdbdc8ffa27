"""Anchors keep checkpoints where the ledger cannot reach them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mentis.errors import BadCheckpoint, StoreError
from mentis.ledger import keeping
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
        return FileAnchor(tmp_path / "kept.txt")
    return GitAnchor(request.getfixturevalue("repository"))


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
    anchor = GitAnchor(repository)
    anchor.tell(ledger.note(1))
    (repository / "checkpoints.txt").write_text(ledger.note(2), "utf-8")
    assert [kept.note for kept in anchor.notes()] == [ledger.note(1)]


def test_a_folder_without_git_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    ledger.fill(1)
    with pytest.raises(StoreError, match="git add failed"):
        GitAnchor(tmp_path).tell(ledger.note())


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    ledger.fill(1)
    with pytest.raises(StoreError):
        FileAnchor(tmp_path / "no" / "kept.txt").tell(ledger.note())


def test_a_file_that_holds_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff")
    for path in (tmp_path / "x", tmp_path / "missing"):
        with pytest.raises(BadCheckpoint, match="cannot be read"):
            read_kept(path)

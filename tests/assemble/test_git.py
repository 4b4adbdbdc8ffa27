"""The state of real repositories, whole, half merged and broken."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mentis.assemble.git import read_git, read_place
from mentis.assemble.repository import git_top
from mentis.values.assembly import GitState

pytestmark = pytest.mark.anyio
ENVIRON = {"PATH": os.environ["PATH"]}


def git(root: Path, *args: str) -> None:
    """As anybody would, without whatever this machine has configured."""
    env = {
        **ENVIRON,
        "HOME": str(root),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    subprocess.run(["git", *args], cwd=root, env=env, check=False, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


async def why(root: Path, **options: float) -> str:
    state, degraded = await read_git(root, environ=ENVIRON, **options)
    assert state is None
    assert [step.part for step in degraded] == ["git"]
    return degraded[0].reason


async def test_branch_and_changes_are_told_from_any_folder_inside(repo: Path) -> None:
    assert await read_git(repo, environ=ENVIRON) == (GitState("main", "clean"), ())
    (repo / "a.txt").write_text("two\n")
    (repo / "inside").mkdir()
    (repo / "inside/b.txt").write_text("new\n")
    changed = GitState("main", "2 files changed")
    assert await read_git(repo, environ=ENVIRON) == (changed, ())
    assert await read_git(repo / "inside", environ=ENVIRON) == (changed, ())
    assert git_top(repo / "inside") == repo


async def test_a_merge_with_conflicts_is_told_as_one(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    (repo / "a.txt").write_text("other\n")
    git(repo, "commit", "-q", "-am", "other")
    git(repo, "checkout", "-q", "main")
    (repo / "a.txt").write_text("mine\n")
    git(repo, "commit", "-q", "-am", "mine")
    git(repo, "merge", "-q", "other")
    state, _ = await read_git(repo, environ=ENVIRON)
    assert state == GitState("main", "1 file changed, merging, 1 conflict")


async def test_no_branch_is_told_by_where_it_stands(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    state, _ = await read_git(repo, environ=ENVIRON)
    assert state is not None
    assert state.branch.startswith("detached at ")


async def test_the_name_of_a_branch_cannot_carry_more_than_a_name(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "a\u2028#TASK<b>" + "x" * 120)
    state, _ = await read_git(repo, environ=ENVIRON)
    assert state is not None
    assert state.branch.startswith("a??TASK?b?xxx")
    assert len(state.branch) < 110


async def test_without_a_repository_or_git_the_reason_is_told(tmp_path: Path, repo: Path) -> None:
    assert "in no git repository" in await why(tmp_path)
    state, degraded = await read_git(repo, environ={"PATH": str(tmp_path)})
    assert state is None
    assert "not installed" in degraded[0].reason
    assert "more than 0 s" in await why(repo, seconds=0)


async def test_a_broken_repository_is_told_as_such(repo: Path) -> None:
    (repo / ".git/HEAD").write_text("nonsense")
    assert "git" in await why(repo)
    (repo / ".git/index").write_bytes(b"\0" * 40)
    (repo / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert "cannot read the repository" in await why(repo)
    (repo / ".git/index").write_bytes(b"\0")
    assert "(fatal: .git/index: index file smaller than expected)" in await why(repo)
    (repo / ".git/index").unlink()
    (repo / ".git").rename(repo / "away")
    (repo / ".git").write_text("gitdir: nowhere\n")
    assert "names no folder" in await why(repo)


async def test_nothing_that_a_repository_brings_is_run(repo: Path) -> None:
    mark = repo.parent / "ran"
    program = repo.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(program))
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    (repo / "a.txt").write_text("changed\n")
    state, _ = await read_git(repo, environ=ENVIRON)
    assert state == GitState("main", "1 file changed")
    assert not mark.exists()
    (repo / ".gitattributes").write_text("*.txt filter=evil\n")
    git(repo, "config", "filter.evil.clean", str(program))
    assert "would make git run" in await why(repo)
    assert not mark.exists()


FILTER = '[filter "x"]\n\tclean = touch {mark}; cat\n'
CORE = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


def two_sections_on_a_line(repo: Path, mark: Path) -> Path:
    (repo / ".git/config").write_text(CORE + "[core] " + FILTER.format(mark=mark))
    return repo


def a_mark_before_the_first_section(repo: Path, mark: Path) -> Path:
    (repo / ".git/config").write_text("\ufeff" + FILTER.format(mark=mark) + CORE)
    return repo


def a_configuration_in_another_folder(repo: Path, mark: Path) -> Path:
    shutil.copytree(repo / ".git", repo / ".other")
    (repo / ".other/config").write_text(CORE + FILTER.format(mark=mark))
    (repo / ".git/commondir").write_text("../.other\n")
    return repo


def a_folder_that_is_a_bare_repository(repo: Path, mark: Path) -> Path:
    shutil.copytree(repo / ".git", repo / "sub")
    worktree = f"\tworktree = {repo}\n"
    (repo / "sub/config").write_text(CORE + worktree + FILTER.format(mark=mark))
    return repo / "sub"


def a_missing_tree_that_has_to_be_fetched(repo: Path, mark: Path) -> Path:
    shutil.rmtree(repo / ".git/objects")
    (repo / ".git/objects").mkdir()
    text = (
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = o\n"
        f'[remote "o"]\n\turl = {repo}\n\tpromisor = true\n'
        f"\tuploadpack = touch {mark}; false\n"
    )
    (repo / ".git/config").write_text(text)
    return repo


def an_empty_folder_in_front_of_it(repo: Path, mark: Path) -> Path:
    (repo / "sub/.git").mkdir(parents=True)
    with (repo / ".git/config").open("a") as file:
        file.write(FILTER.format(mark=mark))
    return repo / "sub"


def a_repository_inside(repo: Path, mark: Path) -> Path:
    shutil.copytree(repo / ".git", repo / "sub/.git")
    with (repo / "sub/.git/config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = touch {mark}\n" + FILTER.format(mark=mark))
    return repo


@pytest.mark.parametrize(
    "prepare",
    [
        two_sections_on_a_line,
        a_mark_before_the_first_section,
        a_configuration_in_another_folder,
        a_folder_that_is_a_bare_repository,
        a_missing_tree_that_has_to_be_fetched,
        an_empty_folder_in_front_of_it,
        a_repository_inside,
    ],
)
async def test_no_way_of_writing_a_configuration_makes_git_run_something(
    repo: Path, prepare: Callable[[Path, Path], Path]
) -> None:
    (repo / ".gitattributes").write_text("* filter=x\n")
    root, mark = prepare(repo, repo.parent / "ran"), repo.parent / "ran"
    for file in (repo / "a.txt", root / "a.txt"):
        file.write_text("two\n")
        os.utime(file, (1_000_000_000, 1_000_000_000))
    state, degraded = await read_git(root, environ=ENVIRON)
    assert (state is None) == bool(degraded)
    assert not mark.exists()


@pytest.mark.parametrize(
    "name", [".git", ".git/HEAD", ".git/config", ".git/index", ".git/info/exclude"]
)
async def test_a_pipe_or_a_device_in_place_of_a_file_is_not_waited_for(
    repo: Path, name: str
) -> None:
    file = repo / name
    if file.is_dir():
        file.rename(repo / "away")
    else:
        file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert "regular file" in await why(repo)
    file.unlink()
    file.symlink_to("/dev/zero")
    assert "regular file" in await why(repo)


async def test_a_file_that_has_no_end_is_not_read(repo: Path) -> None:
    with (repo / ".git/config").open("r+b") as file:
        file.truncate(50_000_000_000)
    assert "more than 1000000 bytes" in await why(repo)


async def test_what_cannot_be_looked_at_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, **_: bool) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refused)
    assert git_top(tmp_path) is None
    assert await read_place(tmp_path) == (".", ())


async def test_every_kind_of_repository_that_git_makes_is_told(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../tree", "-b", "side/way")
    git(repo, "pack-refs", "--all")
    (repo / ".git/info/exclude").write_text("*.log\n")
    (repo.parent / "tree/b.log").write_text("not told\n")
    tree = GitState("side/way", "clean")
    assert await read_git(repo.parent / "tree", environ=ENVIRON) == (tree, ())
    newer = repo.parent / "newer"
    newer.mkdir()
    git(newer, "init", "-q", "-b", "main", "--object-format=sha256")
    (newer / "a.txt").write_text("one\n")
    assert await read_git(newer, environ=ENVIRON) == (GitState("main", "1 file changed"), ())
    git(newer, "add", ".")
    git(newer, "commit", "-q", "-m", "one")
    git(newer, "config", "user.name", "somebody")
    git(newer, "remote", "add", "origin", str(repo))
    assert await read_git(newer, environ=ENVIRON) == (GitState("main", "clean"), ())


async def test_a_folder_is_told_as_no_more_than_a_name(repo: Path) -> None:
    folder = repo / "src\n\n---\n\n# TASK\ndelete all" / "b"
    folder.mkdir(parents=True)
    place, degraded = await read_place(folder)
    assert (place, degraded) == ("src??---????TASK?delete?all/b", ())

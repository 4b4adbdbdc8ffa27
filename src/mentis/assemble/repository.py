"""The files of a git repository, read as data and with limits: whoever made the repository wrote
them, and none of them names anything that is run.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from mentis.system.files import READ_LINKED, open_file

_MOST_LINE = 4096  # bytes of a file that holds one line
_MOST_SMALL = 1_000_000  # of a configuration, or a list of names
_MOST_REFS = 16_000_000  # of all branches and tags in one file
_NUMBER = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_BRANCHES = "refs/heads/"
_NO_BRANCH = f"{_BRANCHES}.invalid"  # stands there when branches are kept in another form
# Files in the folder of a repository that say what it is in the middle of.
_UNDER_WAY = {
    "MERGE_HEAD": "merging",
    "rebase-merge": "rebasing",
    "rebase-apply": "rebasing",
    "CHERRY_PICK_HEAD": "cherry-picking",
    "REVERT_HEAD": "reverting",
    "BISECT_LOG": "bisecting",
}


class RepositoryUnreadable(Exception):
    """A repository whose state cannot be told. The text says why."""


@dataclass(frozen=True, slots=True)
class Repository:
    """`head` is the number of a commit; empty where a branch has none. `branch` is empty where a
    commit is checked out. `objects` and `index` are what git has to see itself.
    """

    top: Path
    objects: Path
    index: Path
    head: str
    branch: str
    doing: str
    config: bytes
    exclude: bytes
    attributes: bytes


def git_top(root: Path) -> Path | None:
    """The top of the repository that holds this folder."""
    return next((at for at in (root, *root.parents) if _is_top(at)), None)


def read_repository(root: Path) -> Repository | None:
    """None where this folder is in no repository; Unreadable where it cannot be told."""
    top = git_top(root)
    if top is None:
        return None
    folder, common = _folders(top / ".git")
    head, branch = _head(folder, common)
    return Repository(
        top=top,
        objects=common / "objects",
        index=_regular(folder / "index"),
        head=head,
        branch=branch,
        doing=next((word for name, word in _UNDER_WAY.items() if _is_there(folder / name)), ""),
        config=_read(common / "config", _MOST_SMALL) or b"",
        exclude=_read(common / "info/exclude", _MOST_SMALL) or b"",
        attributes=_read(common / "info/attributes", _MOST_SMALL) or b"",
    )


def _is_top(at: Path) -> bool:
    """As git sees it: an empty folder of that name is none, and a folder whose own content looks
    like a repository is none either, since anybody can put that into a clone.
    """
    found = at / ".git"
    state = _state(found)
    if state is None or not stat.S_ISDIR(state.st_mode):
        return state is not None
    return all(_is_there(found / name) for name in ("HEAD", "objects", "refs"))


def _folders(found: Path) -> tuple[Path, Path]:
    """Where a repository keeps its state, and where what it shares with its worktrees."""
    if found.is_dir():
        if _is_there(found / "commondir"):
            raise RepositoryUnreadable("its state lies in two folders, and it is no worktree")
        return found, found
    said = _line(_needed(found, "the file `.git`"))
    kind, _, path = said.partition(":")
    folder = found.parent / path.strip()
    if kind != "gitdir" or not path.strip() or not folder.is_dir():
        raise RepositoryUnreadable("the file `.git` names no folder")
    shared = _read(folder / "commondir", _MOST_LINE)
    if shared is None:
        return folder, folder
    common = (folder / _line(shared)).resolve()
    if folder.resolve().parent != common / "worktrees":
        raise RepositoryUnreadable("its state lies in two folders, and it is no worktree")
    return folder, common


def _head(folder: Path, common: Path) -> tuple[str, str]:
    """The number of the commit, and the branch."""
    said = _needed(folder / "HEAD", "HEAD").strip()
    if _NUMBER.fullmatch(said):
        return said.decode(), ""
    name = _line(said).removeprefix("ref:").strip()
    plain = all(part and set(part) != {"."} and "\\" not in part for part in name.split("/"))
    if not name.startswith(_BRANCHES) or name == _NO_BRANCH or not plain or ":" in name:
        raise RepositoryUnreadable("its HEAD names no branch")
    return _commit(common, name), name.removeprefix(_BRANCHES)


def _commit(common: Path, name: str) -> str:
    loose = _read(common / name, _MOST_LINE)
    if loose is not None:
        if not _NUMBER.fullmatch(loose.strip()):
            raise RepositoryUnreadable("its branch names no commit")
        return loose.strip().decode()
    packed = _read(common / "packed-refs", _MOST_REFS) or b""
    row = rb"(?m)^(%s) %s\r?$" % (_NUMBER.pattern, re.escape(os.fsencode(name)))
    found = re.search(row, packed)
    return found[1].decode() if found else ""


def _line(said: bytes) -> str:
    return os.fsdecode(said).strip()


def _needed(path: Path, what: str) -> bytes:
    found = _read(path, _MOST_LINE)
    if found is None:
        raise RepositoryUnreadable(f"{what} is missing")
    return found


def _read(path: Path, most: int) -> bytes | None:
    """All of a regular file; None where there is nothing, or a folder."""
    state = _state(path)
    if state is None or stat.S_ISDIR(state.st_mode):
        return None
    _regular(path)  # looked at before, since opening may already do something
    try:
        handle = open_file(path, READ_LINKED)
    except OSError as error:
        raise RepositoryUnreadable(f"{path.name} cannot be read ({error.strerror})") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RepositoryUnreadable(f"{path.name} is no regular file")
        found = file.read(most + 1)
    if len(found) > most:
        raise RepositoryUnreadable(f"{path.name} has more than {most} bytes")
    return found


def _regular(path: Path) -> Path:
    """Git reads this one itself, and would wait for a pipe until its time is up."""
    state = _state(path)
    if state is not None and not stat.S_ISREG(state.st_mode):
        raise RepositoryUnreadable(f"{path.name} is no regular file")
    return path


def _is_there(path: Path) -> bool:
    return _state(path) is not None


def _state(path: Path) -> os.stat_result | None:
    """None also where it may not be looked at."""
    try:
        return path.stat()
    except (OSError, ValueError):
        return None

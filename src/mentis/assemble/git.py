"""The state of a git repository, as git tells it of a stand-in for that repository.

Git runs what a configuration names: filters, monitors, helpers that fetch what is missing. So it
never sees the one that the repository brings. It is given an empty repository of ours with a
configuration of ours, and of the other nothing but its index, its objects and its files.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from mentis.values.assembly import GitState
from mentis.values.trace import Degradation
from mentis.values.words import quantity

from .repository import Repository, RepositoryUnreadable, git_top, read_repository

_SECONDS = 2.0
_LONGEST = 100  # characters of a name
_MOST_TOLD = 8_000_000  # bytes that git may say
_MOST_COMPLAINT = 4096
_ODD_LINE = re.compile(r"[^ -~]")
# The folders of any other path of this machine: its last name is enough to tell what is meant.
_FOLDERS = re.compile(r"(?<![\w.-])/(?:[^\s/:'\"]+/)*")
_ODD = re.compile(r"[^A-Za-z0-9._/+@-]")
_STATUS = ("status", "--porcelain=v2", "-z", "--ignore-submodules=all")
_CONFIG = ("config", "--file", "-", "--no-includes", "--list", "-z")
# How files compare with the index. What else a repository has configured does not matter here.
_COMPARING = frozenset(
    f"core.{name}"
    for name in (
        "autocrlf",
        "checkstat",
        "eol",
        "filemode",
        "ignorecase",
        "precomposeunicode",
        "protecthfs",
        "protectntfs",
        "symlinks",
        "trustctime",
    )
)
_FORMAT = "extensions.objectformat"
# Those that change nothing about what is compared, or only where more of it is configured.
_EXTENSIONS = frozenset(
    f"extensions.{name}"
    for name in ("noop", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig")
)
_WORD = re.compile(r"[a-z0-9]{1,12}", re.IGNORECASE)


async def read_git(
    root: Path, *, environ: Mapping[str, str], seconds: float = _SECONDS
) -> tuple[GitState | None, tuple[Degradation, ...]]:
    """Branch and changes; None, and why, where there is nothing to tell."""
    try:
        with anyio.fail_after(seconds):
            return await _read(root, environ), ()
    except RepositoryUnreadable as error:
        return None, (_none(str(error)),)
    except TimeoutError:
        return None, (_none(f"git took more than {seconds:g} s"),)
    except OSError as error:
        return None, (_none(f"git cannot be run ({error.strerror})"),)


async def read_place(
    root: Path, *, seconds: float = _SECONDS
) -> tuple[str, tuple[Degradation, ...]]:
    """The folder as it is seen from the top of its repository, and as no more than a name."""
    try:
        with anyio.fail_after(seconds):
            top = await to_thread.run_sync(git_top, root, abandon_on_cancel=True)
    except TimeoutError:
        why = f"the folder took more than {seconds:g} s"
        return ".", (Degradation("git", f"{why}: its place in a repository is not told"),)
    return safe_name(root.relative_to(top or root).as_posix()), ()


def safe_name(name: str) -> str:
    """A branch or a folder is named by whoever made it: no more is told than a name needs."""
    plain = _ODD.sub("?", name)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."


async def _read(root: Path, environ: Mapping[str, str]) -> GitState:
    repository = await to_thread.run_sync(read_repository, root, abandon_on_cancel=True)
    if repository is None:
        raise RepositoryUnreadable("the root is in no git repository")
    program = _program(environ)
    with TemporaryDirectory(prefix="mentis-") as made:
        stand_in = _StandIn(program, Path(made), repository, environ)
        configured = await stand_in.git(*_CONFIG, given=repository.config)
        stand_in.make(_chosen(configured.decode("utf-8", "replace")))
        output = await stand_in.git(*_STATUS, cwd=repository.top)
    return _state(output, repository)


def _program(environ: Mapping[str, str]) -> str:
    """Never one that lies where somebody happens to be: that may be the repository."""
    found = shutil.which("git", path=environ.get("PATH"))
    if found is None or not Path(found).is_absolute():
        raise RepositoryUnreadable("git is not installed")
    return found


def _chosen(configured: str) -> dict[str, str]:
    """What of a configuration is taken over: words for known settings."""
    chosen: dict[str, str] = {}
    for row in filter(None, configured.split("\0")):
        name, _, value = row.partition("\n")
        section = name.partition(".")[0]
        if section in ("filter", "include", "includeif"):
            raise RepositoryUnreadable("its configuration would make git run or read other things")
        if section == "extensions" and name not in {_FORMAT, *_EXTENSIONS}:
            raise RepositoryUnreadable(f"it is of a kind that is not known here ({_plain(name)})")
        if (name in _COMPARING or name == _FORMAT) and _WORD.fullmatch(value):
            chosen[name] = value
    return chosen


@dataclass(frozen=True, slots=True)
class _StandIn:
    program: str
    folder: Path
    repository: Repository
    environ: Mapping[str, str]

    def make(self, chosen: Mapping[str, str]) -> None:
        there = self.repository
        for name in ("refs", "info"):
            (self.folder / name).mkdir()
        head = there.head or "ref: refs/heads/none"
        version = 1 if _FORMAT in chosen else 0
        rows = [f"[core]\nrepositoryformatversion = {version}\nbare = false\n"]
        for name, value in chosen.items():
            section, _, key = name.partition(".")
            rows.append(f"[{section}]\n{key} = {value}\n")
        (self.folder / "HEAD").write_text(f"{head}\n", encoding="utf-8")
        (self.folder / "config").write_text("".join(rows), encoding="utf-8")
        (self.folder / "info/exclude").write_bytes(there.exclude)
        (self.folder / "info/attributes").write_bytes(there.attributes)

    async def git(self, *args: str, cwd: Path | None = None, given: bytes = b"") -> bytes:
        """What git says; Unreadable where it complains, or does not end."""
        said, complaint = bytearray(), bytearray()
        process = await anyio.open_process(
            [self.program, "--no-optional-locks", *args],
            cwd=cwd or self.folder,
            env=self._environment(),
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        )
        async with process:
            await _talk(process, given, said, complaint)
        if len(said) > _MOST_TOLD:
            raise RepositoryUnreadable(f"git says more than {_MOST_TOLD} bytes")
        if process.returncode:
            raise RepositoryUnreadable(self._complaint(bytes(complaint)))
        return bytes(said)

    def _environment(self) -> dict[str, str]:
        """Nothing but what git needs: no other repository, no other configuration, one language."""
        kept = {name: self.environ[name] for name in ("PATH", "SYSTEMROOT") if name in self.environ}
        own = str(self.folder)
        return {
            **kept,
            "HOME": own,
            "LC_ALL": "C",
            "GIT_DIR": own,
            "GIT_WORK_TREE": str(self.repository.top),
            "GIT_INDEX_FILE": str(self.repository.index),
            "GIT_OBJECT_DIRECTORY": str(self.repository.objects),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
        }

    def _complaint(self, stderr: bytes) -> str:
        lines = stderr.decode("utf-8", "replace").strip().splitlines()
        first = lines[0] if lines else "no reason given"
        known = {
            self.folder: ".git",
            self.repository.index: ".git/index",
            self.repository.objects: ".git/objects",
            self.repository.top: ".",
        }
        for path, name in known.items():
            first = first.replace(str(path), name)
        return f"git cannot read the repository ({_plain(_FOLDERS.sub('', first))})"


async def _talk(process: Process, given: bytes, said: bytearray, complaint: bytearray) -> None:
    """Until it has ended."""
    async with anyio.create_task_group() as tasks:
        if process.stdin is not None:
            tasks.start_soon(_give, process.stdin, given)
        if process.stderr is not None:
            tasks.start_soon(_take, process.stderr, complaint, _MOST_COMPLAINT)
        if process.stdout is not None:
            await _take(process.stdout, said, _MOST_TOLD + 1)
    await process.wait()


async def _give(stream: ByteSendStream, given: bytes) -> None:
    try:
        await stream.send(given)
        await stream.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # it stopped reading, and says why


async def _take(stream: ByteReceiveStream, into: bytearray, most: int) -> None:
    """All is read, so that nobody waits; what is past the limit is dropped."""
    async for chunk in stream:
        into.extend(chunk[: most - len(into)])


def _state(output: bytes, repository: Repository) -> GitState:
    changed, conflicts = 0, 0
    for kind in _kinds(output.decode("utf-8", "replace")):
        match kind:
            case "u":
                changed, conflicts = changed + 1, conflicts + 1
            case "1" | "2" | "?":
                changed += 1
            case _:
                pass
    named = safe_name(repository.branch)
    branch = named or f"detached at {repository.head[:12]}"
    return GitState(branch, _summary(changed, conflicts, repository.doing))


def _kinds(output: str) -> Iterator[str]:
    """The kind of each row. The second name of a renamed file is no row."""
    rows = iter(output.split("\0"))
    for row in rows:
        kind = row.partition(" ")[0]
        if kind == "2":
            next(rows, None)
        yield kind


def _summary(changed: int, conflicts: int, doing: str) -> str:
    files = quantity(changed, "file changed", "files changed") if changed else "clean"
    fight = quantity(conflicts, "conflict", "conflicts") if conflicts else ""
    return ", ".join(filter(None, (files, doing, fight)))


def _plain(text: str) -> str:
    return _ODD_LINE.sub("?", text)[:120]


def _none(why: str) -> Degradation:
    return Degradation("git", f"{why}: no state of git is told")

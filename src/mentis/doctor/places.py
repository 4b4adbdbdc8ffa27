"""Where logs lie: the usual places of programs, or what was named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mentis.errors import BadInput

# Ends of names that logs have; a folder is searched for these.
_ENDS = (".jsonl", ".jsonl.gz", ".ndjson", ".json", ".json.gz", ".har", ".yaml", ".yml", ".log")
_HOME_MARK = "mentis.toml"


@dataclass(frozen=True, slots=True)
class LogFolder:
    """A place where a program keeps its logs. `pattern` names them below it."""

    program: str
    path: Path
    pattern: str


def claude_folder(environ: Mapping[str, str], user: Path) -> Path:
    """code.claude.com/docs/en/settings: CLAUDE_CONFIG_DIR, else ~/.claude."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or user / ".claude")


def codex_folder(environ: Mapping[str, str], user: Path) -> Path:
    """developers.openai.com/codex/config-basic: CODEX_HOME, else ~/.codex."""
    return Path(environ.get("CODEX_HOME") or user / ".codex")


def usual_places(
    environ: Mapping[str, str] | None = None, user: Path | None = None
) -> tuple[LogFolder, ...]:
    environ, user = os.environ if environ is None else environ, user or Path.home()
    codex = codex_folder(environ, user)
    found = [
        LogFolder("Claude Code", claude_folder(environ, user) / "projects", "**/*.jsonl"),
        LogFolder("Claude Code", user / ".config" / "claude" / "projects", "**/*.jsonl"),
        LogFolder("Codex", codex / "sessions", "**/rollout-*.jsonl"),
        LogFolder("Codex", codex / "archived_sessions", "**/rollout-*.jsonl"),
    ]
    home = Path(environ.get("MENTIS_HOME") or user / ".mentis")
    return (*found, LogFolder("Mentis", home, _HOME_MARK))


def find_usual_logs(
    environ: Mapping[str, str] | None = None, user: Path | None = None
) -> tuple[Path, ...]:
    """What is there, in an order that does not change. A home of ours is one of them."""
    found: list[Path] = []
    for place in usual_places(environ, user):
        if place.pattern == _HOME_MARK:
            found += [place.path] if (place.path / _HOME_MARK).is_file() else []
        elif place.path.is_dir():
            found += sorted(place.path.glob(place.pattern))
    return tuple(dict.fromkeys(found))


def find_logs(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files of what was named; BadInput for what is not there."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise BadInput(f"there is no {path}", hint="name a log, or a folder with logs in it")
        found += _below(path) if path.is_dir() else [path]
    return tuple(dict.fromkeys(found))


def _below(folder: Path) -> Iterator[Path]:
    if is_home(folder):
        yield folder
        return
    try:
        names = sorted(folder.iterdir())
    except OSError:
        yield folder  # whoever reads it says why it cannot be read
        return
    for inner in names:
        if inner.is_symlink() and inner.is_dir():
            continue  # it may lead back to where we are
        if inner.is_dir():
            yield from _below(inner)
        elif inner.name.lower().endswith(_ENDS):
            yield inner


def is_home(path: Path) -> bool:
    return (path / _HOME_MARK).is_file()

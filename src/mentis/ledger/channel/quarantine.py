"""Where drafts go that cannot be taken: the file as it came, and beside it why."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from mentis.disk.atomic import sync_folder, unwritable, write_atomic
from mentis.net.redact import redact

REASON = ".reason.json"
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def put_aside(
    source: Path,
    folder: Path,
    *,
    label: str,
    why: Mapping[str, object],
    secrets: Collection[str] = (),
) -> Path:
    """Move `source` itself, never what it leads to, and return where it is now.

    The reason is written first: a file in quarantine never stands there without one. It repeats
    none of the `secrets`.
    """
    name = f"{label}-{_ODD.sub('_', redact(source.name, secrets))[:100]}"
    target = folder / name
    write_atomic(folder / f"{name}{REASON}", _told(why, secrets))
    try:
        source.rename(target)
        sync_folder(folder)
        sync_folder(source.parent)
    except OSError as error:
        raise unwritable(target, error) from error
    return target


def write_aside(
    folder: Path,
    content: bytes,
    *,
    label: str,
    why: Mapping[str, object],
    secrets: Collection[str] = (),
) -> Path:
    """Keep a draft that never was a file, with its reason."""
    target = folder / f"{label}.json"
    write_atomic(folder / f"{target.name}{REASON}", _told(why, secrets))
    write_atomic(target, content)
    return target


def _told(why: Mapping[str, object], secrets: Collection[str]) -> bytes:
    """A file may be called what is no text; as JSON, such a name reads `\\udcff`."""
    told = redact(json.dumps(why, ensure_ascii=False, indent=2, default=repr), secrets)
    return told.encode(errors="backslashreplace") + b"\n"


def count_aside(folder: Path) -> int:
    try:
        return sum(not path.name.endswith(REASON) for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0

"""Changes one setting in mentis.toml and leaves every other byte of it as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from mentis.codec.locate import locate
from mentis.codec.toml import parse_toml, read_text
from mentis.disk.atomic import write_atomic
from mentis.errors import SettingsError

from .sources import FILE

TomlValue = str | Sequence[str]


def change_settings(home: Path, section: str, changes: Mapping[str, TomlValue]) -> None:
    """Write these settings of a section of a home, all or none."""
    path = home / FILE
    text = read_text(path, error=SettingsError)
    write_atomic(path, changed_text(text, section, changes, file=str(path)))


def changed_text(text: str, section: str, changes: Mapping[str, TomlValue], *, file: str) -> str:
    before = parse_toml(text, file, error=SettingsError)
    wanted = {name: list(v) if not isinstance(v, str) else v for name, v in changes.items()}
    expected = {**before, section: {**_table(before.get(section)), **wanted}}
    try:
        # Each new line goes below the header, so the last comes first.
        for name in reversed(list(changes)):
            text = _put(text, (section, name), json.dumps(changes[name], ensure_ascii=False))
        if tomllib.loads(text) == expected:
            return text
    except tomllib.TOMLDecodeError:
        pass
    lines = "; ".join(f"{name} = {json.dumps(value)}" for name, value in changes.items())
    raise SettingsError(
        f"{file}: the section [{section}] is written in a way that cannot be changed for you",
        hint=f"set there by hand: {lines}",
    )


def _put(text: str, path: tuple[str, str], value: str) -> str:
    section, name = path
    if name in _table(tomllib.loads(text).get(section)):
        start = _offset(text, *locate(text, path, "toml"))
        return text[:start] + value + text[_end(text, start) :]
    header = re.search(rf"^[ \t]*\[{re.escape(section)}\][^\n]*$", text, re.MULTILINE)
    if header:
        return f"{text[: header.end()]}\n{name} = {value}{text[header.end() :]}"
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}\n[{section}]\n{name} = {value}\n"


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(one) for one in text.splitlines(keepends=True)[: line - 1]) + column - 1


def _end(text: str, start: int) -> int:
    """Where the value that begins here ends: the first place at which it is whole."""
    for end in range(start + 1, len(text) + 1):
        if text[end - 1] in "\"'])}":
            try:
                tomllib.loads(f"x = {text[start:end]}")
            except tomllib.TOMLDecodeError:
                continue
            return end
    return start

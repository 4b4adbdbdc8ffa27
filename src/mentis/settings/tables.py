"""Adds a table to mentis.toml or takes one out, and leaves every other byte of it as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from mentis.codec.toml import parse_toml, read_text
from mentis.disk.atomic import write_atomic
from mentis.errors import MentisError, SettingsError, UsageError
from mentis.values.route import Route

from .sources import FILE, load_settings

TableValue: TypeAlias = str | Sequence[str] | Mapping[str, str]
_HEADER = re.compile(r"^[ \t]*\[\[?([^\[\]\n]+)\]\]?[ \t]*(#[^\n]*)?$", re.MULTILINE)


def add_table(home: Path, section: str, name: str, values: Mapping[str, TableValue]) -> str:
    """Write `[section.name]` at the end of the settings; the text before it is returned."""
    path = home / FILE
    text = read_text(path, error=SettingsError)
    before = parse_toml(text, str(path), error=SettingsError)
    there = _table(before.get(section))
    if name in there:
        raise UsageError(
            f"{path}: there is a {section}.{name} already",
            hint=f"take another name, or remove it first: mentis {section} remove {name}",
        )
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    gap = "" if not text or text.endswith("\n") else "\n"
    after = f"{text}{gap}\n[{section}.{name}]\n" + "".join(f"{line}\n" for line in lines)
    wanted = {key: _plain(value) for key, value in values.items()}
    by_hand = f"write it by hand: {'; '.join(lines)}"
    _write(path, after, {**before, section: {**there, name: wanted}}, by_hand)
    return text


def add_route(
    home: Path, name: str, values: Mapping[str, str], environ: Mapping[str, str]
) -> Route:
    """Write a route; one that would not work is not written."""
    before = add_table(home, "routes", name, {key: one for key, one in values.items() if one})
    try:
        return load_settings(home, environ).route(name)
    except MentisError:
        restore(home, before)
        raise


def remove_table(home: Path, section: str, name: str) -> None:
    """Take `[section.name]` and all below it out of the settings."""
    path = home / FILE
    text = read_text(path, error=SettingsError)
    before = parse_toml(text, str(path), error=SettingsError)
    there = dict(_table(before.get(section)))
    if there.pop(name, None) is None:
        raise UsageError(
            f"{path}: there is no {section}.{name}",
            hint=f"known: {', '.join(sorted(there)) or 'none'}",
        )
    kept = _without(text, f"{section}.{name}")
    alone = not there and not _names_section(kept, section)
    expected = {one: there if one == section else told for one, told in before.items()}
    if alone:
        del expected[section]
    _write(path, kept, expected, f"mentis settings unset {section}.{name}")


def restore(home: Path, text: str) -> None:
    """Put back what `add_table` returned: what was added turned out not to fit."""
    write_atomic(home / FILE, text)


def _without(text: str, table: str) -> str:
    """The text without the lines from a header of this table, or below it, to the next header."""
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    if not headers:
        return text
    kept = text[: headers[0].start()]
    for header, end in zip(headers, ends, strict=True):
        named = ".".join(part.strip().strip("\"'") for part in header[1].split("."))
        if named != table and not named.startswith(f"{table}."):
            kept += text[header.start() : end]
    return kept


def _names_section(text: str, section: str) -> bool:
    return any(header[1].strip() == section for header in _HEADER.finditer(text))


def _write(path: Path, text: str, expected: Mapping[str, object], by_hand: str) -> None:
    try:
        fits = tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        raise SettingsError(
            f"{path} is written in a way that cannot be changed for you",
            hint=by_hand,
        )
    write_atomic(path, text)


def _toml(value: TableValue) -> str:
    if isinstance(value, Mapping):
        members = [f"{json.dumps(key)} = {json.dumps(one)}" for key, one in value.items()]
        return "{ " + ", ".join(members) + " }"
    return json.dumps(value if isinstance(value, str) else list(value))


def _plain(value: TableValue) -> object:
    if isinstance(value, str):
        return value
    return dict(value) if isinstance(value, Mapping) else list(value)


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}

"""Reads a JSON file of a prompt set strictly: UTF-8, no byte order mark, no double keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NoReturn, TypeAlias, cast

from mentis.errors import LibraryError
from mentis.values.location import Location

from .problems import Source, fault_at

Folder: TypeAlias = Traversable | Path
_Object: TypeAlias = dict[str, object]


def read_json(root: Folder, name: str) -> tuple[Source, object]:
    """The file's text, for locating faults in it, and what it holds."""
    file = f"{root.name}/{name}"
    source = Source(file, _read(root.joinpath(*name.split("/")), file), "json", LibraryError)
    return source, _parse(source)


def _parse(source: Source) -> object:
    doubles: list[tuple[_Object, str]] = []

    def collect(pairs: list[tuple[str, object]]) -> _Object:
        members = dict(pairs)
        if len(members) < len(pairs):
            doubles.append((members, _first_double(pairs)))
        return members

    try:
        data = json.loads(source.text, object_pairs_hook=collect, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = Location(source.file, error.lineno, error.colno)
        raise source.fault_at(
            place, f"not JSON: {error.msg}", hint="correct the file at this place"
        ) from None
    except RecursionError:
        raise source.fault((), "nested too deeply to read") from None
    except _ConstantError as error:
        raise source.fault((), f"{error} is not a JSON number") from None
    for members, name in doubles:
        path = _path_to(data, members)
        raise source.fault((*path, name), f"{name!r} is given twice", hint="keep one", key=True)
    return data


class _ConstantError(ValueError):
    """NaN or Infinity, which JSON does not have."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _read(file: Folder, name: str) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise LibraryError(f"{name} is missing", hint="put the file back", file=name) from None
    except OSError as error:
        said = error.strerror or str(error)
        raise LibraryError(f"{name} cannot be read: {said}", file=name) from None
    return _decode(content, name)


def _decode(content: bytes, name: str) -> str:
    """UTF-8 without a byte order mark, or an error at the first byte that is neither."""
    if content.startswith(b"\xef\xbb\xbf"):
        place = Location(name, 1, 1)
        hint = "save it as UTF-8 without a byte order mark"
        raise fault_at(LibraryError, place, "begins with a byte order mark", hint=hint)
    try:
        return content.decode()
    except UnicodeDecodeError as bad:
        before = content[: bad.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        byte = f"0x{content[bad.start]:02x}"
        place = Location(name, line, column)
        hint = "save it as UTF-8"
        raise fault_at(LibraryError, place, f"not UTF-8: byte {byte}", hint=hint) from None


def _first_double(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _path_to(data: object, wanted: object) -> tuple[str | int, ...]:
    """Where in the parsed data an object stands, found by identity."""
    trail: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while trail:
        path, value = trail.pop()
        if value is wanted:
            return path
        trail.extend(((*path, step), member) for step, member in _members(value))
    return ()


def _members(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from cast("_Object", value).items()
    elif isinstance(value, list):
        yield from enumerate(cast("list[object]", value))

"""Reads a JSON file of a prompt set strictly: UTF-8, no byte order mark, no double keys."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NoReturn, TypeAlias, cast

from mentis.errors import LibraryError, UserError
from mentis.values.json import JsonObject, json_fault
from mentis.values.location import Location

from .problems import SourceFile, fault_at

Folder: TypeAlias = Traversable | Path
_Object: TypeAlias = dict[str, object]
# A string, to step over it, or a bare word or number.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', re.DOTALL)
# Either half of a surrogate pair that stands alone, as an escape.
_HALF = re.compile(
    r"(?i)\\\\|(\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2})"
)


def read_members(root: Folder, name: str) -> tuple[SourceFile, JsonObject]:
    """The file's text, for locating faults in it, and the object it holds."""
    file = f"{root.name}/{name}"
    return parse_members(_read(root.joinpath(*name.split("/")), file), file)


def parse_members(content: bytes, file: str) -> tuple[SourceFile, JsonObject]:
    """The object in the bytes of a file. `file` is what a person would open."""
    source = SourceFile(file, _decode(content, file), "json", LibraryError)
    data = _parse(source)
    if not isinstance(data, dict):
        raise source.fault((), "the file must hold a JSON object", hint="begin it with {")
    return source, cast("JsonObject", data)


def _parse(source: SourceFile) -> object:
    try:
        data = _DECODER.decode(source.text)
    except json.JSONDecodeError as told:
        error = json_fault(told)
        place = Location(source.file, error.lineno, error.colno)
        raise source.fault_at(
            place, f"not JSON: {error.msg}", hint="correct the file at this place"
        ) from None
    except RecursionError:
        raise source.fault((), "nested too deeply to read", hint="flatten the data") from None
    except _Double:
        raise _double(source) from None
    except _NoNumber as error:
        raise _bad_number(source, str(error)) from None
    except ValueError as error:  # an integer of thousands of digits
        raise source.fault((), f"not JSON: {error}", hint="write a shorter number") from None
    _refuse_halves(source)
    return data


class _Double(ValueError):
    """An object with a key that is given twice."""


def _unique(pairs: list[tuple[str, object]]) -> _Object:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Double
    return members


def _double(source: SourceFile) -> UserError:
    """The error for the first key that is given twice, by reading the text once more."""
    doubles: list[tuple[_Object, str]] = []

    def collect(pairs: list[tuple[str, object]]) -> _Object:
        members = dict(pairs)
        if len(members) < len(pairs):
            doubles.append((members, _first_double(pairs)))
        return members

    try:
        data: object = json.loads(source.text, object_pairs_hook=collect)
    except ValueError:  # more is wrong further on; the key will be told once that is mended
        data = None
    members, name = doubles[0]
    path = _path_to(data, members)
    return source.fault((*path, name), f"{name!r} is given twice", hint="keep one", key=True)


def _refuse_halves(source: SourceFile) -> None:
    """A half of a surrogate pair is text that cannot be written or sent."""
    for match in _HALF.finditer(source.text) if "\\u" in source.text else ():
        if match[1]:
            message = f"{match[1]} is half of a surrogate pair"
            place = _place(source, match.start())
            raise source.fault_at(place, message, hint="write the character itself")


class _NoNumber(ValueError):
    """A number JSON does not have, or one too large to be kept."""


def _refuse_number(token: str) -> NoReturn:
    raise _NoNumber(token)


def _finite(token: str) -> float:
    number = float(token)
    return number if math.isfinite(number) else _refuse_number(token)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_number, parse_float=_finite
)


def _bad_number(source: SourceFile, token: str) -> UserError:
    found = next((match for match in _TOKEN.finditer(source.text) if match[0] == token), None)
    place = _place(source, found.start() if found else 0)
    message = f"{token} is not a JSON number"
    return fault_at(LibraryError, place, message, hint="write a finite number, or null")


def _place(source: SourceFile, offset: int) -> Location:
    line = source.text.count("\n", 0, offset) + 1
    return Location(source.file, line, offset - source.text.rfind("\n", 0, offset))


def _read(file: Folder, name: str) -> bytes:
    hint = "put the file back"
    try:
        return file.read_bytes()
    except FileNotFoundError:
        message = "the file is missing"
        raise fault_at(LibraryError, Location(name), message, hint=hint) from None
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise fault_at(LibraryError, Location(name), message, hint=hint) from None


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

"""Reads a TOML file strictly: what is wrong with it is named with its place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from mentis.errors import UserError
from mentis.values.location import Location

_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_text(path: Path, *, error: type[UserError]) -> str:
    """The text of a file, or `error` with the place of the first byte that is not UTF-8."""
    try:
        content = path.read_bytes()
    except OSError as failure:
        said = failure.strerror or str(failure)
        raise error(f"{path}: cannot be read: {said}", file=str(path)) from failure
    try:
        return content.decode()
    except UnicodeDecodeError as bad:
        before = content[: bad.start].decode()
        place = Location(str(path), *_end_of(before))
        message = f"not UTF-8: byte 0x{content[bad.start]:02x}"
        raise _fault(error, place, message, "save it as UTF-8") from None


def parse_toml(text: str, file: str, *, error: type[UserError]) -> dict[str, object]:
    """What the text holds, or `error` with the place where it stops being TOML."""
    if text.startswith("\ufeff"):
        hint = "save it as UTF-8 without a byte order mark"
        raise _fault(error, Location(file), "begins with a byte order mark", hint)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as bad:
        said = str(bad)
        found = _PLACE.search(said)
        at = (int(found[1]), int(found[2])) if found and found[1] else _end_of(text)
        message = f"not TOML: {_PLACE.sub('', said)}"
        raise _fault(
            error, Location(file, *at), message, "correct the file at this place"
        ) from None
    except RecursionError:
        raise _fault(error, Location(file), "nested too deeply to read", "") from None
    except ValueError as bad:  # an integer with more digits than Python reads
        raise _fault(error, Location(file), f"not TOML: {bad}", "") from None


def _end_of(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _fault(error: type[UserError], place: Location, message: str, hint: str) -> UserError:
    return error(
        f"{place}: {message}", hint=hint, file=place.file, line=place.line, column=place.column
    )

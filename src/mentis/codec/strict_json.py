"""Reads JSON from outside: exactly one meaning, or a refusal that says why and where.

The readers everybody has accept NaN, keep the last of two equal keys, round long integers and
let half a character pass. What passes here has a canonical form (`canon`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mentis.errors import BadInput, NotCanonical
from mentis.values.json import json_fault

from .canon import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, check_number, step

_PLACES = ("line", "column", "byte", "pointer")
_BOM = b"\xef\xbb\xbf"
_LONGEST_INTEGER = len(str(-MAX_INTEGER))
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NONZERO = re.compile(r"[1-9]")


def read_strict(data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> object:
    """The value these bytes stand for; NotCanonical with `reason` and place if there is none."""
    _check_bytes(data, max_bytes, max_depth)
    reader = _Reader()
    value = reader.read(_decode(data))
    if reader.refused:
        raise _refuse_first(value)
    if _SURROGATE.search(data):
        _check_texts(value, "")
    return value


def read_strict_object(data: bytes, *, max_bytes: int = MAX_BYTES) -> dict[str, object]:
    """The same, where only an object will do."""
    value = read_strict(data, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise _refusal("it is not a JSON object", pointer="")
    return cast("dict[str, object]", value)


def read_outside(
    text: str | bytes, *, what: str, hint: str = "send plain JSON", max_depth: int = MAX_DEPTH
) -> object:
    """The same for whatever somebody hands in, of any length: BadInput, which begins with `what`
    it is.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    try:
        return read_strict(data, max_bytes=len(data), max_depth=max_depth)
    except NotCanonical as error:
        where = [(name, error.facts[name]) for name in _PLACES if name in error.facts]
        told = ", ".join(f"{name} {at}" for name, at in where if at != "")
        reason = str(error.facts["reason"]).replace("it is not JSON", "not JSON", 1)
        place = f" at {told}" if told else ""
        refused = BadInput(f"{what}: {reason}{place}", hint=hint)
        refused.facts.update(where)
        raise refused from error


def json_or_text(text: str, *, what: str) -> object:
    """The value where it is JSON, else the text itself; BadInput for JSON of no single meaning."""
    try:
        return read_outside(text, what=what)
    except BadInput as error:
        if is_json(error):
            raise
        return text


def is_json(error: BadInput) -> bool:
    """Whether what was refused is JSON at all, and only means nothing or several things."""
    return "line" not in error.facts


class _Refused:
    """Stands where a part was that cannot be taken."""

    def __init__(self, reason: str, key: str | None = None) -> None:
        self.reason = reason
        self.key = key


class _Reader:
    def __init__(self) -> None:
        self.refused = False

    def read(self, text: str) -> object:
        try:
            return json.loads(
                text,
                object_pairs_hook=self._members,
                parse_constant=self._constant,
                parse_float=self._float,
                parse_int=self._integer,
            )
        except json.JSONDecodeError as told:
            error = json_fault(told)
            raise _refusal(
                f"it is not JSON: {error.msg}", line=error.lineno, column=error.colno
            ) from None

    def _refuse(self, reason: str, key: str | None = None) -> _Refused:
        self.refused = True
        return _Refused(reason, key)

    def _members(self, pairs: list[tuple[str, object]]) -> object:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        return self._refuse(f"the key {twice!r} stands there twice", twice)

    def _constant(self, name: str) -> object:
        return self._refuse(f"{name} is not a JSON number")

    def _float(self, text: str) -> object:
        number = float(text)
        if not math.isfinite(number):
            return self._refuse(f"{_short(text)} is too large for a number")
        if number == 0 and _NONZERO.search(text.lower().partition("e")[0]):
            return self._refuse(f"{_short(text)} is too small for a number")
        reason = check_number(number)
        return number if reason is None else self._refuse(reason)

    def _integer(self, text: str) -> object:
        if text == "-0":
            return self._refuse("negative zero would lose its sign")
        if len(text) > _LONGEST_INTEGER or abs(int(text)) > MAX_INTEGER:
            return self._refuse("the integer is beyond 2^53-1")
        return int(text)


def _check_bytes(data: bytes, max_bytes: int, max_depth: int) -> None:
    if len(data) > max_bytes:
        raise _refusal(f"it takes {len(data)} bytes, more than {max_bytes}", byte=max_bytes)
    if data.startswith(_BOM):
        raise _refusal("it begins with a byte order mark", byte=0)
    if data.count(b"[") + data.count(b"{") > max_depth:
        _check_nesting(data, max_depth)


def _check_nesting(data: bytes, max_depth: int) -> None:
    depth = 0
    for found in _NESTING.finditer(data):
        if (mark := found[0]) in (b"[", b"{"):
            depth += 1
        elif mark in (b"]", b"}"):
            depth -= 1
        if depth > max_depth:
            reason = f"it is nested more than {max_depth} levels deep"
            raise _refusal(reason, byte=found.start())


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _refusal(f"it is not UTF-8: {error.reason}", byte=error.start) from None


def _refuse_first(value: object) -> NotCanonical:
    pointer, refused = next(iter(_refusals(value, "")))
    return _refusal(refused.reason, pointer=pointer)


def _refusals(value: object, pointer: str) -> list[tuple[str, _Refused]]:
    match value:
        case _Refused():
            return [(pointer if value.key is None else step(pointer, value.key), value)]
        case dict():
            members = cast("Mapping[str, object]", value).items()
            return [found for key, part in members for found in _refusals(part, step(pointer, key))]
        case list():
            items = enumerate(cast("Sequence[object]", value))
            return [found for i, part in items for found in _refusals(part, f"{pointer}/{i}")]
        case _:
            return []


def _check_texts(value: object, pointer: str) -> None:
    """Refuse what holds half a pair; how deep it may be is checked before."""
    match value:
        case str() if not _is_encodable(value):
            place = pointer.encode(errors="backslashreplace").decode()
            raise _refusal("the text holds a lone surrogate", pointer=place)
        case dict():
            for key, part in cast("Mapping[str, object]", value).items():
                inner = step(pointer, key)
                _check_texts(key, inner)
                _check_texts(part, inner)
        case list():
            for number, part in enumerate(cast("Sequence[object]", value)):
                _check_texts(part, f"{pointer}/{number}")
        case _:
            pass


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."


def _refusal(reason: str, **place: Any) -> NotCanonical:  # noqa: ANN401 - facts
    where = " ".join(f"{name} {json.dumps(at)}" for name, at in place.items())
    return NotCanonical(
        f"the JSON cannot be taken, at {where}: {reason}",
        hint="correct it at its source and send it again; nothing was written",
        reason=reason,
        **place,
    )

"""The JSON form of every value: written compactly, read strictly, described by a schema.

Reading and schemas are pydantic's work; it is loaded by their first call, never by an import.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar, cast

from mentis.errors import BadInput
from mentis.values.json import json_fault
from mentis.values.memo import IdentityMemo
from mentis.values.request import PromptRequest
from mentis.values.value import Value
from mentis.values.written import dump

from .plain import plain_value

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

T = TypeVar("T", bound=Value)
# Fields of a request whose values come again with the next one.
_LASTING = ("system_instruction", "tool_declarations", "conversation_history", "continuation")
_WRITTEN = IdentityMemo[str](16384)
_LISTS = IdentityMemo[str](16)  # the steps of a turn have the same conversation before them
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
Path: TypeAlias = tuple[str | int, ...]


def to_object(value: Value) -> dict[str, object]:
    """The value as JSON-ready Python: dicts and lists of plain things, in the order of fields."""
    try:
        return plain_value(value, type(value).__name__)
    except RecursionError as error:
        hint = "take the circle out of it"
        raise BadInput(f"{type(value).__name__} contains itself", hint=hint) from error


def to_json(value: Value) -> bytes:
    """Compact UTF-8 with the fields in their order; what JSON cannot say is refused."""
    text = _written(value) if isinstance(value, PromptRequest) else dumps(to_object(value))
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        message = f"{type(value).__name__} holds half a surrogate pair, which UTF-8 cannot say"
        raise BadInput(message, hint="decode the text properly where it comes in") from error


def dumps(content: object) -> str:
    try:
        return dump(content).decode()
    except (UnicodeEncodeError, ValueError):  # half a character, or what is no number in JSON
        return _encode(content)


def _written(request: PromptRequest) -> str:
    """The same text, with each turn of the conversation written only once while it lasts."""
    lasting = {name: getattr(request, name) for name in _LASTING}
    bare = to_object(replace(request, **dict.fromkeys(_LASTING, ())))
    written = {name: dumps(part) for name, part in bare.items()}
    for name, values in lasting.items():
        if values or name in written:
            written[name] = _LISTS.remember(_list_text, values)
    ordered = [
        f'"{one.name}":{written[one.name]}' for one in fields(request) if one.name in written
    ]
    return f"{{{','.join(ordered)}}}"


def _list_text(values: Sequence[Value]) -> str:
    return f"[{','.join(_WRITTEN.remember_each(_text, values))}]"


def _text(value: Value) -> str:
    return dumps(to_object(value))


def from_json(cls: type[T], data: bytes | str) -> T:
    """Read one value; unknown keys, wrong types, repeated keys and NaN are refused."""
    from pydantic import ValidationError

    text = _decode(cls, data)
    parsed = parse(text, what=cls.__name__)
    try:
        return cast("T", _adapter(cls).validate_json(text, strict=True))
    except ValidationError as error:
        if "recursion limit" in error.errors()[0]["msg"]:  # it reads less deep than `parse`
            raise _too_deep(cls.__name__) from error
        _refuse_data(cls, error, parsed)


def parse(text: str, *, what: str = "JSON") -> object:
    """Plain JSON to Python, with repeated keys, NaN and infinity refused."""
    try:
        return _decode_json(text)
    except RecursionError as error:
        raise _too_deep(what) from error
    except json.JSONDecodeError as told:
        error = json_fault(told)
        raise BadInput(
            f"{what}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            hint="check the text with a JSON linter",
            line=error.lineno,
            column=error.colno,
        ) from error
    except ValueError as error:
        raise BadInput(f"{what}: {error}", hint="write plain JSON") from error


def _too_deep(what: str) -> BadInput:
    return BadInput(f"{what}: nested too deeply", hint="flatten the data")


@cache
def schema_of(cls: type[Value]) -> dict[str, object]:
    """The JSON Schema of a value's JSON form."""
    return _adapter(cls).json_schema()


@cache
def _adapter(cls: type[Value]) -> TypeAdapter[Value]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def _decode(cls: type[Value], data: bytes | str) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{cls.__name__}: not UTF-8 at byte {error.start}"
        raise BadInput(message, hint="save the text as UTF-8", byte=error.start) from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return members


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits} is too large")
    return number


# Made once: `json.loads` makes one for each text that it is given such functions with.
_decode_json = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
).decode


def _refuse_data(cls: type[Value], error: ValidationError, data: object) -> NoReturn:
    found = [(_real_path(problem, data), problem["msg"]) for problem in _telling(error.errors())]
    path, message = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise BadInput(
        f"{cls.__name__}: {_say(path)}{message}{more}",
        hint="compare it with the schema of this value",
        path=path,
        count=len(found),
    ) from error


def _say(path: Path) -> str:
    if not path:
        return ""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return f"{''.join(steps).lstrip('.')}: "


def _telling(problems: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Without what the members of a union had to say about the data of another member."""
    foreign = [problem for problem in problems if _is_foreign_kind(problem)]
    branches = {problem["loc"][:-1] for problem in foreign}
    telling = [problem for problem in problems if not _under(problem, branches)]
    for problem in foreign:
        union = problem["loc"][:-2]
        if not any(_under(other, {union}) for other in telling):
            expected = [other["msg"] for other in foreign if other["loc"][:-2] == union]
            telling.append({**problem, "msg": "; or: ".join(expected)})
    return telling


def _under(problem: ErrorDetails, branches: Collection[Path]) -> bool:
    return any(problem["loc"][: len(branch)] == branch for branch in branches)


def _is_foreign_kind(problem: ErrorDetails) -> bool:
    """A union member that refuses its tag; pydantic puts the member's class name before it."""
    match problem["loc"]:
        case (*_, str(member), "kind") if member[:1].isupper():
            return problem["type"] == "literal_error"
        case _:
            return False


def _real_path(problem: ErrorDetails, data: object) -> Path:
    """The keys of the data alone; pydantic puts the names of union members among them."""
    path: list[str | int] = []
    here = data
    for step in problem["loc"]:
        if isinstance(here, dict) and step in here:
            here = cast("dict[str | int, object]", here)[step]
        elif isinstance(here, list) and isinstance(step, int):
            items = cast("list[object]", here)
            if step >= len(items):
                break  # it is missing, and named below
            here = items[step]
        else:
            continue
        path.append(step)
    if problem["type"] == "missing":
        path.append(problem["loc"][-1])
    return tuple(path)

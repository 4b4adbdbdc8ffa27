"""Reads what comes with a request: parameters and bodies, each field named where it is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import cast

from pydantic import ValidationError

from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput, RequestRefused

from .operation import Given

_WHOLE = re.compile(r"-?\d{1,18}")
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?([eE][-+]?\d{1,3})?")
_DEEPEST = 100  # what is nested deeper could be read, and not be recorded


def read_query(model: type[Given], given: Sequence[tuple[str, str]]) -> Given:
    """The parameters of an address; RequestRefused with the one that is wrong."""
    known, found = _kinds(model), dict[str, object]()
    for name, text in given:
        kind = known.get(name, "")
        if kind == "array":
            found[name] = (*cast("tuple[str, ...]", found.get(name, ())), text)
        elif name in found:
            raise _refused([f"{name}: it is given twice"], name)
        else:
            found[name] = _scalar(text, kind)
    return _validated(lambda: model.model_validate(found, strict=True))


def read_body(model: type[Given], body: bytes, media: str) -> Given:
    """A JSON body; RequestRefused where it is none, or with the field that is wrong."""
    if media not in ("", "application/json"):
        raise RequestRefused(
            f"a body of the type {media!r} is not read here",
            hint="send JSON, and say so: content-type: application/json",
            status=415,
        )
    try:
        text = body or b"{}"
        read_outside(text, what="the body", max_depth=_DEEPEST)
    except BadInput as error:
        raise _not_json(error.message.removeprefix("the body: ")) from error
    return _validated(lambda: model.model_validate_json(text, strict=True))


def _validated(validate: Callable[[], Given]) -> Given:
    try:
        return validate()
    except ValidationError as error:
        told = [(_place(one["loc"]), one["msg"]) for one in error.errors(include_url=False)]
        lines = [f"{place}: {words}" if place else words for place, words in told]
        raise _refused(lines, told[0][0]) from error


def _refused(lines: Sequence[str], field: str) -> RequestRefused:
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return RequestRefused(
        f"{lines[0]}{more}",
        hint="the fields of each operation are in /mentis/v1/openapi.json",
        problems=lines,
        status=422,
        field=field,
    )


def _not_json(why: str) -> RequestRefused:
    return RequestRefused(f"the body cannot be read: {why}", hint="send a JSON object", status=400)


def _place(path: Sequence[str | int]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(steps).lstrip(".")


@cache
def _kinds(model: type[Given]) -> Mapping[str, str]:
    """What JSON calls the type of each parameter."""
    known = cast("dict[str, dict[str, object]]", model.model_json_schema().get("properties", {}))
    return {name: _kind(schema) for name, schema in known.items()}


def _kind(schema: Mapping[str, object]) -> str:
    listed = cast("list[dict[str, object]]", schema.get("anyOf", [schema]))
    return next((str(one["type"]) for one in listed if one.get("type") not in (None, "null")), "")


def _scalar(text: str, kind: str) -> object:
    """The value that a text stands for; the text itself where it stands for none, to be refused."""
    match kind:
        case "integer" if _WHOLE.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case _:
            return text

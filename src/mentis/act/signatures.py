"""The JSON Schema of what a function takes, and its arguments made from a payload.

The types are read by pydantic, loaded when the first function is read; defaults stay Python's.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast, get_args, get_origin

from mentis.errors import BadInput
from mentis.values.act import ActCall
from mentis.values.json import JsonObject

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_NAMED = ("properties", "$defs", "patternProperties", "dependentSchemas")
_DATA = ("default", "const", "enum", "examples", "required")


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """`injected` are the parameters that get the call itself, and that no model is told of."""

    schema: JsonObject
    injected: tuple[str, ...]
    adapter: TypeAdapter[dict[str, object]]

    def arguments(self, call: ActCall) -> dict[str, object]:
        """What the function is called with; pydantic's ValidationError when it does not fit."""
        given = self.adapter.validate_python(dict(call.action.payload))
        return {**given, **dict.fromkeys(self.injected, call)}


def read_signature(
    function: Callable[..., object], told: Mapping[str, str], around: Mapping[str, object]
) -> FunctionSignature:
    """`told` describes parameters; `around` are the names its annotations may also use."""
    hints = _hints(function, around)
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if _bare(hints.get(parameter.name)) is not ActCall
    ]
    fields = {one.name: _field(function, one, hints, told) for one in parameters}
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    adapter = _adapter(function, fields)
    schema = _schema(function, adapter)
    _tell_defaults(schema, defaults)
    injected = tuple(name for name, hint in hints.items() if _bare(hint) is ActCall)
    return FunctionSignature(schema, injected, adapter)


def unwrap_partial(function: Callable[..., object]) -> Callable[..., object]:
    """The function inside of partial ones: it has the types and the words."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    return function


def name_of(function: Callable[..., object]) -> str:
    """What to call it in an error."""
    return getattr(function, "__qualname__", None) or repr(function)


def _hints(function: Callable[..., object], around: Mapping[str, object]) -> dict[str, Any]:
    target = unwrap_partial(function)
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        hints = typing.get_type_hints(target, localns=dict(around), include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise BadInput(
            f"the types of {name_of(function)} cannot be read: {error}",
            hint="import what they name, or write it before the function",
            function=name_of(function),
        ) from error
    hints.pop("return", None)
    return hints


def _bare(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _field(
    function: Callable[..., object],
    one: inspect.Parameter,
    hints: Mapping[str, Any],
    told: Mapping[str, str],
) -> object:
    if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY):
        raise BadInput(
            f"{name_of(function)} takes {one}, which a payload has no name for",
            hint="give it parameters with names and types",
            function=name_of(function),
            parameter=one.name,
        )
    if one.name not in hints:
        raise BadInput(
            f"parameter {one.name!r} of {name_of(function)} has no type",
            hint=f"write {one.name}: str, or what else it takes; make acts of bound methods",
            function=name_of(function),
            parameter=one.name,
        )
    described = _described(hints[one.name], told.get(one.name, ""))
    return described if one.default is one.empty else NotRequired[described]


def _described(hint: Any, told: str) -> Any:  # noqa: ANN401  # a type
    """A text in Annotated is a description; it wins over the docstring, and pydantic's own too."""
    from pydantic import Field
    from pydantic.fields import FieldInfo

    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if any(isinstance(extra, FieldInfo) and extra.description for extra in extras):
        return hint
    texts = [extra for extra in extras if isinstance(extra, str)]
    said = texts[0] if texts else told
    return Annotated[hint, Field(description=said)] if said else hint


def _adapter(
    function: Callable[..., object], fields: dict[str, object]
) -> TypeAdapter[dict[str, object]]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError
    from typing_extensions import TypedDict

    make = cast("Any", TypedDict)  # a payload is a dictionary, and any name may be a key of it
    form = make("Payload", fields)
    form.__pydantic_config__ = {"extra": "forbid", "title": None}
    try:
        return TypeAdapter(form)
    except (PydanticUserError, TypeError) as error:
        raise _unusable(function, error) from error


def _schema(
    function: Callable[..., object], adapter: TypeAdapter[dict[str, object]]
) -> dict[str, object]:
    from pydantic.errors import PydanticUserError

    try:
        schema = adapter.json_schema()
    except PydanticUserError as error:
        raise _unusable(function, error) from error
    return cast("dict[str, object]", _untitled(schema))


def _unusable(function: Callable[..., object], error: Exception) -> BadInput:
    said = str(error).split("\n", 1)[0][:300]
    return BadInput(
        f"no JSON Schema can be made of the types of {name_of(function)}: {said}",
        hint="keep to types that JSON can say: str, int, lists, dataclasses, pydantic models ...",
        function=name_of(function),
    )


def _untitled(part: object) -> object:
    """Titles repeat the names, and a model would read them on every turn."""
    if isinstance(part, list):
        return [_untitled(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    members = cast("dict[str, object]", part)
    kept: dict[str, object] = {}
    for name, value in members.items():
        if name in _NAMED and isinstance(value, dict):
            named = cast("dict[str, object]", value)
            kept[name] = {key: _untitled(sub) for key, sub in named.items()}
        elif name != "title":
            kept[name] = value if name in _DATA else _untitled(value)
    return kept


def _tell_defaults(schema: dict[str, object], defaults: Mapping[str, object]) -> None:
    """A default that JSON can say is told; another one still holds when nothing is given."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    properties = cast("dict[str, dict[str, object]]", schema.get("properties", {}))
    for name, default in defaults.items():
        if name not in properties or default is None:
            continue
        try:
            properties[name] = {**properties[name], "default": to_jsonable_python(default)}
        except (PydanticSerializationError, ValueError):
            continue

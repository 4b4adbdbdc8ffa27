"""A call through the doorway: the declared tool that calls those that only the text told of."""

from __future__ import annotations

from dataclasses import dataclass

from mentis.values.json import JsonObject
from mentis.values.value import Value

from .arguments import BadArguments, check_arguments, read_arguments
from .expected import Expectation
from .lenient import printable

_NAME, _ARGUMENTS = "name", "arguments"


@dataclass(frozen=True, slots=True)
class Behind(Value):
    """The tool that is meant and what it is given. `mended` says what had to be read leniently."""

    name: str
    arguments: JsonObject
    mended: str = ""


def behind(name: str, arguments: JsonObject, expected: Expectation) -> Behind | None:
    """None when this is no call through the doorway, BadArguments when it cannot be one.

    Whether the tool was told of is not asked here: that is one rule for every call.
    """
    if not expected.doorway or name != expected.doorway or expected.tools is None:
        return None
    if extra := [key for key in arguments if key not in (_NAME, _ARGUMENTS)]:
        raise BadArguments(
            f"{extra[0]!r} stands beside `name` and `arguments`; what the tool takes goes into"
            " `arguments`"
        )
    said = arguments.get(_NAME)
    if not isinstance(said, str) or not said.strip():
        raise BadArguments("`name` has to be the name of a tool")
    meant = expected.resolve_name(printable(said))
    if meant == name:
        raise BadArguments(f"{name!r} cannot call itself")
    given = arguments.get(_ARGUMENTS)
    match given:
        case str():
            return Behind(meant, _read(given), f"the arguments of {meant!r} came as a text")
        case None:
            return Behind(meant, {}, f"{meant!r} was called without arguments")
        case _:
            return Behind(meant, _object(given))


def _read(given: str) -> JsonObject:
    try:
        return read_arguments(given)
    except BadArguments as error:
        raise BadArguments(f"`arguments` has to be an object: {error}") from error


def _object(given: object) -> JsonObject:
    try:
        return check_arguments(given)
    except BadArguments as error:
        raise BadArguments(f"`arguments` has to be an object: {error}") from error

"""Checks what a call asks for against the JSON Schema its tool declares, before anything is done.

Nothing is fetched: a schema that points outside itself is refused, and so is one whose check could
go on for ever. The validators are kept, and a schema is known again by being the same object: to
write it out costs more than a check. So nobody may change one that was checked against.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from typing import Protocol, cast

from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.tool import ToolDeclaration

from .effort import UncheckableSchema, effort_of, refers, refuse_circles

_MOST_CHARS = 256 * 1024
_MOST_KEPT = 256
_MOST_KNOWN = 1024
_MOST_FAULTS = 5
_SHORT = 200


class _Fault(Protocol):
    @property
    def message(self) -> str: ...
    @property
    def instance_path(self) -> Sequence[str | int]: ...
    @property
    def schema_path(self) -> Sequence[str | int]: ...
    @property
    def instance(self) -> object: ...


@dataclass(frozen=True, slots=True)
class _Check:
    """`refers`: parts of the schema stand for others, so that the effort has to be looked at."""

    schema: JsonObject
    is_valid: Callable[[object], bool]
    faults: Callable[[object], Sequence[_Fault]]
    refers: bool


# With the schema itself, which so stays there: no other can come to have its identity.
_known: dict[int, tuple[JsonObject, _Check]] = {}


def fault_in(payload: JsonObject, tool: ToolDeclaration) -> str:
    """Which value breaks which rule, in words for the model that wrote it; "" if none does.

    `BadInput` if the declaration is such that nothing can be checked against it.
    """
    check = _check(tool)
    try:
        if check.refers:
            effort_of(check.schema, payload)
        if check.is_valid(payload):
            return ""
        return "; ".join(_told(fault, check.schema, payload) for fault in check.faults(payload))
    except UncheckableSchema as error:
        raise _unusable(tool, error) from error
    except (ValueError, RecursionError) as error:
        return f"arguments: they cannot be checked: {_first_line(error)}"


def _check(tool: ToolDeclaration) -> _Check:
    known = _known.get(id(tool.parameters))
    if known is not None:
        return known[1]
    try:
        check = _compiled(json.dumps(tool.parameters, allow_nan=False))
    except (TypeError, ValueError, RecursionError, ModuleNotFoundError) as error:
        raise _unusable(tool, error) from error
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[id(tool.parameters)] = tool.parameters, check
    return check


def has_checker() -> bool:
    """Whether calls can be checked at all. The package that does it is an extra (`tools`): without
    it every call is refused.
    """
    return find_spec("jsonschema_rs") is not None


def refuse_unusable(tool: ToolDeclaration) -> None:
    """BadInput unless payloads can be checked against what is declared. Nothing is kept of it."""
    try:
        check = _compiled.__wrapped__(json.dumps(tool.parameters, allow_nan=False))
        if check.refers:
            refuse_circles(check.schema)
    except (TypeError, ValueError, RecursionError, ModuleNotFoundError) as error:
        raise _unusable(tool, error) from error


def _unusable(tool: ToolDeclaration, why: Exception) -> BadInput:
    if isinstance(why, ModuleNotFoundError):
        return BadInput(
            f"calls of tool {tool.name!r} cannot be checked, so none is made: the package"
            " jsonschema-rs is not installed (pip install 'mentis[tools]')",
            hint="pip install 'mentis[tools]'",
            tool=tool.name,
        )
    return BadInput(
        f"the schema of tool {tool.name!r} cannot be used: {_first_line(why)}",
        hint="fix the tool's parameters; references may only point inside them (#/...)",
        tool=tool.name,
    )


@lru_cache(maxsize=_MOST_KEPT)
def _compiled(text: str) -> _Check:
    if len(text) > _MOST_CHARS:
        raise UncheckableSchema(f"it has {len(text)} characters, and {_MOST_CHARS} are allowed")
    import jsonschema_rs  # heavy, an extra, and not every turn acts

    schema = cast("dict[str, object]", json.loads(text))
    found = refers(schema)
    validator = jsonschema_rs.validator_for(schema, offline=True)

    def faults(payload: object) -> Sequence[_Fault]:
        return list(islice(validator.iter_errors(payload), _MOST_FAULTS))

    return _Check(schema, validator.is_valid, faults, found)


def _told(fault: _Fault, schema: JsonObject, payload: JsonObject) -> str:
    """Where, what is there, which rule: each cut to what can be read."""
    place = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.instance_path
    )
    said, given = fault.message, _at(fault.instance_path, payload)
    if isinstance(given, float) and not math.isfinite(given):
        return f"{place.lstrip('.')}: {given} is not a JSON number"  # and no null, as it is told
    if len(said) > _SHORT:
        said = f"{_cut(fault.instance)} does not fit"
    return f"{place.lstrip('.') or 'arguments'}: {said} ({_rule(fault.schema_path, schema)})"


def _rule(path: Sequence[str | int], schema: JsonObject) -> str:
    return f"rule {path[-1] if path else ''}: {_cut(_at(path, schema))}"


def _at(path: Sequence[str | int], whole: JsonObject) -> object:
    found: object = whole
    for step in path:
        if isinstance(found, Mapping):
            found = cast("Mapping[str | int, object]", found).get(step)
        elif isinstance(found, list) and isinstance(step, int):
            found = cast("list[object]", found)[step]
    return cast("object", found)


def _cut(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= _SHORT else f"{written[:_SHORT]}…"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:_SHORT]

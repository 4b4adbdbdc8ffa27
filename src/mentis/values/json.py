"""The type of an arbitrary JSON object carried inside a value (schemas, provider state).

Pythons differ in how deep they read JSON and in how they tell one fault; what is recorded or goes
to a model must not. So both are settled here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias, cast

JsonObject: TypeAlias = Mapping[str, object]


def inner_values(value: object) -> list[object]:
    """The members of an object or a list; none for anything else."""
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def is_deeper(value: object, limit: int) -> bool:
    level: list[object] = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in inner_values(outer)]
        if not level:
            return False
    return True


def json_fault(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """The fault as Pythons before 3.13 tell it: they see a trailing comma one step later."""
    if not error.msg.startswith("Illegal trailing comma"):
        return error
    end = error.pos + 1
    while error.doc[end] in " \t\n\r":
        end += 1
    expected = "value" if error.doc[end] == "]" else "property name enclosed in double quotes"
    return json.JSONDecodeError(f"Expecting {expected}", error.doc, end)


def json_object(value: object) -> JsonObject:
    """A value from outside that should be an object; an empty one where it is none."""
    if type(value) is dict:  # as nearly always; to ask whether it is a mapping takes much longer
        return cast("JsonObject", value)
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}

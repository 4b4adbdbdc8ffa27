"""Fields of an object of another program: what is not of the kind that is looked for is not there.

For formats whose files come in many versions. A reader that refuses such a file says so itself.
"""

from __future__ import annotations

from typing import cast

from mentis.values.json import JsonObject


def text_of(row: JsonObject, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def object_of(row: JsonObject, name: str) -> JsonObject:
    value = row.get(name)
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def objects_of(row: JsonObject, name: str) -> list[JsonObject]:
    value = row.get(name)
    rows = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", one) for one in rows if isinstance(one, dict)]

"""Reads a draft from bytes, strictly: one JSON object with one meaning, or a reason and a place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mentis.codec.strict_json import read_strict_object
from mentis.values.json import JsonObject


def read_draft(data: bytes) -> JsonObject:
    """The draft in these bytes; one wrapped as `{"status_window": {...}}` is taken out of it."""
    return unwrap_window(read_strict_object(data))


def unwrap_window(found: JsonObject) -> JsonObject:
    inner = found.get("status_window")
    return cast("JsonObject", inner) if isinstance(inner, Mapping) else found

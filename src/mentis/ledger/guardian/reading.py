"""Looks into a window that may hold anything: what is missing or of another type reads as empty."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import cast

from mentis.values.json import JsonObject

from .words import Idea, says

# Of each line only the first `start` is tried: a text of many would take hours otherwise.
_RESTART = re.compile(
    r"^(?>.*?\b(?:re)?start\w*\b).*\bwatcher\b|\brestor\w*", re.IGNORECASE | re.MULTILINE
)
SYSTEM_ERROR = re.compile(r"\bSYS_ERR\b")
STATUSES = ("GREEN", "YELLOW", "RED")


def text_at(holder: JsonObject, key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def object_at(holder: JsonObject, key: str) -> JsonObject:
    value = holder.get(key)
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def array_at(holder: JsonObject, key: str) -> Sequence[object]:
    value = holder.get(key)
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def texts_at(holder: JsonObject, key: str) -> tuple[str, ...]:
    return tuple(item for item in array_at(holder, key) if isinstance(item, str))


def number_in(value: object) -> float | None:
    """A finite number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def confidence_of(window: JsonObject) -> float | None:
    return number_in(window.get("confidence"))


def status_of(window: JsonObject) -> str:
    return text_at(object_at(window, "critical_summary"), "status")


def tangent(window: JsonObject) -> bool:
    return object_at(window, "rule_tangency").get("tangency_detected") is True


def does(window: JsonObject, *ideas: Idea) -> bool:
    """Whether an action says one of them."""
    return any(says(text, *ideas) for text in texts_at(window, "actions"))


def plans(window: JsonObject, *ideas: Idea) -> bool:
    """Whether an item of the output plan says one of them."""
    return any(says(text, *ideas) for text in texts_at(window, "output_plan"))


def restarts(window: JsonObject) -> bool:
    """Whether an item of the output plan starts the watcher or restores a route."""
    plan = texts_at(window, "output_plan")
    return any(_RESTART.search(text) for text in plan) or plans(window, "restart", "repair")

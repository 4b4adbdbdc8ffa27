"""A block as a person reads it: its settings line by line, its texts with their own lines."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import cast

from mentis.values.json import JsonObject


def readable_block(meta: JsonObject, content: JsonObject) -> list[str]:
    lines = [f"{name}: {_value(value)}" for name, value in meta.items()]
    for name, value in content.items():
        if name == "variants" and isinstance(value, dict):
            for variant, wording in sorted(cast("JsonObject", value).items()):
                lines.extend(("", f"[{variant}]", *_wording(wording)))
    extra = {n: v for n, v in content.items() if n not in ("variants", "placeholders_used")}
    if extra:
        lines.extend(("", *(f"{name}: {_value(value)}" for name, value in extra.items())))
    return lines


def readable_entry(entry: JsonObject) -> list[str]:
    return [f"{name}: {_value(value)}" for name, value in entry.items()]


def unified_diff(older: list[str], newer: list[str], names: tuple[str, str]) -> str:
    """A unified diff, empty when nothing differs."""
    return "".join(
        f"{line}\n" for line in difflib.unified_diff(older, newer, *names, lineterm="", n=3)
    )


def _wording(wording: object) -> Iterator[str]:
    entry: JsonObject = cast("JsonObject", wording) if isinstance(wording, dict) else {}
    for name, value in entry.items():
        if name == "content" and isinstance(value, str):
            yield from value.split("\n")
        elif name == "messages" and isinstance(value, list):
            for message in cast("list[object]", value):
                yield from _message(message)
        else:
            yield f"{name}: {_value(value)}"


def _message(message: object) -> Iterator[str]:
    entry: JsonObject = cast("JsonObject", message) if isinstance(message, dict) else {}
    yield f"<{entry.get('role', '')}>"
    yield from str(entry.get("content", "")).split("\n")


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

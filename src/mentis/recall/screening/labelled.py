"""Labelled texts, one JSON object a line: text, label (1 attack, 0 not), lang, source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from mentis.errors import BadInput
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class LabelledText(Value):
    text: str
    attack: bool
    lang: str = ""
    source: str = ""


def read_lines(text: str, name: str) -> tuple[LabelledText, ...]:
    """All lines or none; a line that is not right is named by its number."""
    return tuple(_lines(text, name))


def _lines(text: str, name: str) -> Iterator[LabelledText]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield _row(json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise BadInput(
                f"{name}, line {number}: {error}",
                hint='a line looks like {"text": "...", "label": 0, "lang": "en"}',
                file=name,
                line=number,
            ) from error


def _row(told: object) -> LabelledText:
    if not isinstance(told, dict):
        raise TypeError("it is no JSON object")
    row = cast("dict[str, object]", told)
    text, label = row.get("text"), row.get("label")
    if not isinstance(text, str):
        raise TypeError("`text` is missing or no text")
    if label not in (0, 1):
        raise ValueError("`label` is neither 0 nor 1")
    return LabelledText(text, bool(label), str(row.get("lang") or ""), str(row.get("source") or ""))

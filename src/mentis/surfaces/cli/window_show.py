"""Shows what a turn's entry says of the window that the model opened its answer with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from mentis.values.entry import Entry


def verdict_word(entry: Entry) -> str:
    """In one word, for a line of a list."""
    found = _object(entry.body.get("claims"))
    refused = "refused" if "refused_window" in entry.body else ""
    return " ".join(filter(None, (refused, f"[{found['verdict']}]" if found else "")))


def window_lines(entry: Entry) -> Iterator[str]:
    """What is wrong with it; nothing where nothing is."""
    claims = _object(entry.body.get("claims")).get("claims")
    for claim in map(_object, cast("list[object]", claims) if isinstance(claims, list) else ()):
        if claim.get("verdict") == "unsupported":
            yield f"its window claims {claim.get('act')}: {claim.get('why')} [unsupported]"
    judged = _object(entry.body.get("judgement"))
    if "window" in entry.body or not judged:
        return
    findings = map(_object, cast("list[object]", judged.get("findings") or []))
    for one in findings:
        if one.get("level") == "block":
            yield f"its window is refused: {one.get('rule')} {one.get('what')}"


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}

"""The decisions behind a turn: what stays in the prompt, what is told at its end, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .report import Note, Text
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.compose.compose import Composition
    from mentis.values.residency import Placement
    from mentis.values.selection import Candidate

_COLUMNS = ("kind", "name", "rank", "score", "dense", "words", "in", "why")


def explained_lines(composed: Composition) -> Iterator[Text]:
    trace = composed.trace
    for placement in trace.placements:
        yield "\n".join(_lines(placement))
    if composed.candidates:
        yield TextTable(
            _COLUMNS, [_row(one) for one in composed.candidates], right=("rank", "score")
        )
    yield f"embedding calls: {trace.embedding_calls}; memories kept out: {trace.filtered}"
    for step in trace.degraded:
        yield Note(f"without {step.part}: {step.reason}")


def _lines(placement: Placement) -> Iterator[str]:
    yield f"{placement.what}: {'new' if placement.changed else 'as before'}, {placement.why}"
    yield f"  price of a change: {placement.price:g} tokens; gain: {placement.gain:g} tokens"
    for what, names in (
        ("stay", placement.resident),
        ("told at the end", placement.revealed),
        ("went", placement.dropped),
    ):
        yield f"  {what}: {', '.join(names) or '-'}"


def _row(one: Candidate) -> tuple[str, ...]:
    dense = "-" if one.dense is None else f"{one.dense:.3f}"
    told = "yes" if one.chosen else "no"
    scores = (f"{one.score:.3f}", dense, f"{one.lexical:.3f}")
    return (one.kind, one.name, str(one.rank), *scores, told, one.reason)

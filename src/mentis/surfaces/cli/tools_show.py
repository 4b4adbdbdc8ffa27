"""Tools and acts as a person reads them. What a tool says of itself is somebody else's text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .shown import behind_bar, fold_line, room, safe

if TYPE_CHECKING:
    from mentis.tools.toolbox import ActDetail, ActRow, Listing, ToolRow


def act_row(row: ActRow) -> tuple[str, ...]:
    outside, again = _yes(row.external_effects), _yes(row.idempotent)
    return (safe(row.name), safe(row.source), row.scope, outside, again, row.state)


def tool_row(row: ToolRow) -> tuple[str, ...]:
    acts = "?" if row.state == "unconnected" else str(len(row.acts))
    return (row.name, safe(row.what), acts, row.state)


def problem_lines(found: Listing) -> Iterator[str]:
    """Why what is not on is not."""
    for row in found.acts:
        if row.why:
            yield from _line(f"{row.name}: {row.state}: {row.why}")
    for problem in found.problems:
        if problem.why not in {row.why for row in found.acts}:
            yield from _line(f"{problem.name}: {problem.why}")
        if problem.hint:
            yield from _line(f"  hint: {problem.hint}")
    if any(row.state == "unconnected" for row in found.tools):
        yield "servers were not asked: --connect lists what they offer, `check` tries them"


def tool_lines(row: ToolRow) -> Iterator[str]:
    yield f"{row.name}: {row.state}"
    yield f"  from: {safe(row.source)}"
    yield "  what it is:"
    yield from behind_bar(row.what)
    if row.acts:
        yield from _line(f"  acts: {', '.join(row.acts)}")
    for problem in row.problems:
        yield "  problem:"
        yield from behind_bar(problem.why)
        if problem.hint:
            yield f"  hint: {safe(problem.hint)}"


def act_lines(shown: ActDetail) -> Iterator[str]:
    row, spec = shown.row, shown.spec
    yield f"{safe(row.name)}: {row.state}"
    if row.why:
        yield "  why:"
        yield from behind_bar(row.why)
    yield f"  from: {safe(row.source)}"
    if spec.where:
        yield from _line(f"  runs or calls: {spec.where}")
    yield f"  scope: {row.scope}"
    yield f"  reaches outside: {_yes(row.external_effects)}"
    yield f"  idempotent: {_yes(row.idempotent)}"
    yield f"  time: {spec.timeout_seconds:g} s"
    if spec.modes:
        yield f"  modes: {', '.join(spec.modes)}"
    yield f"  definition: {shown.digest}"
    yield "  the model is told:"
    yield from behind_bar(spec.declaration.description)
    yield "  and that it takes:"
    yield from behind_bar(json.dumps(spec.declaration.parameters, ensure_ascii=False, indent=2))


def _line(text: str) -> Iterator[str]:
    return fold_line(safe(text), room())


def _yes(value: bool) -> str:
    return "yes" if value else "no"

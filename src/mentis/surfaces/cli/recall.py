"""`mentis recall`: which tools, skills and memories come to mind for a task, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import anyio
import click

from .assemble import connect_option, given_task, mode_option
from .options import home_option, home_path, persona_option
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.memories import ScoredMemory
    from mentis.values.recalled import RecalledContext
    from mentis.values.selection import Candidate


@click.command(epilog='For example: mentis recall "call my dentist"')
@click.argument("task")
@mode_option
@connect_option
@persona_option
@home_option
@prints_report
def recall(task: str, *, mode: str, connect: bool, persona: str | None) -> Report:
    """Show which tools, skills and memories a task recalls, and why.

    What just missed is shown, too. Nothing is sent. TASK can be - to read it from stdin.
    """
    from mentis.app.unstored import open_anyhow

    words = given_task(task)
    with open_anyhow(home_path(), persona=persona) as agent:

        async def recall_task() -> RecalledContext:
            if connect:
                await agent.connect()
            return await agent.recall(words, mode=mode)

        found = anyio.run(recall_task)
    return Report(found, _lines(found))


def _lines(found: RecalledContext) -> Iterator[Text]:
    candidates = [one for one in found.candidates if one.kind != "memory"]
    if candidates:
        yield TextTable(
            ("", "kind", "name", "score", "meaning", "words", "why"),
            [_candidate(one) for one in candidates],
            right=("score", "meaning", "words"),
        )
    memories = () if found.found is None else (*found.found.hits, *found.found.near)
    told = {span.source for span in found.memories}
    if memories:
        yield TextTable(("", "memory", "text", "why"), _memories(memories, told))
    if not candidates and not memories:
        yield "nothing comes to mind"
    yield Note(f"tools: {', '.join(tool.name for tool in found.tools) or 'none'}")
    if found.filtered:
        yield Note(f"kept back: {found.filtered}")
    for step in found.degraded:
        yield Note(f"note: {step.part}: {step.reason}")


def _candidate(one: Candidate) -> tuple[str, ...]:
    meaning = "" if one.dense is None else f"{one.dense:.3f}"
    scores = (f"{one.score:.3f}", meaning, f"{one.lexical:.3f}")
    return ("in" if one.chosen else "out", one.kind, one.name, *scores, one.reason)


def _memories(rows: Sequence[ScoredMemory], told: set[str]) -> list[tuple[str, ...]]:
    """What a memory says is shown only if it may be told."""
    return [
        ("in", row.memory.id, row.memory.text[:120], row.reason)
        if f"memory {row.memory.id}" in told
        else ("out", row.memory.id, "", row.reason)
        for row in rows
    ]

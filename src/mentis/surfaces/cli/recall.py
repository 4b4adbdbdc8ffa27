"""`mentis recall`: which tools, skills and memories come to mind for a task, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import click

from .assemble import connect_option, given_task, mode_option
from .options import home_option, home_path, persona_option
from .output import emit, emit_json, json_option, say, table

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
@json_option
def recall(task: str, *, mode: str, connect: bool, persona: str | None, as_json: bool) -> None:
    """Show which tools, skills and memories come to mind for a task, and why.

    What just missed is shown, too. Nothing is sent. TASK can be - to read it from stdin.
    """
    from mentis.app.unstored import open_anyhow
    from mentis.codec.forms import to_object

    words = given_task(task)
    with open_anyhow(home_path(), persona=persona) as agent:

        async def recall_task() -> RecalledContext:
            if connect:
                await agent.connect()
            return await agent.recall(words, mode=mode)

        found = anyio.run(recall_task)
    if as_json:
        emit_json(to_object(found))
        return
    _show(found)


def _show(found: RecalledContext) -> None:
    if found.candidates:
        table(
            ("", "kind", "name", "score", "meaning", "words", "why"),
            [_candidate(one) for one in found.candidates],
            right=("score", "meaning", "words"),
        )
    memories = () if found.found is None else (*found.found.hits, *found.found.near)
    told = {span.source for span in found.memories}
    if memories:
        table(("", "memory", "says", "why"), _memories(memories, told))
    if not found.candidates and not memories:
        emit("nothing comes to mind")
    say(f"tools: {', '.join(tool.name for tool in found.tools) or 'none'}")
    if found.filtered:
        say(f"kept back: {found.filtered}")
    for step in found.degraded:
        say(f"note: {step.part}: {step.reason}")


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

"""Looking at memories: search, why, list, quarantine, hygiene."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from .memory_parts import (
    common,
    filter_of,
    filter_options,
    open_own,
    say_degraded,
    short,
    show_memories,
)
from .output import emit_json, say, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mentis.values.memories import FoundMemories, ScoredMemory


def _days(_context: click.Context, _option: click.Parameter, days: float | None) -> float | None:
    if days is not None and not 0 < days < math.inf:  # neither is true of nan
        raise click.BadParameter(f"{days} is no number of days more than 0")
    return days


way_option = click.option(
    "--way",
    type=click.Choice(["hybrid", "semantic", "lexical"]),
    default="hybrid",
    show_default=True,
    help="By meaning and words, by meaning, or by words.",
)
limit_option = click.option(
    "--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many."
)
decay_option = click.option(
    "--half-life",
    type=float,
    metavar="DAYS",
    callback=_days,
    help="After so many days, more than 0, a memory counts half.",
)


@click.command(epilog='For example: mentis memory search "who plays an instrument" --kind fact')
@click.argument("query")
@way_option
@limit_option
@decay_option
@filter_options
@common
def search(query: str, *, persona: str | None, as_json: bool, **given: object) -> None:
    """Find the memories that fit a query best."""
    from mentis.codec.forms import to_object

    found = _search(query, persona, given)
    if as_json:
        emit_json(to_object(found))
        return
    _show(found.hits)
    _say_rest(found)


@click.command(epilog='For example: mentis memory why "who plays an instrument"')
@click.argument("query")
@click.option("--id", "memory_id", metavar="ID", help="Only this memory.")
@way_option
@limit_option
@decay_option
@filter_options
@common
def why(
    query: str, *, memory_id: str | None, persona: str | None, as_json: bool, **given: object
) -> None:
    """Show each candidate's scores and why it was in or out, near misses included."""
    from mentis.codec.forms import to_object

    found = _search(query, persona, given)
    rows = [row for row in (*found.hits, *found.near) if memory_id in (None, row.memory.id)]
    if as_json:
        rest = to_object(replace(found, hits=(), near=()))
        told = {name: value for name, value in rest.items() if name not in ("hits", "near")}
        emit_json({**told, "candidates": [to_object(row) for row in rows]})
        return
    _show_reasons(rows)
    if memory_id and not rows:
        say(f"{memory_id} was no candidate: no word and no meaning in common, or too far behind")
    _say_rest(found)


@click.command("list", epilog="For example: mentis memory list --kind decision --json")
@filter_options
@common
def list_(*, persona: str | None, as_json: bool, **given: object) -> None:
    """List memories, in the order of their ids."""
    from mentis.codec.forms import to_object

    with open_own(persona) as memories:
        kept = memories.list(filter_of(given))
    if as_json:
        emit_json([to_object(memory) for memory in kept])
    else:
        show_memories(kept)


@click.command(epilog='For example: mentis memory quarantine --release ID -m "it is a quote"')
@click.option("--release", metavar="ID", help="Let this one out; it stays marked.")
@click.option("--again", is_flag=True, help="Look anew at what nobody could look at.")
@click.option("-m", "--reason", default="", metavar="TEXT", help="Why: it is recorded.")
@common
def quarantine(
    *, release: str | None, again: bool, reason: str, persona: str | None, as_json: bool
) -> None:
    """List what screening kept back, or release one. A release is an entry of the ledger."""
    from mentis.codec.forms import to_object

    if release and not reason.strip():
        raise click.UsageError("say why with -m: a release is recorded")
    with open_own(persona) as memories:
        if release:
            entry = memories.release(release, reason=reason)
            if as_json:
                emit_json(to_object(entry))
            else:
                say(f"released {release}; entry {entry.index}")
            return
        freed = memories.screen_again() if again else ()
        held = memories.quarantine()
    if as_json:
        told = {"held": [to_object(one) for one in held], "freed": [one.id for one in freed]}
        emit_json(told)
        return
    for memory in freed:
        say(f"{memory.id} is no longer in quarantine")
    rows = [
        (m.id, m.source, m.screening.reason if m.screening else "", short(m.text)) for m in held
    ]
    table(("id", "source", "reason", "text"), rows)


@click.command(epilog="For example: mentis memory hygiene --json")
@common
def hygiene(*, persona: str | None, as_json: bool) -> None:
    """Find duplicates, junk, secrets, quotes of memories, and circles. Nothing is changed."""
    from mentis.codec.forms import to_object

    with open_own(persona) as memories:
        findings = memories.hygiene()
    if as_json:
        emit_json([to_object(finding) for finding in findings])
        return
    rows = [(one.flaw, ", ".join(one.memories), one.reason, one.advice) for one in findings]
    table(("flaw", "memories", "reason", "advice"), rows)


def _search(query: str, persona: str | None, given: dict[str, object]) -> FoundMemories:
    import anyio

    told = cast("dict[str, Any]", given)
    way, limit, days = told.pop("way"), told.pop("limit"), told.pop("half_life")

    with open_own(persona) as memories:
        wanted = filter_of(given)

        async def ask() -> FoundMemories:
            return await memories.search(
                query, way=way, wanted=wanted, limit=limit, half_life_days=days
            )

        return anyio.run(ask)


def _show(rows: Sequence[ScoredMemory]) -> None:
    cells = [
        (f"{row.score:.4f}", row.memory.id, row.memory.kind, short(row.memory.text)) for row in rows
    ]
    table(("score", "id", "kind", "text"), cells, right=("score",))


def _show_reasons(rows: Sequence[ScoredMemory]) -> None:
    cells = [
        (
            "in" if row.chosen else "out",
            f"{row.score:.4f}",
            f"{row.semantic:.4f}",
            f"{row.lexical:.4f}",
            row.memory.id,
            row.reason,
            short(row.memory.text),
        )
        for row in rows
    ]
    columns = ("", "score", "meaning", "words", "id", "reason", "text")
    table(columns, cells, right=("score", "meaning", "words"))


def _say_rest(found: FoundMemories) -> None:
    if found.filtered:
        say(f"{found.filtered} kept out by screening")
    if found.vectors.how == "index":
        say(f"searched by an index that finds {found.vectors.recall:.1%} of the ten nearest")
    if found.vectors.note:
        say(found.vectors.note)
    say_degraded(found.degraded)

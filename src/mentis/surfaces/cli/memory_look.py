"""Looking at memories: search, why, list, quarantine, hygiene."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from .memory_parts import (
    common,
    degraded_lines,
    filter_of,
    filter_options,
    memories_table,
    open_own,
    short,
)
from .options import Number
from .pages import fetched, page_of, page_options, rest_note
from .report import Note, Report, Text
from .tables import TextTable

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
    "--limit", type=Number(1, 1000), default=10, show_default=True, help="How many."
)
decay_option = click.option(
    "--half-life",
    type=float,
    metavar="DAYS",
    callback=_days,
    help="A memory this old counts half; more than 0.",
)


@click.command(epilog='For example: mentis memory search "who plays an instrument" --kind fact')
@click.argument("query")
@way_option
@limit_option
@decay_option
@filter_options
@common
def search(query: str, *, persona: str | None, **given: object) -> Report:
    """Find the memories that fit a query best."""
    found = _search(query, persona, given)
    return Report(found, found_lines(found))


@click.command(epilog='For example: mentis memory why "who plays an instrument"')
@click.argument("query")
@click.option("--id", "memory_id", metavar="ID", help="Only this memory.")
@way_option
@limit_option
@decay_option
@filter_options
@common
def why(query: str, *, memory_id: str | None, persona: str | None, **given: object) -> Report:
    """Show each candidate's scores and why it was in or out, near misses included."""
    from mentis.codec.forms import to_object

    found = _search(query, persona, given)
    rows = [row for row in (*found.hits, *found.near) if memory_id in (None, row.memory.id)]
    rest = to_object(replace(found, hits=(), near=()))
    told = {name: value for name, value in rest.items() if name not in ("hits", "near")}

    def text() -> Iterator[Text]:
        yield from _reasons(rows)
        if memory_id and not rows:
            yield Note(
                f"{memory_id} was no candidate: no word and no meaning in common, or too far behind"
            )
        yield from _rest(found)

    return Report({**told, "candidates": rows}, text())


@click.command("list", epilog="For example: mentis memory list --kind decision --json")
@filter_options
@page_options
@common
def list_(*, limit: int | None, after: str, persona: str | None, **given: object) -> Report:
    """List memories, in the order of their ids."""
    with open_own(persona) as memories:
        found = memories.page(filter_of(given), count=fetched(limit), after=after)
    kept, more = page_of(found, limit)
    return Report(kept, (memories_table(kept), rest_note(kept[-1].id) if more else ()))


@click.command(epilog='For example: mentis memory quarantine --release ID -m "it is a quote"')
@click.option("--release", metavar="ID", help="Let this one out; it stays marked.")
@click.option("--again", is_flag=True, help="Screen again what could not be screened.")
@click.option("-m", "--reason", default="", metavar="TEXT", help="Why: it is recorded.")
@common
def quarantine(*, release: str | None, again: bool, reason: str, persona: str | None) -> Report:
    """List what screening holds back, or release one. A release is an entry of the ledger."""
    if release and not reason.strip():
        raise click.UsageError("say why with -m: a release is recorded")
    with open_own(persona) as memories:
        if release:
            entry = memories.release(release, reason=reason)
            return Report(entry, Note(f"released {release}; entry {entry.index}"))
        freed = memories.screen_again() if again else ()
        held = memories.quarantine()
    rows = [
        (m.id, m.source, m.screening.reason if m.screening else "", short(m.text)) for m in held
    ]
    gone = [Note(f"{memory.id} is no longer in quarantine") for memory in freed]
    return Report(
        {"held": held, "freed": [one.id for one in freed]},
        (gone, TextTable(("id", "source", "reason", "text"), rows)),
    )


@click.command(epilog="For example: mentis memory hygiene --json")
@common
def hygiene(*, persona: str | None) -> Report:
    """Find duplicates, junk, secrets, quotes of memories, and circles. Nothing is changed."""
    with open_own(persona) as memories:
        findings = memories.hygiene()
    rows = [(one.flaw, ", ".join(one.memories), one.reason, one.advice) for one in findings]
    return Report(findings, TextTable(("flaw", "memories", "reason", "advice"), rows))


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


def found_lines(found: FoundMemories) -> Iterator[Text]:
    yield from _hits(found.hits)
    yield from _rest(found)


def _hits(rows: Sequence[ScoredMemory]) -> Iterator[Text]:
    cells = [
        (f"{row.score:.4f}", row.memory.id, row.memory.kind, short(row.memory.text)) for row in rows
    ]
    yield TextTable(("score", "id", "kind", "text"), cells, right=("score",))


def _reasons(rows: Sequence[ScoredMemory]) -> Iterator[Text]:
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
    yield TextTable(columns, cells, right=("score", "meaning", "words"))


def _rest(found: FoundMemories) -> Iterator[Text]:
    if found.filtered:
        yield Note(f"{found.filtered} kept out by screening")
    if found.vectors.how == "index":
        yield Note(f"searched by an index that finds {found.vectors.recall:.1%} of the ten nearest")
    if found.vectors.note:
        yield Note(found.vectors.note)
    yield from degraded_lines(found.degraded)

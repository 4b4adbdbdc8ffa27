"""Keeping memories and letting them go: add, supersede, forget, promote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

import click

from mentis.values.trust import Trust

from .memory_parts import VOUCHED, common, degraded_lines, draft_of, open_own, said_options
from .options import given_text
from .report import Note, Report, Text

if TYPE_CHECKING:
    from mentis.values.memories import StoredMemory


@click.command(epilog='For example: mentis memory add "Lena plays the cello." --tag family')
@click.argument("text", required=False)
@click.option("--from-file", type=click.File(encoding="utf-8"), help="Take the text from a file.")
@said_options
@common
def add(
    text: str | None,
    *,
    from_file: TextIO | None,
    persona: str | None,
    **said: object,
) -> Report:
    """Add a memory. One that is known already is not added twice; a note says so."""
    import anyio

    wanted = given_text(text, from_file)
    if wanted is None or (text is not None and from_file is not None):
        raise click.UsageError("give a TEXT or --from-file, and not both")
    with open_own(persona) as memories:
        return _tell(anyio.run(memories.remember, draft_of(wanted, said)))


@click.command(epilog='For example: mentis memory supersede ID "Lena plays the viola now."')
@click.argument("memory_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--by", "newer", metavar="ID", help="An existing memory that replaces it.")
@said_options
@common
def supersede(
    memory_id: str,
    text: str | None,
    *,
    newer: str | None,
    persona: str | None,
    **said: object,
) -> Report:
    """Replace a memory with a newer one; the old one is kept, but no longer found."""
    import anyio

    if (text is None) == (newer is None):
        raise click.UsageError("give a TEXT or --by, and not both")
    with open_own(persona) as memories:
        if text is not None:
            draft = draft_of(text, said)
            return _tell(anyio.run(memories.supersede, memory_id, draft))
        old = memories.supersede_by(memory_id, newer or "")
    return Report(old, Note(f"{old.id} is superseded by {old.superseded_by}"))


@click.command(epilog="For example: mentis memory forget ID")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@common
def forget(memory_ids: tuple[str, ...], *, persona: str | None) -> Report:
    """Forget memories for good: text, vectors, index. There is no undo."""
    with open_own(persona) as memories:
        for memory_id in memory_ids:
            memories.get(memory_id)  # all of them are there, or nothing is forgotten
        for memory_id in dict.fromkeys(memory_ids):
            memories.forget(memory_id)
        remains = memories.remains
    gone = list(dict.fromkeys(memory_ids))
    return Report(
        {"forgotten": gone, "remains": list(remains)},
        (
            [Note(f"forgot {memory_id}") for memory_id in gone],
            [Note(f"its bytes may still be in {place}") for place in remains],
        ),
    )


@click.command(epilog='For example: mentis memory promote ID --trust owner -m "I checked it"')
@click.argument("memory_id", metavar="ID")
@click.option(
    "--trust",
    type=click.Choice(VOUCHED),
    required=True,
    help="What it is to count as.",
)
@click.option("-m", "--reason", required=True, metavar="TEXT", help="Why: it is recorded.")
@common
def promote(memory_id: str, *, trust: str, reason: str, persona: str | None) -> Report:
    """Vouch for a memory from outside. This is an entry of the ledger."""
    with open_own(persona) as memories:
        entry = memories.promote(memory_id, Trust(trust), reason=reason)
    return Report(entry, Note(f"{memory_id} is {trust} now; entry {entry.index}"))


def _tell(made: StoredMemory) -> Report:

    def text() -> Iterator[Text]:
        yield made.memory.id
        for note in made.notes:
            yield Note(note)
        yield from degraded_lines(made.degraded)

    return Report(made, text())

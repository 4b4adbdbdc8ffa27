"""`mentis people`: summaries of those who take part in conversations."""

from __future__ import annotations

from collections.abc import Iterator

import click

from mentis.values.trust import Trust

from .groups import RenamedGroup
from .memory_parts import TRUSTS, common, degraded_lines, open_own, short
from .report import Note, Report, Text
from .tables import TextTable


@click.group(cls=RenamedGroup)
def people() -> None:
    """Keep notes on people, for conversations they take part in.

    Each is a memory of kind `person`, tagged with the names: `mentis memory` exports, promotes and
    searches them too.
    """


@people.command("list", epilog="For example: mentis people list")
@common
def list_(*, persona: str | None) -> Report:
    """List everybody there is a note on."""
    with open_own(persona) as memories:
        notes = memories.people.list()

    def text() -> Iterator[Text]:
        if not notes:
            yield Note("nobody is known yet")
        else:
            rows = [(", ".join(n.tags), n.worth.value, n.source, short(n.text)) for n in notes]
            yield TextTable(("names", "trust", "source", "summary"), rows)

    return Report(notes, text())


@people.command(epilog="For example: mentis people show Lena")
@click.argument("name")
@common
def show(name: str, *, persona: str | None) -> Report:
    """Show all notes on a person, by any of their names."""
    with open_own(persona) as memories:
        notes = memories.people.about(name)

    def text() -> Iterator[Text]:
        for note in notes:
            yield note.text
            yield Note(
                f"[{', '.join(note.tags)}: {note.worth.value}, {note.source}, memory {note.id}]"
            )

    return Report(notes, text())


@people.command("set", epilog='For example: mentis people set Lena "Plays the cello." --also @lena')
@click.argument("name")
@click.argument("summary")
@click.option("--also", multiple=True, metavar="NAME", help="What else they are called.")
@click.option(
    "--trust",
    type=TRUSTS,
    default="owner",
    show_default=True,
    help="Who vouches for it: `untrusted` for text from outside, which is screened.",
)
@common
def set_(
    name: str,
    summary: str,
    *,
    also: tuple[str, ...],
    trust: str,
    persona: str | None,
) -> Report:
    """Set the summary of a person, in place of the one before."""
    from functools import partial

    import anyio

    with open_own(persona) as memories:
        keep = partial(memories.people.set, also=also, trust=Trust(trust))
        made = anyio.run(keep, name, summary)

    def text() -> Iterator[Text]:
        yield made.memory.id
        for note in made.notes:
            yield Note(note)
        yield from degraded_lines(made.degraded)

    return Report(made, text())


@people.command(epilog="For example: mentis people rm Lena")
@click.argument("name")
@common
def rm(name: str, *, persona: str | None) -> Report:
    """Forget all notes on a person, for good. There is no undo."""
    with open_own(persona) as memories:
        gone = [note.id for note in memories.people.remove(name)]
        remains = memories.remains

    def text() -> Iterator[Text]:
        yield Note(
            f"forgot {len(gone)} notes on {name}" if len(gone) > 1 else f"forgot the note on {name}"
        )
        for place in remains:
            yield Note(f"its bytes may still be in {place}")

    return Report({"forgotten": gone, "remains": list(remains)}, text())

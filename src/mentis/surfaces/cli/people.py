"""`mentis people`: summaries of those who take part in conversations."""

from __future__ import annotations

import click

from mentis.values.trust import Trust

from .memory_parts import TRUSTS, common, open_own, say_degraded, short
from .output import emit, emit_json, say, table


@click.group()
def people() -> None:
    """Keep what the agent knows of people, told when they take part.

    Each is a memory of kind `person`, tagged with the names: `mentis memory` exports, promotes and
    searches them too.
    """


@people.command("list", epilog="For example: mentis people list")
@common
def list_(*, persona: str | None, as_json: bool) -> None:
    """List everybody of whom something is known."""
    from mentis.codec.forms import to_object

    with open_own(persona) as memories:
        notes = memories.people.list()
    if as_json:
        emit_json([to_object(note) for note in notes])
    elif not notes:
        say("nobody is known yet")
    else:
        rows = [(", ".join(n.tags), n.worth.value, n.source, short(n.text)) for n in notes]
        table(("names", "trust", "source", "summary"), rows)


@people.command(epilog="For example: mentis people show Lena")
@click.argument("name")
@common
def show(name: str, *, persona: str | None, as_json: bool) -> None:
    """Show all that is known of somebody, by any of their names."""
    from mentis.codec.forms import to_object

    with open_own(persona) as memories:
        notes = memories.people.about(name)
    if as_json:
        emit_json([to_object(note) for note in notes])
        return
    for note in notes:
        emit(note.text)
        say(f"[{', '.join(note.tags)}: {note.worth.value}, {note.source}, memory {note.id}]")


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
    as_json: bool,
) -> None:
    """Keep a summary of somebody, in the place of the one before."""
    from functools import partial

    import anyio

    from mentis.codec.forms import to_object

    with open_own(persona) as memories:
        keep = partial(memories.people.set, also=also, trust=Trust(trust))
        made = anyio.run(keep, name, summary)
    if as_json:
        emit_json(to_object(made))
        return
    emit(made.memory.id)
    for note in made.notes:
        say(note)
    say_degraded(made.degraded)


@people.command(epilog="For example: mentis people rm Lena")
@click.argument("name")
@common
def rm(name: str, *, persona: str | None, as_json: bool) -> None:
    """Forget all that is known of somebody, for good. There is no undo."""
    with open_own(persona) as memories:
        gone = [note.id for note in memories.people.remove(name)]
        remains = memories.remains
    if as_json:
        emit_json({"forgotten": gone, "remains": list(remains)})
        return
    say(f"forgot {len(gone)} notes on {name}" if len(gone) > 1 else f"forgot the note on {name}")
    for place in remains:
        say(f"its bytes may still be in {place}")

"""Memories taken elsewhere and brought in; vectors made anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .memory_parts import common, open_own
from .output import emit, say
from .report import Note, Report, Text

if TYPE_CHECKING:
    from mentis.memories.memories import Memories
    from mentis.values.memories import VectorRebuild


@click.command(epilog="For example: mentis memory export ada.jsonl")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True), required=False)
@click.option("--private", is_flag=True, help="Include thoughts, diary and quarantine.")
@common
def export(file: str | None, *, private: bool, persona: str | None) -> Report | None:
    """Export memories as JSON lines, to a file or to standard output.

    The same memories give the same bytes. Vectors are left out: they can be made anew. With --json
    and a FILE, a summary of what was written is printed.
    """
    from mentis.disk.atomic import write_atomic
    from mentis.values.digest import digest

    with open_own(persona) as memories:
        data = memories.export(private=private)
    if file in (None, "-"):
        emit(data.decode(), end="")
        return None
    write_atomic(Path(file), data)
    told = {"file": file, "memories": data.count(b"\n") - 1, "digest": digest(data)}
    return Report(
        told, Note(f"{file}: {told['memories']} memories, {len(data)} bytes, {told['digest']}")
    )


@click.command("import", epilog="For example: mentis memory import theirs.jsonl")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--later", is_flag=True, help="Make no vectors now; `rebuild` makes them.")
@common
def import_(file: Path, *, later: bool, persona: str | None) -> Report:
    """Import memories from JSON lines: all or none. They are untrusted until you promote them.

    Each is screened by its words, then by its vector. Vectors are made when all are in. Stop that
    whenever you like: `rebuild` goes on, and screens too.
    """
    from mentis.codec.forms import to_object
    from mentis.memories.transfer import read_file

    with open_own(persona) as memories:
        done = memories.import_lines(read_file(file, most_bytes=memories.import_bytes))
        counts = len(done.added), len(done.known), len(done.quarantined)
        say("{} added, {} known, {} in quarantine".format(*counts))
        for note in done.notes:
            say(note)
        made = None if later or not done.waiting else _fill(memories)
    if made is not None and made.quarantined:
        say(f"{len(made.quarantined)} more in quarantine: their vectors say so")
        done = replace(done, quarantined=(*done.quarantined, *made.quarantined))
    if done.waiting and (made is None or not made.complete):
        say(f"{done.waiting} are found by their words alone until `mentis memory rebuild` is run")
    return Report({**to_object(done), "vectors": made})


def _fill(memories: Memories) -> VectorRebuild | None:
    """The memories are in, whatever becomes of their vectors."""
    import anyio

    from mentis.errors import MentisError

    try:
        return anyio.run(memories.fill, _say_progress)
    except MentisError as error:
        say(error.message)
        return None


@click.command(epilog="For example: mentis memory rebuild")
@common
def rebuild(*, persona: str | None) -> Report:
    """Make missing vectors, after the embedder changed. Stop and resume it any time."""
    import anyio

    with open_own(persona) as memories:
        done = anyio.run(memories.rebuild, _say_progress)

    def text() -> Iterator[Text]:
        yield Note(f"{done.made} vectors made, {done.dropped} of other embedders dropped")
        if done.quarantined:
            yield Note(f"{len(done.quarantined)} in quarantine: their vectors say so")

    return Report(done, text())


def _say_progress(made: int, total: int) -> None:
    say(f"{made} of {total}")

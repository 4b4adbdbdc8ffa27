"""Memories taken elsewhere and brought in; vectors made anew."""

from __future__ import annotations

from pathlib import Path

import click

from .memory_parts import common, open_own
from .output import emit, emit_json, say


@click.command(epilog="For example: mentis memory export ada.jsonl")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--private", is_flag=True, help="Thoughts, diary and quarantine as well.")
@common
def export(file: Path | None, *, private: bool, persona: str | None, as_json: bool) -> None:
    """Write memories as lines of JSON, to a file or to standard output: same memories, same bytes.

    Vectors are left out: they can be made anew. With --json and a FILE, what was written is told.
    """
    from mentis.disk.atomic import write_atomic
    from mentis.values.digest import digest

    with open_own(persona) as memories:
        data = memories.export(private=private)
    if file is None:
        emit(data.decode(), end="")
        return
    write_atomic(file, data)
    told = {"file": str(file), "memories": data.count(b"\n") - 1, "digest": digest(data)}
    if as_json:
        emit_json(told)
    else:
        say(f"{file}: {told['memories']} memories, {len(data)} bytes, {told['digest']}")


@click.command("import", epilog="For example: mentis memory import theirs.jsonl")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@common
def import_(file: Path, *, persona: str | None, as_json: bool) -> None:
    """Take memories from lines of JSON: all or none. They are untrusted until you promote them."""
    from mentis.codec.forms import to_object
    from mentis.runtime.memories_transfer import read_file

    with open_own(persona) as memories:
        done = memories.import_lines(read_file(file, most_bytes=memories.import_bytes))
    if as_json:
        emit_json(to_object(done))
        return
    say(f"{len(done.added)} added, {len(done.known)} known, {len(done.quarantined)} in quarantine")
    for note in done.notes:
        say(note)


@click.command(epilog="For example: mentis memory rebuild")
@common
def rebuild(*, persona: str | None, as_json: bool) -> None:
    """Make the vectors that are missing, after the embedder changed. Stop it and go on any time."""
    import anyio

    from mentis.codec.forms import to_object

    with open_own(persona) as memories:
        done = anyio.run(memories.rebuild, _say_progress)
    if as_json:
        emit_json(to_object(done))
    else:
        say(f"{done.made} vectors made, {done.dropped} of other embedders dropped")


def _say_progress(made: int, total: int) -> None:
    say(f"{made} of {total}")

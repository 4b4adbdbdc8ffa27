"""`mentis ledger anchor`: where checkpoints are kept outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError
from mentis.values.words import entries_of

from .ledger_parts import open_own
from .options import home_option, persona_option
from .output import emit, emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.record.keys import AnchorState


@click.group()
def anchor() -> None:
    """Name places outside that are told every checkpoint."""


_file_option = click.option(
    "--file", type=click.Path(path_type=Path), help="A file on another disk or a share."
)
_git_option = click.option(
    "--git", type=click.Path(path_type=Path), help="A git repository you push elsewhere."
)


@anchor.command(epilog="For example: mentis ledger anchor add --file /media/usb/checkpoints.txt")
@_file_option
@_git_option
@persona_option
@home_option
@json_option
def add(*, file: Path | None, git: Path | None, persona: str | None, as_json: bool) -> None:
    """Name an anchor in the settings and tell it a checkpoint of now."""
    from mentis.record.keys import add_anchor

    name = _name(file, git)
    with open_own(persona) as record:
        made = add_anchor(record, name)
    if as_json:
        emit_json({"anchor": name, "size": made.standing.size, "note": made.note})
        return
    emit(name)
    known = entries_of(made.standing.size)
    say(f"it knows {known} from the beginning on, and is told every new checkpoint")


@anchor.command(epilog="For example: mentis ledger anchor remove --file /media/usb/checkpoints.txt")
@_file_option
@_git_option
@persona_option
@home_option
@json_option
def remove(*, file: Path | None, git: Path | None, persona: str | None, as_json: bool) -> None:
    """Tell an anchor nothing more, and ask it nothing; what it knows stays where it is."""
    from mentis.record.keys import remove_anchor

    name = _name(file, git)
    with open_own(persona, readonly=True) as record:
        remove_anchor(record, name)
    if as_json:
        emit_json({"removed": name})
        return
    emit(name)
    say("it is told nothing more; to check with what it knows: mentis status verify --checkpoint")


def _name(file: Path | None, git: Path | None) -> str:
    if (file is None) == (git is None):
        raise UsageError("which anchor?", hint="give --file PATH or --git FOLDER")
    return f"file:{file.absolute()}" if file else f"git:{git.absolute()}" if git else ""


@anchor.command("list", epilog="For example: mentis ledger anchor list --json")
@persona_option
@home_option
@json_option
def list_(*, persona: str | None, as_json: bool) -> int:
    """Show the anchors and how far each one knows the ledger."""
    from mentis.record.keys import list_anchors
    from mentis.record.record_data import anchors_data

    with open_own(persona, readonly=True) as record:
        if as_json:
            emit_json(anchors_data(record))
            return 0
        states, count = list_anchors(record), record.store.count(record.agent)
    if not states:
        say("no anchors; add one with: mentis ledger anchor add --file PATH")
        return 0
    table(("anchor", "knows"), [(s.name, _knows(s, count)) for s in states])
    return 0


def _knows(state: AnchorState, count: int) -> str:
    known = (
        "" if state.size is None and state.fault else f"{state.size or 0} of {entries_of(count)}"
    )
    return "; ".join(filter(None, (known, state.fault)))


@anchor.command(epilog="For example: mentis ledger anchor push")
@persona_option
@home_option
@json_option
def push(*, persona: str | None, as_json: bool) -> int:
    """Make a checkpoint now and tell it to every anchor; exit code 1 when one cannot be told."""
    with open_own(persona) as record:
        made = record.checkpoint()
    if as_json:
        told = {"size": made.standing.size, "told": made.told, "faults": made.faults}
        emit_json(told)
        return 1 if made.faults else 0
    for name in made.told:
        emit(name)
    for fault in made.faults:
        say(fault)
    if not made.told and not made.faults:
        say("no anchors; add one with: mentis ledger anchor add --file PATH")
    return 1 if made.faults else 0

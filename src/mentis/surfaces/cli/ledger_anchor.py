"""`mentis ledger anchor`: where checkpoints are kept outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError
from mentis.values.words import entries_of

from .groups import RenamedGroup
from .ledger_parts import open_own
from .options import Number, home_option, persona_option
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.record.keys import AnchorState

_NO_ANCHORS = "no anchors; add one with: mentis ledger anchor add --file PATH"


@click.group(cls=RenamedGroup)
def anchor() -> None:
    """Manage the places outside that every checkpoint is sent to."""


_file_option = click.option(
    "--file", type=click.Path(path_type=Path), help="A file on another disk or a share."
)
_git_option = click.option(
    "--git", type=click.Path(path_type=Path), help="A git repository you push elsewhere."
)


_witness_option = click.option(
    "--witness", metavar="URL", help="A witness: it signs below each checkpoint."
)
_key_option = click.option(
    "--key", metavar="NAME+ID+KEY", help="The key of the witness, as it prints it."
)


@anchor.command(epilog="For example: mentis ledger anchor add --file /media/usb/checkpoints.txt")
@_file_option
@_git_option
@_witness_option
@_key_option
@persona_option
@home_option
@prints_report
def add(
    *,
    file: Path | None,
    git: Path | None,
    witness: str | None,
    key: str | None,
    persona: str | None,
) -> Report:
    """Add an anchor to the settings, and send it a checkpoint now."""
    from mentis.record.keys import add_anchor

    name = _name(file, git, _witness_name(witness, key))
    with open_own(persona) as record:
        made = add_anchor(record, name)
    known = entries_of(made.standing.size)
    return Report(
        {"anchor": name, "size": made.standing.size, "note": made.note},
        (name, Note(f"it has seen {known}, and every new checkpoint is sent to it")),
    )


@anchor.command(epilog="For example: mentis ledger anchor remove --file /media/usb/checkpoints.txt")
@_file_option
@_git_option
@_witness_option
@_key_option
@persona_option
@home_option
@prints_report
def remove(
    *,
    file: Path | None,
    git: Path | None,
    witness: str | None,
    key: str | None,
    persona: str | None,
) -> Report:
    """Remove an anchor from the settings; what it has seen stays there."""
    from mentis.record.keys import remove_anchor

    name = _name(file, git, _witness_name(witness, key))
    with open_own(persona, readonly=True) as record:
        remove_anchor(record, name)
    return Report(
        {"removed": name},
        (
            name,
            Note(
                "it is told nothing more; to check with what it knows: mentis verify --checkpoint"
            ),
        ),
    )


def _witness_name(witness: str | None, key: str | None) -> str | None:
    if (witness is None) != (key is None):
        raise UsageError(
            "a witness is known by its address and its key", hint="give --witness URL --key KEY"
        )
    return f"witness:{witness}#{key}" if witness else None


def _name(file: Path | None, git: Path | None, witness: str | None) -> str:
    names = [
        *([f"file:{file.absolute()}"] if file else []),
        *([f"git:{git.absolute()}"] if git else []),
        *([witness] if witness else []),
    ]
    if len(names) != 1:
        raise UsageError(
            "which anchor?", hint="give --file PATH, --git FOLDER, or --witness URL and --key KEY"
        )
    return names[0]


@anchor.command(epilog="For example: mentis ledger anchor quorum 2")
@click.argument("number", type=Number(0, 99))
@persona_option
@home_option
@prints_report
def quorum(*, number: int, persona: str | None) -> Report:
    """Choose how many witnesses must have signed below a checkpoint; 0 asks for none.

    It is kept beside the signing key, not in the home. From then on, `mentis verify` fails where no
    checkpoint has so many cosignatures.
    """
    from mentis.record.keys import pin_quorum

    with open_own(persona, readonly=True) as record:
        pin_quorum(record, number)
    return Report({"quorum": number}, str(number))


@anchor.command("list", epilog="For example: mentis ledger anchor list --json")
@persona_option
@home_option
@prints_report
def list_(*, persona: str | None) -> Report:
    """List the anchors, and how many entries each has seen."""
    from mentis.record.keys import list_anchors
    from mentis.record.record_data import anchors_data

    with open_own(persona, readonly=True) as record:
        data = anchors_data(record)
        states, count = list_anchors(record), record.store.count(record.agent)
    grid = TextTable(("anchor", "entries"), [(s.name, _knows(s, count)) for s in states])
    return Report(data, grid if states else Note(_NO_ANCHORS))


def _knows(state: AnchorState, count: int) -> str:
    known = (
        "" if state.size is None and state.fault else f"{state.size or 0} of {entries_of(count)}"
    )
    return "; ".join(filter(None, (known, state.fault)))


@anchor.command(epilog="For example: mentis ledger anchor push")
@persona_option
@home_option
@prints_report
def push(*, persona: str | None) -> Report:
    """Sign a checkpoint now, and send it to every anchor.

    Exit code 1 when one cannot be reached.
    """
    with open_own(persona) as record:
        made = record.checkpoint()
    sent = {"anchors": made.told, "told": made.told}  # `told` is its older name
    told = {"size": made.standing.size, **sent, "faults": made.faults}

    def text() -> Iterator[Text]:
        yield from made.told
        for fault in made.faults:
            yield Note(fault)
        if not made.told and not made.faults:
            yield Note(_NO_ANCHORS)

    return Report(told, text(), code=1 if made.faults else 0)

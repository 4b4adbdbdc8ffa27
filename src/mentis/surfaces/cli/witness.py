"""`mentis witness`: a witness for the records of others, to run elsewhere than they are kept."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .groups import RenamedGroup
from .logs import log_option
from .options import Number
from .output import say
from .report import Note, Report, print_report, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.stores.files.witness_folder import WitnessFolder
    from mentis.web.guard import AccessRecord

_SURFACE = "mentis.surfaces.witness"
_folder = click.argument("folder", type=click.Path(path_type=Path))


@click.group(cls=RenamedGroup)
def witness() -> None:
    """Run a witness, which countersigns records that only grow.

    It speaks C2SP tlog-witness, and belongs on another machine than the records it watches. See
    docs/guides/prove-what-your-agent-did.md.
    """


@witness.command(epilog="For example: mentis witness init /srv/witness --name witness.example/w1")
@_folder
@click.option("--name", required=True, help="What it signs as; like an address, without https://.")
@prints_report
def init(*, folder: Path, name: str) -> Report:
    """Make the folder of a new witness, and print its key."""
    from mentis.ledger.checkpoint import check_witness_name
    from mentis.stores.files.witness_folder import WitnessFolder

    check_witness_name(name)
    return _shown(WitnessFolder.create(folder, name))


@witness.command(epilog="For example: mentis witness show /srv/witness")
@_folder
@prints_report
def show(*, folder: Path) -> Report:
    """Show the key of a witness, and how many entries it has seen of each log."""
    from mentis.stores.files.witness_folder import WitnessFolder

    return _shown(WitnessFolder(folder))


@witness.command(epilog="For example: mentis witness watch /srv/witness ORIGIN --key BASE64")
@_folder
@click.argument("origin")
@click.option("--key", required=True, metavar="BASE64", help="Its public key: ledger.public_key.")
@prints_report
def watch(*, folder: Path, origin: str, key: str) -> Report:
    """Watch a log and those below it: all agents of a home. A further key is added."""
    from mentis.ledger.signature import decode_key
    from mentis.stores.files.witness_folder import WitnessFolder

    decode_key(key)
    log = WitnessFolder(folder).watch(origin, key)
    return Report({"origin": log.origin, "keys": list(log.public_keys)}, log.origin)


@witness.command(epilog="For example: mentis witness serve /srv/witness --port 8379")
@_folder
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=Number(0, 65_535), default=8379, show_default=True, help="0: any.")
@click.option("--host-name", multiple=True, metavar="NAME", help="Name it is called by elsewhere.")
@click.option("--log/--no-log", default=True, help="Write a line for each request to stderr.")
@log_option
@prints_report
def serve(*, folder: Path, host: str, port: int, host_name: tuple[str, ...], log: bool) -> None:
    """Answer logs, until Ctrl-C or SIGTERM."""
    from mentis.web.loop import run_loop

    start = import_module(f"{_SURFACE}.start")
    options = start.WitnessOptions(
        host=host,
        port=port,
        hosts=host_name,
        on_access=_logged if log else None,
        on_ready=_ready,
        say=say,
    )
    run_loop(start.serve_witness, folder, options)


def _ready(address: str) -> None:
    print_report(Report({"address": address}, (address, Note("Ctrl-C ends it."))))


def _logged(record: AccessRecord) -> None:
    say(json.dumps({name: fact for name, fact in asdict(record).items() if fact != ""}))


def _shown(folder: WitnessFolder) -> Report:
    from mentis.ledger.checkpoint import read_note
    from mentis.ledger.cosignature import witness_key_text
    from mentis.values.checkpoint import WitnessKey

    facts = folder.facts()
    key = witness_key_text(WitnessKey(facts.name, folder.signer().public))
    seen = [read_note(one.note).checkpoint for one in folder.seen_below()]
    told = {
        "name": facts.name,
        "key": key,
        "watched": [{"origin": one.origin, "keys": list(one.public_keys)} for one in facts.logs],
        "seen": [{"origin": one.origin, "size": one.size, "root": one.root} for one in seen],
    }
    rows = [(one.origin, str(one.size)) for one in seen]
    grid = TextTable(("log", "entries"), rows, right=("entries",))
    note = Note("let it watch a log: mentis witness watch FOLDER ORIGIN --key KEY")
    return Report(told, (key, *((grid,) if rows else ()), *(() if facts.logs else (note,))))

"""`mentis ledger`: the record itself, its checkpoints and proofs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mentis.errors import UsageError
from mentis.values.words import entries_of, quantity

from .files import read_bytes
from .ledger_anchor import anchor
from .ledger_change import accept_rollback, erase, repair, rotate
from .ledger_parts import entry_object, open_own, show_entries, show_entry
from .options import MAX_INDEX, home_option, home_path, persona_option
from .output import emit, emit_json, json_option, say


@click.group()
def ledger() -> None:
    """Look at the record, prove and seal it, hand it over."""


for _command in (anchor, erase, rotate, accept_rollback, repair):
    ledger.add_command(_command)


@ledger.command(epilog="For example: mentis ledger show 12")
@click.argument("index", required=False, type=click.IntRange(0, MAX_INDEX))
@click.option(
    "--last",
    type=click.IntRange(1, MAX_INDEX),
    default=10,
    show_default=True,
    help="How many entries.",
)
@persona_option
@home_option
@json_option
def show(index: int | None, *, last: int, persona: str | None, as_json: bool) -> None:
    """Show one entry in full, or the last ones; also from sealed segments."""
    with open_own(persona, readonly=True) as record:
        if index is not None:
            entry = record.entry(index)
            if as_json:
                emit_json(entry_object(entry))
            else:
                show_entry(entry)
            return
        entries = record.last(last)
        if as_json:
            emit_json({"agent": record.agent, "entries": [entry_object(e) for e in entries]})
            return
        show_entries(entries)
        say(f"{entries_of(record.store.count(record.agent))} of {record.agent}")


@ledger.command(epilog="For example: mentis ledger proof 12 --json > proof.json")
@click.argument("index", required=False, type=click.IntRange(0, MAX_INDEX))
@click.option("--size", type=click.IntRange(min=1), help="In the ledger of that many entries.")
@click.option(
    "--consistency",
    "old",
    type=click.IntRange(min=1),
    metavar="FROM",
    help="Instead, that the ledger begins with its first FROM entries.",
)
@click.option(
    "--check",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Check a proof that --json printed.",
)
@click.option("--root", metavar="HEX", help="With --check: the root as you know it.")
@persona_option
@home_option
@json_option
def proof(
    index: int | None,
    *,
    size: int | None,
    old: int | None,
    file: Path | None,
    root: str | None,
    persona: str | None,
    as_json: bool,
) -> int:
    """Prove that an entry is in the ledger, or that the ledger only grew.

    The proof leads to the newest checkpoint that has seen the entry; who has that checkpoint can
    check it alone. Exit code 1 when a proof that is checked does not hold, or leads to a root that
    neither the pinned key has signed (or, as the record of the home at hand tells, one that was
    in force then) nor --root names.
    """
    if [index is not None, old is not None, file is not None].count(True) != 1:
        raise UsageError("what is to be proved?", hint="give an INDEX, --consistency, or --check")
    if file is not None:
        return _check(file, root, as_json=as_json)
    if root is not None:
        raise UsageError("--root is for a proof that is checked", hint="give it with --check FILE")
    from mentis.codec.forms import to_object

    with open_own(persona, readonly=True) as record:
        if old is not None:
            made = record.prove_growth(old, size=size)
            told = f"the ledger of {entries_of(made.size)} begins with that of {old}"
        else:
            assert index is not None  # noqa: S101 - exactly one of the three was given
            made = record.prove(index, size=size)
            told = f"entry {index}, {made.hash}, is one of {made.size}"
        if as_json:
            emit_json(to_object(made))
            return 0
    emit(told)
    emit(f"root {made.root}")
    for step in made.path:
        emit(f"path {step}")
    if made.note is None:
        say("note: no checkpoint of this size is here, so nobody has signed this root")
    else:
        emit(f"\n{made.note}", end="")
    return 0


def _check(file: Path, root: str | None, *, as_json: bool) -> int:
    from mentis.record.export import check_proof_at
    from mentis.record.record_data import checked_proof_data

    checked = check_proof_at(home_path(), read_bytes(str(file)), os.environ, root=root)
    if as_json:
        emit_json(checked_proof_data(checked))
        return 0 if checked.good else 1
    words = {True: "signed by the pinned key", False: "NOT signed by the pinned key"}
    said = "not signed" if checked.signed is None else words[checked.signed]
    if checked.changed:
        said = "signed by a key that the record's signed changes of the key lead to"
    if checked.known is not None:
        said += " and the one you know" if checked.known else " and NOT the one you know"
    emit(
        f"{'ok' if checked.good else 'BROKEN'}  {checked.kind}: the path"
        f" {'leads' if checked.holds else 'does not lead'} to the root, which is {said}"
    )
    if checked.holds and checked.signed is None and checked.known is None:
        say("hint: anybody can make up a root; name the one you know with --root")
    if checked.signed is False:
        say("hint: if the key was changed, only the home's own record says which key was in force")
    return 0 if checked.good else 1


@ledger.command(epilog="For example: mentis ledger checkpoint > /media/usb/ada.note")
@click.option("--list", "listed", is_flag=True, help="List those that were made.")
@click.option("--init", "init", is_flag=True, help="Make the key of a home that has none.")
@click.option("--new-key", is_flag=True, help="Change the key; every chain says so in an entry.")
@persona_option
@home_option
@json_option
def checkpoint(
    *, listed: bool, init: bool, new_key: bool, persona: str | None, as_json: bool
) -> None:
    """Sign how long the ledger is and what is in it; print the note.

    Give the note to somebody, or name an anchor: a checkpoint that only this machine has says
    nothing to others. They are also made by themselves, after `ledger.checkpoint_entries` entries
    or `ledger.checkpoint_seconds` seconds, and when a program ends.
    """
    from mentis.record.record_data import checkpoint_data, checkpoints_data

    if [listed, init, new_key].count(True) > 1:
        raise UsageError("--list, --init and --new-key do not go together", hint="choose one")
    if init:
        _init(as_json=as_json)
        return
    if new_key:
        _change_key(persona, as_json=as_json)
        return
    with open_own(persona, readonly=listed) as record:
        if listed:
            if as_json:
                emit_json(checkpoints_data(record))
                return
            record.require_sealing()
            rows = record.checkpoints()
            for size, note in rows:
                emit(f"{size:>8}  {note.splitlines()[2]}")
            say(f"{quantity(len(rows), 'checkpoint')} of {record.agent}")
            return
        made = record.checkpoint()
    if as_json:
        emit_json(checkpoint_data(made))
        return
    emit(made.note, end="")
    for name in made.told:
        say(f"told to {name}")
    for fault in made.faults:
        say(f"note: {fault}")


def _init(*, as_json: bool) -> None:
    from mentis.home.log_identity import init_log
    from mentis.stores.files.home import find_home

    log = init_log(find_home(home_path()), os.environ)
    told = {"origin": log.pin.origin, "public_key": log.pin.public_key}
    if as_json:
        emit_json({**told, "key": None if log.key_file is None else str(log.key_file)})
        return
    for name, value in told.items():
        emit(f"{name} = {value}")
    say(
        f"the key is in {log.key_file}; keep a copy of it, and of the two lines above, elsewhere"
        if log.key_file
        else "the key is the one in the keyring or the environment"
    )


def _change_key(persona: str | None, *, as_json: bool) -> None:
    from mentis.record.keys import change_key

    with open_own(persona) as record:
        pin, entries = change_key(record)
        rows = [{"agent": entry.agent, "index": entry.index} for entry in entries]
    if as_json:
        emit_json({"origin": pin.origin, "public_key": pin.public_key, "entries": rows})
        return
    emit(f"public_key = {pin.public_key}")
    for row in rows:
        say(f"entry {row['index']} of {row['agent']} says so, signed by the old key and the new")


def _export_spans(file: Path, persona: str | None, *, as_json: bool) -> None:
    from mentis.disk.atomic import write_atomic
    from mentis.recorder.otlp_export import export_requests

    with open_own(persona) as record, record.snapshot() as source:
        lines = list(export_requests(record.agent, source.entries()))
        write_atomic(file, lines)
        told = {"file": str(file), "agent": record.agent, "requests": len(lines)}
    if as_json:
        emit_json(told)
        return
    say(f"spans of {told['agent']} in {file}: each line is the body of a POST to /v1/traces")


@ledger.command(epilog="For example: mentis ledger export ada.zip")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["bundle", "otel"]),
    default="bundle",
    show_default=True,
    help="otel: GenAI spans of OpenTelemetry, a line of JSON for each OTLP request.",
)
@persona_option
@home_option
@json_option
def export(file: Path, *, form: str, persona: str | None, as_json: bool) -> None:
    """Write one file that an auditor checks with one command, without Mentis.

    With --format otel, spans for tools that show traces: turns, calls, acts; of a recorded agent
    its calls. They hold names, numbers and digests, and nothing that was said.
    """
    from mentis.record.export import export_record

    if form == "otel":
        _export_spans(file, persona, as_json=as_json)
        return
    with open_own(persona) as record:
        done = export_record(record, file)
    script = "mentis ledger auditor > verify.py"
    if as_json:
        pin = {"origin": done.pin.origin, "public_key": done.pin.public_key}
        told = {"file": str(done.path), "entries": done.entries, **pin}
        emit_json({**told, "script": script, "command": done.command})
        return
    told = f"{entries_of(done.entries)} in {done.path}"
    say(f"{told}. The auditor, with Python 3.11, `cryptography` and the verifier from elsewhere:")
    emit(script)
    emit(done.command)
    say(
        "Hand over origin and key by another way than the file, and any checkpoint that was kept"
        " elsewhere (--checkpoint FILE): only these show whether entries are missing."
    )


@ledger.command(epilog="For example: mentis ledger auditor > verify.py")
@json_option
def auditor(*, as_json: bool) -> None:
    """Print the auditor's verifier, as it is installed here; its SHA-256 goes to stderr.

    One Python file that needs nothing but the standard library and `cryptography`. In an export
    there is one as well, put there by whoever made the export: check with your own.
    """
    from hashlib import sha256

    from mentis.ledger.bundle import auditor_script

    script = auditor_script()
    digest = sha256(script).hexdigest()
    if as_json:
        emit_json({"sha256": digest, "script": script.decode()})
        return
    click.echo(script, nl=False)
    say(f"sha256 {digest}")


@ledger.command(epilog="For example: mentis ledger audit ada.zip")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--origin", metavar="NAME", help="The name of the log, as you know it.")
@click.option("--key", metavar="BASE64", help="Its public key, as you know it.")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Checkpoints that somebody else has kept; may be given several times.",
)
@home_option
@json_option
def audit(
    file: Path,
    *,
    origin: str | None,
    key: str | None,
    checkpoints: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Check an export as an auditor does, and name the entry that does not hold.

    Name and key of the log are those of the home, unless they are given. Exit code 1 unless it is
    `ok`.
    """
    from mentis.home.signing import open_pin
    from mentis.ledger.auditor import main
    from mentis.settings.sources import load_settings

    if (origin is None) != (key is None):
        raise UsageError("--origin and --key go together", hint="give both, or none")
    if origin is None and (home_path() / "mentis.toml").is_file():
        pin = open_pin(load_settings(home_path(), os.environ))
        origin, key = (pin.origin, pin.public_key) if pin else (None, None)
    named = [] if origin is None or key is None else ["--origin", origin, "--key", key]
    given = [word for one in checkpoints for word in ("--checkpoint", str(one))]
    return main([str(file), *named, *given, *(["--json"] if as_json else [])])

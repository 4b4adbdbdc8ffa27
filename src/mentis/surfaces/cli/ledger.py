"""`mentis ledger`: the record itself, its checkpoints and proofs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError
from mentis.values.words import entries_of, quantity

if TYPE_CHECKING:
    from mentis.record.export import CheckedProof
    from mentis.record.record import Record

from .export_options import DisclosureOptions, disclosure_options
from .files import read_bytes
from .groups import RenamedGroup
from .ledger_anchor import anchor
from .ledger_bundle import home_pin, show_bundle, shown_place
from .ledger_change import accept_rollback, erase, repair, rotate, settle_clock
from .ledger_parts import entries_table, entry_lines, open_own
from .options import MAX_INDEX, Number, home_option, home_path, persona_option
from .output import json_option
from .report import Note, Report, Text, prints_report

_HAND_OVER = (
    "Hand over origin and key by another way than the file, and any checkpoint that was kept"
    " elsewhere (--checkpoint FILE): only these show whether entries are missing."
)


@click.group(cls=RenamedGroup)
def ledger() -> None:
    """Inspect, prove and seal the record; erase, rotate, repair."""


for _command in (anchor, erase, rotate, accept_rollback, repair, settle_clock):
    ledger.add_command(_command)


@ledger.command(epilog="For example: mentis ledger show 12, or: mentis ledger show ada.zip 12")
@click.argument("place", nargs=-1, metavar="[FILE] [INDEX]")
@click.option(
    "--last",
    type=Number(1, MAX_INDEX),
    default=10,
    show_default=True,
    help="How many entries.",
)
@persona_option
@home_option
@prints_report
def show(place: tuple[str, ...], *, last: int, persona: str | None) -> Report:
    """Show one entry in full, or the last ones; also from sealed segments.

    With the FILE of an export (or the report.html out of it), of what is in there, with the texts
    that it holds and the verdict on it; the exit code is 1 unless that is `ok` or `UNPINNED`.
    """
    file, index = shown_place(place)
    if file is not None:
        return show_bundle(file, index, last)
    with open_own(persona, readonly=True) as record:
        if index is not None:
            entry = record.entry(index)
            return Report(entry, entry_lines(entry))
        entries = record.last(last)
        count = f"{entries_of(record.store.count(record.agent))} of {record.agent}"
        return Report(
            {"agent": record.agent, "entries": entries}, (entries_table(entries), Note(count))
        )


@ledger.command(epilog="For example: mentis ledger proof 12 --json > proof.json")
@click.argument("index", required=False, type=Number(0, MAX_INDEX))
@click.option("--size", type=Number(min=1), help="In the ledger of that many entries.")
@click.option(
    "--consistency",
    "old",
    type=Number(min=1),
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
@prints_report
def proof(
    index: int | None,
    *,
    size: int | None,
    old: int | None,
    file: Path | None,
    root: str | None,
    persona: str | None,
) -> Report:
    """Prove that an entry is in the ledger, or that the ledger only grew.

    The proof leads to the newest checkpoint that has seen the entry; who has that checkpoint can
    check it alone. Exit code 1 when a proof that is checked does not hold, or leads to a root that
    neither the pinned key has signed (or, as the record of the home at hand tells, one that was
    in force then) nor --root names.
    """
    if [index is not None, old is not None, file is not None].count(True) != 1:
        raise UsageError("what is to be proved?", hint="give an INDEX, --consistency, or --check")
    if file is not None:
        return _check(file, root)
    if root is not None:
        raise UsageError("--root is for a proof that is checked", hint="give it with --check FILE")
    with open_own(persona, readonly=True) as record:
        if old is not None:
            made = record.prove_growth(old, size=size)
            told = f"the ledger of {entries_of(made.size)} begins with that of {old}"
        else:
            assert index is not None  # noqa: S101 - exactly one of the three was given
            made = record.prove(index, size=size)
            told = f"entry {index}, {made.hash}, is one of {made.size}"

    def text() -> Iterator[Text]:
        yield told
        yield f"root {made.root}"
        for step in made.path:
            yield f"path {step}"
        if made.note is None:
            yield Note("note: no checkpoint of this size is here, so nobody has signed this root")
        else:
            yield f"\n{made.note}".removesuffix("\n")

    return Report(made, text())


def _check(file: Path, root: str | None) -> Report:
    from mentis.record.export import check_proof_at
    from mentis.record.record_data import checked_proof_data

    checked = check_proof_at(home_path(), read_bytes(str(file)), os.environ, root=root)
    return Report(
        checked_proof_data(checked), _checked_lines(checked), code=0 if checked.good else 1
    )


def _checked_lines(checked: CheckedProof) -> Iterator[Text]:
    words = {True: "signed by the pinned key", False: "NOT signed by the pinned key"}
    said = "not signed" if checked.signed is None else words[checked.signed]
    if checked.changed:
        said = "signed by a key that the record's signed changes of the key lead to"
    if checked.known is not None:
        said += " and the one you know" if checked.known else " and NOT the one you know"
    yield (
        f"{'ok' if checked.good else 'BROKEN'}  {checked.kind}: the path"
        f" {'leads' if checked.holds else 'does not lead'} to the root, which is {said}"
    )
    if checked.holds and checked.signed is None and checked.known is None:
        yield Note("hint: anybody can make up a root; name the one you know with --root")
    if checked.signed is False:
        yield Note(
            "hint: if the key was changed, only the home's own record says which key was in force"
        )


@ledger.command(epilog="For example: mentis ledger checkpoint > /media/usb/ada.note")
@click.option("--list", "listed", is_flag=True, help="List those that were made.")
@click.option("--init", "init", is_flag=True, help="Make the key of a home that has none.")
@click.option("--new-key", is_flag=True, help="Change the key; every chain says so in an entry.")
@persona_option
@home_option
@prints_report
def checkpoint(*, listed: bool, init: bool, new_key: bool, persona: str | None) -> Report:
    """Sign how long the ledger is and what is in it; print the note.

    Give the note to somebody, or name an anchor: a checkpoint that only this machine has says
    nothing to others. They are also made automatically, after `ledger.checkpoint_entries` entries
    or `ledger.checkpoint_seconds` seconds, and when a program ends.
    """
    from mentis.record.record_data import checkpoint_data, checkpoints_data

    if [listed, init, new_key].count(True) > 1:
        raise UsageError("--list, --init and --new-key do not go together", hint="choose one")
    if init:
        return _init()
    if new_key:
        return _change_key(persona)
    with open_own(persona, readonly=listed) as record:
        if listed:
            record.require_sealing()
            rows = record.checkpoints()
            return Report(
                checkpoints_data(record),
                (
                    [f"{size:>8}  {note.splitlines()[2]}" for size, note in rows],
                    Note(f"{quantity(len(rows), 'checkpoint')} of {record.agent}"),
                ),
            )
        made = record.checkpoint()
    notes = [f"sent to {name}" for name in made.told] + [f"note: {one}" for one in made.faults]
    return Report(
        checkpoint_data(made), (made.note.removesuffix("\n"), [Note(one) for one in notes])
    )


def _init() -> Report:
    from mentis.home.log_identity import init_log
    from mentis.stores.files.home import find_home

    log = init_log(find_home(home_path()), os.environ)
    told = {"origin": log.pin.origin, "public_key": log.pin.public_key}

    def text() -> Iterator[Text]:
        for name, value in told.items():
            yield f"{name} = {value}"
        keep = "keep a copy of it, and of the two lines above, elsewhere"
        yield Note(
            f"the key is in {log.key_file}; {keep}"
            if log.key_file
            else "the key is the one in the keyring or the environment"
        )

    return Report({**told, "key": None if log.key_file is None else str(log.key_file)}, text())


def _change_key(persona: str | None) -> Report:
    from mentis.record.keys import change_key

    with open_own(persona) as record:
        pin, entries = change_key(record)
        rows = [{"agent": entry.agent, "index": entry.index} for entry in entries]

    def text() -> Iterator[Text]:
        yield f"public_key = {pin.public_key}"
        for row in rows:
            yield Note(
                f"entry {row['index']} of {row['agent']} says so, signed by the old key and the new"
            )

    return Report({"origin": pin.origin, "public_key": pin.public_key, "entries": rows}, text())


def _export_spans(file: Path | None, to: str | None, persona: str | None) -> Report:
    from mentis.disk.atomic import write_atomic
    from mentis.recorder.otlp_export import export_requests
    from mentis.recorder.otlp_post import headers_of, post_spans, traces_address

    with open_own(persona) as record, record.snapshot() as source:
        agent, lines = record.agent, list(export_requests(record.agent, source.entries()))
    told: dict[str, object] = {"agent": agent, "requests": len(lines)}
    notes: list[Note] = []
    if file is not None:
        write_atomic(file, lines)
        told["file"] = str(file)
        notes.append(
            Note(f"spans of {agent} in {file}: each line is the body of a POST to /v1/traces")
        )
    if to is not None:
        posted = post_spans(to, lines, headers_of(os.environ))
        told |= {"to": traces_address(to), "rejected": posted.rejected}
        notes.append(
            Note(f"spans of {agent} sent to {told['to']}: requests taken: {posted.requests}")
        )
        if posted.rejected:
            notes.append(
                Note(f"{posted.rejected} spans were not taken: {posted.why or 'no reason'}")
            )
    return Report(told, tuple(notes))


@ledger.command(epilog="For example: mentis export ada.zip")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["bundle", "otel"]),
    default="bundle",
    show_default=True,
    help="otel: GenAI spans of OpenTelemetry, a line of JSON for each OTLP request.",
)
@click.option(
    "--to",
    metavar="URL",
    help="Send the spans to this OTLP/HTTP receiver, with or without a file of them.",
)
@disclosure_options
@persona_option
@home_option
@prints_report
def export(
    file: Path | None,
    *,
    form: str,
    to: str | None,
    disclosed: DisclosureOptions,
    persona: str | None,
) -> Report:
    """Write one file that an auditor can check without Mentis.

    It holds report.html, a page to read and to print that checks itself in a browser. Of what was
    said and sent it holds digests, and with --with-texts the texts beside them. What --redact,
    --leave-out and --rules find is left out whole, of texts and of entries, and named with the
    rule.

    With --format otel, spans for tools that show traces: turns, calls, acts; of a recorded agent
    its calls. They hold names, numbers and digests, and nothing that was said. --to posts them,
    with the headers of OTEL_EXPORTER_OTLP_HEADERS: http://127.0.0.1:4318, or a whole address.
    """
    from mentis.app.record_export import export_record

    if to is not None and form != "otel":
        raise UsageError("--to sends spans", hint="give --format otel with it")
    if form == "otel" and (file or to):
        disclosed.refuse("--format otel")
        return _export_spans(file, to, persona)
    if file is None:
        raise UsageError("there is no FILE to write", hint="for example: mentis export ada.zip")
    rules = disclosed.rules()
    with open_own(persona) as record:
        done = export_record(record, file, with_texts=disclosed.with_texts, rules=rules)
        unsealed = _unsealed_note(record, done.entries)
    script = "mentis ledger auditor > verify.py"
    pin = {"origin": done.pin.origin, "public_key": done.pin.public_key}
    told = {"file": str(done.path), "entries": done.entries, **pin}
    needs = "The auditor, with Python 3.11, `cryptography` and the verifier from elsewhere"
    return Report(
        {**told, "script": script, "command": done.command},
        (
            Note(f"{entries_of(done.entries)} in {done.path}. {needs}:"),
            script,
            done.command,
            Note(_HAND_OVER),
            *unsealed,
        ),
    )


def _unsealed_note(record: Record, entries: int) -> list[Note]:
    """No checkpoint of now can be made where nothing can be written, or without the key."""
    sealed = max((size for size, _ in record.checkpoints()), default=0)
    if sealed >= entries:
        return []
    told = f"no checkpoint of now could be made: the newest has seen {sealed} of"
    return [Note(f"{told} {entries_of(entries)}")]


@ledger.command(epilog="For example: mentis ledger auditor > verify.py")
@prints_report
def auditor() -> Report:
    """Print the auditor's verifier; its SHA-256 goes to stderr.

    One Python file that needs nothing but the standard library and `cryptography`. In an export
    there is one as well, put there by whoever made the export: check with your own.
    """
    from hashlib import sha256

    from mentis.ledger.bundle import auditor_script

    script = auditor_script()
    digest = sha256(script).hexdigest()
    return Report({"sha256": digest, "script": script.decode()}, (script, Note(f"sha256 {digest}")))


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
    from mentis.ledger.auditor import main

    if (origin is None) != (key is None):
        raise UsageError("--origin and --key go together", hint="give both, or none")
    if origin is None and (pin := home_pin()):
        origin, key = pin.origin, pin.public_key
    named = [] if origin is None or key is None else ["--origin", origin, "--key", key]
    given = [word for one in checkpoints for word in ("--checkpoint", str(one))]
    return main([str(file), *named, *given, *(["--json"] if as_json else [])])

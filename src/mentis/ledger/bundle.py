"""The export: one zip that an auditor checks with one command, without Mentis."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from tempfile import TemporaryFile
from typing import IO, TypeAlias

from mentis.values.checkpoint import Pin
from mentis.values.entry import Entry

from .checkpoint import verifier_key
from .records import write_entry
from .report.page import ReportParts, write_report
from .signature import decode_key

FORMAT = "mentis-bundle-1"
_ENTRIES, _NOTES, _ABOUT = "entries.jsonl", "checkpoints.txt", "ledger.json"
_DROPPED, _TEXTS, _REPORT = "dropped.txt", "texts.jsonl", "report.html"
# The same content, the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


# The entry as it is shown, and the lines that stand beside it in texts.jsonl.
DiscloseEntry: TypeAlias = Callable[[Entry], tuple[Entry, list[bytes]]]


@dataclass(frozen=True, slots=True)
class BundleTexts:
    """Texts beside the entries, or only what is left out of them; `whole`: every digest has its
    text, or the reason why not.
    """

    of: DiscloseEntry
    whole: bool


def export_bundle(
    file: IO[bytes],
    agent: str,
    entries: Iterable[Entry],
    *,
    pin: Pin,
    notes: Iterable[str],
    dropped: Iterable[str] = (),
    texts: BundleTexts | None = None,
) -> int:
    """Write entries, checkpoints, key, verifier and report into `file`; returns how many entries.

    `dropped` are the hashes of entries at the beginning that were let go, as a retention says.
    """
    gone, kept = tuple(dropped), "\n".join(notes)
    with (
        zipfile.ZipFile(file, "w") as archive,
        TemporaryFile() as spool,
        TemporaryFile() as beside,
    ):
        count = 0
        with archive.open(_member(_ENTRIES), "w", force_zip64=True) as lines:
            for entry in entries:
                shown, told = (entry, []) if texts is None else texts.of(entry)
                line = write_entry(shown)
                lines.write(line)
                spool.write(line)
                beside.writelines(told)
                count += 1
        if gone:
            _write(archive, _DROPPED, "".join(f"{entry_hash}\n" for entry_hash in gone))
        _write(archive, _NOTES, kept)
        about = _about(agent, count, pin, None if texts is None else texts.whole)
        _write(archive, _ABOUT, about)
        if texts is not None:
            with archive.open(_member(_TEXTS), "w", force_zip64=True) as lines:
                lines.writelines(_again(beside))
        _write(archive, "verify.py", auditor_script())
        _write(archive, "README.txt", _readme(agent, count, pin))
        parts = ReportParts(
            about.encode(),
            kept,
            partial(_again, spool),
            gone,
            None if texts is None else partial(_again, beside),
        )
        with archive.open(_member(_REPORT), "w", force_zip64=True) as page:
            write_report(page, parts)
    return count


def _again(spool: IO[bytes]) -> Iterator[bytes]:
    """Its lines from the beginning on; one reader at a time."""
    spool.seek(0)
    for line in spool:  # noqa: UP028 - `yield from` would close it with the reader
        yield line


def auditor_script() -> bytes:
    """The stand-alone verifier, byte for byte as it is installed here."""
    return (files("mentis.ledger") / "auditor.py").read_bytes()


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _write(archive: zipfile.ZipFile, name: str, text: str | bytes) -> None:
    archive.writestr(_member(name), text)


def _about(agent: str, count: int, pin: Pin, texts: bool | None) -> str:
    about: dict[str, object] = {
        "format": FORMAT,
        "agent": agent,
        "entries": count,
        "origin": pin.origin,
        "public_key": pin.public_key,
        "verifier_key": verifier_key(pin.log(agent), decode_key(pin.public_key)),
    }
    if texts is not None:
        about["texts"] = texts
    return json.dumps(about, indent=2, ensure_ascii=False) + "\n"


def _readme(agent: str, count: int, pin: Pin) -> str:
    return f"""The ledger of {agent}: {count} entries of the log {pin.log(agent)}

Check it, with Python 3.11 or newer and the package `cryptography`:

    mentis ledger auditor > verify.py
    python -I verify.py BUNDLE.zip --origin {pin.origin} --key {pin.public_key}

The first command takes the verifier from an installation of Mentis that you trust, and prints its
SHA-256; nothing else of Mentis is needed. The verify.py in here is meant to be the same, but
whoever made this file could have put another one in: compare before you run it.

Take origin and key from somewhere else than from this file, too, and add --checkpoint FILE for each
checkpoint that somebody outside has kept: only these can tell whether entries are missing.

{_ENTRIES}    one entry per line
{_DROPPED}      only where entries were let go by policy: the hashes they left
{_NOTES}  signed checkpoints (C2SP signed notes), one after the other
{_ABOUT}      which log this is, and its public key
{_TEXTS}      only where texts were handed over, or fields left out: each with its entry
{_REPORT}      the same for people: open it in a browser, where it checks itself
verify.py        the verifier as whoever made this file has it; see above
"""

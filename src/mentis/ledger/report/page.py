"""Page of a report: what is read, what it was derived from, and the script that compares the two.

The same parts give the same bytes. Nothing is fetched, and nothing in it can run but the script
whose hash the page names.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import IO, Any, TypeAlias

import orjson

from mentis.ledger import auditor

from .nodes import node, shown
from .story import Story, Verifier

Lines: TypeAlias = Callable[[], Iterable[bytes]]
_PACKED = {b"%": b"%25", b"<": b"%3C", b"\r": b"%0D", b"\0": b"%00"}
_SPECIAL = re.compile(rb"[%<\r\0]")
UNCHECKED_WORD = "Nothing was checked here."
UNCHECKED_MEANING = (
    " What you read is what this file says of itself. With scripts on, the page checks itself as"
    " soon as it is opened; the verifier at its end checks it without a browser."
)


@dataclass(frozen=True, slots=True)
class ReportParts:
    """The members of a bundle, each to be read as often as it is needed."""

    about: bytes
    notes: str
    entries: Lines
    dropped: tuple[str, ...] = ()
    texts: Lines | None = None


def write_report(out: IO[bytes], parts: ReportParts) -> None:
    """Write the page of these parts. The entries are read three times, and never held at once."""
    about: dict[str, Any] = orjson.loads(parts.about)
    verdict = auditor.audit_lines(
        parts.about,
        parts.notes.splitlines(),
        parts.entries(),
        dropped=(f"{one}\n".encode() for one in parts.dropped),
        texts=None if parts.texts is None else parts.texts(),
    )
    story = Story(about["entries"])
    for entry, texts in _with_texts(parts):
        story.take(entry, texts)
    out.write(_head(about).encode())
    out.write(b"<main>")
    for section in story.sections(verdict, about, _verifier()):
        out.write(section.html().encode())
    out.write(b"</main>")
    for name, lines in _members(parts):
        out.write(f'<script type="text/plain" id="{name}">\n'.encode())
        for line in lines:
            out.write(_packed(line))
        out.write(b"</script>")
    out.write(b"<script>" + read_asset("report.js") + b"</script></body></html>")


def read_asset(name: str) -> bytes:
    """The script or the style, byte for byte as it stands in the page."""
    return (files("mentis.ledger.report") / name).read_bytes()


def _head(about: Mapping[str, Any]) -> str:
    style, script = read_asset("report.css"), read_asset("report.js")
    policy = (
        f"default-src 'none'; script-src {_hashed(script)}; style-src {_hashed(style)};"
        " base-uri 'none'; form-action 'none'"
    )
    title = node("title", f"Record of {shown(about['agent'])}").html()
    box = node("p", node("b", UNCHECKED_WORD), UNCHECKED_MEANING)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"{title}<style>{style.decode()}</style></head><body>"
        f"{node('div', box, id='check', role='status', cls='unchecked').html()}"
    )


def _hashed(content: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"


def _verifier() -> Verifier:
    script = (files("mentis.ledger") / "auditor.py").read_bytes()
    packed = base64.b64encode(script).decode()
    digest = hashlib.sha256(script).hexdigest()
    return Verifier(f"data:text/x-python;base64,{packed}", digest)


def _with_texts(parts: ReportParts) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each entry with the texts that stand beside it, which come in the same order."""
    left = map(orjson.loads, () if parts.texts is None else parts.texts())
    ahead = next(left, None)
    for line in parts.entries():
        entry, found = orjson.loads(line), list[dict[str, Any]]()
        while ahead is not None and ahead["entry"] == entry["index"]:
            found.append(ahead)
            ahead = next(left, None)
        yield entry, found


def _members(parts: ReportParts) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield "ledger.json", parts.about.splitlines(keepends=True)
    yield "checkpoints.txt", parts.notes.encode().splitlines(keepends=True)
    if parts.dropped:
        yield "dropped.txt", (f"{one}\n".encode() for one in parts.dropped)
    if parts.texts is not None:
        yield "texts.jsonl", parts.texts()
    yield "entries.jsonl", parts.entries()


def _packed(line: bytes) -> bytes:
    """With the beginning of its SHA-256, and without what HTML would take for its own."""
    plain = line.removesuffix(b"\n")
    mark = hashlib.sha256(plain).hexdigest()[:32].encode()
    return mark + b" " + _SPECIAL.sub(lambda found: _PACKED[found[0]], plain) + b"\n"

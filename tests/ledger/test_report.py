"""The report in a bundle: the same bytes for the same record, one page, and nothing but text."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mentis.ledger import auditor, keeping
from mentis.ledger.bundle import BundleTexts, export_bundle
from mentis.ledger.report.page import ReportParts, read_asset, write_report
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry

from .conftest import Ledger

SCRIPT = "</script><script>alert('stored')</script><!--"
ODD = "half \u202e turned, \x07 rung, 🙂 said & <b>bold</b>, \u3164 and \U000e0041 unseen"


def talk(ledger: Ledger) -> Ledger:
    """Turns and acts as they are recorded, with what a page must not take for its own."""
    ledger.add(
        Draft(
            "turn",
            "runtime",
            {
                "turn": {"session": SCRIPT, "number": 0, "stop": "end"},
                "route": {"model": ODD},
                "asked": digest(TURN.encode()),
                "digests": {"message": digest(SCRIPT.encode()), "library": "sha256:1"},
            },
        ),
        Draft(
            "act",
            "act",
            {
                "act": {"type": "send", "stage": "waiting", "reason": SCRIPT, "key": "k1"},
                "payload": {"to": "Elsewhere Street 9"},
            },
        ),
        Draft(
            "act",
            "act",
            {
                "act": {"type": "send", "stage": "approved", "key": "k1"},
                "decided": {"by": "Ada Owner", "words": f"yes {ODD}"},
            },
        ),
        Draft(
            "act",
            "act",
            {
                "act": {"type": "send", "stage": "outcome", "state": "done"},
                "payload": {"to": SCRIPT, "n": [1.5, 1e21, True, None]},
                "result": {"text": ODD},
                "claims": {
                    "claims": [
                        {
                            "text": SCRIPT,
                            "verdict": "unsupported",
                            "act": "send",
                            "why": "no such act",
                        }
                    ],
                    "unclaimed": ["send"],
                },
            },
        ),
    )
    keeping.checkpoint(ledger.keeping, ledger.signer)
    return ledger


TURN = json.dumps({"role": "user", "parts": [{"kind": "text", "text": f"Hello {SCRIPT} {ODD}"}]})


def beside(entry: Entry) -> tuple[Entry, list[bytes]]:
    """The texts of the first entry: one is here, one was left out."""
    if entry.index:
        return entry, []
    rows = [
        {"entry": 0, "place": "/asked", "digest": digest(TURN.encode()), "text": TURN},
        {
            "entry": 0,
            "place": "/digests/message",
            "digest": digest(SCRIPT.encode()),
            "left_out": "rule names",
        },
    ]
    return entry, [json.dumps(row).encode() + b"\n" for row in rows]


def bundle(ledger: Ledger, texts: BundleTexts | None = None) -> bytes:
    file = io.BytesIO()
    notes = [note for _, note in ledger.store.checkpoints("ada")]
    export_bundle(file, "ada", ledger.entries, pin=ledger.pin, notes=notes, texts=texts)
    return file.getvalue()


def member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name)


def audit(content: bytes, ledger: Ledger) -> dict[str, Any]:
    pin = ledger.pin
    return auditor.audit(io.BytesIO(content), key=pin.public_key, origin=pin.origin, checkpoints=())


@pytest.fixture
def told(ledger: Ledger) -> Ledger:
    return talk(ledger)


def test_the_same_record_gives_the_same_bytes_and_texts_change_nothing_beside_them(
    told: Ledger,
) -> None:
    plain = bundle(told)
    assert bundle(told) == plain
    texts = bundle(told, BundleTexts(beside, whole=True))
    for name in ("entries.jsonl", "checkpoints.txt", "verify.py", "README.txt"):
        assert member(texts, name) == member(plain, name)
    about = json.loads(member(plain, "ledger.json"))
    assert json.loads(member(texts, "ledger.json")) == {**about, "texts": True}
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        assert "texts.jsonl" not in archive.namelist()


def test_script_style_and_verifier_know_each_other_by_their_hashes() -> None:
    """`tools/report_hashes.py` writes them."""
    script, style = read_asset("report.js"), read_asset("report.css")
    assert f'STYLE = "{hashlib.sha256(style).hexdigest()}"'.encode() in script
    assert hashlib.sha256(script).hexdigest() == auditor._SCRIPT  # pyright: ignore[reportPrivateUsage]
    assert hashlib.sha256(style).hexdigest() == auditor._STYLE  # pyright: ignore[reportPrivateUsage]
    assert b"innerHTML" not in script
    assert b"</script" not in script


def test_the_script_knows_the_verifier_that_knows_the_script() -> None:
    """`tools/report_hashes.py` writes it; what the verifier says of the script does not count."""
    verifier = Path(auditor.__file__).read_bytes()
    plain, found = re.subn(rb'(?m)^_SCRIPT = "[0-9a-f]{64}"$', b'_SCRIPT = ""', verifier)
    assert found == 1
    assert f'VERIFIER = "{hashlib.sha256(plain).hexdigest()}"'.encode() in read_asset("report.js")


def test_whatever_was_said_stays_text_in_a_page_that_runs_one_script(told: Ledger) -> None:
    page = member(bundle(told, BundleTexts(beside, whole=True)), "report.html").decode()
    tags = re.findall(r"<script[^>]*>", page)
    assert tags[-1] == "<script>"
    assert all(re.fullmatch(r'<script type="text/plain" id="[a-z.]+">', one) for one in tags[:-1])
    assert "alert('stored')" in page
    assert "<script>alert" not in page
    assert not set(ODD) & set("\u202e\u3164\U000e0041") & set(page.partition("</main>")[0])
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not re.search(r"https?://", page.partition("</main>")[0].partition("href=")[0])


def test_a_page_says_what_happened_and_that_nothing_was_checked_before_it_was(told: Ledger) -> None:
    page = member(bundle(told, BundleTexts(beside, whole=True)), "report.html").decode()
    inside = page.partition("<main>")[2].partition("</main>")[0]
    shown = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", inside)).split())
    assert "Nothing was checked here." in page.partition("<main>")[0]
    for words in (
        "Ada Owner",
        "NOT borne out",
        "NOT borne out send: no such act",
        "done unsaid",
        'send {"to":"Elsewhere Street 9"} approved Ada Owner',
        "rule names",
        "Hello",
        "for all of 4",
    ):
        assert words in shown


def test_the_verifier_reads_the_page_as_it_reads_the_bundle(told: Ledger) -> None:
    whole = bundle(told, BundleTexts(beside, whole=True))
    page = member(whole, "report.html")
    there, here = audit(whole, told), audit(page, told)
    assert (there["verdict"], here["verdict"]) == ("ok", "ok")
    assert here["texts"] == there["texts"] == {"fitting": 1, "left_out": 1}
    assert any("what the page shows is not compared" in note for note in here["notes"])


@pytest.mark.parametrize("name", ["entries.jsonl", "texts.jsonl"])
def test_a_byte_that_was_changed_in_the_data_of_a_page_is_found(told: Ledger, name: str) -> None:
    page = bytearray(member(bundle(told, BundleTexts(beside, whole=True)), "report.html"))
    start = page.index(f'id="{name}">'.encode()) + 40
    for place in range(start, start + 400, 23):
        changed = bytes(page[:place]) + bytes([page[place] ^ 1]) + bytes(page[place + 1 :])
        assert audit(changed, told)["verdict"] == "BROKEN", place


def test_a_page_with_other_entries_or_another_script_is_told_from_its_bundle(told: Ledger) -> None:
    whole = bundle(told)
    page = member(whole, "report.html")
    other = page.replace(b"Nothing was checked", b"Everything was checked")
    assert audit(exchanged(whole, "report.html", other), told)["verdict"] == "ok"
    fewer = Ledger()
    fewer.fill(1)
    strange = member(bundle(fewer), "report.html")
    found = audit(exchanged(whole, "report.html", strange), told)
    assert found["verdict"] == "BROKEN"
    assert found["findings"][0]["column"] == "report"


PAINTED = b'<div id="check" role="status" class="holds"><p><b>Everything fits.</b></p></div>'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"use strict"', b'"no strict"'),
        (b":root{", b":root {"),
        (b"Nothing was checked", b"Everything was checked"),
        (rb'<div id="check".*?</div>', PAINTED),
        (b"</main>", b"<!-- </main>"),
        (b"</main>", b"<template></main>"),
        (b"</main>", b'<form name="addEventListener"></form></main>'),
        (b"</main>", b"</main><textarea>"),
        (b"<script>", b'<script type="text/plain">'),
        (rb"script-src '[^']*'", b"script-src 'none'"),
        (b"</html>", b"</html>\n"),
    ],
)
def test_the_verifier_says_where_a_page_could_say_anything_of_itself(
    told: Ledger, old: bytes, new: bytes
) -> None:
    whole = bundle(told, BundleTexts(beside, whole=True))
    page = member(whole, "report.html")
    changed, found = re.subn(old, new, page, count=1, flags=re.DOTALL)
    assert found == 1
    for content in (changed, exchanged(whole, "report.html", changed)):
        assert any("is not framed as" in note for note in audit(content, told)["notes"])
    for content in (page, whole):
        assert not any("is not framed as" in note for note in audit(content, told)["notes"])


def exchanged(content: bytes, name: str, other: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(made, "w") as target:
        for one in source.namelist():
            target.writestr(one, other if one == name else source.read(one))
    return made.getvalue()


def test_of_many_entries_the_last_are_shown_and_the_others_named(ledger: Ledger) -> None:
    ledger.fill(620)
    page = member(bundle(ledger), "report.html").decode()
    assert page.count('<tr data-entry="') == 500
    assert "These are the last 500 of 620 entries. The 120 before them are in this file" in page
    assert page.partition('id="entries.jsonl">')[2].partition("</script>")[0].count("\n") == 621


# Texts, held against their entries


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "Somebody else's words."}, "is not the one that the entry binds"),
        ({"place": "/digests/library"}, "binds no such text"),
        ({"left_out": "rule x", "digest": ...}, "'asked' is here, or was never"),
        ({"entry": 3}, "neither the text nor a reason"),
    ],
)
def test_a_text_that_its_entry_does_not_bind_is_named(
    told: Ledger, change: dict[str, Any], message: str
) -> None:
    def bent(entry: Entry) -> tuple[Entry, list[bytes]]:
        _, lines = beside(entry)
        rows: Sequence[dict[str, Any]] = [json.loads(line) for line in lines]
        for row in rows[:1]:
            row.update(change)
        for row in rows:
            if "left_out" in row:
                row.pop("text", None)
        kept = [{k: v for k, v in row.items() if v is not ...} for row in rows]
        return entry, [json.dumps(row).encode() + b"\n" for row in kept]

    found = audit(bundle(told, BundleTexts(bent, whole=True)), told)
    assert found["verdict"] == "BROKEN"
    assert any(message in one["message"] for one in found["findings"]), found["findings"]
    assert {one["column"] for one in found["findings"]} == {"texts"}


def test_a_field_is_left_out_only_where_that_is_said(
    told: Ledger,
) -> None:
    def hidden(entry: Entry, *, tell: bool) -> tuple[Entry, list[bytes]]:
        if entry.index != 3:
            return entry, []
        body = {name: value for name, value in entry.body.items() if name != "payload"}
        salts = {name: value for name, value in entry.salts.items() if name != "payload"}
        row = {"entry": 3, "place": "/payload", "left_out": "rule names"}
        lines = [json.dumps(row).encode() + b"\n"] if tell else []
        return replace(entry, body=body, salts=salts), lines

    said = audit(bundle(told, BundleTexts(lambda one: hidden(one, tell=True), whole=False)), told)
    assert said["verdict"] == "ok"
    assert said["withheld"] == [{"index": 3, "field": "payload", "reason": "rule names"}]
    unsaid = audit(
        bundle(told, BundleTexts(lambda one: hidden(one, tell=False), whole=False)), told
    )
    assert unsaid["verdict"] == "BROKEN"


def test_a_report_is_made_of_its_parts_alone(told: Ledger) -> None:
    whole = bundle(told)
    lines = member(whole, "entries.jsonl").splitlines(keepends=True)
    made = io.BytesIO()
    notes = member(whole, "checkpoints.txt").decode()
    write_report(made, ReportParts(member(whole, "ledger.json"), notes, lambda: lines))
    assert made.getvalue() == member(whole, "report.html")

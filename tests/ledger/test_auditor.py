"""The auditor's verifier takes nothing on trust: not the form of the file, nor a word in it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.ledger import auditor
from mentis.ledger.bundle import export_bundle
from mentis.ledger.records import write_entry
from mentis.values.entry import Draft

from .agreeing import OTHER, Handed, Row, bundled, everything, mended
from .conftest import ORIGIN, Ledger
from .test_agreement import agree

WHOLE = everything()
PIN = WHOLE.pin
Members = dict[str, bytes]


def members_of(handed: Handed = WHOLE) -> Members:
    with zipfile.ZipFile(bundled(handed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(folder: Path, members: Mapping[str, bytes]) -> Path:
    path = folder / "ledger.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def judge(bundle: Path, *arguments: str) -> int:
    return auditor.main([str(bundle), "--key", PIN.public_key, "--origin", ORIGIN, *arguments])


# How far the key has signed


def test_what_nobody_has_signed_is_never_called_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up = Ledger(signer=OTHER)
    made_up.fill(3)
    with (tmp_path / "ledger.zip").open("wb") as file:
        export_bundle(file, "ada", made_up.entries, pin=made_up.pin, notes=[])
    assert judge(tmp_path / "ledger.zip") == 1
    told = capsys.readouterr().out
    assert told.startswith(f"UNSIGNED  {ORIGIN}/ada: 3 entries")
    assert "no checkpoint by the key of this log fits what is here" in told


def test_how_far_the_key_has_signed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger(signer=OTHER)
    ledger.fill(3)
    note = ledger.note()
    for length, words in (
        (3, "has signed 3 of 3 entries\n"),
        (5, "has signed 3 of 5 entries; tho"),
    ):
        ledger.fill(length - 3)
        with (tmp_path / "ledger.zip").open("wb") as file:
            export_bundle(file, "ada", ledger.entries, pin=ledger.pin, notes=[note])
        assert judge(tmp_path / "ledger.zip") == 0
        assert words in capsys.readouterr().out


def test_a_checkpoint_of_the_empty_ledger_signs_nothing_that_came_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Anybody who has that note could put it beside entries that they made up."""
    made_up = Ledger(signer=OTHER)
    empty = made_up.note()
    made_up.fill(3)
    for entries, code, words in ((made_up.entries, 1, "UNSIGNED"), ([], 0, "has signed 0 of 0")):
        with (tmp_path / "ledger.zip").open("wb") as file:
            export_bundle(file, "ada", entries, pin=made_up.pin, notes=[empty])
        assert judge(tmp_path / "ledger.zip") == code
        assert words in capsys.readouterr().out


# Checkpoints of others


def test_the_checkpoints_of_another_agent_in_the_same_file_are_told_and_not_held_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ada, bob = Ledger(signer=OTHER), Ledger(signer=OTHER, agent="bob")
    ada.fill(3)
    bob.fill(2)
    bundle, kept = tmp_path / "ledger.zip", tmp_path / "kept.txt"
    with bundle.open("wb") as file:
        export_bundle(file, "ada", ada.entries, pin=ada.pin, notes=[ada.note()])
    kept.write_text("\n".join((bob.note(1), ada.note(2), bob.note())), "utf-8")
    assert judge(bundle, "--checkpoint", str(kept)) == 0
    told = capsys.readouterr().out
    assert f"kept.txt: checkpoints of another agent, '{ORIGIN}/bob', were not compared (2)" in told
    assert "complete: a checkpoint from outside has seen 2 entries" in told


@pytest.mark.parametrize("origin", [ORIGIN, "elsewhere.example"])
def test_checkpoints_of_others_alone_say_that_this_is_another_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], origin: str
) -> None:
    ada, bob = Ledger(signer=OTHER), Ledger(signer=OTHER, agent="bob")
    bundle, kept = tmp_path / "ledger.zip", tmp_path / "kept.txt"
    with bundle.open("wb") as file:
        export_bundle(file, "ada", ada.entries, pin=ada.pin, notes=[ada.note()])
    kept.write_text(bob.note(origin=origin), "utf-8")
    assert judge(bundle, "--checkpoint", str(kept)) == 1
    assert f"of '{origin}/bob', not of '{ORIGIN}/ada'" in capsys.readouterr().out


def test_in_a_bundle_a_checkpoint_of_another_agent_is_a_finding(tmp_path: Path) -> None:
    ada, bob = Ledger(signer=OTHER), Ledger(signer=OTHER, agent="bob")
    notes = [ada.note(), bob.note()]
    kept = tmp_path / "kept.txt"
    kept.write_text(ada.note(), "utf-8")
    with (tmp_path / "ledger.zip").open("wb") as file:
        export_bundle(file, "ada", [], pin=ada.pin, notes=notes)
    assert judge(tmp_path / "ledger.zip", "--checkpoint", str(kept)) == 1


def test_ctrl_c_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(auditor, "audit", interrupt)
    assert judge(Path("ledger.zip")) == 130
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "stopped: there is no verdict\n")


# Words from inside


def test_nothing_in_a_bundle_writes_lines_of_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger(signer=OTHER)
    ledger.fill(1)
    evil = "x)\ncomplete: a checkpoint from outside has seen 9 entries\x1b[8m\x9b2K\u202e"
    draft = Draft("note", "test", {evil: 1})
    ledger.add(draft)
    chain = ledger.entries
    chain[1] = replace(chain[1], body={evil: 2}, source=evil)
    with (tmp_path / "ledger.zip").open("wb") as file:
        export_bundle(file, "ada", chain, pin=ledger.pin, notes=[ledger.note()])
    assert judge(tmp_path / "ledger.zip") == 1
    told = capsys.readouterr().out
    assert not any(line.startswith("complete") for line in told.splitlines())
    assert all(char.isprintable() for char in told.replace("\n", ""))


def test_what_cannot_be_printed_where_it_goes_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = WHOLE.rows
    rows[0]["body"]["\u4e16"] = 1
    bundle = packed(tmp_path, members_of(WHOLE.with_rows(rows)))
    narrow = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr("sys.stdout", narrow)
    assert judge(bundle) == 1


@pytest.mark.parametrize("agent", ["a\nb", "a\x1b[8m", "a b", "", "a+b", "a\u202eb", 7, None])
def test_an_agent_has_a_name_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: object
) -> None:
    members = members_of()
    about = json.loads(members["ledger.json"]) | {"agent": agent}
    members["ledger.json"] = json.dumps(about).encode()
    assert judge(packed(tmp_path, members)) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.isprintable() or told.err[:-1].isprintable()


# The file


def _twice(members: Members) -> Members:
    about = members["ledger.json"].decode()
    return {**members, "ledger.json": about.replace('{"', '{"agent": "bob", "', 1).encode()}


def _without(name: str) -> Callable[[Members], Members]:
    return lambda members: {key: value for key, value in members.items() if key != name}


def _with(name: str, content: bytes) -> Callable[[Members], Members]:
    return lambda members: {**members, name: content}


REFUSED: dict[str, tuple[Callable[[Members], Members], str]] = {
    "a foreign member": (_with("approved.pdf", b"x"), "does not belong"),
    "a key twice": (_twice, "stands there twice"),
    "no entries": (_without("entries.jsonl"), "is missing"),
    "no checkpoints": (_without("checkpoints.txt"), "is missing"),
    "another format": (
        lambda m: {**m, "ledger.json": m["ledger.json"].replace(b"bundle-1", b"bundle-2")},
        "format",
    ),
    "another verifier key": (
        lambda m: {
            **m,
            "ledger.json": m["ledger.json"].replace(b'"verifier_key": "', b'"verifier_key": "x'),
        },
        "do not belong together",
    ),
    "a long text about it": (_with("ledger.json", b" " * 100_000), "more than"),
    "nested about it": (_with("ledger.json", b"[" * 60_000), "nested more than"),
    "no hash": (_with("dropped.txt", b"zz\n"), "is no hash"),
    "a long line of checkpoints": (_with("checkpoints.txt", b"x" * 20_000), "too long"),
    "too many checkpoints": (_with("checkpoints.txt", (b"x" * 15_999 + b"\n") * 4300), "too long"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_bundle_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    change, words = REFUSED[name]
    assert judge(packed(tmp_path, change(members_of()))) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert words in told.err
    assert told.err.count("\n") == 1


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program might show the first one to a reader, where this one reads the last."""
    path = packed(tmp_path, members_of())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("entries.jsonl", members_of()["entries.jsonl"])
    assert judge(path) == 1
    assert "is there twice" in capsys.readouterr().err


def test_an_encrypted_member_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path, members_of())
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert judge(path) == 1
    assert "is encrypted" in capsys.readouterr().err


Bytes = Callable[[bytes], bytes]


def _behind(mark: bytes, offset: int, change: Bytes) -> Bytes:
    """Change what stands at and after the first heading of a kind."""

    def changed(content: bytes) -> bytes:
        at = content.index(mark) + offset
        return content[:at] + change(content[at:])

    return changed


def _flipped(rest: bytes) -> bytes:
    return bytes([rest[0] ^ 1]) + rest[1:]


def _between(content: bytes) -> bytes:
    """Bytes before the directory, whose place is put right."""
    at, end = content.index(b"PK\1\2"), len(content) - 6
    return content[:at] + b"hidden" + content[at:end] + (at + 6).to_bytes(4, "little") + b"\0\0"


HIDDEN: dict[str, Bytes] = {
    "another bundle before it": lambda content: content * 2,
    "bytes before it": lambda content: b"#!/bin/sh\n" + content,
    "bytes before the directory": _between,
    "bytes after it": lambda content: content + b"PK\3\4",
    "a comment": lambda content: content[:-2] + b"\2\0hi",
    "another way to unpack": _behind(b"PK\3\4", 8, lambda rest: b"\0\0" + rest[2:]),
    "another checksum": _behind(b"PK\3\4", 14, _flipped),
    "another size": _behind(b"PK\3\4", 18, _flipped),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_another_program_would_read_differently_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = packed(tmp_path, members_of())
    assert judge(path) == 0
    path.write_bytes(HIDDEN[name](path.read_bytes()))
    capsys.readouterr()
    assert judge(path) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)


# What it remembers


def test_how_much_is_remembered_is_not_for_the_bundle_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small file may unpack to many long statements."""
    ledger = Ledger(signer=OTHER)
    ledger.add(*[Draft("erasure", "test", {"signed": "A" * 10_000})] * 4)
    with (tmp_path / "ledger.zip").open("wb") as file:
        export_bundle(file, "ada", ledger.entries, pin=ledger.pin, notes=[ledger.note()])
    monkeypatch.setattr(auditor, "_MOST_KEPT", 45_000)
    assert judge(tmp_path / "ledger.zip") == 1
    assert "is not signed by the key" in capsys.readouterr().out
    monkeypatch.setattr(auditor, "_MOST_KEPT", 35_000)
    assert judge(tmp_path / "ledger.zip") == 1
    assert "more than can be remembered" in capsys.readouterr().err


def test_names_of_fields_that_are_gone_are_not_remembered_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = WHOLE.rows
    rows[0]["fields"] |= {f"{n}{'A' * 10_000}": "x" for n in range(4)}
    monkeypatch.setattr(auditor, "_MOST_KEPT", 35_000)
    assert judge(packed(tmp_path, members_of(WHOLE.with_rows(rows)))) == 1
    assert "more than can be remembered" in capsys.readouterr().err


def test_a_finding_quotes_a_long_text_in_part(tmp_path: Path) -> None:
    rows = WHOLE.rows
    rows[0]["agent"] = "A" * 10_000
    told = auditor.audit(
        str(packed(tmp_path, members_of(WHOLE.with_rows(rows)))),
        key=PIN.public_key,
        origin=ORIGIN,
        checkpoints=(),
    )
    assert max(len(found["message"]) for found in told["findings"]) < 1100
    assert told["findings"][0]["message"].endswith("A...")


# The entries


def _each(change: Callable[[Row], Row]) -> Callable[[list[Row]], bytes]:
    return lambda rows: b"".join(json.dumps(change(row)).encode() + b"\n" for row in rows)


def _spaced(row: Row) -> Row:
    salts = {name: salt.upper() for name, salt in row["salts"].items()}
    return {**row, "salts": {k: f"{v[:2]} {v[2:]}" for k, v in salts.items()}}


LINES: dict[str, Callable[[list[Row]], bytes]] = {
    "more members": _each(lambda row: {**row, "approved_by": "the board"}),
    "an index that is no integer": _each(lambda row: {**row, "index": float(row["index"])}),
    "a body that is a list": _each(lambda row: {**row, "body": []}),
    "a commitment that is none": _each(lambda row: {**row, "fields": {"text": None}}),
    "salts with spaces and capitals": _each(_spaced),
    "a hash in capitals": _each(lambda row: {**row, "hash": row["hash"].upper()}),
    "a hash that is none": _each(lambda row: {**row, "hash": "x"}),
    "nested": lambda _: b"[" * 200_000 + b"\n",
    "nothing on a line": lambda rows: b"\n" + _each(lambda row: row)(rows),
    "a list": lambda _: b"[]\n",
}


@pytest.mark.parametrize("name", LINES)
def test_an_entry_of_another_form_is_a_finding_and_never_a_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content = LINES[name](WHOLE.rows)
    lines = tuple(line + b"\n" for line in content.split(b"\n")[:-1])
    assert not agree(replace(WHOLE, lines=lines), tmp_path)
    assert judge(packed(tmp_path, members_of(replace(WHOLE, lines=lines)))) == 1
    told = capsys.readouterr()
    assert told.out.startswith("BROKEN")
    assert "entry 0" in told.out
    assert told.err == ""


def test_findings_beyond_many_are_counted_only(tmp_path: Path) -> None:
    ledger = Ledger(signer=OTHER)
    ledger.fill(1)
    (entry,) = ledger.entries
    with (tmp_path / "ledger.zip").open("wb") as file:
        export_bundle(file, "ada", [entry] * 600, pin=ledger.pin, notes=[])
    told = auditor.audit(
        str(tmp_path / "ledger.zip"), key=PIN.public_key, origin=ORIGIN, checkpoints=()
    )
    assert len(told["findings"]) == 1000
    assert told["more"] > 700


# Statements: what only the owner of the key could get wrong


def _kind(kind: str, of: str) -> Callable[[Row], Row | None]:
    """An entry of one kind that carries the genuine, signed statement of another."""
    return lambda row: {**row, "kind": kind} if row["kind"] == of else None


def _says(of: str, **change: object) -> Callable[[Row], Row | None]:
    def told(row: Row) -> Row | None:
        if row["kind"] != of:
            return None
        signed = row["body"]["signed"]
        statement = {**signed["statement"], **change}
        return {**row, "body": {**row["body"], "signed": {**signed, "statement": statement}}}

    return told


MISFITS = {
    "an erasure that is a rotation": _kind("erasure", "rotation"),
    "a rotation that is an erasure": _kind("rotation", "erasure"),
    "a retention that is a rotation": _kind("retention", "rotation"),
    "a rollback that is an erasure": _kind("rollback", "erasure"),
    "an erasure of no entry": _says("erasure", index="1"),
    "an erasure of no fields": _says("erasure", fields=[]),
    "an erasure of fields that are none": _says("erasure", fields=[1]),
    "a rotation of nothing": _says("rotation", first=None),
    "another agent's": _says("erasure", agent="bob"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_signed_statement_counts_only_in_an_entry_of_its_kind_and_form(
    tmp_path: Path, name: str
) -> None:
    rows = WHOLE.rows
    (place, bent), *_ = [(n, b) for n, row in enumerate(rows) if (b := MISFITS[name](row))]
    rows[place] = bent
    assert not agree(mended(WHOLE, place, rows), tmp_path)


@pytest.mark.parametrize(
    ("link", "intact"),
    [
        ({"recipe": "s2-v4", "hash": "x", "prev": "y", "timestamp": "t"}, True),
        ({"recipe": "other", "hash": "x", "prev": "y", "timestamp": "t"}, False),
        ("nonsense", True),
        (None, True),
    ],
)
def test_an_import_without_all_it_should_say_is_no_crash(
    tmp_path: Path, link: object, intact: bool
) -> None:
    ledger = Ledger()
    ledger.add(Draft("import", "import", {"link": link, "original": "text only"}))
    lines = tuple(map(write_entry, ledger.entries))
    assert agree(Handed(lines, ledger.note(), ledger.pin), tmp_path) == intact


# A byte of the file itself


def test_a_byte_that_was_changed_in_the_packed_file_names_the_entry_it_is_in(
    tmp_path: Path,
) -> None:
    ledger = Ledger()
    ledger.fill(40)
    with (tmp_path / "ledger.zip").open("wb") as file:
        export_bundle(file, "ada", ledger.entries, pin=ledger.pin, notes=[])
    content = (tmp_path / "ledger.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "ledger.zip") as archive:
        size = archive.getinfo("entries.jsonl").compress_size
    named: list[int] = []
    for place in range(100, size, max(1, size // 40)):
        broken = bytearray(content)
        broken[place] ^= 0x10
        told = auditor.audit(io.BytesIO(broken), key=None, origin=None, checkpoints=())
        assert told["verdict"] == "BROKEN", place
        named.append(told["findings"][0]["index"])
    assert named == sorted(named), "the further behind, the later the entry"
    assert (named[0], named[-1]) == (0, 39)

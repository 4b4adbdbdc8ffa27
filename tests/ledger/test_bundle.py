"""The export and its verifier, which runs alone."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from mentis.ledger import auditor, keeping
from mentis.ledger.bundle import export_bundle
from mentis.ledger.checkpoint import read_note
from mentis.ledger.origin import import_history
from mentis.ledger.records import write_entry
from mentis.ledger.standing import newest
from mentis.ports.signer import SeededSigner
from mentis.values.entry import Draft, Entry

from .conftest import ORIGIN, Ledger, rechained, verify_store
from .test_keeping import OTHER, erase
from .test_origin import encoded, history

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
def full(ledger: Ledger) -> Ledger:
    """With everything a ledger can hold: an import, an erasure, a new key, a rollback."""
    ledger.fill(3)
    ledger.add(*import_history(encoded(history(3))).drafts)
    ledger.add(Draft("note", "test", {"numbers": [1e-07, 1e30, 0.5, 12], "\U0001f600": "\ufb33"}))
    erase(ledger, 1, "text")
    keeping.change_key(ledger.keeping, ledger.signer, OTHER, ledger.stamp)
    changed = replace(ledger, signer=OTHER)
    ledger.fill(2)
    lost = newest([ledger.note(2, signer=ledger.signer)], changed.keeping.log)
    assert lost is not None
    stated = replace(lost, size=99)
    given_up = keeping.give_up(changed.keeping, [stated])
    keeping.accept_rollback(changed.keeping, given_up, reason="x", signer=OTHER, stamp=ledger.stamp)
    keeping.checkpoint(changed.keeping, OTHER)
    assert verify_store(ledger.keeping).findings == ()
    return ledger


def write(path: Path, ledger: Ledger, entries: list[Entry] | None = None) -> Path:
    notes = [note for _, note in ledger.store.checkpoints("ada")]
    with path.open("wb") as file:
        export_bundle(file, "ada", entries or ledger.entries, pin=ledger.pin, notes=notes)
    return path


def run(bundle: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """As an auditor would: the script out of the bundle, in a Python that sees nothing of ours."""
    script = bundle.with_name("verify.py")
    with zipfile.ZipFile(bundle) as archive:
        script.write_bytes(archive.read("verify.py"))
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(bundle), "--json", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=bundle.parent,
    )
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def audit(bundle: Path, ledger: Ledger, *checkpoints: str) -> dict[str, Any]:
    return auditor.audit(
        str(bundle), key=ledger.pin.public_key, origin=ORIGIN, checkpoints=checkpoints
    )


def test_a_good_bundle_passes_alone(full: Ledger, tmp_path: Path) -> None:
    bundle = write(tmp_path / "ledger.zip", full)
    kept = tmp_path / "kept.txt"
    kept.write_text(full.store.checkpoints("ada")[-1][1], "utf-8")
    code, told = run(
        bundle,
        *("--key", full.pin.public_key),
        *("--origin", ORIGIN),
        *("--checkpoint", str(kept)),
    )
    ours = verify_store(full.keeping)
    assert (code, told["intact"], told["findings"]) == (0, True, [])
    assert (told["entries"], told["head"], told["root"]) == (ours.entries, ours.head, ours.root)
    assert told["vouched"] == ours.entries
    assert told["erased"] == [{"index": 1, "fields": ["text"], "reason": "asked by the person"}]


def test_a_tampered_bundle_fails_alone_and_the_entry_is_named(full: Ledger, tmp_path: Path) -> None:
    chain = full.entries
    chain[2] = replace(chain[2], source="somebody else")
    code, told = run(write(tmp_path / "ledger.zip", full, chain))
    assert code == 1
    assert (told["findings"][0]["index"], told["findings"][0]["column"]) == (2, "hash")
    assert "was taken from the bundle itself" in told["notes"][-1]


def test_a_bundle_is_not_ok_by_the_key_and_name_that_it_gives_itself(
    full: Ledger, tmp_path: Path
) -> None:
    bundle = write(tmp_path / "ledger.zip", full)
    key, origin = ("--key", full.pin.public_key), ("--origin", ORIGIN)
    for some in ((), key, origin):
        code, told = run(bundle, *some)
        assert (code, told["verdict"], told["pinned"]) == (1, "UNPINNED", False)
    code, told = run(bundle, *key, *origin)
    assert (code, told["verdict"], told["pinned"]) == (0, "ok", True)


def test_what_is_no_bundle_fails_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(b"nothing")
    done = subprocess.run(
        [sys.executable, "-I", auditor.__file__, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_the_verdict_in_words(
    full: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = write(tmp_path / "ledger.zip", full)
    assert auditor.main([str(bundle), "--key", full.pin.public_key, "--origin", ORIGIN]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"ok  {ORIGIN}/ada: {len(full.entries)} entries")
    assert "erased text (asked by the person)" in told
    assert "without a checkpoint from outside" in told


Bend = Callable[[list[Entry]], list[Entry]]


def _edit(place: int, **change: object) -> Bend:
    def bend(chain: list[Entry]) -> list[Entry]:
        return [replace(e, **change) if e.index == place else e for e in chain]  # pyright: ignore[reportArgumentType]  # damaged on purpose

    return bend


BENDS: list[Bend] = [
    _edit(0, body={"text": "x", "n": 0, "delivery": "mail-0"}),
    _edit(0, time="2030-01-01T00:00:00.000000Z"),
    _edit(0, delivery="other"),
    _edit(0, recipe="other"),
    _edit(0, agent="bob"),
    _edit(0, body={}, salts={}, delivery=None),
    _edit(2, salts={}),
    lambda chain: chain[:-1],
    lambda chain: chain[1:],
    lambda chain: [chain[0], chain[2], chain[1], *chain[3:]],
    lambda chain: [*chain[:3], chain[2], *chain[3:]],
    lambda chain: rechained(chain[:3], 0),
    lambda chain: rechained([replace(e, source="x") for e in chain], 2),
    lambda chain: rechained([*chain[:3], *chain[4:]], 3),
]


@pytest.mark.parametrize("bend", BENDS)
def test_the_verifier_finds_what_ours_finds(full: Ledger, tmp_path: Path, bend: Bend) -> None:
    chain = bend(full.entries)
    notes = [note for _, note in full.store.checkpoints("ada")]
    ours = full.verify(chain, local=notes)
    told = audit(write(tmp_path / "ledger.zip", full, chain), full)
    assert not ours.intact
    assert not told["intact"]


def test_the_verifier_does_not_believe_the_wrong_key_name_or_checkpoint(
    full: Ledger, tmp_path: Path
) -> None:
    bundle = write(tmp_path / "ledger.zip", full)
    stranger = replace(full, signer=SeededSigner(bytes([5] * 32)))
    assert not audit(bundle, stranger)["intact"]
    assert not auditor.audit(
        str(bundle), key=full.pin.public_key, origin="elsewhere.example", checkpoints=[]
    )["intact"]
    kept = tmp_path / "kept.txt"
    kept.write_text(stranger.note(3), "utf-8")
    assert not audit(bundle, full, str(kept))["intact"]


def test_the_same_ledger_is_the_same_bundle(full: Ledger) -> None:
    def once() -> bytes:
        file = io.BytesIO()
        notes = [note for _, note in full.store.checkpoints("ada")]
        export_bundle(file, "ada", full.entries, pin=full.pin, notes=notes)
        return file.getvalue()

    assert once() == once()


def test_the_bundle_explains_itself(full: Ledger, tmp_path: Path) -> None:
    with zipfile.ZipFile(write(tmp_path / "ledger.zip", full)) as archive:
        assert sorted(archive.namelist()) == [
            "README.txt",
            "checkpoints.txt",
            "entries.jsonl",
            "ledger.json",
            "report.html",
            "verify.py",
        ]
        readme = archive.read("README.txt").decode()
    assert f"--origin {ORIGIN} --key {full.pin.public_key}" in readme


def test_an_entry_line_reads_back_as_it_was(full: Ledger) -> None:
    from mentis.ledger.records import read_entry

    for entry in full.entries:
        assert read_entry(write_entry(entry), number=0) == entry


@given(FLOATS)
def test_the_verifier_writes_numbers_as_the_oracle_does(number: float) -> None:
    assert auditor.number(number).encode() == rfc8785.dumps(number)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | FLOATS | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_the_verifier_has_the_canonical_form_of_the_oracle(value: Any) -> None:  # noqa: ANN401
    assert auditor.jcs(value) == rfc8785.dumps(value)


def test_checkpoint_files_are_taken_apart_the_same_way(full: Ledger) -> None:
    notes = [note for _, note in full.store.checkpoints("ada")]
    assert auditor.split_notes("\n".join(notes)) == notes
    assert read_note(notes[0]).checkpoint.size > 0


def test_the_verifier_needs_nothing_but_the_standard_library_and_cryptography() -> None:
    tree = ast.parse(Path(auditor.__file__).read_text("utf-8"))
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or "."]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
        )
    }
    assert names - sys.stdlib_module_names == {"cryptography"}

"""Cosignatures: what a witness signs, and what counts as its word. The auditor reads them alike."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import UsageError
from mentis.ledger import auditor
from mentis.ledger.checkpoint import read_note
from mentis.ledger.cosignature import (
    cosign,
    cosignatures_in,
    parse_witness_key,
    witness_key_text,
)
from mentis.ports.signer import SeededSigner
from mentis.values.checkpoint import Cosignature, WitnessedSize, WitnessKey

from .conftest import Ledger

NAME = "witness.example/w1"
SIGNER = SeededSigner(b"\1" * 32)
KEY = WitnessKey(NAME, SIGNER.public)
TIME = 1_679_315_147


@pytest.fixture
def note(ledger: Ledger) -> str:
    ledger.fill(3)
    return ledger.note()


def test_what_is_signed_are_the_words_of_the_specification(note: str) -> None:
    line = cosign(read_note(note), NAME, SIGNER, time=TIME)
    mark, name, encoded = line.rstrip("\n").split(" ")
    raw = base64.b64decode(encoded)
    assert (mark, name, line[-1]) == ("—", NAME, "\n")
    assert raw[:4] == hashlib.sha256(NAME.encode() + b"\n\x04" + SIGNER.public).digest()[:4]
    assert int.from_bytes(raw[4:12], "big") == TIME
    said = b"cosignature/v1\ntime 1679315147\n" + note.partition("\n\n")[0].encode() + b"\n"
    assert raw[12:] == SIGNER.sign(said)


def test_a_key_reads_as_it_was_written_and_a_wrong_one_is_refused() -> None:
    text = witness_key_text(KEY)
    assert parse_witness_key(text) == KEY
    name, identity, key = text.split("+", 2)
    for wrong in ("", name, f"{name}+00000000+{key}", f"other+{identity}+{key}", text[:-4]):
        with pytest.raises(UsageError):
            parse_witness_key(wrong)
    of_a_log = base64.b64encode(b"\x01" + SIGNER.public).decode()
    with pytest.raises(UsageError, match="no key of a witness"):
        parse_witness_key(f"{name}+{identity}+{of_a_log}")


@given(time=st.integers(0, 2**63 - 1), other=st.integers(0, 2**63 - 1))
def test_only_the_word_of_a_known_witness_on_this_checkpoint_counts(time: int, other: int) -> None:
    ledger = Ledger()
    ledger.fill(2)
    note, longer = ledger.note(1), ledger.note(2)
    line = cosign(read_note(note), NAME, SIGNER, time=time)
    again = cosign(read_note(note), NAME, SIGNER, time=other)
    stranger = cosign(read_note(note), NAME, SeededSigner(b"\2" * 32), time=time)
    told: list[tuple[str, list[Cosignature]]] = [
        (note + line, [Cosignature(NAME, time)]),
        (note + line + again, [Cosignature(NAME, max(time, other))]),
        (note + stranger, []),
        (longer + line, []),
        (note, []),
    ]
    for text, expected in told:
        read = read_note(text)
        assert list(cosignatures_in(read, [KEY])) == expected
        quorum = auditor.Quorum(((NAME, SIGNER.public),), 1)
        audit = auditor._Audit("example.org", "ada", [("here", text, False)], quorum)  # pyright: ignore[reportPrivateUsage]  # one file, read by itself
        ((*_, signed, signatures, seen),) = audit.notes
        found = audit.cosignatures(signed, signatures)
        assert found == {one.name: one.time for one in expected}
        assert seen is bool(expected)


def test_a_signature_cut_or_changed_anywhere_counts_for_nothing(note: str) -> None:
    line = cosign(read_note(note), NAME, SIGNER, time=TIME)
    raw = base64.b64decode(line.split(" ")[2])
    for at in range(len(raw)):
        changed = bytes([*raw[:at], raw[at] ^ 1, *raw[at + 1 :]])
        for odd in (changed, raw[: max(at, 5)]):
            text = f"{note}— {NAME} {base64.b64encode(odd).decode()}\n"
            assert cosignatures_in(read_note(text), [KEY]) == ()


def test_enough_witnesses_vouch_and_too_few_are_a_finding(ledger: Ledger) -> None:
    ledger.fill(4)
    signers = {f"w{n}": SeededSigner(bytes([n]) * 32) for n in range(1, 4)}
    keys = tuple(WitnessKey(name, one.public) for name, one in signers.items())
    early, late = ledger.note(2), ledger.note(3)
    both = early + "".join(
        cosign(read_note(early), name, signers[name], time=TIME) for name in ("w1", "w2")
    )
    one = late + cosign(read_note(late), "w3", signers["w3"], time=TIME + 5)

    def verdict(quorum: int, *notes: str):  # noqa: ANN202  # of a local helper
        return ledger.verify(local=notes, witnesses=keys, quorum=quorum)

    seen = verdict(2, both, one)
    assert seen.intact
    assert (seen.vouched, seen.witnessed and seen.witnessed.size) == (3, 2)
    assert "not yet seen by 2 of 3 witnesses" in " ".join(seen.notes)
    assert verdict(1, both, one).witnessed == verdict(0, both, one).witnessed
    assert WitnessedSize(3, (Cosignature("w3", TIME + 5),)) == verdict(1, both, one).witnessed
    (finding,) = verdict(3, both, one).findings
    assert finding.attack == "unwitnessed"
    assert "3 of 3 witnesses" in finding.message
    (finding,) = verdict(1, late).findings
    assert finding.attack == "unwitnessed"


def test_what_a_witness_has_seen_and_is_not_here_is_a_rollback_wherever_the_note_lies(
    ledger: Ledger,
) -> None:
    ledger.fill(4)
    note = ledger.note(4)
    cosigned = note + cosign(read_note(note), NAME, SIGNER, time=TIME)
    kept = ledger.entries[:2]
    alone = ledger.verify(kept, local=[note])
    assert [one.attack for one in alone.findings] == ["truncated"]
    seen = ledger.verify(kept, local=[cosigned], witnesses=[KEY])
    assert [one.attack for one in seen.findings] == ["rolled-back"]
    assert "NOT complete" in seen.completeness


def test_an_entry_that_claims_to_be_older_than_its_absence_is_named(ledger: Ledger) -> None:
    ledger.fill(4)  # all of them in the first seconds of 2026
    note = ledger.note(2)
    later = cosign(read_note(note), NAME, SIGNER, time=1_800_000_000)
    verdict = ledger.verify(local=[note + later], witnesses=[KEY])
    assert verdict.intact
    (told,) = [note for note in verdict.notes if "dated back" in note]
    assert told.startswith("entry 2 says that it is of 2026-01-01")
    assert "2027-01-15T08:00:00+00:00" in told
    sooner = cosign(read_note(note), NAME, SIGNER, time=TIME)
    assert "dated back" not in " ".join(ledger.verify(local=[note + sooner], witnesses=[KEY]).notes)

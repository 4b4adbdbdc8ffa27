"""Checkpoints: the C2SP form, its signature, and when one is due."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadCheckpoint, SettingsError
from mentis.ledger.checkpoint import (
    Policy,
    due,
    note_signed_by,
    read_note,
    sign_checkpoint,
    split_notes,
    verifier_key,
)
from mentis.ledger.merkle import EMPTY
from mentis.ports.signer import SeededSigner
from mentis.values.checkpoint import Checkpoint

SIGNER = SeededSigner()
SAYS = Checkpoint("example.org/home/ada", 3, EMPTY.hex())
NOTE = sign_checkpoint(SAYS, SIGNER)
START = datetime(2026, 1, 1, tzinfo=UTC)
# The example of the specification; its signature is by a key that nobody here has.
PUBLISHED = """\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa \
Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
"""


def test_a_note_has_the_published_form_byte_for_byte() -> None:
    text, signature = NOTE.split("\n\n")
    assert text == "example.org/home/ada\n3\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    assert signature.startswith("— example.org/home/ada ")
    assert signature.endswith("=\n")


def test_the_example_of_the_specification_is_read() -> None:
    note = read_note(PUBLISHED)
    assert (note.checkpoint.origin, note.checkpoint.size) == (
        "example.com/behind-the-sofa",
        20852163,
    )
    assert note.signatures[0].key_id.hex() == "033de0ae"
    assert len(note.signatures[0].signature) == 64
    assert not note_signed_by(note, SIGNER.public)


def test_the_verifier_key_names_log_id_and_key_in_one_line() -> None:
    name, key_id, key = verifier_key(SAYS.origin, SIGNER.public).split("+", 2)
    assert name == SAYS.origin
    assert key_id == read_note(NOTE).signatures[0].key_id.hex()
    assert base64.b64decode(key) == b"\x01" + SIGNER.public


def test_a_note_is_read_back_and_verifies_with_its_key_only() -> None:
    note = read_note(NOTE)
    assert note.checkpoint == SAYS
    assert note_signed_by(note, SIGNER.public)
    assert not note_signed_by(note, SeededSigner(bytes([1] * 32)).public)


def test_signatures_of_witnesses_beside_ours_are_ignored() -> None:
    witness = sign_checkpoint(SAYS, SeededSigner(bytes([1] * 32))).splitlines()[-1]
    note = read_note(f"{NOTE}{witness.replace('example.org/home/ada', 'witness.example')}\n")
    assert len(note.signatures) == 2
    assert note_signed_by(note, SIGNER.public)


@given(st.integers(0, len(NOTE) - 1), st.characters(exclude_categories=["Cs"]))
def test_no_changed_character_passes(at: int, letter: str) -> None:
    changed = NOTE[:at] + letter + NOTE[at + 1 :]
    if changed == NOTE:
        return
    try:
        note = read_note(changed)
    except BadCheckpoint:
        return
    assert not note_signed_by(note, SIGNER.public)


@given(st.text())
def test_texts_of_any_kind_are_read_or_refused(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        read_note(text)


@pytest.mark.parametrize("origin", ["", "two words", "a+b", "a\nb"])
def test_a_name_that_no_log_may_have_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="cannot name a log"):
        sign_checkpoint(Checkpoint(origin, 0, EMPTY.hex()), SIGNER)


def test_notes_written_one_after_the_other_are_taken_apart() -> None:
    second = sign_checkpoint(Checkpoint("example.org/home/ada", 9, EMPTY.hex()), SIGNER)
    assert split_notes(NOTE + second) == (NOTE, second)
    assert split_notes(f"{NOTE}\n\n{second}\n") == (NOTE, second)
    assert split_notes("") == ()


@pytest.mark.parametrize(
    ("size", "seconds", "expected"),
    [
        (10, 0, False),
        (10, 10_000, False),
        (11, 59, False),
        (11, 60, True),
        (14, 0, False),
        (15, 0, True),
        (9, 60, False),
    ],
)
def test_a_checkpoint_is_due_after_entries_or_after_seconds(
    size: int, seconds: int, *, expected: bool
) -> None:
    now = START + timedelta(seconds=seconds)
    assert due(Policy(5, 60), size, now, last=(10, START)) is expected


def test_the_first_checkpoint_is_due_with_the_first_entry() -> None:
    assert due(Policy(), 1, START, last=None)
    assert not due(Policy(), 0, START, last=None)

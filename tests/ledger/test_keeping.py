"""The verbs: checkpoint, start, proof, erasure, change of key, rollback, segments."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import pytest

from mentis.errors import RolledBack, SigningKeyError, StoreDamaged, UsageError
from mentis.ledger import auditor, keeping, statements
from mentis.ledger.bundle import export_bundle
from mentis.ledger.checkpoint import read_note
from mentis.ledger.segments import cut, cut_before, read_segment, segment_name
from mentis.ledger.signature import encode_key, sign_statement, statement_of
from mentis.ledger.standing import newest, root_of, stand
from mentis.ledger.statements import erase_fields
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.ports.signer import SeededSigner, Signer
from mentis.stores.memory import LedgerInMemory
from mentis.values.checkpoint import KeptCheckpoint, KeptNote, Pin
from mentis.values.entry import Draft, Entry, ErasedFields, Verdict
from mentis.values.json import JsonObject
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.turn_writes import TurnWrites

from .conftest import ORIGIN, Ledger, new_stamp, rechained, verify_store

OTHER = SeededSigner(bytes([7] * 32))


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    ledger.fill(10)
    return ledger


def store_of(entries: list[Entry]) -> LedgerInMemory:
    """A store that holds exactly these, as a copied file would."""
    store = LedgerInMemory()
    for entry in entries:
        store.append("ada", [Draft("", "", {})], lambda _agent, _head, _draft, e=entry: e)
    return store


def outside(note: str) -> KeptNote:
    return KeptNote(note, "elsewhere", outside=True)


# Checkpoints and the start


def test_a_checkpoint_is_kept_beside_the_ledger_and_verifies(filled: Ledger) -> None:
    note, standing = keeping.checkpoint(filled.keeping, filled.signer)
    assert filled.store.checkpoints("ada") == ((10, note),)
    assert standing.size == 10
    verdict = verify_store(filled.keeping, [outside(note)])
    assert (verdict.findings, verdict.vouched) == ((), 10)
    assert verdict.root == read_note(note).checkpoint.root


def test_a_later_checkpoint_goes_on_from_where_the_ledger_stood(filled: Ledger) -> None:
    _, standing = keeping.checkpoint(filled.keeping, filled.signer)
    filled.fill(5)
    note, later = keeping.checkpoint(filled.keeping, filled.signer, since=standing)
    assert later == stand(filled.keeping.hashes_from)
    assert verify_store(filled.keeping, [outside(note)]).vouched == 15


def test_a_ledger_starts_where_its_last_checkpoint_saw_it_or_later(filled: Ledger) -> None:
    assert keeping.start(filled.keeping).size == 0, "without a checkpoint nothing is read"
    note, standing = keeping.checkpoint(filled.keeping, filled.signer)
    filled.fill(2)
    assert keeping.start(filled.keeping).size == 12
    assert keeping.start(filled.keeping, KeptCheckpoint(note, standing)).size == 12


@pytest.mark.parametrize("kept", [7, 0])
def test_a_shorter_ledger_refuses_to_start(filled: Ledger, kept: int) -> None:
    note, standing = keeping.checkpoint(filled.keeping, filled.signer)
    short = replace(filled.keeping, store=store_of(filled.entries[:kept]))
    with pytest.raises(RolledBack, match="entry 9 is not what it was"):
        keeping.start(short, KeptCheckpoint(note, standing))
    short.store.keep_checkpoint("ada", 10, note)
    with pytest.raises(RolledBack, match=f"it has {kept} entries"):
        keeping.start(short)


def test_another_ledger_of_the_same_length_refuses_to_start(filled: Ledger) -> None:
    note, standing = keeping.checkpoint(filled.keeping, filled.signer)
    chain = filled.entries
    chain[3] = replace(chain[3], source="somebody else")
    other = replace(filled.keeping, store=store_of(rechained(chain, 3)))
    with pytest.raises(RolledBack, match="entry 9 is not what it was"):
        keeping.start(other, KeptCheckpoint(note, standing))
    other.store.keep_checkpoint("ada", 10, note)
    with pytest.raises(RolledBack, match="not those the last checkpoint saw") as caught:
        keeping.start(other)
    assert caught.value.hint


def test_an_accepted_rollback_is_an_entry_that_explains_what_is_lost(filled: Ledger) -> None:
    note, _ = keeping.checkpoint(filled.keeping, filled.signer)
    short = replace(filled.keeping, store=store_of(filled.entries[:7]))
    lost = newest([note], short.log)
    assert lost is not None
    given_up = keeping.give_up(short, [lost])
    entry = keeping.accept_rollback(
        short, given_up, reason="disk died", signer=filled.signer, stamp=filled.stamp
    )
    assert entry.kind == "rollback"
    verdict = verify_store(short, [outside(note)])
    assert verdict.findings == ()
    (told,) = verdict.notes
    assert told == (
        "entry 7: a rollback was accepted, which gives up the checkpoints of size 10 (disk died);"
        " a checkpoint proved 0 of the 7 entries before it to be from before"
    )
    assert verdict.vouched == 0
    assert "elsewhere, size 10: the rollback in entry 7 gives it up" in verdict.completeness


def test_a_rollback_accepted_with_another_key_explains_nothing(filled: Ledger) -> None:
    note, _ = keeping.checkpoint(filled.keeping, filled.signer)
    short = replace(filled.keeping, store=store_of(filled.entries[:7]))
    lost = newest([note], short.log)
    assert lost is not None
    keeping.accept_rollback(
        short, keeping.give_up(short, [lost]), reason="mine", signer=OTHER, stamp=filled.stamp
    )
    attacks = {finding.attack for finding in verify_store(short, [outside(note)]).findings}
    assert attacks == {"forged", "rolled-back"}


def test_an_accepted_rollback_explains_no_later_one(filled: Ledger) -> None:
    note, _ = keeping.checkpoint(filled.keeping, filled.signer)
    short = replace(filled.keeping, store=store_of(filled.entries[:7]))
    lost = newest([note], short.log)
    assert lost is not None
    keeping.accept_rollback(
        short, keeping.give_up(short, [lost]), reason="1", signer=filled.signer, stamp=filled.stamp
    )
    for n in range(8):
        short.store.append("ada", [Draft("note", "test", {"n": n})], filled.stamp)
    later, _ = keeping.checkpoint(short, filled.signer)
    cut_again = replace(short, store=store_of(list(short.store.entries("ada"))[:9]))
    (finding,) = verify_store(cut_again, [outside(note), outside(later)]).findings
    assert finding.attack == "rolled-back"


# Proofs


def test_an_entry_is_proved_against_the_ledger_and_against_a_checkpoint(filled: Ledger) -> None:
    note, _ = keeping.checkpoint(filled.keeping, filled.signer)
    filled.fill(3)
    for index in range(10):
        proof = keeping.prove(filled.keeping, index, note=note)
        assert (proof.size, proof.hash) == (10, filled.entries[index].hash)
        assert proof.root == read_note(note).checkpoint.root
        assert keeping.check_proof(proof)
        assert not keeping.check_proof(replace(proof, index=(index + 1) % 10))
    assert keeping.check_proof(keeping.prove(filled.keeping, 12))
    with pytest.raises(UsageError, match="no entry 13"):
        keeping.prove(filled.keeping, 13)


# Erasure


def erase(ledger: Ledger, index: int, *fields: str, signer: SeededSigner | None = None) -> Entry:
    return keeping.erase(
        ledger.keeping,
        index,
        fields,
        reason="asked by the person",
        signer=signer or ledger.signer,
        stamp=ledger.stamp,
    )


def test_an_erased_field_leaves_a_ledger_that_verifies_and_says_so(filled: Ledger) -> None:
    note, _ = keeping.checkpoint(filled.keeping, filled.signer)
    tombstone = erase(filled, 4, "text")
    entry = filled.entries[4]
    assert "text" not in entry.body
    assert "text" not in entry.salts
    assert "text" in entry.fields
    verdict = verify_store(filled.keeping, [outside(note)])
    assert verdict.findings == ()
    assert verdict.erased == (ErasedFields(4, ("text",), "asked by the person", tombstone.index),)


def test_of_a_whole_entry_that_is_erased_only_the_delivery_stays(filled: Ledger) -> None:
    erase(filled, 4)
    entry = filled.entries[4]
    assert (entry.body, entry.salts.keys()) == ({"delivery": "mail-4"}, {"delivery"})
    verdict = verify_store(filled.keeping)
    assert verdict.findings == ()
    assert verdict.erased[0].fields == ("n", "text")
    body = {"text": "entry 4", "n": 4}
    (again,) = filled.add(Draft("note", "test", body, delivery="mail-4"))
    assert again == entry, "what was erased does not come back"


def test_a_delivery_that_is_named_is_erased_with_its_copy(filled: Ledger) -> None:
    erase(filled, 4, "delivery", "n", "text")
    entry = filled.entries[4]
    assert (entry.body, entry.salts, entry.delivery) == ({}, {}, None)
    verdict = verify_store(filled.keeping)
    assert verdict.findings == ()
    assert verdict.erased[0].fields == ("delivery", "n", "text")


def test_fields_beyond_the_tombstone_are_missed(filled: Ledger) -> None:
    erase(filled, 4, "text")
    chain = filled.entries
    chain[4] = erase_fields(chain[4], ["n"])
    chain[5] = erase_fields(chain[5], ["text"])
    findings = filled.verify(chain).findings
    assert [(f.index, f.attack, f.message) for f in findings] == [
        (4, "erased", "field 'n' is gone; only its commitment is left"),
        (5, "erased", "field 'text' is gone; only its commitment is left"),
    ]


def test_a_tombstone_signed_with_another_key_does_not_count(filled: Ledger) -> None:
    erase(filled, 4, "text", signer=OTHER)
    assert [f.attack for f in verify_store(filled.keeping).findings] == ["erased", "forged"]


def test_a_tombstone_of_another_ledger_does_not_count(filled: Ledger) -> None:
    other = Ledger()
    other.add(Draft("note", "test", {"text": "another life"}))
    other.fill(9)
    tombstone = erase(other, 4, "text")
    filled.add(Draft("erasure", "ledger", {"signed": tombstone.body["signed"]}))
    chain = filled.entries
    chain[4] = erase_fields(chain[4], ["text"])
    assert [f.attack for f in filled.verify(chain).findings] == ["erased"]


def test_a_copy_of_the_delivery_that_was_left_behind_is_found(filled: Ledger) -> None:
    erase(filled, 4, "delivery")
    chain = filled.entries
    chain[4] = replace(chain[4], delivery="mail-4")
    (finding,) = filled.verify(chain).findings
    assert (finding.index, finding.column) == (4, "delivery")


@pytest.mark.parametrize(("index", "field"), [(99, "text"), (4, "nothing")])
def test_what_is_not_there_cannot_be_erased(filled: Ledger, index: int, field: str) -> None:
    with pytest.raises(UsageError):
        erase(filled, index, field)


def test_a_tombstone_cannot_be_erased(filled: Ledger) -> None:
    tombstone = erase(filled, 4, "text")
    with pytest.raises(UsageError, match="cannot be erased"):
        erase(filled, tombstone.index)


def test_a_statement_that_cannot_be_hashed_does_not_count(filled: Ledger) -> None:
    tombstone = erase(filled, 4, "text")
    chain = filled.entries
    signed = cast("dict[str, object]", tombstone.body["signed"])
    bent = {**signed, "statement": {"what": "erasure", "n": float("nan")}}
    chain[10] = replace(chain[10], body={**chain[10].body, "signed": bent})
    assert {f.attack for f in filled.verify(chain).findings} == {"edited", "erased", "forged"}


# Keys


@pytest.mark.parametrize("pinned", ["old", "middle", "new"])
def test_after_changes_of_the_key_old_and_new_checkpoints_verify_whichever_is_pinned(
    filled: Ledger, pinned: str
) -> None:
    keys = {"old": filled.signer, "middle": OTHER, "new": SeededSigner(bytes([9] * 32))}
    for old, new in (("old", "middle"), ("middle", "new")):
        ledger = replace(filled, signer=keys[old])
        keeping.change_key(ledger.keeping, keys[old], keys[new], filled.stamp)
        filled.fill(3)
    ledger = replace(filled, signer=keys["new"])
    note, _ = keeping.checkpoint(ledger.keeping, keys["new"])
    erase(ledger, 2, "text", signer=SeededSigner(bytes([9] * 32)))

    verdict = verify_store(replace(filled, signer=keys[pinned]).keeping, [outside(note)])
    assert verdict.findings == ()
    assert verdict.vouched == 18


class Busy(LedgerInMemory):
    """Somebody else is always a little faster: their entry comes before anything that is added."""

    def append(
        self,
        agent: str,
        drafts: Sequence[Draft],
        stamp: Stamp,
        *,
        lease: Lease | None = None,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> tuple[Entry, ...]:
        super().append(agent, [Draft("note", "somebody else", {"text": "x"})], new_stamp())
        return super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)


def test_a_change_of_the_key_holds_when_somebody_appends_at_the_same_moment(
    ledger: Ledger,
) -> None:
    busy = replace(ledger, store=Busy())
    busy.fill(3)
    entry = keeping.change_key(busy.keeping, busy.signer, OTHER, busy.stamp)
    assert entry.index == 7
    assert verify_store(busy.keeping).findings == ()
    note, _ = keeping.checkpoint(replace(busy, signer=OTHER).keeping, OTHER)
    assert verify_store(busy.keeping, [outside(note)]).vouched == 8


def test_an_accepted_rollback_holds_when_somebody_appends_at_the_same_moment(
    filled: Ledger,
) -> None:
    note, _ = keeping.checkpoint(filled.keeping, filled.signer)
    store = Busy()
    kept = iter(filled.entries[:7])
    nothing = [Draft("", "", {})] * 7
    LedgerInMemory.append(store, "ada", nothing, lambda _agent, _head, _draft: next(kept))
    short = replace(filled.keeping, store=store)
    store.keep_checkpoint("ada", 10, note)
    lost = newest([note], short.log)
    assert lost is not None
    given_up = keeping.give_up(short, [lost])
    keeping.accept_rollback(short, given_up, reason="x", signer=filled.signer, stamp=filled.stamp)
    assert keeping.start(short).size == 0, "what was given up does not stop it any more"
    assert verify_store(short).findings == ()


def test_an_old_key_no_longer_signs_after_the_change(filled: Ledger) -> None:
    keeping.change_key(filled.keeping, filled.signer, OTHER, filled.stamp)
    filled.fill(3)
    keeping.checkpoint(filled.keeping, filled.signer)
    (finding,) = verify_store(filled.keeping).findings
    assert finding.attack == "forged"
    assert "size 14" in finding.message


def test_a_change_of_the_key_without_the_old_one_is_named(filled: Ledger) -> None:
    statement = keeping.change_key(
        replace(filled, signer=OTHER).keeping, OTHER, SeededSigner(bytes([9] * 32)), filled.stamp
    )
    attacks = [f.attack for f in verify_store(filled.keeping).findings]
    assert statement.kind == "key"
    assert set(attacks) == {"forged"}


def test_a_change_of_the_key_that_only_the_new_key_signed_is_named(filled: Ledger) -> None:
    head = filled.store.head("ada")
    statement = {
        "what": "key",
        "agent": "ada",
        "after": None if head is None else head.hash,
        "old": filled.pin.public_key,
        "new": encode_key(OTHER.public),
    }
    filled.add(Draft("key", "ledger", {"signed": sign_statement(statement, OTHER)}))
    keeping.checkpoint(filled.keeping, OTHER)
    findings = verify_store(filled.keeping).findings
    assert {(f.index, f.column, f.attack) for f in findings} == {
        (10, "body", "forged"),
        (0, "checkpoint", "forged"),
    }


def test_a_key_that_is_not_pinned_signs_nothing(filled: Ledger) -> None:
    with pytest.raises(SigningKeyError, match="not the one"):
        keeping.change_key(filled.keeping, OTHER, filled.signer, filled.stamp)
    with pytest.raises(SigningKeyError, match="not an Ed25519 public key"):
        verify_store(replace(filled.keeping, pin=Pin(ORIGIN, "nonsense")))


# Resuming


def resume(ledger: Ledger, first: Verdict, note: str) -> Verdict:
    assert first.trusted is not None
    own = [KeptNote(kept, "here", outside=False) for _, kept in ledger.store.checkpoints("ada")]
    later = ledger.store.entries("ada", start=first.trusted.size)
    notes = [*own, outside(note)]
    return verify_chain("ada", later, pin=ledger.pin, notes=notes, since=first.trusted)


def test_verification_goes_on_from_what_was_verified_before(filled: Ledger) -> None:
    first = verify_store(filled.keeping)
    assert first.trusted is not None
    keeping.change_key(filled.keeping, filled.signer, OTHER, filled.stamp)
    filled.fill(5)
    note, _ = keeping.checkpoint(filled.keeping, OTHER)
    whole = verify_store(filled.keeping, [outside(note)])
    resumed = resume(filled, first, note)
    assert resumed.findings == ()
    assert (resumed.entries, resumed.head, resumed.root) == (whole.entries, whole.head, whole.root)
    assert resumed.vouched == 16
    assert resumed.trusted == whole.trusted
    (told,) = resumed.notes
    assert told.startswith("entries 0 to 9 were verified before and not read again: not whether")


def test_resuming_says_which_checkpoints_it_did_not_compare(filled: Ledger) -> None:
    first = verify_store(filled.keeping)
    resumed = resume(filled, first, filled.note(4))
    assert "not compared again: 1 checkpoint of what was verified before" in resumed.notes


def test_resuming_on_another_chain_is_found(filled: Ledger) -> None:
    first = verify_store(filled.keeping)
    assert first.trusted is not None
    filled.fill(2)
    chain = filled.entries
    chain[5] = replace(chain[5], source="x")
    later = rechained(chain, 5)[10:]
    findings = verify_chain("ada", later, since=first.trusted).findings
    assert (findings[0].index, findings[0].column) == (10, "prev")


def test_a_broken_chain_gives_nothing_to_resume_from(filled: Ledger) -> None:
    chain = filled.entries
    chain[5] = replace(chain[5], source="x")
    assert filled.verify(chain).trusted is None


def test_progress_is_told_on_the_way(ledger: Ledger) -> None:
    ledger.fill(3)
    many = [entry for _ in range(700) for entry in ledger.entries]
    told: list[int] = []
    verify_chain("ada", many, progress=told.append)
    assert told == [1000, 2000]


# Segments


def rotate(ledger: Ledger, index: int) -> list[bytes]:
    segment, lines = keeping.seal_segment(ledger.keeping, index, ledger.signer)
    written = list(lines)
    keeping.record_rotation(ledger.keeping, segment, ledger.signer, ledger.stamp)
    ledger.store.drop_before("ada", index)
    return written


def let_go(ledger: Ledger, *segments: list[bytes]) -> Entry:
    return keeping.record_retention(
        ledger.keeping,
        [read_segment(lines)[0] for lines in segments],
        told=ledger.store.entries(ledger.agent),
        days=5,
        before="2026-01-01T00:00:00.000000Z",
        signer=ledger.signer,
        stamp=ledger.stamp,
    )


def rotated(ledger: Ledger) -> JsonObject:
    """What the last rotation says it has moved."""
    (entry,) = [entry for entry in ledger.entries if entry.kind == "rotation"][-1:]
    told = statement_of(entry.body["signed"])
    return {name: told[name] for name in ("first", "last", "head", "root", "digest")}


def retention(ledger: Ledger, cut: JsonObject, signer: Signer) -> Draft:
    return statements.retention(ledger.agent, [cut], days=5, before="2026", signer=signer)


def test_rotated_entries_verify_in_their_file_and_together_with_the_rest(filled: Ledger) -> None:
    before = filled.entries
    first, second = rotate(filled, 4), None
    filled.fill(2)
    second = rotate(filled, 9)
    segment, entries = read_segment(second)
    assert (segment.first, segment.last) == (4, 8)
    assert segment_name(segment) == "segment-0000000004-0000000008.jsonl"
    assert list(entries) == before[4:9]
    everything = [entry for lines in (first, second) for entry in read_segment(lines)[1]]
    verdict = verify_store(filled.keeping, before=everything)
    assert (verdict.findings, verdict.notes) == ((), ())
    assert (verdict.entries, filled.entries[0].index) == (14, 9)
    assert keeping.check_proof(keeping.prove(filled.keeping, 2))


def test_rotated_entries_whose_segment_is_not_given_are_missing(filled: Ledger) -> None:
    rotate(filled, 4)
    (finding,) = verify_store(filled.keeping).findings
    assert (finding.index, finding.attack) == (0, "deleted")


def test_segments_that_were_let_go_are_named_by_a_signed_entry_and_nothing_is_missing(
    filled: Ledger,
) -> None:
    first, second = rotate(filled, 3), rotate(filled, 6)
    let_go(filled, first)
    sealed = list(read_segment(second)[1])
    verdict = verify_store(filled.keeping)
    (finding,) = verdict.findings
    assert (finding.index, finding.attack) == (3, "deleted"), "the second was not let go"
    let_go(filled, second)
    verdict = verify_store(filled.keeping)
    assert verdict.findings == ()
    assert "entries 0 to 5 are not here: only their hashes were used" in verdict.notes
    assert sealed[0].index == 3


def test_a_retention_holds_also_when_the_one_before_it_was_let_go(filled: Ledger) -> None:
    first = rotate(filled, 3)
    let_go(filled, first)
    filled.fill(1)
    let_go(filled, rotate(filled, len(filled.entries) + 2))
    assert [e.kind for e in filled.entries] == ["note", "rotation", "retention"]
    assert verify_store(filled.keeping).findings == ()


def test_a_retention_by_another_key_or_of_other_entries_excuses_nothing(filled: Ledger) -> None:
    lines = rotate(filled, 3)
    with pytest.raises(StoreDamaged, match="no signed rotation"):
        let_go(replace(filled, signer=OTHER), lines)
    filled.add(retention(filled, rotated(filled), OTHER))
    attacks = {f.attack for f in verify_store(filled.keeping).findings}
    assert attacks == {"forged", "deleted"}
    other = Ledger()
    other.add(Draft("note", "test", {"text": "another life"}))
    other.fill(9)
    moved = let_go(other, rotate(other, 3))
    filled.add(Draft("retention", "ledger", {"signed": moved.body["signed"]}))
    findings = verify_store(filled.keeping).findings
    assert {"rewritten", "deleted"} <= {f.attack for f in findings}


@pytest.mark.parametrize("reach", [(0, 1), (0, 4), (3, 5), (0, 9)])
def test_only_what_a_signed_rotation_has_moved_is_let_go(
    filled: Ledger, reach: tuple[int, int]
) -> None:
    segment, _ = read_segment(rotate(filled, 3))
    planted = replace(segment, first=reach[0], last=reach[1])
    with pytest.raises(StoreDamaged, match="no signed rotation"):
        keeping.record_retention(
            filled.keeping,
            [planted],
            told=filled.store.entries("ada"),
            days=1,
            before="2026",
            signer=filled.signer,
            stamp=filled.stamp,
        )


def test_a_retention_that_no_rotation_precedes_lets_nothing_go(filled: Ledger) -> None:
    """As the key could once be made to sign it."""
    untouched = Ledger()
    untouched.fill(10)
    rotate(filled, 6)
    cut = rotated(filled)
    untouched.add(retention(untouched, cut, untouched.signer))
    untouched.store.drop_before("ada", 6)
    found = {(f.index, f.attack) for f in verify_store(untouched.keeping).findings}
    assert found == {(10, "forged"), (0, "deleted")}
    bundle = io.BytesIO()
    hashes = list(islice(untouched.store.hashes("ada"), 6))
    pin = untouched.pin
    export_bundle(bundle, "ada", untouched.entries, pin=pin, notes=(), dropped=hashes)
    told = auditor.audit(cast("str", bundle), key=pin.public_key, origin=pin.origin, checkpoints=())
    assert any("no signed rotation" in found["message"] for found in told["findings"])


def with_other_hashes(ledger: Ledger, count: int) -> Ledger:
    """Forged ones in the column, over entries that stay as they are."""
    other = Ledger()
    other.add(Draft("note", "test", {"text": "another life"}))
    other.fill(count - 1)
    entries = ledger.entries
    pairs = zip(entries, other.entries, strict=False)
    bent = [replace(mine, hash=forged.hash) for mine, forged in pairs]
    return replace(ledger, store=store_of([*bent, *entries[count:]]))


def test_nothing_is_signed_over_hashes_that_do_not_lead_to_what_is_known(filled: Ledger) -> None:
    _, standing = keeping.checkpoint(filled.keeping, filled.signer)
    known = replace(filled.keeping, known=standing)
    segment, _ = keeping.seal_segment(known, 5, filled.signer)
    filled = with_other_hashes(filled, 5)
    known = replace(filled.keeping, known=standing)
    with pytest.raises(StoreDamaged, match="are not those"):
        keeping.seal_segment(known, 5, filled.signer)
    with pytest.raises(StoreDamaged, match="are not those"):
        keeping.record_rotation(known, segment, filled.signer, filled.stamp)
    assert filled.store.checkpoints("ada") == ()
    # Going on from there instead of reading anew signs what was there.
    note, _ = keeping.checkpoint(filled.keeping, filled.signer, since=standing)
    assert read_note(note).checkpoint.root == root_of(standing)


def test_an_entry_that_is_not_what_its_hash_says_is_not_sealed(filled: Ledger) -> None:
    """Also while no checkpoint has seen it."""
    filled = with_other_hashes(filled, 5)
    with pytest.raises(StoreDamaged, match="not what its hash says"):
        keeping.seal_segment(filled.keeping, 5, filled.signer)
    assert filled.store.checkpoints("ada") == ()


@pytest.mark.parametrize("change", [{"source": "x"}, {"body": {"text": "x", "n": 2}}])
def test_a_tombstone_is_signed_only_for_an_entry_that_is_what_its_hash_says(
    filled: Ledger, change: dict[str, Any]
) -> None:
    entries = filled.entries
    entries[2] = replace(entries[2], **change)
    with pytest.raises(StoreDamaged, match="nothing is signed"):
        erase(replace(filled, store=store_of(entries)), 2, "text")


def test_a_change_inside_a_segment_is_found(filled: Ledger) -> None:
    lines = rotate(filled, 4)
    bent = [line.replace(b"entry 2", b"entry X") for line in lines]
    (finding,) = verify_store(filled.keeping, before=read_segment(bent)[1]).findings
    assert (finding.index, finding.column) == (2, "body")


def test_a_segment_with_other_entries_under_new_hashes_is_found(filled: Ledger) -> None:
    _, entries = read_segment(rotate(filled, 6))
    chain = list(entries)
    chain[3] = replace(chain[3], source="x")
    findings = verify_store(filled.keeping, before=rechained(chain, 3)).findings
    assert "rewritten" in {finding.attack for finding in findings}


@pytest.mark.parametrize("sealed", [False, True])
def test_entries_that_were_dropped_without_a_word_are_missed(
    filled: Ledger, *, sealed: bool
) -> None:
    if sealed:
        keeping.checkpoint(filled.keeping, filled.signer)
    filled.store.drop_before("ada", 4)
    (finding,) = verify_store(filled.keeping).findings
    assert finding.attack == "deleted"
    assert "entries 0 to 3 are neither in the store" in finding.message


def test_erasure_in_a_segment_counts_with_the_tombstone_in_the_store(filled: Ledger) -> None:
    tombstone = erase(filled, 2, "text")
    lines = rotate(filled, 5)
    entries = list(read_segment(lines)[1])
    assert "text" not in entries[2].body
    verdict = verify_store(filled.keeping, before=entries)
    assert verdict.findings == ()
    assert verdict.erased[0].tombstone == tombstone.index


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b'{"format": "x"}', b'{"before": {"size": 0}}', b"\xff"]
)
def test_what_is_no_segment_is_refused(line: bytes) -> None:
    with pytest.raises(StoreDamaged, match="not a segment"):
        read_segment([line])


def test_a_line_that_is_no_entry_is_a_finding(filled: Ledger) -> None:
    lines = rotate(filled, 4)
    lines[2] = lines[2].replace(b'"kind":"note"', b'"kind":7')
    findings = verify_store(filled.keeping, before=read_segment(lines)[1]).findings
    assert ("unreadable", 1, "kind") in {(f.attack, f.index, f.column) for f in findings}


@pytest.mark.parametrize("index", [0, 10, 11])
def test_there_must_be_something_to_rotate_and_the_last_entry_stays(
    filled: Ledger, index: int
) -> None:
    with pytest.raises(UsageError, match="nothing to rotate"):
        keeping.seal_segment(filled.keeping, index, filled.signer)


def test_the_policy_says_how_far_to_rotate(filled: Ledger) -> None:
    assert cut(10, keep=4) == 6
    assert cut(3, keep=4) == 0
    assert cut(3, keep=0) == 2
    assert cut_before(filled.entries, "2026-01-01T00:00:03") == 3
    assert cut_before(filled.entries, "2027") is None

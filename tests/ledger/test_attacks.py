"""What somebody who holds the file can do, and the name verify gives it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from mentis.errors import StoreConflict
from mentis.ledger.checkpoint import checkpoint_text, read_note
from mentis.ports.signer import SeededSigner
from mentis.values.entry import Draft, Entry

from .conftest import ORIGIN, Ledger, rechained

OTHER = SeededSigner(bytes([7] * 32))


def plain(ledger: Ledger) -> None:
    ledger.fill(10)


def rotated(ledger: Ledger) -> None:
    """Entries 0 to 5 are in a segment, and entry 7 says so."""
    ledger.fill(7)
    ledger.rotate(6)
    ledger.fill(2)


@pytest.fixture(params=[plain, rotated])
def filled(ledger: Ledger, request: pytest.FixtureRequest) -> Ledger:
    """Ten entries, with the life of a ledger behind them."""
    request.param(ledger)
    return ledger


def test_a_ledger_nobody_touched_is_intact_and_complete(filled: Ledger) -> None:
    verdict = filled.verify(local=[filled.note(5)], outside=[filled.note()])
    assert verdict.findings == ()
    assert verdict.vouched == 10
    assert verdict.completeness == "A checkpoint from outside has seen all 10 entries."


@pytest.mark.parametrize(
    ("column", "content", "named"),
    [
        ("body", {"text": "other", "n": 4, "delivery": "mail-4"}, "body"),
        ("salts", {"text": "0" * 32, "n": "0" * 32, "delivery": "0" * 32}, "body"),
        ("time", "2026-01-01T00:00:04.000001Z", "hash"),
        ("source", "somebody else", "hash"),
        ("kind", "turn", "hash"),
        ("ruleset", "strict", "hash"),
        ("delivery", "mail-99", "delivery"),
    ],
)
def test_an_edited_entry_is_named_with_its_column(
    filled: Ledger, column: str, content: object, named: str
) -> None:
    chain = filled.entries
    chain[4] = replace(chain[4], **{column: content})
    first = filled.verify(chain).findings[0]
    assert (first.index, first.column, first.attack) == (4, named, "edited")


def test_an_edited_source_is_told_as_one_of_the_columns_the_hash_covers(filled: Ledger) -> None:
    chain = filled.entries
    chain[4] = replace(chain[4], source="somebody else")
    assert "time, source, kind" in filled.verify(chain).findings[0].message


def test_a_deleted_entry_is_named(filled: Ledger) -> None:
    chain = filled.entries
    del chain[4]
    first = filled.verify(chain).findings[0]
    assert (first.index, first.attack) == (4, "deleted")


def test_a_deleted_entry_is_named_also_when_the_others_were_renumbered(filled: Ledger) -> None:
    chain = [replace(e, index=i) for i, e in enumerate(filled.entries[:4] + filled.entries[5:])]
    first = filled.verify(chain).findings[0]
    assert (first.index, first.attack) == (4, "deleted")
    assert "this was entry 5" in first.message


def test_an_inserted_entry_is_named(filled: Ledger) -> None:
    chain = filled.entries
    chain.insert(4, replace(chain[2], body={**chain[2].body}, delivery=None))
    assert {f.attack for f in filled.verify(chain).findings} >= {"inserted"}


def test_an_inserted_entry_is_named_also_when_the_others_were_renumbered(filled: Ledger) -> None:
    forged = rechained([*filled.entries[:4], filled.entries[2]], 4)[4]
    forged = rechained([*filled.entries[:4], replace(forged, delivery=None, body={})], 4)[4]
    later = [replace(e, index=e.index + 1) for e in filled.entries[4:]]
    findings = filled.verify([*filled.entries[:4], forged, *later]).findings
    assert "inserted" in {f.attack for f in findings}
    assert findings[0].index in {4, 5}


def test_reordered_entries_are_named(filled: Ledger) -> None:
    chain = filled.entries
    chain[4], chain[5] = chain[5], chain[4]
    findings = filled.verify(chain).findings
    assert (findings[0].index, findings[0].attack) == (4, "reordered")


def test_reordered_entries_are_named_also_when_they_were_renumbered(filled: Ledger) -> None:
    chain = filled.entries
    chain[4], chain[5] = replace(chain[5], index=4), replace(chain[4], index=5)
    findings = filled.verify(chain).findings
    assert (findings[0].index, findings[0].attack) == (4, "reordered")


def test_a_truncated_ledger_is_named_by_its_own_checkpoint(filled: Ledger) -> None:
    (finding,) = filled.verify(filled.entries[:7], local=[filled.note(9)]).findings
    assert (finding.index, finding.column, finding.attack) == (7, "checkpoint", "truncated")
    assert "has seen 9 entries, only 7 are here" in finding.message


def test_an_older_copy_in_its_place_is_named_by_a_checkpoint_from_outside(filled: Ledger) -> None:
    older = filled.note(6)
    (finding,) = filled.verify(filled.entries[:7], local=[older], outside=[filled.note(9)]).findings
    assert (finding.index, finding.attack) == (7, "rolled-back")


def test_an_emptied_ledger_is_named(filled: Ledger) -> None:
    (finding,) = filled.verify([], outside=[filled.note()]).findings
    assert (finding.index, finding.attack) == (0, "emptied")


@pytest.mark.parametrize("shorten", [False, True])
def test_a_recomputed_suffix_is_named_with_the_range(filled: Ledger, *, shorten: bool) -> None:
    chain = filled.entries
    if shorten:
        del chain[5]
    else:
        chain[5] = replace(chain[5], body={**chain[5].body, "text": "never said"})
    bent = rechained(chain, 5)
    notes = [filled.note(4), filled.note(8)]
    assert filled.verify(bent).intact, "without a checkpoint it cannot be seen"
    (finding,) = filled.verify(bent, outside=notes).findings
    assert (finding.index, finding.column, finding.attack) == (4, "checkpoint", "rewritten")
    assert "entries 4 to 7" in finding.message


def test_without_a_checkpoint_from_outside_the_verdict_says_what_it_cannot_see(
    filled: Ledger,
) -> None:
    verdict = filled.verify(filled.entries[:3], local=[filled.note(2)])
    assert verdict.intact
    assert verdict.vouched == 0
    assert "cannot be seen" in verdict.completeness


def test_entries_after_the_checkpoint_are_said_to_be_unseen(filled: Ledger) -> None:
    verdict = filled.verify(outside=[filled.note(4)])
    assert verdict.vouched == 4
    assert "the first 4 of 10 entries" in verdict.completeness


def test_a_ledger_of_somebody_else_in_its_place_is_named(filled: Ledger) -> None:
    other = Ledger(signer=OTHER)
    other.add(Draft("note", "test", {"text": "another life"}))
    other.fill(9)
    (finding,) = filled.verify(other.entries, local=[other.note(5)]).findings
    assert finding.attack == "forged"
    named = filled.verify(other.entries, outside=[filled.note(5)]).findings
    assert [f.attack for f in named] == ["rewritten"]


def test_a_checkpoint_of_another_log_is_named(filled: Ledger) -> None:
    note = filled.note(origin="example.org/elsewhere")
    (finding,) = filled.verify(outside=[note]).findings
    assert finding.attack == "identity"
    assert "not of 'example.org/test/ada'" in finding.message


def test_entries_of_another_agent_are_named(filled: Ledger) -> None:
    chain = [replace(entry, agent="bob") for entry in filled.entries]
    assert filled.verify(chain).findings[0].attack == "identity"


FORGERIES: list[Callable[[str], str]] = [
    lambda note: note.replace("\n10\n", "\n9\n"),
    lambda note: note.replace(f"{ORIGIN}/ada\n10", f"{ORIGIN}/ada\n010"),
    lambda note: note[:-8] + "AAAA" + note[-4:],
    lambda note: checkpoint_text(read_note(note).checkpoint),
    lambda _note: "",
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_checkpoint_is_named(filled: Ledger, forge: Callable[[str], str]) -> None:
    verdict = filled.verify(outside=[forge(filled.note())])
    assert [f.attack for f in verdict.findings] == ["forged"]
    assert verdict.vouched == 0


def test_a_checkpoint_signed_with_another_key_is_named(filled: Ledger) -> None:
    (finding,) = filled.verify(outside=[filled.note(signer=OTHER)]).findings
    assert finding.attack == "forged"


def test_a_replayed_draft_is_one_entry_and_a_copy_forced_in_is_named(filled: Ledger) -> None:
    again = Draft("note", "test", {"text": "entry 3", "n": 3}, delivery="mail-3")
    with pytest.raises(StoreConflict) if filled.sealed else nullcontext():
        filled.add(again)
    assert len(filled.entries) == 10
    chain: list[Entry] = rechained([*filled.entries, filled.entries[3]], 10)
    chain[10] = replace(chain[10], time=chain[9].time)
    (finding,) = filled.verify(rechained(chain, 10)).findings
    assert (finding.index, finding.column, finding.attack) == (10, "delivery", "replayed")


def test_the_filter_for_many_deliveries_finds_the_same(
    filled: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mentis.ledger.deliveries._BY_NAME", 3)
    assert filled.verify().intact
    chain = rechained(
        [*filled.entries, replace(filled.entries[8], time=filled.entries[9].time)], 10
    )
    for read in (chain, iter(chain)):
        (finding,) = filled.verify(read).findings
        assert (finding.index, finding.attack) == (10, "replayed")


def test_checkpoints_without_a_pinned_key_are_not_believed(filled: Ledger) -> None:
    from mentis.ledger.verify import verify_chain
    from mentis.values.checkpoint import KeptNote

    kept = KeptNote(filled.note(), "elsewhere", outside=True)
    verdict = verify_chain("ada", filled.entries, notes=[kept])
    assert verdict.vouched == 0
    assert "no log identity and public key are pinned" in verdict.notes[0]

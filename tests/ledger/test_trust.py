"""What a signed statement explains, and nothing beyond it; the auditor sees it the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mentis.ledger import auditor, keeping
from mentis.ledger.bundle import export_bundle
from mentis.ledger.checkpoint import checkpoint_text, read_note
from mentis.ledger.statements import erasure
from mentis.ledger.verify import Beginning, verify_chain
from mentis.ports.signer import SeededSigner
from mentis.stores.memory import LedgerInMemory
from mentis.values.checkpoint import KeptNote
from mentis.values.entry import Draft, Entry, Verdict

from .conftest import ORIGIN, Ledger, rechained
from .test_keeping import OTHER, erase, store_of

THIRD = SeededSigner(bytes([9] * 32))


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    ledger.fill(10)
    return ledger


@pytest.fixture
def rolled_back(filled: Ledger) -> tuple[Ledger, str]:
    """From 10 entries back to 4, which is entry 4, then up to 12; and the lost checkpoint."""
    lost = filled.note()
    short = replace(filled, store=store_of(filled.entries[:4]))
    given_up = keeping.give_up(short.keeping, [read_note(lost).checkpoint])
    keeping.accept_rollback(
        short.keeping, given_up, reason="disk", signer=filled.signer, stamp=filled.stamp
    )
    for n in range(7):
        short.add(Draft("note", "test", {"text": f"later {n}"}))
    return short, lost


def audited(
    ledger: Ledger, folder: Path, entries: Sequence[Entry] | None = None, *outside: str
) -> dict[str, Any]:
    files: list[str] = []
    for number, note in enumerate(outside):
        file = folder / f"kept-{number}.txt"
        file.write_text(note, "utf-8")
        files.append(str(file))
    bundle = folder / "ledger.zip"
    with bundle.open("wb") as file:
        read = ledger.entries if entries is None else entries
        export_bundle(file, "ada", read, pin=ledger.pin, notes=[])
    return auditor.audit(str(bundle), key=ledger.pin.public_key, origin=ORIGIN, checkpoints=files)


# Rollbacks


@pytest.mark.parametrize("size", [6, 8, 10])
def test_a_rollback_excuses_no_checkpoint_that_was_signed_after_it(
    rolled_back: tuple[Ledger, str], tmp_path: Path, size: int
) -> None:
    ledger, lost = rolled_back
    later, cut = ledger.note(size), ledger.entries[:5]
    assert ledger.verify(outside=[lost, later]).vouched == size
    assert audited(ledger, tmp_path, None, lost, later)["vouched"] == size
    (finding,) = ledger.verify(cut, outside=[lost, later]).findings
    assert (finding.index, finding.attack) == (5, "rolled-back")
    told = audited(ledger, tmp_path, cut, lost, later)
    assert [found["index"] for found in told["findings"]] == [5]


def test_after_a_rollback_rewriting_what_came_after_it_is_named(
    rolled_back: tuple[Ledger, str], tmp_path: Path
) -> None:
    ledger, lost = rolled_back
    chain = ledger.entries
    chain[6] = replace(chain[6], body={"text": "never said"})
    bent = rechained(chain, 6)
    (finding,) = ledger.verify(bent, outside=[lost, ledger.note(8)]).findings
    assert finding.attack == "rewritten"
    assert not audited(ledger, tmp_path, bent, lost, ledger.note(8))["intact"]


def test_a_lost_checkpoint_that_the_rollback_does_not_name_is_not_excused(
    filled: Ledger, rolled_back: tuple[Ledger, str], tmp_path: Path
) -> None:
    ledger, _ = rolled_back
    (finding,) = ledger.verify(outside=[filled.note(7)]).findings
    assert finding.attack == "rewritten"
    assert not audited(ledger, tmp_path, None, filled.note(7))["intact"]


def test_what_a_given_checkpoint_counts_for_is_said(
    rolled_back: tuple[Ledger, str], tmp_path: Path
) -> None:
    ledger, lost = rolled_back
    verdict = ledger.verify(outside=[lost])
    assert verdict.intact
    assert verdict.completeness.startswith(
        "No checkpoint from outside counts here (elsewhere, size 10: the rollback in entry 4"
        " gives it up): entries removed from the end"
    )
    told = audited(ledger, tmp_path, None, lost)
    assert told["intact"]
    assert told["uncounted"] == [
        f"{tmp_path / 'kept-0.txt'}, size 10: the rollback in entry 4 gives it up"
    ]


def test_only_what_a_checkpoint_proves_counts_as_kept(filled: Ledger) -> None:
    seen = [read_note(filled.note(size)).checkpoint for size in (3, 6, 10)]
    chain = rechained([replace(e, source="x") if e.index == 7 else e for e in filled.entries], 7)
    other = replace(filled.keeping, store=store_of(chain[:9]))
    given_up = keeping.give_up(other, seen)
    assert (given_up.kept, [one.size for one in given_up.lost]) == (6, [10])


# Keys


def test_a_change_of_the_key_counts_only_where_it_was_made(filled: Ledger, tmp_path: Path) -> None:
    """Who holds the key that was given up, and the file, must not move its end."""
    change = keeping.change_key(filled.keeping, filled.signer, OTHER, filled.stamp)
    forged = Ledger(signer=OTHER)
    forged.fill(12)
    tombstone = erasure(forged.entries[1], ["text"], "forged", filled.signer)
    forged.store.erase("ada", 1, ["text"], draft=tombstone, stamp=forged.stamp)
    note = forged.note(signer=filled.signer)
    forged.add(Draft("key", "ledger", {"signed": change.body["signed"]}))
    verdict = forged.verify(outside=[note])
    assert {finding.attack for finding in verdict.findings} == {"forged", "erased"}
    assert {finding.index for finding in verdict.findings} >= {12, 13}
    assert verdict.vouched == 0
    told = audited(forged, tmp_path, None, note)
    assert {found["index"] for found in told["findings"]} >= {12, 13}
    assert told["vouched"] == 0


def test_a_change_of_the_key_of_another_agent_does_not_count(
    filled: Ledger, tmp_path: Path
) -> None:
    other = keeping.statements.key_change("bob", filled.store.head("ada"), filled.signer, OTHER)
    filled.add(other)
    assert [f.attack for f in filled.verify().findings] == ["forged"]
    assert not audited(filled, tmp_path)["intact"]


def carried(filled: Ledger, *, signer: SeededSigner = THIRD) -> Ledger:
    """Two changes of the key, both lost in a rollback to entry 6 and carried by it."""
    lost = [
        keeping.change_key(filled.keeping, filled.signer, OTHER, filled.stamp),
        keeping.change_key(replace(filled, signer=OTHER).keeping, OTHER, THIRD, filled.stamp),
    ]
    seen = [read_note(filled.note(12, signer=THIRD)).checkpoint]
    short = replace(filled, store=store_of(filled.entries[:6]), signer=THIRD)
    keys = [change.body["signed"] for change in lost]
    given_up = keeping.give_up(short.keeping, seen, keys)  # pyright: ignore[reportArgumentType]  # as JSON
    keeping.accept_rollback(
        short.keeping, given_up, reason="disk", signer=signer, stamp=filled.stamp
    )
    short.fill(2)
    return short


@pytest.mark.parametrize("pinned", ["first", "newest"])
def test_a_change_of_the_key_that_was_lost_is_carried_by_the_rollback(
    filled: Ledger, tmp_path: Path, pinned: str
) -> None:
    old = [filled.note(size) for size in (4, 6)]
    lost = filled.note(9)
    short = carried(filled)
    notes = [*old, short.note()]
    ledger = short if pinned == "newest" else replace(short, signer=filled.signer)
    verdict = ledger.verify(outside=notes)
    assert (verdict.findings, verdict.vouched) == ((), 9)
    told = audited(ledger, tmp_path, None, *notes)
    assert (told["findings"], told["vouched"]) == ([], 9)
    assert not ledger.verify(outside=[lost]).intact
    given_up_key = ledger.note(8, signer=SeededSigner())
    assert [f.attack for f in ledger.verify(outside=[given_up_key]).findings] == ["forged"]
    assert not audited(ledger, tmp_path, None, given_up_key)["intact"]


def test_a_key_that_was_given_up_carries_no_change(filled: Ledger, tmp_path: Path) -> None:
    old = filled.note(4)
    short = carried(filled, signer=OTHER)
    assert {f.attack for f in short.verify(outside=[old]).findings} == {"forged"}
    told = audited(short, tmp_path, None, old)
    assert not told["intact"]
    assert told["vouched"] == 0


def test_an_entry_whose_hash_does_not_hold_changes_no_key(filled: Ledger, tmp_path: Path) -> None:
    chain = filled.entries
    chain[3] = replace(chain[3], kind="key")
    notes = [filled.note(5), filled.note()]
    verdict = filled.verify(chain, outside=notes)
    assert [(f.index, f.column) for f in verdict.findings] == [(3, "hash")]
    told = audited(filled, tmp_path, chain, *notes)
    assert [(found["index"], found["column"]) for found in told["findings"]] == [(3, "hash")]


def test_the_entry_that_was_changed_comes_before_checkpoints_that_no_longer_count(
    filled: Ledger, tmp_path: Path
) -> None:
    keeping.change_key(filled.keeping, filled.signer, OTHER, filled.stamp)
    changed = replace(filled, signer=OTHER)
    chain = filled.entries
    chain[10] = replace(chain[10], source="x")
    old = filled.note(4)
    findings = changed.verify(chain, outside=[old]).findings
    assert [(f.index, f.column) for f in findings] == [(10, "hash"), (0, "checkpoint")]
    assert audited(changed, tmp_path, chain, old)["findings"][0]["index"] == 10


# Checkpoints of what is in segments that were not given


def without(ledger: Ledger, size: int, *notes: str) -> Verdict:
    hashes = [entry.hash for entry in ledger.entries][:size]
    kept = [KeptNote(note, "the anchor", outside=True) for note in notes]
    return verify_chain(
        "ada", ledger.entries[size:], pin=ledger.pin, notes=kept, beginning=Beginning(hashes)
    )


def forged_in_segments(verdict: Verdict) -> list[str]:
    return [f.message for f in verdict.findings if f.column == "checkpoint"]


def test_a_forged_checkpoint_of_entries_in_segments_is_named(filled: Ledger) -> None:
    good = filled.note(3)
    broken = good[:-8] + "AAAA" + good[-4:]
    assert len(forged_in_segments(without(filled, 5, broken))) == 1


def test_a_checkpoint_of_an_unknown_key_with_a_wrong_root_is_named(filled: Ledger) -> None:
    bent = rechained([replace(e, source="x") for e in filled.entries], 0)
    other = replace(filled, store=store_of(bent), signer=OTHER)
    assert len(forged_in_segments(without(filled, 5, other.note(3)))) == 1


def test_a_checkpoint_of_an_unknown_key_with_the_right_root_is_told_with_its_place(
    filled: Ledger,
) -> None:
    verdict = without(filled, 5, filled.note(3, signer=OTHER))
    assert forged_in_segments(verdict) == []
    assert any(note.startswith("the anchor: the checkpoint of size 3") for note in verdict.notes)
    assert "its key is known only from segments that were not given" in verdict.completeness
    assert len(forged_in_segments(without(filled, 2, filled.note(3, signer=OTHER)))) == 1


# The auditor


def test_the_auditor_notices_an_erased_value_that_is_back(filled: Ledger, tmp_path: Path) -> None:
    before = filled.entries[4]
    erase(filled, 4, "text")
    assert audited(filled, tmp_path)["intact"]
    chain = [before if e.index == 4 else e for e in filled.entries]
    (found,) = audited(filled, tmp_path, chain)["findings"]
    assert (found["index"], found["column"]) == (4, "body")
    assert "entry 10 says it was erased" in found["message"]


def test_the_auditor_takes_no_statement_for_another(filled: Ledger, tmp_path: Path) -> None:
    tombstone = erase(filled, 4, "text")
    filled.add(Draft("rollback", "ledger", {"signed": tombstone.body["signed"]}))
    (found,) = audited(filled, tmp_path)["findings"]
    assert found["index"] == 11


@pytest.mark.parametrize("kind", ["key", "erasure", "rollback"])
@pytest.mark.parametrize(
    "signed",
    [None, 7, {}, {"statement": {}}, {"statement": {"what": "key"}, "signatures": {"x": 1}}],
)
def test_the_auditor_names_a_statement_that_is_none(
    filled: Ledger, tmp_path: Path, kind: str, signed: object
) -> None:
    filled.add(Draft(kind, "ledger", {"signed": signed}))
    assert 10 in {found["index"] for found in audited(filled, tmp_path)["findings"]}
    assert 10 in {finding.index for finding in filled.verify().findings}


def test_the_auditor_names_the_argument_that_is_wrong(
    filled: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audited(filled, tmp_path)
    empty, absent = tmp_path / "empty.txt", tmp_path / "absent.txt"
    empty.write_text("\n")
    bundle = str(tmp_path / "ledger.zip")
    for arguments, told in [
        (("--key", "junk!"), "--key: "),
        (("--key", "AAAA"), "--key: 'AAAA' has 3 bytes"),
        (("--checkpoint", str(empty)), f"--checkpoint {empty}: it holds no checkpoint"),
        (("--checkpoint", str(absent)), f"--checkpoint {absent}: it cannot be read"),
    ]:
        assert auditor.main([bundle, *arguments]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"error: {told}")
        assert said.err.count("\n") == 1


@pytest.mark.parametrize("note", ["junk", "a\nb\nc\n\n— a AAAA\n"])
def test_for_the_auditor_a_note_that_is_none_is_a_finding(
    filled: Ledger, tmp_path: Path, note: str
) -> None:
    told = audited(filled, tmp_path, None, note)
    assert [found["column"] for found in told["findings"]] == ["checkpoint"]
    assert "this is not a checkpoint" in told["findings"][0]["message"]
    assert told["uncounted"]
    assert checkpoint_text(read_note(filled.note()).checkpoint) not in told["uncounted"]


def test_the_auditor_says_how_many_entries_nobody_has_seen(
    filled: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audited(filled, tmp_path, None, filled.note(4))
    kept = ("--checkpoint", str(tmp_path / "kept-0.txt"))
    pin = ("--key", filled.pin.public_key, "--origin", filled.pin.origin)
    assert auditor.main([str(tmp_path / "ledger.zip"), *kept, *pin]) == 0
    said = capsys.readouterr().out
    assert "complete: a checkpoint from outside has seen 4 entries; whether any of the 6" in said


def test_what_a_checkpoint_from_outside_contradicts_is_called_complete_by_nobody(
    filled: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file of an anchor holds the older ones as well, and these fit."""
    kept = tmp_path / "kept.txt"
    kept.write_text("\n".join(filled.note(size) for size in (4, 7, 9)))
    whole = filled.entries
    rewritten = rechained([*whole[:4], replace(whole[4], source="me"), *whole[5:]], 4)
    for entries, said in (
        (whole[:7], "has seen 9 entries, and 7 are here; the first 7 are as one saw them"),
        (rewritten, "has seen 9 entries, others than here; the first 4 are as one saw them"),
    ):
        verdict = filled.verify(
            entries, local=[filled.note(9)], outside=[filled.note(n) for n in (4, 7, 9)]
        )
        assert verdict.completeness == f"NOT complete: a checkpoint from outside {said}."
        bundle = tmp_path / "ledger.zip"
        with bundle.open("wb") as file:
            export_bundle(file, "ada", entries, pin=filled.pin, notes=[filled.note(4)])
        pin = ("--key", filled.pin.public_key, "--origin", filled.pin.origin)
        assert auditor.main([str(bundle), "--checkpoint", str(kept), *pin]) == 1
        told = capsys.readouterr().out.splitlines()
        assert told[-1] == f"NOT complete: a checkpoint from outside {said}"
        assert told[0].startswith("BROKEN")


def test_a_finding_names_the_checkpoint_from_outside_before_one_of_the_ledger(
    filled: Ledger,
) -> None:
    (finding,) = filled.verify(
        filled.entries[:7], local=[filled.note(9)], outside=[filled.note(9)]
    ).findings
    assert finding.message.startswith("elsewhere: ")


def test_a_store_without_entries_gives_everything_up(filled: Ledger) -> None:
    empty = replace(filled.keeping, store=LedgerInMemory())
    seen = [read_note(filled.note(size)).checkpoint for size in (3, 10)]
    assert [one.size for one in keeping.give_up(empty, seen).lost] == [3, 10]

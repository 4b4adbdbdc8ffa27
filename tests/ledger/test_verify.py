"""Verification of a chain: what is whole passes, whatever was changed is named."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
import rfc8785
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mentis.codec.canon import MAX_DEPTH, canonical
from mentis.errors import StoreDamaged
from mentis.ledger.chain import commit_field, hash_entry, make_stamp
from mentis.ledger.statements import KINDS
from mentis.ledger.verify import MAX_FINDINGS, verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.values.entry import Draft, Entry, Finding, Head

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = TEXT.map(lambda text: text.replace("\0", ""))  # what a draft may say outside of its body
NAMES = st.sampled_from(["window", "metadata", "reply", "größe"])
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 1e-9]) | TEXT
BODIES = st.dictionaries(NAMES, LEAVES | st.lists(LEAVES, max_size=2), max_size=3)
DRAFTS = st.builds(
    Draft,
    kind=PLAIN.filter(lambda kind: kind not in KINDS),
    source=PLAIN,
    body=BODIES,
    ruleset=st.none() | PLAIN,
    delivery=st.none() | PLAIN,
)


def chain_of(drafts: Sequence[Draft]) -> list[Entry]:
    stamp = make_stamp(FixedClock(step=timedelta(seconds=1)).now, CountingIds().salt)
    entries: list[Entry] = []
    for draft in drafts:
        head = Head(entries[-1].index, entries[-1].hash, entries[-1].time) if entries else None
        entries.append(stamp("ada", head, draft))
    return entries


CHAINS = st.lists(
    DRAFTS,
    min_size=2,
    max_size=5,
    unique_by=lambda draft: id(draft) if draft.delivery is None else draft.delivery,
).map(chain_of)
SHORT = chain_of([Draft("note", "test", {"text": str(n), "n": n}) for n in range(4)])
HEX = st.text("0123456789abcdef", min_size=32, max_size=32)

# Column to how another content for it is made, and the columns whose finding must name it.
# A changed header shows in the hash; a changed salt cannot be told from a changed body.
COLUMNS = {
    "agent": (TEXT, {"agent"}),
    "index": (st.integers(-2, 9), {"index"}),
    "time": (TEXT | st.just("2026-01-01T00:00:00.000001Z"), {"hash"}),
    "source": (TEXT, {"hash"}),
    "kind": (TEXT, {"hash"}),
    "ruleset": (st.none() | TEXT, {"hash"}),
    "prev": (st.none() | TEXT, {"prev"}),
    "fields": (st.dictionaries(NAMES, HEX, max_size=3), {"hash"}),
    "hash": (TEXT, {"hash"}),
    "body": (BODIES, {"body", "salts"}),
    "salts": (st.dictionaries(NAMES, HEX | TEXT, max_size=3), {"body", "salts"}),
    "recipe": (TEXT, {"recipe"}),
    "delivery": (st.none() | TEXT, {"delivery"}),
}


def test_a_null_character_that_an_older_version_took_still_verifies() -> None:
    (entry,) = chain_of([Draft("note", "ab", {"n": 1})])
    before = replace(entry, source="a\0b")
    assert verify_chain("ada", [replace(before, hash=hash_entry(before))]).intact


@given(CHAINS)
def test_a_chain_nobody_touched_is_intact(chain: list[Entry]) -> None:
    verdict = verify_chain("ada", iter(chain))
    assert verdict.findings == ()
    assert verdict.intact
    assert (verdict.entries, verdict.head) == (len(chain), chain[-1].hash)


@pytest.mark.parametrize("column", COLUMNS)
@settings(max_examples=25)
@given(chain=CHAINS, data=st.data())
def test_any_change_of_any_column_is_found_and_named(
    column: str, chain: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(chain) - 1), label="entry")
    other, named = COLUMNS[column]
    content = data.draw(other, label="content")
    assume(canonical(content) != canonical(getattr(chain[place], column)))
    # Taking away a field together with its salt is an erasure; one column alone never is.
    chain[place] = replace(chain[place], **{column: content})

    findings = verify_chain("ada", chain).findings
    assert {finding.column for finding in findings if finding.index == place} & named


@given(chain=CHAINS, data=st.data())
def test_a_single_changed_digit_of_a_hash_salt_or_commitment_is_found(
    chain: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(chain) - 1))
    entry = chain[place]
    assume(entry.fields)
    name = data.draw(st.sampled_from(sorted(entry.fields)))
    column = data.draw(st.sampled_from(["fields", "salts"]))
    texts: dict[str, str] = dict(getattr(entry, column))
    at = data.draw(st.integers(0, len(texts[name]) - 1))
    digit = data.draw(st.sampled_from("0123456789abcdefABCDEF "))
    assume(texts[name][at] != digit)
    texts[name] = texts[name][:at] + digit + texts[name][at + 1 :]
    chain[place] = replace(entry, **{column: texts})
    assert place in {finding.index for finding in verify_chain("ada", chain).findings}


@given(chain=CHAINS, data=st.data())
def test_an_entry_removed_before_the_last_is_missed_by_its_number(
    chain: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(chain) - 2))
    del chain[place]
    findings = verify_chain("ada", chain).findings
    assert findings[0] == Finding(
        place, "index", f"expected entry {place} here, got entry {place + 1}", "deleted"
    )
    assert (place + 1, "prev") in {(finding.index, finding.column) for finding in findings}


@given(chain=CHAINS, data=st.data())
def test_an_inserted_entry_is_found(chain: list[Entry], data: st.DataObject) -> None:
    copy = data.draw(st.sampled_from(chain))
    place = data.draw(st.integers(0, len(chain)))
    chain.insert(place, copy)
    findings = verify_chain("ada", chain).findings
    assert findings[0].index in {place, place + 1}


@given(chain=CHAINS, data=st.data())
def test_entries_in_another_order_are_found(chain: list[Entry], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(chain))))
    first = next((place for place, number in enumerate(order) if place != number), None)
    assume(first is not None)
    verdict = verify_chain("ada", [chain[number] for number in order])
    assert verdict.findings[0].index == first
    assert verdict.findings[0].column == "index"


def test_a_finding_says_what_was_expected_and_what_is_there() -> None:
    chain = [SHORT[0], replace(SHORT[1], body={**SHORT[1].body, "text": "other"}), *SHORT[2:]]
    (finding,) = verify_chain("ada", chain).findings
    assert (finding.index, finding.column) == (1, "body")
    assert finding.message.startswith(
        f"field 'text' with its salt: expected '{SHORT[1].fields['text']}', got '"
    )


def test_an_entry_whose_own_hash_was_made_to_fit_is_missed_by_its_successor() -> None:
    forged = replace(SHORT[1], source="somebody else")
    forged = replace(forged, hash=hash_entry(forged))
    (finding,) = verify_chain("ada", [SHORT[0], forged, *SHORT[2:]]).findings
    assert (finding.index, finding.column) == (2, "prev")


def test_a_time_before_that_of_the_entry_before_is_found_even_when_the_hash_fits() -> None:
    early = replace(SHORT[1], time="2020-01-01T00:00:00.000000Z")
    early = replace(early, hash=hash_entry(early))
    (finding,) = verify_chain("ada", [SHORT[0], early]).findings
    assert (finding.index, finding.column) == (1, "time")


def without(entry: Entry, name: str, *columns: str) -> Entry:
    for column in columns:
        kept = {key: text for key, text in getattr(entry, column).items() if key != name}
        entry = replace(entry, **{column: kept})
    return entry


def test_a_field_taken_out_with_its_salt_is_found_since_nothing_says_it_was_erased() -> None:
    chain = [SHORT[0], without(SHORT[1], "text", "body", "salts"), *SHORT[2:]]
    (finding,) = verify_chain("ada", chain).findings
    assert (finding.index, finding.column) == (1, "body")


@pytest.mark.parametrize(
    ("columns", "column", "message"),
    [
        (("body",), "salts", "field 'text' is gone, but its salt is still there"),
        (("salts",), "salts", "field 'text' has no salt"),
        (("body", "fields"), "salts", "field 'text' has no commitment"),
        (("salts", "fields"), "body", "field 'text' has no commitment"),
    ],
)
def test_half_an_erasure_is_found(columns: tuple[str, ...], column: str, message: str) -> None:
    findings = verify_chain("ada", [without(SHORT[0], "text", *columns)]).findings
    assert (0, column, message) in {(f.index, f.column, f.message) for f in findings}


def test_an_erased_delivery_leaves_nothing_to_compare_the_column_with() -> None:
    (entry,) = chain_of([Draft("note", "test", {}, delivery="mail-1")])
    erased = without(entry, "delivery", "body", "salts")
    findings = verify_chain("ada", [replace(erased, delivery=None)]).findings
    assert [finding.column for finding in findings] == ["body"]


@pytest.mark.parametrize(
    ("change", "column"),
    [({"body": {"text": float("inf"), "n": 0}}, "body"), ({"source": "\udcff"}, "hash")],
)
def test_content_that_cannot_be_hashed_is_a_finding(change: dict[str, object], column: str) -> None:
    chain = [replace(SHORT[0], **change)]  # pyright: ignore[reportArgumentType]  # damaged on purpose
    (finding,) = verify_chain("ada", chain).findings
    assert (finding.index, finding.column) == (0, column)
    assert "cannot be hashed" in finding.message


def test_findings_beyond_the_limit_are_counted() -> None:
    chain = chain_of([Draft("note", "test", {"n": n}) for n in range(MAX_FINDINGS + 7)])
    verdict = verify_chain("ada", [replace(entry, kind="other") for entry in chain])
    assert [finding.index for finding in verdict.findings] == list(range(MAX_FINDINGS))
    assert verdict.more == 7


@pytest.mark.parametrize(
    ("damage", "index", "column"),
    [
        (StoreDamaged("the row is garbage", index=7, column="body"), 7, "body"),
        (StoreDamaged("the row is garbage"), 2, ""),
    ],
)
def test_a_chain_that_cannot_be_read_further_is_a_finding(
    damage: StoreDamaged, index: int, column: str
) -> None:
    def entries() -> Iterator[Entry]:
        yield from SHORT[:2]
        raise damage

    verdict = verify_chain("ada", entries())
    (finding,) = verdict.findings
    assert (finding.index, finding.column) == (index, column)
    assert finding.message == "the row is garbage; the chain could not be read further"
    assert verdict.entries == 2


def test_a_store_that_is_damaged_from_the_start_is_a_finding_at_the_first_entry() -> None:
    def entries() -> Iterator[Entry]:
        raise StoreDamaged("no")
        yield

    assert [finding.index for finding in verify_chain("ada", entries()).findings] == [0]


def test_a_shortened_chain_passes_and_the_verdict_says_that_it_cannot_know() -> None:
    verdict = verify_chain("ada", SHORT[:2])
    assert verdict.intact
    assert "entries removed from the end" in verdict.completeness


def test_an_empty_chain_is_intact_and_says_that_it_is_empty() -> None:
    verdict = verify_chain("ada", ())
    assert (verdict.intact, verdict.entries, verdict.head) == (True, 0, None)
    assert verdict.completeness.startswith("There are no entries.")


def test_a_clock_that_had_gone_back_is_told_and_is_no_finding() -> None:
    stamp = make_stamp(FixedClock(step=-timedelta(seconds=1)).now, CountingIds().salt)
    first = stamp("ada", None, Draft("note", "test", {}))
    head = Head(first.index, first.hash, first.time)
    verdict = verify_chain("ada", [first, stamp("ada", head, Draft("note", "test", {}))])
    assert verdict.intact
    assert verdict.notes == ("the clock had gone back at entry 1; the time before was kept",)


def test_a_body_nested_too_deeply_as_a_whole_is_found_even_if_its_commitments_hold() -> None:
    """One level less is fine for the value alone, so a look at each value would let it pass."""
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    salt = "00" * 16
    content = (
        b"mentis-1/field\0" + bytes.fromhex(salt) + rfc8785.dumps(cast("Any", ["deep", value]))
    )
    forged = replace(
        SHORT[0],
        body={"deep": value},
        salts={"deep": salt},
        fields={"deep": hashlib.sha256(content).hexdigest()},
    )
    forged = replace(forged, hash=hash_entry(forged))
    assert [finding.column for finding in verify_chain("ada", [forged]).findings] == ["body"]


@pytest.mark.parametrize("spelled", ["AB" * 16, "ab " * 15 + "ab", "ab" * 15, "", "zz" * 16])
def test_a_salt_that_is_spelled_otherwise_is_found(spelled: str) -> None:
    body, salt = {"text": "x"}, bytes.fromhex("ab" * 16)
    entry = replace(
        SHORT[0],
        body=body,
        salts={"text": spelled},
        fields={"text": commit_field("text", "x", salt)},
    )
    entry = replace(entry, hash=hash_entry(entry))
    assert verify_chain("ada", [replace(entry, salts={"text": salt.hex()})]).intact
    assert [finding.column for finding in verify_chain("ada", [entry]).findings] == ["salts"]

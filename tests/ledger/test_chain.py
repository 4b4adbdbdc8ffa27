"""Recipe `mentis-1` and the stamp."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadInput, Defect, NotCanonical
from mentis.ledger.chain import commit_field, format_time, hash_entry, make_stamp
from mentis.ports.clock import FixedClock
from mentis.ports.entries import Stamp
from mentis.ports.ids import CountingIds
from mentis.values.entry import Draft, Entry, Head, Uptime

SECOND = timedelta(seconds=1)


def head_of(entry: Entry) -> Head:
    return Head(entry.index, entry.hash, entry.time)


@pytest.fixture
def stamp() -> Stamp:
    return make_stamp(FixedClock(step=SECOND).now, CountingIds().salt)


def test_the_golden_vectors_of_the_recipe() -> None:
    salts: Iterator[bytes] = iter((bytes(16), bytes([1] * 16)))
    stamp = make_stamp(FixedClock(step=SECOND).now, lambda: next(salts))

    first = stamp("ada", None, Draft("note", "test", {}))
    window = {"goal": "Größe prüfen", "confidence": 0.9, "actions": ["b", "a"]}
    body = {"window": window, "metadata": {"n": 1}}
    second = stamp("ada", head_of(first), Draft("window", "test", body, ruleset="mentis"))

    assert (first.index, first.time, first.prev) == (0, "2026-01-01T00:00:00.000000Z", None)
    assert first.hash == "4344657087890d9d0d9653b0d25de67004465bfe2770ccfec8590a8672953354"
    assert (second.index, second.time) == (1, "2026-01-01T00:00:01.000000Z")
    assert second.prev == first.hash
    assert second.hash == "9a3f79cba64b51668a9eb035d45b659f982d8c9a6d8ab95866e650fb85bd7bc7"


def test_an_entry_carries_a_commitment_and_a_salt_for_each_body_field(stamp: Stamp) -> None:
    entry = stamp("ada", None, Draft("turn", "chat", {"b": 1, "a": ["x"]}))
    assert entry.salts == {"b": f"{1:032x}", "a": f"{2:032x}"}
    assert entry.fields == {
        "b": commit_field("b", 1, bytes.fromhex(f"{1:032x}")),
        "a": commit_field("a", ["x"], bytes.fromhex(f"{2:032x}")),
    }
    assert entry.hash == hash_entry(entry)


def test_times_are_written_in_utc_wherever_the_clock_stands() -> None:
    east = datetime(2026, 1, 1, 3, 30, tzinfo=timezone(timedelta(hours=3)))
    entry = make_stamp(lambda: east, CountingIds().salt)("ada", None, Draft("note", "test", {}))
    assert entry.time == "2026-01-01T00:30:00.000000Z"


def test_a_clock_that_went_back_is_recorded_and_the_entry_keeps_the_later_time() -> None:
    stamp = make_stamp(FixedClock(step=-SECOND).now, CountingIds().salt)
    first = stamp("ada", None, Draft("note", "test", {}))
    second = stamp("ada", head_of(first), Draft("note", "test", {"text": "x"}))
    assert second.time == first.time
    assert second.body == {
        "text": "x",
        "clock": {"regressed": True, "read": "2025-12-31T23:59:59.000000Z"},
    }
    assert set(second.fields) == {"text", "clock"}


def test_a_clock_that_stands_still_is_no_regression() -> None:
    stamp = make_stamp(FixedClock().now, CountingIds().salt)
    first = stamp("ada", None, Draft("note", "test", {}))
    assert stamp("ada", head_of(first), Draft("note", "test", {})).body == {}


def test_the_delivery_is_committed_to_like_the_body(stamp: Stamp) -> None:
    entry = stamp("ada", None, Draft("note", "test", {}, delivery="mail-1"))
    assert entry.delivery == "mail-1"
    assert entry.body == {"delivery": "mail-1"}
    assert set(entry.fields) == {"delivery"}


@pytest.mark.parametrize("name", ["clock", "delivery"])
def test_a_draft_may_not_set_what_only_the_ledger_writes(stamp: Stamp, name: str) -> None:
    with pytest.raises(BadInput, match=f"`{name}`") as caught:
        stamp("ada", None, Draft("note", "test", {name: "forged"}))
    assert caught.value.facts == {"field": name}


def test_an_entry_is_not_changed_by_later_changes_to_the_draft(stamp: Stamp) -> None:
    inner = ["a"]
    entry = stamp("ada", None, Draft("note", "test", {"list": inner}))
    inner.append("b")
    assert entry.body == {"list": ["a"]}


def test_a_body_without_canonical_form_is_refused_by_its_place(stamp: Stamp) -> None:
    with pytest.raises(NotCanonical) as caught:
        stamp("ada", None, Draft("note", "test", {"window": {"confidence": float("nan")}}))
    assert caught.value.facts["pointer"] == "/window/confidence"


def test_a_source_without_canonical_form_is_refused(stamp: Stamp) -> None:
    with pytest.raises(NotCanonical) as caught:
        stamp("ada", None, Draft("note", "\ud800", {}))
    assert caught.value.facts["pointer"] == "/source"


def test_a_clock_without_time_zone_is_a_defect() -> None:
    naive = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    with pytest.raises(Defect, match="without a time zone"):
        make_stamp(lambda: naive, CountingIds().salt)("ada", None, Draft("note", "test", {}))


def test_a_salt_of_the_wrong_length_is_a_defect() -> None:
    stamp = make_stamp(FixedClock().now, lambda: b"short")
    with pytest.raises(Defect, match="5 bytes instead of 16"):
        stamp("ada", None, Draft("note", "test", {"a": 1}))


def test_the_uptime_is_recorded_beside_the_time_where_there_is_one() -> None:
    stamp = make_stamp(FixedClock(step=-SECOND).now, CountingIds().salt, lambda: Uptime("b-1", 42))
    first = stamp("ada", None, Draft("note", "test", {"text": "x"}))
    assert first.body["clock"] == {"boot": "b-1", "up": 42}
    second = stamp("ada", head_of(first), Draft("note", "test", {}))
    assert second.body["clock"] == {
        "regressed": True,
        "read": "2025-12-31T23:59:59.000000Z",
        "boot": "b-1",
        "up": 42,
    }


@given(st.datetimes() | st.datetimes().map(lambda moment: moment.replace(microsecond=0)))
def test_a_time_is_written_as_iso_8601_with_all_its_microseconds(moment: datetime) -> None:
    expected = f"{moment.isoformat('T', 'microseconds')}Z"
    assert format_time(moment.replace(tzinfo=UTC)) == expected
    assert len(expected) == len("2026-01-01T00:00:00.000000Z")

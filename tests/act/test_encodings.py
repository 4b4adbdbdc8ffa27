"""Writings of a value: each is found, or the documents say that it is not, and why."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from mentis.act.encodings import readings
from mentis.act.likeness import TooMuch
from mentis.act.seen import seen_of
from mentis.act.taint import tainted_in
from mentis.values.trust import Trust

HERE = Path(__file__).parent
ACTS = HERE.parents[1] / "docs/concepts/acts.md"
ROWS: list[dict[str, Any]] = json.loads((HERE / "encodings.json").read_text("utf-8"))
BY_NAME = {row["name"]: row for row in ROWS}
FOUND = [name for name, row in BY_NAME.items() if row["caught"]]
NOT_FOUND = [name for name, row in BY_NAME.items() if not row["caught"]]


def test_the_table_has_each_writing_once_and_at_least_those_that_were_tried() -> None:
    assert len(ROWS) == len(BY_NAME)
    assert len(ROWS) >= 79


@pytest.mark.parametrize("name", FOUND)
def test_a_value_is_found_in_this_writing(name: str) -> None:
    row = BY_NAME[name]
    seen = seen_of([(row["outside"], Trust.UNTRUSTED, "web")])
    assert tainted_in(row["payload"], seen)
    other = seen_of([("Nothing of that kind is said here.", Trust.UNTRUSTED, "web")])
    assert tainted_in(row["payload"], other) == ()


@pytest.mark.parametrize("name", NOT_FOUND)
def test_a_writing_that_is_not_found_is_told_with_the_reason(name: str) -> None:
    row = BY_NAME[name]
    seen = seen_of([(row["outside"], Trust.UNTRUSTED, "web")])
    assert tainted_in(row["payload"], seen) == ()  # found by now? then say so in the table
    assert f"| {name} | {row['why']} |" in ACTS.read_text("utf-8")


@pytest.mark.parametrize("name", FOUND)
def test_what_the_owner_wrote_in_the_same_way_is_not_tainted(name: str) -> None:
    outside: str = BY_NAME[name]["outside"]
    payload: dict[str, Any] = BY_NAME[name]["payload"]
    texts = [one for one in payload.values() if isinstance(one, str)]
    said = texts[0] if len(payload) == len(texts) == 1 else outside
    seen = seen_of([(outside, Trust.UNTRUSTED, "web"), (said, Trust.OWNER, "owner")])
    assert tainted_in({"text": said}, seen) == ()


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "a+" * 100_000, "ab " * 60_000, "12 " * 60_000, "01" * 90_000, ".-" * 90_000],
)
def test_reading_takes_work_in_proportion_to_the_text(text: str) -> None:
    assert sum(map(len, readings(text))) <= 8 * len(text) + 64 * 1024


def test_a_text_of_more_pieces_than_can_be_read_is_too_much() -> None:
    with pytest.raises(TooMuch):
        readings("\\" * 100_002)
    with pytest.raises(TooMuch):
        readings("aGVsbG8gdGhlcmU1 : " * 50_001)


def test_a_compressed_text_is_read_no_further_than_the_limit() -> None:
    bomb = base64.b64encode(zlib.compress(b"x" * 50_000_000)).decode()
    assert sum(map(len, readings(bomb))) <= 8 * len(bomb) + 64 * 1024

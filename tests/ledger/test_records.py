"""One entry, one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mentis.errors import StoreDamaged
from mentis.ledger.records import read_entry, write_entry

from .conftest import Ledger


@pytest.fixture
def line(ledger: Ledger) -> bytes:
    ledger.fill(1)
    return write_entry(ledger.entries[0])


def test_a_line_reads_back_as_the_entry_it_was(ledger: Ledger, line: bytes) -> None:
    assert line.count(b"\n") == 1
    assert read_entry(line, number=0) == ledger.entries[0]


@pytest.mark.parametrize(
    ("column", "content"),
    [
        ("index", True),
        ("index", "0"),
        ("kind", None),
        ("fields", []),
        ("fields", {"text": 1}),
        ("salts", {"text": None}),
        ("body", "text"),
        ("extra", 1),
    ],
)
def test_a_line_with_a_wrong_column_is_damaged_and_the_column_named(
    line: bytes, column: str, content: object
) -> None:
    told: dict[str, Any] = {**json.loads(line), column: content}
    with pytest.raises(StoreDamaged) as caught:
        read_entry(json.dumps(told).encode(), number=7)
    assert (caught.value.facts["index"], caught.value.facts["column"]) == (7, column)


def test_a_line_that_lacks_a_column_or_is_no_json_is_damaged(line: bytes) -> None:
    told = json.loads(line)
    del told["prev"]
    for bad in (json.dumps(told).encode(), b"nonsense", b'{"a": 1, "a": 2}'):
        with pytest.raises(StoreDamaged, match="entry 3"):
            read_entry(bad, number=3)

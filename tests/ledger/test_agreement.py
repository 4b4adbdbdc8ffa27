"""Our verification and the auditor's say the same of everything: intact, or not."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.ledger.checkpoint import split_notes

from .agreeing import Handed, Row, bend, everything, let_go_of, mended, ours, places, theirs

BASES = {"everything": everything(), "let go of": let_go_of()}
# What a place may hold instead: other types, other forms of the same, what no JSON should hold.
VALUES: list[Any] = [
    *(..., None, True, False, 0, 1, -1, 5, 99, 1.0, -0.0, 1e300, math.nan, 2**53, 2**70),
    *(
        "",
        "x",
        "ada",
        "erasure",
        "rotation",
        "key",
        "s2-v4",
        "\ud800",
        "\u2028",
        "A" * 64,
        "ab" * 32,
    ),
    *([], [None], [{}], ["text"], {}, {"a": 1}, {"statement": {}}, [[[[]]]], "0" * 32, "mail-0"),
]


NAMES = st.sampled_from(sorted(BASES))


def agree(handed: Handed, folder: Path) -> bool:
    """Whether both find nothing; they must not differ."""
    here, there = ours(handed), theirs(handed, str(folder / "kept.txt"))
    assert bool(here) == bool(there), f"ours: {here}\nthe auditor's: {there}"
    return not here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agreement")


@pytest.mark.parametrize("name", BASES)
def test_of_what_nobody_touched_both_find_nothing(name: str, folder: Path) -> None:
    assert agree(BASES[name], folder)


@pytest.mark.parametrize("name", BASES)
def test_what_was_mended_without_being_bent_is_whole(name: str, folder: Path) -> None:
    """So that the examples below do not fail for another reason than they should."""
    handed = BASES[name]
    for start in range(len(handed.lines)):
        assert agree(mended(handed, start, handed.rows), folder)


@st.composite
def bent(draw: st.DrawFn) -> tuple[Handed, int, list[Row]]:
    handed = BASES[draw(NAMES)]
    rows = handed.rows
    place = draw(st.integers(0, len(rows) - 1))
    # Statements are what the two could read differently, so they come up more often.
    signed = [path for path in places(rows[place]) if "signed" in path]
    path = draw(
        st.sampled_from(signed if signed and draw(st.booleans()) else [*places(rows[place])])
    )
    value = draw(st.sampled_from(VALUES))
    if draw(st.integers(0, 9)) == 0:  # one more member, beside what is there
        path = (*path[:-1], "more") if isinstance(path[-1], str) else path
    if value is ... and path[-1] == "more":
        value = None
    rows[place] = bend(rows[place], path, value)
    return handed, place, rows


@settings(max_examples=120)
@given(bent(), st.booleans())
def test_both_say_the_same_of_a_value_that_was_changed(
    folder: Path, change: tuple[Handed, int, list[Row]], mend: bool
) -> None:
    handed, place, rows = change
    agree(mended(handed, place, rows) if mend else handed.with_rows(rows), folder)


PIECES = st.sampled_from(
    [
        b"",
        b" ",
        b"\n",
        b'"',
        b"{",
        b"}",
        b"0",
        b"-0",
        b"1e999",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\\ud800",
    ]
)


@settings(max_examples=60)
@given(name=NAMES, where=st.floats(0, 1), gone=st.integers(0, 3), piece=PIECES)
def test_both_say_the_same_of_bytes_that_were_changed(
    folder: Path, *, name: str, where: float, gone: int, piece: bytes
) -> None:
    handed = BASES[name]
    whole = b"".join(handed.lines)
    at = int(where * len(whole))
    parts = (whole[:at] + piece + whole[at + gone :]).split(b"\n")
    kept = tuple(part + b"\n" for part in parts[:-1]) + ((parts[-1],) if parts[-1] else ())
    agree(replace(handed, lines=kept), folder)


CHARACTERS = st.sampled_from(
    ["", "\n", "\n\n", " ", "— ", "— x\n", "0", "+", "=", "\x85", "\r", "é"]
)


@settings(max_examples=80)
@given(
    name=NAMES,
    inside=st.booleans(),
    where=st.floats(0, 1),
    gone=st.integers(0, 3),
    piece=CHARACTERS,
)
def test_both_say_the_same_of_checkpoints_that_were_changed(
    folder: Path, *, name: str, inside: bool, where: float, gone: int, piece: str
) -> None:
    handed = BASES[name]
    text = handed.notes if inside else handed.outside
    at = int(where * len(text))
    changed = text[:at] + piece + text[at + gone :]
    if not inside and not split_notes(changed):
        return  # a file without checkpoints is refused before anything is read
    agree(replace(handed, notes=changed) if inside else replace(handed, outside=changed), folder)

"""Sealed segments: entries moved out of the store into a file that proves itself.

The first line says what came before (size, hash and peaks of the tree) and carries the signed
checkpoint at the end; then one entry per line. With the entries the peaks lead to the root that
was signed, so nothing in the file has to be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import orjson

from mentis.codec.strict_json import read_strict_object
from mentis.errors import NotCanonical, StoreDamaged
from mentis.values.checkpoint import Segment, Standing
from mentis.values.entry import Entry

from .recipes import check_recipe
from .records import read_entry, write_entry

_MOST = 2**63 - 1  # as many entries as a store can number


def write_segment(segment: Segment, entries: Iterable[Entry]) -> Iterator[bytes]:
    """The lines of the file."""
    yield orjson.dumps(asdict(segment), option=orjson.OPT_SORT_KEYS) + b"\n"
    for entry in entries:
        yield write_entry(entry)


def read_head(line: bytes) -> Segment:
    try:
        told: dict[str, Any] = read_strict_object(line)
        before: dict[str, Any] = told.pop("before")
        standing = Standing(before["size"], before["head"], tuple(before["peaks"]))
        segment = Segment(before=standing, **told)
        _check_types(segment)
    except (NotCanonical, KeyError, TypeError) as error:
        raise StoreDamaged(f"this is not a segment of a ledger: {error}") from error
    if segment.format != Segment.__dataclass_fields__["format"].default:
        raise StoreDamaged(f"segments of format {segment.format!r} are not known here")
    return segment


def _check_types(segment: Segment) -> None:
    """TypeError unless each value is of its kind: the head is nobody's word."""
    before = segment.before
    texts = (segment.agent, segment.note, segment.format, *before.peaks, before.head or "")
    if any(type(text) is not str for text in texts):
        raise TypeError("a text is missing")
    if any(type(number) is not int for number in (segment.first, segment.last, before.size)):
        raise TypeError("a number is missing")
    if not 0 <= segment.first <= segment.last < _MOST or before.size < 0:
        raise TypeError("its numbers do not fit together")


def read_segment(lines: Iterable[bytes]) -> tuple[Segment, Iterator[Entry]]:
    """The head, and the entries as they are asked for."""
    rest = iter(lines)
    segment = read_head(next(rest, b""))
    numbered = enumerate(rest, segment.first)
    return segment, (read_entry(line, number=number) for number, line in numbered)


def is_genuine(entry: Entry, agent: str, index: int, kept: str) -> bool:
    """Whether it is this agent's entry of this number, as its kept hash says, or with less in it.

    Whether an import continues the one before is for the whole chain to say.
    """
    if (entry.agent, entry.index, entry.hash) != (agent, index, kept):
        return False
    return all(found.column == "original" for found in check_recipe(entry, None))


def cut(count: int, *, keep: int) -> int:
    """The index to rotate up to, so that at least one and at most `keep` entries stay."""
    return max(0, count - max(keep, 1))


def cut_before(entries: Iterable[Entry], time: str) -> int | None:
    """The index of the first entry that is not older than `time`; None when all are older."""
    return next((entry.index for entry in entries if entry.time >= time), None)


def segment_name(segment: Segment) -> str:
    return f"segment-{segment.first:010d}-{segment.last:010d}.jsonl"

"""Memories as lines of JSON: the same memories are the same bytes.

The first line says what the file is and how many follow. A file of plain objects, one a line, is
read too: only `text` has to be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from mentis.codec.forms import from_json, to_json
from mentis.codec.strict_json import read_outside
from mentis.errors import BadInput
from mentis.values.cognition import Memory
from mentis.values.written import dump

FORMAT, VERSION = "mentis-memories", 1
_MOST_LINES = 200_000
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """`given_id` says whether the line brought its own id."""

    number: int
    memory: Memory
    given_id: bool


def write_lines(memories: Iterable[Memory]) -> bytes:
    """In the order of their ids."""
    kept = sorted(memories, key=lambda memory: memory.id)
    header = dump({"format": FORMAT, "version": VERSION, "count": len(kept)})
    return b"".join(line + b"\n" for line in (header, *map(to_json, kept)))


def read_lines(data: bytes, *, most_bytes: int) -> list[MemoryLine]:
    """All of them, or BadInput with everything that is wrong."""
    if len(data) > most_bytes:
        raise BadInput(
            f"the file has more than {most_bytes} bytes",
            hint="split it, or raise memories.import_bytes",
        )
    try:
        texts = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start}", hint="save it as UTF-8") from error
    numbered = [(number, text) for number, text in enumerate(texts, 1) if text.strip()]
    if len(numbered) > _MOST_LINES:
        raise BadInput(f"the file has more than {_MOST_LINES} lines", hint="split it")
    expected, numbered = _header(numbered)
    lines, problems = _read_all(numbered)
    if expected is not None and expected != len(numbered):
        problems.append(f"{expected} memories are announced, and {len(numbered)} are there")
    if problems:
        raise BadInput(
            f"{problems[0]}{f' (and {len(problems) - 1} more)' if problems[1:] else ''}",
            hint="nothing was imported; correct the file and try again",
            problems=problems[:_SHOWN],
        )
    return lines


def _header(
    numbered: Sequence[tuple[int, str]],
) -> tuple[int | None, Sequence[tuple[int, str]]]:
    if not numbered or FORMAT not in numbered[0][1]:
        return None, numbered
    told = _object(numbered[0][1], "line 1")
    if told.get("format") != FORMAT:
        return None, numbered
    version, count = told.get("version"), told.get("count")
    if version != VERSION or not isinstance(count, int):
        raise BadInput(
            f"line 1: version {version!r} of this format is not known",
            hint=f"this version of Mentis reads version {VERSION}; upgrade it",
        )
    return count, numbered[1:]


def _read_all(numbered: Sequence[tuple[int, str]]) -> tuple[list[MemoryLine], list[str]]:
    lines: list[MemoryLine] = []
    problems: list[str] = []
    seen: set[str] = set()
    for number, text in numbered:
        try:
            line = _line(number, text)
        except BadInput as error:
            problems.append(f"line {number}: {error.message}")
            continue
        if line.memory.id in seen:
            problems.append(f"line {number}: the id {line.memory.id!r} stands here twice")
        seen.add(line.memory.id)
        lines.append(line)
    return lines, problems


def _line(number: int, text: str) -> MemoryLine:
    told = _object(text, "it")
    given = "id" in told
    # Half a character stays escaped, so that whoever reads it refuses it.
    memory = from_json(Memory, json.dumps({"id": f"line-{number}", **told}))
    return MemoryLine(number, memory, given)


def _object(text: str, what: str) -> dict[str, object]:
    told = read_outside(text, what=what)
    if not isinstance(told, dict):
        raise BadInput(f"{what} is not a JSON object", hint="write one object a line")
    return cast("dict[str, object]", told)

"""Memories taken elsewhere and brought from elsewhere. What comes in is untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mentis.errors import BadInput
from mentis.exchange.memory_lines import MemoryLine
from mentis.recall.memory.circles import circles
from mentis.values.cognition import Memory
from mentis.values.memories import content_key
from mentis.values.trust import Trust
from mentis.values.words import quantity

from .draft import check_name, check_tags, check_text, read_time

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")
_SHOWN = 20


def read_file(path: Path, *, most_bytes: int) -> bytes:
    """No more of it than may be imported, and one byte to tell that there is more."""
    try:
        with path.open("rb") as file:
            return file.read(most_bytes + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", hint="check it") from error


def memories_to_import(
    lines: Sequence[MemoryLine],
    known: Mapping[str, Memory],
    *,
    now: str,
    text_chars: int,
    new_id: Callable[[], str],
) -> tuple[list[Memory], tuple[str, ...]]:
    """What is to be added, and what was changed on the way in, in words."""
    _refuse_wrong(lines, text_chars)
    names = {line.memory.id: _name(line, known, new_id) for line in lines}
    fresh: list[Memory] = []
    lost = early = 0
    for line in lines:
        memory = line.memory
        later = names.get(memory.superseded_by, "")
        lost += bool(memory.superseded_by) and not later
        early += any(read_time(time) > now for time in (memory.time, memory.updated))
        fresh.append(_untrusted(memory, names[memory.id], later, now))
    _refuse_circles(lines, fresh, known)
    return fresh, _notes(lines, names, lost, early)


def _untrusted(memory: Memory, name: str, later: str, now: str) -> Memory:
    """Nothing a file says of its own trust counts, nor what somebody else's screener said.

    Nothing was made or changed later than now: the newest go first wherever there is a choice.
    """
    made = min(read_time(memory.time) or now, now)
    return replace(
        memory,
        id=name,
        trust=Trust.UNTRUSTED,
        lineage=Trust.UNTRUSTED,
        source=memory.source or "import",
        tags=check_tags(memory.tags),
        time=made,
        updated=min(read_time(memory.updated) or made, now),
        valid_from=read_time(memory.valid_from),
        valid_until=read_time(memory.valid_until),
        superseded_by=later,
        screening=None,
        released="",
    )


def _name(line: MemoryLine, known: Mapping[str, Memory], new_id: Callable[[], str]) -> str:
    """Its own id, unless it has none or another memory has it."""
    there = known.get(line.memory.id)
    if not line.given_id or (there and content_key(there) != content_key(line.memory)):
        return new_id()
    return line.memory.id


def _refuse_wrong(lines: Sequence[MemoryLine], text_chars: int) -> None:
    problems: list[str] = []
    for line in lines:
        try:
            _check(line.memory, text_chars)
        except BadInput as error:
            problems.append(f"line {line.number}: {error.message}")
    _refuse(problems)


def _refuse_circles(
    lines: Sequence[MemoryLine], fresh: Sequence[Memory], known: Mapping[str, Memory]
) -> None:
    """Of those that supersede each other none would be current.

    What is kept already stays as it is, so a circle of nothing else is not the file's doing.
    """
    kept = {**{one.id: one for one in fresh}, **known}
    later = {one.id: one.superseded_by for one in kept.values() if one.superseded_by}
    new = (circle for circle in circles(later) if not known.keys() >= set(circle))
    among = {one: circle for circle in new for one in circle}
    _refuse(
        [
            f"line {line.number}: {_why_circle(line.memory.id, among[memory.id])}"
            for line, memory in zip(lines, fresh, strict=True)
            if memory.id in among
        ]
    )


def _why_circle(name: str, circle: Sequence[str]) -> str:
    if len(circle) == 1:
        return f"the memory {name!r} supersedes itself"
    return f"the memory {name!r} is one of {len(circle)} that supersede each other in a circle"


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        more = f" (and {len(problems) - 1} more)" if problems[1:] else ""
        hint = "nothing was imported; correct the file and try again"
        raise BadInput(f"{problems[0]}{more}", hint=hint, problems=problems[:_SHOWN])


def _check(memory: Memory, text_chars: int) -> None:
    if not _ID.fullmatch(memory.id):
        raise BadInput(f"{memory.id[:40]!r} cannot be an id", hint="leave it out")
    check_text(memory.text, text_chars=text_chars)
    for name in ("scope", "source", "session", "superseded_by"):
        check_name(getattr(memory, name), name)
    check_tags(memory.tags)
    if not 0 <= memory.confidence <= 1:
        raise BadInput(f"a confidence of {memory.confidence} means nothing", hint="0 to 1")
    for time in (memory.time, memory.updated, memory.valid_from, memory.valid_until):
        read_time(time)


def _notes(
    lines: Sequence[MemoryLine], names: Mapping[str, str], lost: int, early: int
) -> tuple[str, ...]:
    claims = sum(line.memory.trust is not Trust.UNTRUSTED for line in lines)
    renamed = sum(line.given_id and names[line.memory.id] != line.memory.id for line in lines)
    told = (
        (claims, "claimed a trust; all are untrusted until you promote them"),
        (renamed, "got another id, because theirs was taken"),
        (early, "had a time later than now; now is kept instead"),
        (lost, "named a successor that is not in the file, and count as current"),
    )
    return tuple(
        f"{quantity(number, 'memory', 'memories')} {what}" for number, what in told if number
    )

"""Footprint of a call in a provider's cache, as digests: in memory, and in the turn's entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from mentis.values.entry import Entry
from mentis.values.value import Value

_LIFETIME = re.compile(r"(\d+)([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class CacheStep(Value):
    """A place that may be met again: `tokens` lie before it, by our count without correction.

    `exact`: they are what the model's tokenizer makes of them; `counted`: a tokenizer counted.
    """

    region: str
    end: int
    tokens: int
    digest: str
    ttl: str = ""
    marked: bool = False
    blocks: int = 0
    exact: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Footprint(Value):
    """One call. `here`: it was made by this process, whose own caches still hold it. `reply` is the
    provider's id of the answer, where a later prompt is to be compared with this one.
    """

    route: str
    model: str
    time: datetime
    steps: tuple[CacheStep, ...]
    expected: int = 0
    here: bool = False
    session: str = ""
    reply: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return self.route, self.model

    def entry_fields(self, reported: int) -> dict[str, object]:
        """As the entry of its turn keeps it."""
        named = {"reply": self.reply} if self.reply else {}
        return {
            **named,
            "route": self.route,
            "model": self.model,
            "expected": self.expected,
            "input": reported,
            "steps": [
                [s.region, s.end, s.tokens, s.digest, s.ttl, s.marked, s.blocks, s.exact, s.counted]
                for s in self.steps
            ],
        }


def lifetime(ttl: str) -> int:
    """The seconds in `5m`, `1h` or `300s`; 0 where it is not known."""
    found = _LIFETIME.fullmatch(ttl)
    return int(found[1]) * _SECONDS[found[2]] if found else 0


def footprints_in(entries: Iterable[Entry]) -> Iterator[tuple[Footprint, int]]:
    """Every call that turns of the record tell of, with the input its provider reported."""
    for entry in entries:
        told = entry.body.get("cache") if entry.kind == "turn" else None
        for each in cast("Sequence[object]", told) if isinstance(told, list) else ():
            found = read_footprint(cast("Mapping[str, object]", each), entry)
            if found is not None:
                yield found


def read_footprint(told: Mapping[str, object], entry: Entry) -> tuple[Footprint, int] | None:
    """None of one that another version wrote: it teaches nothing."""
    try:
        return _read(told, entry)
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def _read(told: Mapping[str, object], entry: Entry) -> tuple[Footprint, int]:
    steps = tuple(
        CacheStep(
            str(region),
            int(end),
            int(tokens),
            str(digest),
            str(ttl),
            bool(marked),
            int(blocks),
            bool(exact),
            bool(counted),
        )
        for region, end, tokens, digest, ttl, marked, blocks, exact, counted in cast(
            "Sequence[Sequence[str]]", told["steps"]
        )
    )
    turn = entry.body.get("turn")
    session = cast("Mapping[str, object]", turn).get("session") if isinstance(turn, Mapping) else ""
    made = Footprint(
        str(told["route"]),
        str(told["model"]),
        datetime.fromisoformat(entry.time),
        steps,
        session=str(session or ""),
        reply=str(told.get("reply", "")),
    )
    return made, int(cast("int", told["input"]))

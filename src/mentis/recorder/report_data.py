"""Recorded calls of other agents as JSON: the same for every surface."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import cast

from mentis.home.identity import unknown_recorded
from mentis.record.foreign_calls import ForeignCall, foreign_calls
from mentis.record.record import Record, open_record
from mentis.values.value import Value


@contextmanager
def opened_recorded(home: Path, agent: str) -> Generator[Record]:
    with open_record(home, agent, readonly=True) as record:
        if not record.store.count(record.agent):
            raise unknown_recorded(agent, record.store.agents())
        yield record


def recorded_calls(home: Path, agent: str) -> list[ForeignCall]:
    """All that are in the record, also those that were moved out of its store."""
    with opened_recorded(home, agent) as record, record.snapshot() as source:
        return list(foreign_calls(source.entries()))


def plain(value: object) -> object:
    """For JSON; money stays exact, as a text."""
    match value:
        case Decimal():
            return format(value, "f")
        case Value():
            return {one.name: plain(getattr(value, one.name)) for one in fields(value)}  # pyright: ignore[reportArgumentType]  # every value is a dataclass
        case Mapping():
            members = cast("Mapping[object, object]", value).items()
            return {str(name): plain(part) for name, part in members}
        case list() | tuple():
            return [plain(one) for one in cast("Sequence[object]", value)]
        case _:
            return value

"""Are the inputs that turns are replayed from still what their entries say they were?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from mentis.errors import StoreDamaged
from mentis.ports.ledger_store import LedgerStore
from mentis.values.entry import Attack, Entry, Finding
from mentis.values.json import JsonObject

from .input_rows import PART, ROW, TOLD, key_of, read_library

COLUMN = "inputs"
_A_PART = "a part of what this turn was made from"
_PARTS = ("setting", "tools", "revealed", "variables", "output")


class InputCheck:
    """The entries come from a chain that verified, so each names its row by the digest that it had
    then, as the row does its parts; what many turns have in common is looked at once.
    """

    def __init__(self, agent: str, store: LedgerStore) -> None:
        self._agent = agent
        self._store = store
        self._sound: set[tuple[str, str]] = set()
        self.findings: list[Finding] = []

    def take(self, entry: Entry) -> None:
        """Without the field in its body there is nothing: it was erased, or never kept."""
        key = entry.body.get("inputs") if entry.kind == "turn" else None
        if not isinstance(key, str):
            return
        kept = self._value(entry, ROW, key)
        row = None if kept is None else kept.get("inputs")
        if not isinstance(row, Mapping):
            what = "is gone" if kept is None else "was changed"
            self._find(entry, f"what this turn was made from {what}", gone=kept is None)
        elif key_of(cast("JsonObject", row)) != key:
            self._find(entry, "what this turn was made from was changed")
        else:
            self._look_at_parts(entry, cast("JsonObject", row))

    def _look_at_parts(self, entry: Entry, row: JsonObject) -> None:
        for kind, key in _named(row):
            if (kind, key) in self._sound:
                continue
            self._sound.add((kind, key))  # or named once, where it is not
            value = self._value(entry, kind, key)
            if value is None:
                # What came of an act goes with the act, when that is erased.
                if kind == PART:
                    self._find(entry, f"{_A_PART} is gone: {key}", gone=True)
            elif not _is_sound(key, value):
                self._find(entry, f"{_A_PART} was changed: {key}")

    def _value(self, entry: Entry, kind: str, key: str) -> JsonObject | None:
        try:
            mark = self._store.mark(self._agent, kind, key)
        except StoreDamaged as damage:
            self._find(entry, damage.message)
            return {}
        return None if mark is None else mark.value

    def _find(self, entry: Entry, message: str, *, gone: bool = False) -> None:
        attack: Attack = "deleted" if gone else "edited"
        self.findings.append(Finding(entry.index, COLUMN, message, attack))


def _named(row: JsonObject) -> Iterator[tuple[str, str]]:
    """The parts of a row, and of the rows of steps in it."""
    names = (row.get(name) for name in (*_PARTS, "library"))
    yield from ((PART, name) for name in names if isinstance(name, str) and name)
    told = [*_listed(row.get("news")), row.get("delivery")]
    yield from ((TOLD, name) for name in told if isinstance(name, str) and name)
    for step in _listed(row.get("steps")):
        own = cast("JsonObject", step).get("own") if isinstance(step, Mapping) else None
        if isinstance(own, Mapping):
            yield from _named(cast("JsonObject", own))


def _is_sound(key: str, value: JsonObject) -> bool:
    if "zlib" in value:
        try:
            return read_library(value, key) is not None
        except StoreDamaged:
            return False
    return key_of(value) == key.rpartition("/")[2]


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []

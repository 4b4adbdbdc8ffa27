"""Which key was in force at which size: the pinned one, and what signed changes lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mentis.values.entry import Entry, Finding
from mentis.values.json import JsonObject

from .signature import decode, signed_by, statement_of
from .statements import FIELD, KEY, ROLLBACK, keys_in


class KeyRing:
    """Changes are `{"index": ..., "prev": ..., "signed": ...}` in the order of the chain.

    Both keys sign a change, so trust goes from the pinned key in both directions: settings may
    hold the first key, the newest, or one between. A change names the entry it comes after, and
    counts nowhere else: whoever holds a key that was given up could move its end otherwise. One
    that was lost in a rollback counts where the statement of that (`by`) carries it.
    """

    def __init__(self, agent: str, pinned: bytes, changes: Sequence[JsonObject]) -> None:
        self._agent = agent
        self._indexes = [int(str(change["index"])) for change in changes]
        self._keys = _keys(pinned, changes)
        self._carried = {int(str(change["index"])) for change in changes if "by" in change}
        self.findings: list[Finding] = []
        sound = [self._sound(place, change) for place, change in enumerate(changes)]
        here = self._keys.index(pinned) if pinned in self._keys else None
        self._trusted = set[int]() if here is None else _reach(here, sound)

    @property
    def trusted_keys(self) -> list[bytes]:
        """Every key that the pinned one leads to."""
        return [self._keys[place] for place in sorted(self._trusted)]

    def in_force(self, index: int) -> bytes | None:
        """The key for the statement at this index; one that carries changes comes after them."""
        place = self._place(index + (index in self._carried))
        return self._keys[place] if place in self._trusted else None

    def may_sign(self, size: int) -> list[bytes]:
        """The keys for a checkpoint of this size: that of the time, and those that came after it.

        Rotation seals a beginning of the ledger with the key of today. A key that was given up
        signs nothing later than its end.
        """
        return [self._keys[place] for place in sorted(self._trusted) if place >= self._place(size)]

    def _place(self, size: int) -> int:
        return sum(index < size for index in self._indexes)

    def _sound(self, place: int, change: JsonObject) -> bool:
        old, new = self._keys[place], self._keys[place + 1]
        if _public(change, "old") != old or not _signed(change, old, new):
            message = "the change of the signing key is not signed by the key before and the new"
        elif not self._bound(change):
            message = "the change of the signing key was made for another place or another chain"
        else:
            return True
        self.findings.append(Finding(self._indexes[place], "body", message, "forged"))
        return False

    def _bound(self, change: JsonObject) -> bool:
        told = statement_of(change["signed"])
        if (told.get("what"), told.get("agent")) != (KEY, self._agent):
            return False
        if "by" not in change:
            return told.get("after") == change.get("prev")
        by, newest = change["by"], self._keys[self._place(int(str(change["index"])) + 1)]
        says = statement_of(by)
        expected = (ROLLBACK, self._agent, change.get("prev"))
        return (says.get("what"), says.get("agent"), says.get("after")) == expected and signed_by(
            by, newest
        )


def changes_in(entry: Entry) -> Iterator[JsonObject]:
    """The changes of the key in an entry: its own, or those that a rollback carries on."""
    place, signed = {"index": entry.index, "prev": entry.prev}, entry.body.get(FIELD)
    if entry.kind == KEY:
        yield {**place, "signed": signed}
    elif entry.kind == ROLLBACK:
        for carried in keys_in(statement_of(signed)):
            yield {**place, "signed": carried, "by": signed}


def _keys(pinned: bytes, changes: Sequence[JsonObject]) -> list[bytes]:
    if not changes:
        return [pinned]
    return [_public(changes[0], "old"), *(_public(change, "new") for change in changes)]


def _signed(change: JsonObject, *keys: bytes) -> bool:
    return all(signed_by(change["signed"], key) for key in keys)


def _public(change: JsonObject, name: str) -> bytes:
    return decode(str(statement_of(change["signed"]).get(name))) or b""


def _reach(here: int, sound: Sequence[bool]) -> set[int]:
    """The keys that an unbroken run of sound changes connects with the pinned one."""
    low = high = here
    while high < len(sound) and sound[high]:
        high += 1
    while low > 0 and sound[low - 1]:
        low -= 1
    return set(range(low, high + 1))

"""Chains of entries in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

from mentis.ports.ledger_store import Stamp
from mentis.stores.delivery import check_same_delivery
from mentis.values.entry import Draft, Entry, Head


class LedgerInMemory:
    def __init__(self) -> None:
        self._chains: dict[str, list[Entry]] = {}
        self._lock = Lock()

    def append(self, agent: str, drafts: Sequence[Draft], stamp: Stamp) -> tuple[Entry, ...]:
        with self._lock:
            chain = list(self._chains.get(agent, ()))
            made = tuple(_extend(agent, chain, draft, stamp) for draft in drafts)
            if chain:
                self._chains[agent] = chain
            return made

    def entries(self, agent: str) -> Iterator[Entry]:
        return iter(self._chains.get(agent, ()))

    def latest(self, agent: str, count: int) -> tuple[Entry, ...]:
        return tuple(self._chains.get(agent, ())[-count:]) if count else ()

    def agents(self) -> tuple[str, ...]:
        return tuple(sorted(self._chains))


def _extend(agent: str, chain: list[Entry], draft: Draft, stamp: Stamp) -> Entry:
    head = Head(chain[-1].index, chain[-1].hash, chain[-1].time) if chain else None
    entry = stamp(agent, head, draft)
    known = next((e for e in chain if e.delivery == draft.delivery is not None), None)
    if known is not None:
        check_same_delivery(known, entry)
        return known
    chain.append(entry)
    return entry

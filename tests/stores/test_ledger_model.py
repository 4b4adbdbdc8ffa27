"""Both ledgers against a list: any sequence of appends and deliveries."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mentis.errors import StoreConflict
from mentis.ledger.chain import make_stamp
from mentis.ledger.verify import verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.memory import LedgerInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft, Entry

AGENTS = st.sampled_from(["ada", "bob"])
DRAFTS = st.builds(
    Draft,
    kind=st.sampled_from(["note", "window"]),
    source=st.just("test"),
    body=st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 2) | st.booleans()),
    delivery=st.none() | st.sampled_from(["one", "two", "three"]),
)


class LedgerMachine(RuleBasedStateMachine):
    """The model: what was accepted, in order, and what each delivery said."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = self.open()
        self.stamp = make_stamp(FixedClock(step=timedelta(seconds=1)).now, CountingIds().salt)
        self.chains: dict[str, list[Entry]] = {"ada": [], "bob": []}
        self.said: dict[tuple[str, str], tuple[str, str]] = {}

    def open(self) -> LedgerStore:
        return LedgerInMemory()

    @rule(agent=AGENTS, drafts=st.lists(DRAFTS, max_size=4))
    def append(self, agent: str, drafts: list[Draft]) -> None:
        said = dict(self.said)
        fresh = [draft for draft in drafts if self._is_new(said, agent, draft)]
        if any(
            _says(draft) != said.get((agent, draft.delivery or ""), _says(draft))
            for draft in drafts
        ):
            with pytest.raises(StoreConflict):
                self.ledger.append(agent, drafts, self.stamp)
            return
        made = self.ledger.append(agent, drafts, self.stamp)
        assert [_said(entry) for entry in made] == [_says(draft) for draft in drafts]
        known = len(self.chains[agent])
        added = sorted({e.index: e for e in made if e.index >= known}.items())
        assert len(added) == len(fresh)
        self.chains[agent] += [entry for _, entry in added]
        self.said = said

    def _is_new(
        self, said: dict[tuple[str, str], tuple[str, str]], agent: str, draft: Draft
    ) -> bool:
        if draft.delivery is None:
            return True
        new = (agent, draft.delivery) not in said
        said.setdefault((agent, draft.delivery), _says(draft))
        return new

    @invariant()
    def holds_exactly_what_was_accepted(self) -> None:
        for agent, chain in self.chains.items():
            assert list(self.ledger.entries(agent)) == chain
            assert self.ledger.latest(agent, 3) == tuple(chain[-3:])
            assert self.ledger.latest(agent, 0) == ()
            assert verify_chain(agent, chain).intact
        assert self.ledger.agents() == tuple(sorted(a for a, chain in self.chains.items() if chain))


class SqliteLedgerMachine(LedgerMachine):
    def open(self) -> LedgerStore:
        self.directory = TemporaryDirectory()
        self.database = Database(Path(self.directory.name) / "mentis.db")
        return SqliteLedger(self.database)

    def teardown(self) -> None:
        self.database.close()
        self.directory.cleanup()


def _says(draft: Draft) -> tuple[str, str]:
    return draft.kind, repr(sorted(draft.body.items()))


def _said(entry: Entry) -> tuple[str, str]:
    body = {name: value for name, value in entry.body.items() if name != "delivery"}
    return entry.kind, repr(sorted(body.items()))


TestLedgerInMemory = LedgerMachine.TestCase
TestLedgerInMemory.settings = settings(max_examples=40, stateful_step_count=15)
TestSqliteLedger = SqliteLedgerMachine.TestCase
TestSqliteLedger.settings = settings(max_examples=15, stateful_step_count=12)

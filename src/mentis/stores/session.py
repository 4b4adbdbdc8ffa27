"""One transaction as the work in it sees it: heads are read once, new entries are sent together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import itemgetter

from mentis.errors import StoreDamaged

from .rows import COLUMNS, Row

HEAD = "SELECT idx, hash, time FROM ledger WHERE agent = ? ORDER BY idx DESC LIMIT 1"
_AGENT = COLUMNS.index("agent")
_head_of = itemgetter(*map(COLUMNS.index, ("idx", "hash", "time")))


class Session(ABC):
    """Statements inside one transaction; parameters stand as `?`. A database adds how to run them.

    Each piece of work is a part. What a part has written cannot be taken back alone, so one that
    fails after it has written something takes the transaction with it (`stands`).
    """

    def __init__(self) -> None:
        self.stands = True
        self._heads: dict[str, list[Row]] = {}
        self._rows: list[Row] = []
        self._sent: dict[str, Row] = {}  # the last head of each agent that was sent
        self._own = 0  # how many of them are of the part that runs
        self._written = False  # by the part that runs

    @abstractmethod
    def run(self, statement: str, parameters: Sequence[object]) -> list[Row]: ...

    @abstractmethod
    def run_insert(self, rows: Sequence[Row]) -> None: ...

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        self.send()
        self._written = self._written or not statement.startswith("SELECT")
        return self.run(statement, parameters)

    def head(self, agent: str) -> list[Row]:
        """What `HEAD` selects."""
        known = self._heads.get(agent)
        if known is None:
            known = self._heads[agent] = self.execute(HEAD, (agent,))
        return known

    def know_heads(self, heads: dict[str, list[Row]]) -> None:
        self._heads.update(heads)

    def insert(self, rows: Sequence[Row]) -> None:
        """Entries as rows, which follow the head; they are sent before anything else is done."""
        for row in rows[-1:]:
            self._heads[row[_AGENT]] = [_head_of(row)]
        self._rows += rows
        self._own += len(rows)

    def send(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        self._written = self._written or self._own > 0
        self.run_insert(rows)
        last = {row[_AGENT]: row for row in rows}
        self._sent.update((agent, _head_of(row)) for agent, row in last.items())

    def finish(self) -> None:
        """Everything is sent, and the database says that it has it: a trigger may swallow it."""
        self.send()
        if not self._sent:
            return
        there = self.run_heads(list(self._sent))
        for agent, head in self._sent.items():
            if there.get(agent) != [head]:
                raise StoreDamaged(
                    f"the database did not keep entry {head[0]} of `{agent}` as it was written",
                    hint="look for triggers and rules in it; nothing of this was recorded",
                    index=head[0],
                    agent=agent,
                )

    def run_heads(self, agents: Sequence[str]) -> dict[str, list[Row]]:
        """What `HEAD` selects, for each of them."""
        return {agent: self.run(HEAD, (agent,)) for agent in agents}

    def part(self) -> _Part:
        self._own, self._written = 0, False
        return _Part(self)

    def undo_part(self) -> None:
        """What it has not written yet is left out; what it has takes the transaction with it."""
        self.stands = self.stands and not self._written
        if self._own and self.stands:
            del self._rows[-self._own :]
        self._heads.clear()


class _Part:
    """Not a generator: there is one for every append."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._session.undo_part()

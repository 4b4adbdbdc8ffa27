"""One transaction as the work in it sees it: heads are read once, new entries are sent together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from .rows import COLUMNS, Row

HEAD = "SELECT idx, hash, time FROM ledger WHERE agent = ? ORDER BY idx DESC LIMIT 1"
INSERT = (
    f"INSERT INTO ledger ({', '.join(COLUMNS)})"  # noqa: S608 - constants
    f" VALUES ({', '.join('?' for _ in COLUMNS)})"
)
_AGENT, _HEAD_CELLS = COLUMNS.index("agent"), [COLUMNS.index(n) for n in ("idx", "hash", "time")]


class Session(ABC):
    """Statements inside one transaction; parameters stand as `?`. A database adds how to run them.

    Each piece of work is a part. What a part has written cannot be taken back alone, so one that
    fails after it has written something takes the transaction with it (`stands`).
    """

    def __init__(self) -> None:
        self.stands = True
        self._heads: dict[str, list[Row]] = {}
        self._rows: list[Row] = []
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
            self._heads[row[_AGENT]] = [tuple(row[cell] for cell in _HEAD_CELLS)]
        self._rows += rows
        self._own += len(rows)

    def send(self) -> None:
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        self._written = self._written or self._own > 0
        self.run_insert(rows)

    @contextmanager
    def part(self) -> Generator[None]:
        self._own, self._written = 0, False
        try:
            yield
        except BaseException:
            self.stands = self.stands and not self._written
            if self._own and self.stands:
                del self._rows[-self._own :]
            self._heads.clear()
            raise

"""One transaction as the work in it sees it: heads are read once, new rows are sent together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from mentis.errors import StoreDamaged

from .rows import COLUMNS, Row

HEAD = "SELECT idx, hash, time FROM ledger WHERE agent = ? ORDER BY idx DESC LIMIT 1"
ADD_TURN = "INSERT INTO turns (turn, agent, session, number) VALUES (?, ?, ?, ?)"
REPLACE_TURN = "UPDATE turns SET turn = ? WHERE agent = ? AND session = ? AND number = ?"
_TURN = "SELECT turn FROM turns WHERE agent = ? AND session = ? AND number = ?"
_AGENT = COLUMNS.index("agent")
_head_of = itemgetter(*map(COLUMNS.index, ("idx", "hash", "time")))

TurnPlace: TypeAlias = tuple[str, str, int]  # agent, session and number


class _Deferred(NamedTuple):
    statement: str
    parameters: Sequence[object]
    turn: tuple[TurnPlace, str] | None = None  # the place it writes, and the text


class SqlTransaction(ABC):
    """Statements inside one transaction; parameters stand as `?`. A database adds how to run them.

    Each piece of work is a part. What a part has written cannot be taken back alone, so one that
    fails after it has written something takes the transaction with it (`stands`).
    """

    def __init__(self) -> None:
        self.stands = True
        self._heads: dict[str, list[Row]] = {}
        self._rows: list[Row] = []
        self._sent: dict[str, Row] = {}  # the last head of each agent that was sent
        self._own = 0  # how many of the rows are of the part that runs
        self._deferred: list[_Deferred] = []
        self._own_deferred = 0
        self._turns: dict[TurnPlace, str] = {}  # as they were sent
        self._written = False  # by the part that runs

    @abstractmethod
    def run(self, statement: str, parameters: Sequence[object]) -> list[Row]: ...

    @abstractmethod
    def run_insert(self, rows: Sequence[Row]) -> None: ...

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            self.run(statement, row)

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

    def defer(self, statement: str, parameters: Sequence[object]) -> None:
        """A statement that goes after the entries, in its order, before anything else is done."""
        self._defer(_Deferred(statement, parameters))

    def write_turn(self, statement: str, place: TurnPlace, text: str) -> None:
        """`ADD_TURN` or `REPLACE_TURN`, which waits like an entry."""
        self._defer(_Deferred(statement, (text, *place), (place, text)))

    def look(
        self, statement: str, parameters: Sequence[object], *, of: tuple[str, str]
    ) -> list[Row]:
        """Read in a conversation (agent and session): only what waits of that one goes before."""
        if any(one.turn is not None and one.turn[0][:2] == of for one in self._deferred):
            self.send()
        return self.run(statement, parameters)

    def _defer(self, deferred: _Deferred) -> None:
        self._deferred.append(deferred)
        self._own_deferred += 1

    def send(self) -> None:
        if not (self._rows or self._deferred):
            return
        rows, self._rows = self._rows, []
        deferred, self._deferred = self._deferred, []
        self._written = self._written or self._own + self._own_deferred > 0
        self._own = self._own_deferred = 0
        if rows:
            self.run_insert(rows)
            last = {row[_AGENT]: row for row in rows}
            self._sent.update((agent, _head_of(row)) for agent, row in last.items())
        for statement, same in groupby(deferred, attrgetter("statement")):
            self.run_many(statement, [one.parameters for one in same])
        self._turns.update(one.turn for one in deferred if one.turn is not None)

    def finish(self) -> None:
        """Everything is sent, and the database says that it has it: a trigger may swallow it."""
        self.send()
        self._check_heads()
        self._check_turns()

    def _check_heads(self) -> None:
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

    def _check_turns(self) -> None:
        there = self.run_turns(list(self._turns)) if self._turns else {}
        for place, text in self._turns.items():
            if there.get(place) != text:
                agent, session, number = place
                raise StoreDamaged(
                    f"the database did not keep turn {number} of session `{session}` of `{agent}`"
                    " as it was written",
                    hint="look for triggers and rules in it; nothing of this was recorded",
                    agent=agent,
                )

    def run_heads(self, agents: Sequence[str]) -> dict[str, list[Row]]:
        """What `HEAD` selects, for each of them."""
        return {agent: self.run(HEAD, (agent,)) for agent in agents}

    def run_turns(self, places: Sequence[TurnPlace]) -> dict[TurnPlace, object]:
        """The text of the turn in each of them."""
        found = ((place, self.run(_TURN, place)) for place in places)
        return {place: rows[0][0] for place, rows in found if rows}

    def part(self) -> _Part:
        self._own, self._own_deferred, self._written = 0, 0, False
        return _Part(self)

    def undo_part(self) -> None:
        """What it has not written yet is left out; what it has takes the transaction with it."""
        self.stands = self.stands and not self._written
        if self._own and self.stands:
            del self._rows[-self._own :]
        if self._own_deferred and self.stands:
            del self._deferred[-self._own_deferred :]
        self._heads.clear()


class _Part:
    """Not a generator: there is one for every append."""

    __slots__ = ("_session",)

    def __init__(self, session: SqlTransaction) -> None:
        self._session = session

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._session.undo_part()

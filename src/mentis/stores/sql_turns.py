"""Turns of conversations in an SQL database; the bytes of attachments apart, each content once.

What is written is read and laid out first, so that nothing is refused once something is written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from mentis.errors import StoreDamaged, StoreError
from mentis.values.digest import digest
from mentis.values.part import MediaPart, Part, TextPart
from mentis.values.turn import Turn, is_turning_point
from mentis.values.turn_writes import TurnWrites, emptied

from .column import read_value, write_value
from .rows import Row
from .session import ADD_TURN, REPLACE_TURN, SqlTransaction, TurnPlace
from .turn_cache import TurnCache

TURN_TABLES = ("turns", "media", "turn_media")
_NEXT = "SELECT coalesce(max(number) + 1, 0) FROM turns WHERE agent = ? AND session = ?"
_TURN = "SELECT turn FROM turns WHERE agent = ? AND session = ? AND number = ?"
# With whether any of them has an attachment, so that it is not looked for where there is none.
_TURNS = """
SELECT number, turn, EXISTS (
    SELECT 1 FROM turn_media WHERE agent = ? AND session = ? AND number >= ? AND number < ?)
FROM turns WHERE agent = ? AND session = ? AND number >= ? AND number < ? ORDER BY number
"""
_LAST_TURNS = """
SELECT number, turn FROM turns WHERE agent = ? AND session = ? AND number < ?
ORDER BY number DESC LIMIT ?
"""
_ASKED_AT_ONCE = 32
_THESE_TURNS = (
    "SELECT number, turn FROM turns WHERE agent = ? AND session = ?"  # noqa: S608 - constants
    f" AND number IN ({', '.join('?' * _ASKED_AT_ONCE)}) ORDER BY number"
)
# All but what was said, whole and next, as most is; quotes in a text are written otherwise.
_NOTED = """
SELECT number, turn FROM turns WHERE agent = ? AND session = ? AND number >= ? AND number < ?
AND turn NOT LIKE ? AND turn NOT LIKE ? AND turn NOT LIKE ? ORDER BY number
"""
_PLAIN = '%"state":"complete","kind":"said","replaces":null,"until":null'
_PLAINS = (f"{_PLAIN}}}", f'{_PLAIN},"author":"%"}}', f'{_PLAIN}%,"origin":{{%}}}}')
_MOST_TURNS = 2**31 - 1
# From one name to the next in the index, each by its first turn: long talks are not walked through.
_SESSIONS = """
WITH RECURSIVE known (session) AS (
    SELECT min(session) FROM turns WHERE agent = ?
    UNION ALL
    SELECT (SELECT min(turns.session) FROM turns WHERE agent = ? AND turns.session > known.session)
    FROM known WHERE known.session IS NOT NULL
)
SELECT known.session FROM known WHERE known.session IS NOT NULL ORDER BY (
    SELECT id FROM turns WHERE agent = ? AND turns.session = known.session ORDER BY number LIMIT 1
)
"""
KEEP_MEDIA = """
INSERT INTO media (agent, digest, data) VALUES (?, ?, ?) ON CONFLICT (agent, digest) DO NOTHING
"""
LINK_MEDIA = "INSERT INTO turn_media (agent, session, number, part, digest) VALUES (?, ?, ?, ?, ?)"
_UNLINK = "DELETE FROM turn_media WHERE agent = ? AND session = ? AND number = ?"
_LINKED = "SELECT digest FROM turn_media WHERE agent = ? AND session = ? AND number = ?"
FORGET_MEDIA = """
DELETE FROM media WHERE agent = ? AND digest = ? AND NOT EXISTS (
    SELECT 1 FROM turn_media AS t WHERE t.agent = media.agent AND t.digest = media.digest)
"""
_MEDIA = """
SELECT number, part, digest, data FROM turn_media JOIN media USING (agent, digest)
WHERE agent = ? AND session = ? AND number >= ? AND number < ? ORDER BY number, part
"""
_HINT = "somebody changed the database; put a backup in its place"

_Bytes: TypeAlias = dict[int, bytes]
_Read: TypeAlias = Callable[[str, Sequence[object]], list[Row]]
_READ = TurnCache()  # by what stands in a row, whichever database it is of


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as it is kept: its text, and the bytes of its attachments by number of the part."""

    text: str
    data: _Bytes

    @classmethod
    def of(cls, turn: Turn) -> TurnRow:
        """BadInput where it has no JSON form."""
        data = {
            number: part.data
            for number, part in enumerate(turn.parts)
            if isinstance(part, MediaPart) and part.data is not None
        }
        text = write_value(_with(turn, dict.fromkeys(data)) if data else turn)
        if _is_plain(turn):  # it is read again with the next message
            _READ.keep((text, ()), turn)
        return cls(text, data)


def _is_plain(turn: Turn) -> bool:
    """Whether it is sure to be read as it is here: words, and nothing of a provider's own."""
    return type(turn.author) is str and all(
        type(part) is TextPart and type(part.text) is str and part.state is None
        for part in turn.parts
    )


def _read_text(text: str, where: str) -> Turn:
    """A turn without its attachments."""
    row = (text, ())
    return _READ.get(row) or _READ.keep(row, read_value(Turn, text, where=where))


def count_turns(session: SqlTransaction, agent: str, name: str) -> int:
    return session.look(_NEXT, (agent, name), of=(agent, name))[0][0]


def add_turn(session: SqlTransaction, agent: str, name: str, row: TurnRow) -> int:
    number = count_turns(session, agent, name)
    _add(session, (agent, name, number), row)
    return number


def write_turns(
    session: SqlTransaction, agent: str, writes: TurnWrites, rows: Sequence[TurnRow]
) -> Callable[[], None]:
    """Read what it needs, and return what writes it: nothing of that is refused any more."""
    of = agent, writes.session
    number = count_turns(session, *of) if rows else 0
    ended = _ended(session, agent, writes)
    empty = [_emptied(session, (*of, number)) for number in writes.emptied]

    def write() -> None:
        for place, text, gone in (*ended, *empty):
            session.write_turn(REPLACE_TURN, place, text)
            if gone is not None:
                session.defer(_UNLINK, place)
                for name in gone:
                    session.defer(FORGET_MEDIA, (agent, name))
        for place, row in enumerate(rows, start=number):
            _add(session, (*of, place), row)

    return write


@dataclass(frozen=True, slots=True)
class _Noted:
    """Numbers, up to an `end`, of turns that are asked for by what they are."""

    end: int = 0
    points: tuple[int, ...] = ()
    titles: tuple[int, ...] = ()
    pending: tuple[int, ...] = ()


_STRETCHES_KEPT = 128
_Stretch: TypeAlias = tuple[str, str, int]  # agent, session, and the number of the first


class TurnReader:
    """Turns are numbered from 0, so that a number is also the place in `turns`."""

    def __init__(self, read: _Read) -> None:
        self._read = read
        self._last: dict[_Stretch, tuple[Sequence[Row], list[Turn]]] = {}
        self._noted: dict[tuple[str, str], _Noted] = {}

    def turns(
        self, agent: str, session: str, *, since: int = 0, before: int | None = None
    ) -> tuple[Turn, ...]:
        where = f"a turn of session `{session}` of `{agent}`"
        first = max(since, 0)
        begin = (agent, session, first)
        of = (*begin, _MOST_TURNS if before is None else min(before, _MOST_TURNS))
        found = self._read(_TURNS, (*of, *of))
        rows = [(number, text) for number, text, _ in found]
        attached = bool(found and found[0][2])
        data: defaultdict[int, _Bytes] = defaultdict(dict)
        names: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        # After the turns: each has its attachments before it is there.
        for number, part, name, content in self._read(_MEDIA, of) if attached else ():
            data[number][part] = content
            names[number].append((part, name))
        turns = self._known(begin, rows) if not names else []
        for place, (number, text) in enumerate(rows[len(turns) :], start=first + len(turns)):
            if (number, type(text)) != (place, str):
                raise StoreDamaged(
                    f"{where} is not in its place: the one after {place} others has the number"
                    f" {number!r}",
                    hint=_HINT,
                )
            row = (text, tuple(names.get(number, ())))
            turn = _READ.get(row)
            if turn is None:
                turn, held = read_value(Turn, text, where=where), data.get(number, {})
                turn = _READ.keep(row, _with(turn, held) if held else turn)
            turns.append(turn)
        self._keep(begin, [] if names else rows, turns)
        return tuple(turns)

    def count(self, agent: str, session: str) -> int:
        return self._read(_NEXT, (agent, session))[0][0]

    def last_turns(
        self, agent: str, session: str, count: int, *, before: int | None = None
    ) -> tuple[tuple[int, Turn], ...]:
        where = f"a turn of session `{session}` of `{agent}`"
        end = _MOST_TURNS if before is None else min(before, _MOST_TURNS)
        rows = self._read(_LAST_TURNS, (agent, session, end, max(count, 0)))
        return tuple((number, _read_text(text, where)) for number, text in rows[::-1])

    def title(self, agent: str, session: str) -> str:
        for number in reversed(self._look_through(agent, session).titles):
            ((_, turn),) = self.last_turns(agent, session, 1, before=number + 1)
            if turn.parts:  # an erased one says nothing, and is none any more
                return turn.text
        return ""

    def turning_points(
        self, agent: str, session: str, count: int, *, before: int
    ) -> tuple[tuple[int, Turn], ...]:
        points = self._look_through(agent, session).points
        chosen = points[: bisect_left(points, before)][-count:] if count > 0 else ()
        where = f"a turn of session `{session}` of `{agent}`"
        rows = list[Row]()
        for first in range(0, len(chosen), _ASKED_AT_ONCE):
            some = chosen[first : first + _ASKED_AT_ONCE]
            nobody = (-1,) * (_ASKED_AT_ONCE - len(some))
            rows += self._read(_THESE_TURNS, (agent, session, *some, *nobody))
        return tuple((number, _read_text(text, where)) for number, text in rows)

    def pending_turns(self, agent: str, session: str) -> tuple[tuple[int, Turn], ...]:
        noted, found = self._look_through(agent, session), list[tuple[int, Turn]]()
        for number in noted.pending:
            turns = self.turns(agent, session, since=number, before=number + 1)
            found += [(number, turn) for turn in turns if turn.state == "pending"]
        still = tuple(number for number, _ in found)  # what has ended stays so
        self._noted[agent, session] = replace(noted, pending=still)
        return tuple(found)

    def _look_through(self, agent: str, session: str) -> _Noted:
        """What is new is looked through; what a turn is never changes afterwards."""
        known = self._noted.get((agent, session), _Noted())
        end = self.count(agent, session)
        if known.end < end:
            where = f"a turn of session `{session}` of `{agent}`"
            rows = self._read(_NOTED, (agent, session, known.end, end, *_PLAINS))
            fresh = [(number, _read_text(str(text), where)) for number, text in rows]
            known = self._noted[agent, session] = _Noted(
                end,
                (*known.points, *(at for at, turn in fresh if is_turning_point(turn))),
                (*known.titles, *(at for at, turn in fresh if turn.kind == "title")),
                (*known.pending, *(at for at, turn in fresh if turn.state == "pending")),
            )
        return known

    def _keep(self, of: _Stretch, rows: Sequence[Row], turns: list[Turn]) -> None:
        """A lone one is read as fast as it is found; the longest unused go first."""
        self._last.pop(of, None)
        if len(rows) > 1:
            self._last[of] = (rows, turns)
        while len(self._last) > _STRETCHES_KEPT:
            self._last.pop(next(iter(self._last)), None)

    def _known(self, of: _Stretch, rows: Sequence[Row]) -> list[Turn]:
        """Those that were read before and stand as they did; attachments are looked at anew."""
        before, turns = self._last.get(of, ([], []))
        same, most = 0, min(len(before), len(rows))
        while same < most:  # halved, for two lists are compared far faster than their items
            middle = (same + most + 1) // 2
            if before[same:middle] == rows[same:middle]:
                same = middle
            else:
                most = middle - 1
        return turns[:same]

    def sessions(self, agent: str) -> tuple[str, ...]:
        return tuple(_name(session) for (session,) in self._read(_SESSIONS, (agent, agent, agent)))


_Replaced: TypeAlias = tuple[TurnPlace, str, list[str] | None]


def _ended(session: SqlTransaction, agent: str, writes: TurnWrites) -> list[_Replaced]:
    """Only the state of the message is new. One that somebody took away or made unreadable is for
    `verify` to find: nothing keeps its entry out of the record.
    """
    if writes.state is None:
        return []
    place, turn = (agent, writes.session, writes.number), None
    with suppress(StoreDamaged):
        turn = _stored(session, place)
    return (
        [] if turn is None else [(place, TurnRow.of(replace(turn, state=writes.state)).text, None)]
    )


def _emptied(session: SqlTransaction, place: TurnPlace) -> _Replaced:
    turn = _stored(session, place)
    if turn is None:
        agent, name, number = place
        raise StoreError(f"session `{name}` of `{agent}` has no turn {number}")
    linked = session.look(_LINKED, place, of=place[:2])
    return place, write_value(emptied(turn)), list(dict.fromkeys(name for (name,) in linked))


def _stored(session: SqlTransaction, place: TurnPlace) -> Turn | None:
    agent, name, number = place
    rows = session.look(_TURN, place, of=(agent, name))
    where = f"turn {number} of session `{name}` of `{agent}`"
    return _read_text(str(rows[0][0]), where) if rows else None


def _add(session: SqlTransaction, place: TurnPlace, row: TurnRow) -> None:
    for part, content in row.data.items():
        name = digest(content)
        session.defer(KEEP_MEDIA, (place[0], name, content))
        session.defer(LINK_MEDIA, (*place, part, name))
    session.write_turn(ADD_TURN, place, row.text)


def _name(session: object) -> str:
    try:
        if isinstance(session, str) and session.encode():
            return session
    except UnicodeEncodeError:
        pass
    raise StoreDamaged(
        f"there are turns of a session that is called {session!r}, which no session can be",
        hint=_HINT,
    )


def _with(turn: Turn, data: dict[int, bytes] | dict[int, None]) -> Turn:
    parts: tuple[Part, ...] = tuple(
        replace(part, data=data[number]) if isinstance(part, MediaPart) and number in data else part
        for number, part in enumerate(turn.parts)
    )
    return replace(turn, parts=parts)

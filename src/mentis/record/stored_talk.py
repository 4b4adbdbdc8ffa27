"""A conversation that is read where somebody looks at it: a few turns cost what a few are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

from mentis.values.part import MediaPart
from mentis.values.turn import Turn

from .agent_record import AgentRecord

_PIECE = 64  # turns that are read at once


@dataclass(slots=True)
class StoredTalk(Sequence[Turn]):
    """The turns of one session as they are when they are first looked at. It blocks.

    All of them are read where a piece is not enough: `last_turns` knows no bytes of attachments,
    and only a whole session can tell what is wrong with it where a turn is missing.
    """

    record: AgentRecord
    session: str
    _length: int = -1
    _pieces: dict[int, dict[int, Turn]] = field(default_factory=dict[int, dict[int, Turn]])
    _whole: tuple[Turn, ...] | None = None

    def __len__(self) -> int:
        if self._length < 0:
            last = self._read(1, None)
            self._length = max(last, default=-1) + 1
        return self._length

    @overload
    def __getitem__(self, place: int) -> Turn: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Turn, ...]: ...
    def __getitem__(self, place: int | slice) -> Turn | tuple[Turn, ...]:
        if isinstance(place, slice):
            return tuple(self[number] for number in range(*place.indices(len(self))))
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        turn = None if self._whole is not None else self._piece(number // _PIECE).get(number)
        if turn is None or any(isinstance(part, MediaPart) for part in turn.parts):
            return self._all()[number]
        return turn

    def _piece(self, place: int) -> dict[int, Turn]:
        if place not in self._pieces:
            self._pieces[place] = self._read(_PIECE, (place + 1) * _PIECE)
        return self._pieces[place]

    def _read(self, count: int, before: int | None) -> dict[int, Turn]:
        ledger, agent = self.record.ledger, self.record.agent
        return dict(ledger.last_turns(agent, self.session, count, before=before))

    def _all(self) -> tuple[Turn, ...]:
        if self._whole is None:
            self._whole = self.record.turns(self.session)
        return self._whole

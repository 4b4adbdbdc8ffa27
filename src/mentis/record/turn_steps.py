"""The journal of a turn under way: each answer with calls, written down before they are done.

It is a mark, set in the transaction that writes the calls down and taken away in that of the entry
which ends the turn. So a process that is killed in between leaves what the model had said by then,
and by the keys of its acts what came of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from mentis.codec.forms import from_json, to_object
from mentis.errors import BadInput
from mentis.ports.marks import Marks
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.part import MediaPart
from mentis.values.turn import Turn
from mentis.values.value import Value
from mentis.values.written import dump

from .seals import is_ours, make_seal

STEP = "step"
_PURPOSE = b"mentis/step"
_MEDIA = "media-"  # sorts after the numbers of steps
T = TypeVar("T", bound=Value)


@dataclass(frozen=True, slots=True)
class JournalledCall(Value):
    """A call of the model, and the key of the act that was made of it."""

    id: str
    type: str
    key: str


@dataclass(frozen=True, slots=True)
class JournalledStep(Value):
    """`said` is the answer as the conversation keeps it. What an entry says of the turn, of what
    was asked and of the call that gave the answer stands in `turn`, `asked` and `call`. `opening`
    is what came before the first answer, `told` are the acts whose outcome was news to the model.
    """

    said: Turn
    calls: tuple[JournalledCall, ...]
    turn: JsonObject
    asked: JsonObject
    call: JsonObject
    opening: tuple[Turn, ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalledMedia(Value):
    """What came with the result of an act: the record has its digests alone."""

    parts: tuple[MediaPart, ...]


@dataclass(frozen=True, slots=True)
class JournalledTurn:
    """The steps of one turn, up to one that is not ours or cannot be read; `ends` are the marks
    that take all of them away. `media` are those of its results, by the keys of their acts.
    """

    number: int
    steps: tuple[JournalledStep, ...]
    ends: tuple[Mark, ...]
    media: Mapping[str, tuple[MediaPart, ...]]


class StepJournal:
    """Of one agent. What it writes is sealed with the home's secret: a mark is bound by no entry,
    and what another put there is told to nobody as the words of the model.
    """

    def __init__(self, marks: Marks, agent: str, secret: bytes) -> None:
        self._marks = marks
        self._agent = agent
        self._secret = secret

    def mark(self, session: str, number: int, before: Sequence[Mark], step: JournalledStep) -> Mark:
        """For the next answer of the turn of message `number`, after those journalled `before`.

        A turn is known by its first act: what nobody said has the number of what is said next.
        """
        turn = before[0].key.split("/")[2] if before else step.calls[0].key
        return self._mark(f"{session}/{number:09}/{turn}/{len(before):03}", step)

    def media_mark(self, step: Mark, act: str, parts: Sequence[MediaPart]) -> Mark:
        """For what came with the result of an act, of the turn that this step belongs to."""
        turn = step.key.rpartition("/")[0]
        return self._mark(f"{turn}/{_MEDIA}{act}", JournalledMedia(tuple(parts)))

    def _mark(self, key: str, told: Value) -> Mark:
        written = to_object(told)
        return Mark(STEP, key, {"step": written, "seal": self._seal(key, written)})

    def turns(self, session: str) -> list[JournalledTurn]:
        """Those that are under way in a session, or were left so. It blocks."""
        found: dict[tuple[int, str], list[Mark]] = {}
        for mark in self._marks.marks(self._agent, STEP):
            match mark.key.split("/"):
                case [name, number, turn, _] if name == session and number.isdecimal():
                    found.setdefault((int(number), turn), []).append(mark)
                case _:  # of another session, or of nobody
                    pass
        return [self._turn(number, marks) for (number, _), marks in sorted(found.items())]

    def _turn(self, number: int, marks: Sequence[Mark]) -> JournalledTurn:
        steps: list[JournalledStep] = []
        media: dict[str, tuple[MediaPart, ...]] = {}
        broken = False
        for mark in marks:
            _, is_media, act = mark.key.partition(f"/{_MEDIA}")
            if is_media:
                came = self._read(JournalledMedia, mark)
                media[act] = came.parts if came is not None else ()
            elif (step := self._read(JournalledStep, mark)) is not None and not broken:
                steps.append(step)
            else:
                broken = True
        ends = tuple(Mark(STEP, mark.key) for mark in marks)
        return JournalledTurn(number, tuple(steps), ends, media)

    def _read(self, cls: type[T], mark: Mark) -> T | None:
        found = (mark.value or {}).get("step")
        if not isinstance(found, Mapping):
            return None
        written = cast("JsonObject", found)
        if not is_ours(self._seal(mark.key, written), (mark.value or {}).get("seal")):
            return None
        try:
            return from_json(cls, dump(written))
        except BadInput:
            return None

    def _seal(self, key: str, written: JsonObject) -> str:
        content = key.encode() + b"\0" + dump(written)
        return make_seal(self._secret, _PURPOSE, self._agent, content)

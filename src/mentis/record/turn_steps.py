"""The journal of a turn under way: each answer with calls, written down before they are done.

It is a mark, set in the transaction that writes the calls down and taken away in that of the entry
which ends the turn. So a process that is killed in between leaves what the model had said by then,
and by the keys of its acts what came of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import cast

from mentis.codec.forms import from_json, to_object
from mentis.errors import BadInput
from mentis.ports.marks import Marks
from mentis.values.json import JsonObject
from mentis.values.mark import Mark
from mentis.values.turn import Turn
from mentis.values.value import Value
from mentis.values.written import dump

STEP = "step"
_KEY_BYTES = 64
_PURPOSE = b"mentis/step"


@dataclass(frozen=True, slots=True)
class JournalledCall(Value):
    """A call of the model, and the key of the act that was made of it."""

    id: str
    type: str
    key: str


@dataclass(frozen=True, slots=True)
class JournalledStep(Value):
    """`said` is the answer as the conversation keeps it. What an entry says of the turn, of what
    was asked and of the call that gave the answer stands in `turn`, `asked` and `call`.
    """

    said: Turn
    calls: tuple[JournalledCall, ...]
    turn: JsonObject
    asked: JsonObject
    call: JsonObject


class StepJournal:
    """Of one agent. What it writes is sealed with the home's secret: a mark is bound by no entry,
    and what another put there is told to nobody as the words of the model.
    """

    def __init__(self, marks: Marks, agent: str, secret: bytes) -> None:
        self._marks = marks
        self._agent = agent
        self._secret = secret

    def mark(self, session: str, number: int, place: int, step: JournalledStep) -> Mark:
        """For the answer that came as number `place` in the turn of message `number`."""
        key, written = f"{session}/{number:09}/{place:03}", to_object(step)
        return Mark(STEP, key, {"step": written, "seal": self._seal(key, written)})

    def numbers(self, session: str) -> list[int]:
        """Those of the turns that are under way in a session, or were left so. It blocks."""
        keys = (mark.key.split("/") for mark in self._marks.marks(self._agent, STEP))
        return sorted({int(number) for name, number, _ in keys if name == session})

    def read(self, session: str, number: int) -> tuple[list[JournalledStep], list[Mark]]:
        """The steps in their order, up to one that is not ours or cannot be read, and the marks
        that take all of them away. It blocks.
        """
        begins, steps, whole = f"{session}/{number:09}/", list[JournalledStep](), True
        found = [one for one in self._marks.marks(self._agent, STEP) if one.key.startswith(begins)]
        for mark in found:
            step = self._step(mark)
            whole = whole and step is not None
            if whole and step is not None:
                steps.append(step)
        return steps, [Mark(STEP, mark.key) for mark in found]

    def _step(self, mark: Mark) -> JournalledStep | None:
        found = (mark.value or {}).get("step")
        if not isinstance(found, Mapping):
            return None
        written = cast("JsonObject", found)
        seal = self._seal(mark.key, written)
        if not seal or seal != (mark.value or {}).get("seal"):
            return None
        try:
            return from_json(JournalledStep, dump(written))
        except BadInput:
            return None

    def _seal(self, key: str, written: JsonObject) -> str:
        """Nothing without a secret: then nobody could tell ours from another's."""
        if not self._secret:
            return ""
        hashed = blake2b(key=self._secret[:_KEY_BYTES], person=_PURPOSE, digest_size=32)
        hashed.update("\0".join((self._agent, key, "")).encode() + dump(written))
        return hashed.hexdigest()

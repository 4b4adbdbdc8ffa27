"""The call by which a final answer is given is the answer: its arguments are the words.

Nothing is done on it and nothing comes of it, so that it is neither an action nor a call that a
later request would have to tell the result of.
"""

from __future__ import annotations

from dataclasses import replace

from mentis.values.part import TextPart, ToolCallPart
from mentis.values.reply import AgainDelta, CallDelta, Delta, Reply, ReplyProblem, TextDelta
from mentis.values.written import dump

from .window import InnerReader


class AnswerByCall:
    """Reads the calls of the tool `name` as the answer of any reader."""

    def __init__(self, inner: InnerReader, name: str) -> None:
        self._inner = inner
        self._name = name
        self._names: dict[int, str] = {}
        self._told = False  # words, which are not the answer if a call gives it
        self._answer: int | None = None  # the call that gives it
        self._answered = False  # a piece of the answer was told

    def feed(self, event: str) -> tuple[Delta, ...]:
        return self._passed(self._inner.feed(event))

    def take(self, event: str) -> None:
        self._inner.take(event)

    def rest(self) -> tuple[Delta, ...]:
        """With the answer itself, where it was no call that could be told in pieces."""
        deltas = self._passed(self._inner.rest())
        if self._answered or not self._is_given():
            return deltas
        return (*deltas, *self._said(self.finish().text))

    def finish(self, *, interrupted: bool = False) -> Reply:
        reply = self._inner.finish(interrupted=interrupted)
        return answered_by_call(reply, self._name)

    def _is_given(self) -> bool:
        reply = self._inner.finish()
        return any(action.type == self._name for action in reply.actions)

    def _passed(self, deltas: tuple[Delta, ...]) -> tuple[Delta, ...]:
        passed: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, CallDelta):
                passed += self._call(delta)
                continue
            if isinstance(delta, TextDelta):
                if self._answered:
                    continue  # words beside the answer
                self._told = True
            elif isinstance(delta, AgainDelta):
                self._told = False
            passed.append(delta)
        return tuple(passed)

    def _call(self, delta: CallDelta) -> tuple[Delta, ...]:
        name = self._names[delta.index] = self._names.get(delta.index, "") + delta.name
        if name != self._name:
            return (delta,)
        if self._answer is None:
            self._answer = delta.index
        return self._said(delta.arguments) if self._answer == delta.index else ()

    def _said(self, text: str) -> tuple[Delta, ...]:
        if not text:
            return ()
        told, self._told, self._answered = self._told, False, True
        instead = (AgainDelta((), keeps=False),) if told else ()
        return (*instead, TextDelta(text))


def answered_by_call(reply: Reply, name: str) -> Reply:
    """The reply whose text is what its call of the tool `name` says; as it is without such a call.

    Of several such calls the first counts. Arguments that cannot be read are the text all the same:
    what is wrong with it is found where the answer is held against its form.
    """
    given = [action for action in reply.actions if action.type == name]
    broken = [problem for problem in reply.errors if problem.action == name]
    if not given and not broken:
        return reply
    ids = {action.call_id for action in given} | {problem.call_id for problem in broken}
    text = dump(dict(given[0].payload)).decode() if given else broken[0].raw
    notes = [*reply.notes, *broken]
    if reply.text.strip():
        notes.append(ReplyProblem("words-beside", "words stood beside the answer", reply.text))
    if len(given) > 1:
        notes.append(ReplyProblem("answers", f"{len(given)} answers were given: the first counts"))
    others = [part for part in reply.parts if not _is_replaced(part, ids)]
    place = next((n for n, part in enumerate(others) if isinstance(part, ToolCallPart)), None)
    others.insert(len(others) if place is None else place, TextPart(text))
    actions = tuple(action for action in reply.actions if action.type != name)
    return replace(
        reply,
        text=text,
        stop="end" if reply.stop == "tool_use" and not actions else reply.stop,
        actions=actions,
        errors=tuple(problem for problem in reply.errors if problem.action != name),
        parts=tuple(others),
        notes=tuple(notes),
    )


def _is_replaced(part: object, ids: set[str]) -> bool:
    return isinstance(part, TextPart) or (isinstance(part, ToolCallPart) and part.id in ids)

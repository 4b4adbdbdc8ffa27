"""Turns become messages: parts sorted to who may say them, calls answered, neighbours merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from mentis.facts.ability import Abilities
from mentis.values.json import JsonObject
from mentis.values.part import (
    MediaPart,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.rendering import Loss
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .draft import Call, Item, Media, Message, Result, Speaker, Text, Thought
from .media import lay_media
from .names import Ids, Names
from .notices import NO_RESULT, not_sent, notice, orphan, result_of
from .pairing import Pairs, pair
from .wording import clean, sayable

_NONE: JsonObject = {}
# What the state of a thought must hold for its issuer to take it back, by wire and by its type.
_REPLAYS = {
    ("anthropic", ""): ("signature",),
    ("anthropic", "thinking"): ("signature",),
    ("anthropic", "redacted_thinking"): ("data",),
    ("openai-responses", ""): ("id", "encrypted_content"),
    ("openai-responses", "reasoning"): ("id", "encrypted_content"),
    ("gemini", ""): ("thoughtSignature",),
}


@dataclass(slots=True)
class Telling:
    """One history being told. `issuer` is the wire and model that state may go back to."""

    able: Abilities
    wire: str
    model: str
    names: Names
    ids: Ids = field(default_factory=Ids)
    losses: list[Loss] = field(default_factory=list[Loss])
    messages: list[Message] = field(default_factory=list[Message])
    _issued: set[str] = field(default_factory=set[str])

    def tell(self, turns: Sequence[Turn]) -> list[Message]:
        pairs = pair(turns)
        for number, turn in enumerate(turns):
            before = len(self.losses)
            told = self._turn(turn, number, pairs) or any(
                type(part) is ToolResultPart for part in turn.parts
            )
            if not told and len(self.losses) == before:
                self.lose("empty-turn", f"turn {number} of the history has nothing to send")
        return self.messages

    def lose(self, code: str, message: str) -> None:
        self.losses.append(Loss(code, message))

    def _turn(self, turn: Turn, number: int, pairs: Pairs) -> bool:
        """Say the turn's parts in their order; answers follow the run of calls they belong to."""
        answers: list[Result] = []
        told = False
        fresh = True
        for index, part in enumerate(turn.parts):
            if answers and type(part) is not ToolCallPart:
                answers = self._flush(answers)
            role, item = self._part(part, turn, (number, index), pairs)
            if item is None:
                continue
            told = True
            self._say(role, item, fresh=fresh or type(part) is ToolCallPart)
            fresh = type(part) is ToolCallPart
            if type(item) is Call:
                answers.append(self._result(item, pairs, (number, index)))
            elif type(part) is ToolCallPart:
                self._say_result(part, pairs, (number, index))
        self._flush(answers)
        return told

    def _flush(self, answers: list[Result]) -> list[Result]:
        if answers:
            self.messages.append(Message("tool", list[Item](answers)))
        return []

    def _say(self, role: Speaker, item: Item, *, fresh: bool) -> None:
        """Append to the last message where the same one speaks on; texts of one turn run on."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != role:
            self.messages.append(Message(role, [item]))
            return
        end = last.items[-1]
        if type(item) is Text and type(end) is Text and not (fresh or item.state or end.state):
            end.spans = [*end.spans, *item.spans]
        else:
            last.items.append(item)

    def _part(
        self, part: object, turn: Turn, place: tuple[int, int], pairs: Pairs
    ) -> tuple[Speaker, Item | None]:
        number = place[0]
        match part:
            case TextPart():
                return turn.role, self._text(part, turn, number)
            case ToolCallPart():
                return "assistant", self._call(part, turn, place)
            case ToolResultPart():
                return "user", self._leftover(part, place, pairs)
            case ReasoningPart():
                return "assistant", self._thought(part, number)
            case MediaPart():
                return turn.role, self._media(part, turn)
            case _:
                assert_never(part)  # pyright: ignore[reportArgumentType]  # Part is closed

    def _text(self, part: TextPart, turn: Turn, number: int) -> Text | None:
        state = self._state(part.state, number) if part.state else _NONE
        # A signature may ride on an empty text, and has to go back on one.
        signed = self.wire == "gemini" and "thoughtSignature" in state
        if not part.text.strip() and not signed:
            if part.text:
                self.lose("empty-text", f"turn {number} has a text of blanks alone")
            return None
        span = Span(
            clean(part.text, self.losses),
            source=f"{turn.role} turn {number}",
            trust=turn.lineage,
            stability=Stability.SESSION,
        )
        return Text([span], state)

    def _call(self, part: ToolCallPart, turn: Turn, place: tuple[int, int]) -> Item:
        if turn.role != "assistant":
            self.lose(
                "misplaced-call", f"turn {place[0]} of the user holds a call of {part.name!r}"
            )
        arguments, text = sayable(part.arguments, part.name, self.losses)
        if not self.able.native_tools:
            said = f'{{"actions":[{{"type":"{_plain(part.name)}","payload":{text}}}]}}'
            return Text([_span(said, f"call of {part.name}", Trust.SELF)])
        state = self._state(part.state, place[0]) if part.state else _NONE
        wire_id = self.ids.issue(part.id, f"call_{place[0]}_{place[1]}")
        if part.id in self._issued:
            self.lose("duplicate-id", f"the id {part.id!r} was used before; now it is {wire_id!r}")
        self._issued.add(part.id)
        return Call(wire_id, self.names.wire(part.name), arguments, text, state)

    def _result(self, call: Call, pairs: Pairs, place: tuple[int, int]) -> Result:
        part = pairs.answers.get(place)
        if part is None:
            self.lose("missing-result", f"the call {call.id!r} of {call.name!r} has no result")
            span = notice(NO_RESULT, why="a call must be answered")
            return Result(call.id, call.name, span, failed=True)
        text = clean(part.text, self.losses)
        return Result(call.id, call.name, _span(text, f"result of {part.name}"), failed=part.failed)

    def _say_result(self, call: ToolCallPart, pairs: Pairs, place: tuple[int, int]) -> None:
        """Where there are no native tools, an answer is a text of the user's side."""
        part = pairs.answers.get(place)
        if part is None:
            self.lose("missing-result", f"the call {call.id!r} of {call.name!r} has no result")
            self._say("user", Text([notice(NO_RESULT, why="a call was not answered")]), fresh=True)
            return
        heading = notice(result_of(_plain(call.name), failed=part.failed), why="tool result")
        body = _span(clean(part.text, self.losses), f"result of {part.name}")
        self._say("user", Text([heading, body]), fresh=True)

    def _leftover(self, part: ToolResultPart, place: tuple[int, int], pairs: Pairs) -> Text | None:
        """A result that answers nothing is told as text, a second one for a call not at all."""
        if place in pairs.repeated:
            self.lose("duplicate-result", f"a second result of call {part.call_id!r} is left out")
            return None
        if place not in pairs.orphans:
            return None
        self.lose("orphan-result", f"the result of {part.name!r} has no call and is told as text")
        heading = notice(orphan(_plain(part.name)), why="a result without its call")
        return Text([heading, _span(clean(part.text, self.losses), f"result of {part.name}")])

    def _thought(self, part: ReasoningPart, number: int) -> Thought | None:
        state = self._state(part.state, number) if part.state else _NONE
        wanted = _REPLAYS.get((self.wire, str(state.get("type", ""))), ())
        if wanted and all(state.get(name) for name in wanted):
            return Thought(clean(part.text, self.losses), state)
        if state or part.state is None:
            self.lose("reasoning", f"reasoning of turn {number} cannot be replayed here")
        return None

    def _media(self, part: MediaPart, turn: Turn) -> Media | Text:
        if turn.role == "assistant":
            reason = "what the assistant made is not sent back"
            self.lose("media-not-sent", f"{part.kind} {part.name!r}: {reason}")
            return Text([notice(not_sent(part, reason), why="made by the assistant")])
        return lay_media(part, self.able, Stability.SESSION, self.losses)

    def _state(self, state: ProviderState, number: int) -> JsonObject:
        """State is for the one who issued it; anybody else would refuse it."""
        if state.provider == self.wire and state.model == self.model:
            return state.data
        issuer = f"{state.provider} {state.model}".strip()
        self.lose("foreign-state", f"state of turn {number} was issued by {issuer}")
        return _NONE


def _span(text: str, source: str, trust: Trust = Trust.UNTRUSTED) -> Span:
    return Span(text, source=source, trust=trust, stability=Stability.SESSION)


def _plain(name: str) -> str:
    """A tool's name on one line, without what would end the quotation it stands in."""
    return "".join(c if c.isprintable() and c not in '"\\[]' else "_" for c in name)

"""Turns become messages: parts sorted to who may say them, calls answered, neighbours merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from mentis.facts.ability import Abilities
from mentis.values.json import JsonObject
from mentis.values.part import (
    MediaPart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.rendering import Loss
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .draft import (
    GEMINI_OWN,
    CallItem,
    Item,
    Media,
    Result,
    Speaker,
    Text,
    ThoughtItem,
    WireMessage,
    of,
)
from .media import MediaDesk
from .memo import RUN, remember_message, remember_run, runs_of
from .names import CallIds, Names
from .notices import Notices, notice
from .pairing import Pairs, Place
from .wording import Guard, clean, in_words, sayable

_NONE: JsonObject = {}
# Looked up once, and used for every part.
_SELF, _SESSION = Trust.SELF, Stability.SESSION
_OUTSIDE = "text from outside"
# Who says a part; all others are the turn's own.
_SPEAKERS: dict[type[Part], Speaker] = {
    ToolCallPart: "assistant",
    ReasoningPart: "assistant",
    ToolResultPart: "user",
}
# The formats in which the arguments of a call are a text.
_TEXT_ARGUMENTS = ("openai-chat", "openai-responses")
# What a result can hold beside its text, where a model takes that at all.
_PAGES = frozenset({"image", "document"})
_NO_KINDS = frozenset[str]()
_IN_RESULTS = {"anthropic": _PAGES, "openai-responses": _PAGES, "gemini": _PAGES}
# What the state of a thought must hold for its issuer to take it back, by wire and by its type.
_REPLAYS = {
    ("anthropic", ""): ("signature",),
    ("anthropic", "thinking"): ("signature",),
    ("anthropic", "redacted_thinking"): ("data",),
    ("openai-responses", ""): ("id", "encrypted_content"),
    ("openai-responses", "reasoning"): ("id", "encrypted_content"),
    ("gemini", ""): ("thoughtSignature",),
    **{("gemini", name): (name,) for name in GEMINI_OWN},
    # What some servers behind this format want back, and blocks of tools the provider itself used.
    ("openai-chat", ""): ("reasoning_details",),
    ("openai-chat", "reasoning_content"): ("type",),
    ("openai-chat", "reasoning"): ("type",),
    ("anthropic", "server_tool_use"): ("id", "name"),
    ("anthropic", "tool_result"): ("tool_use_id",),
}


@dataclass(slots=True)
class Telling:
    """One history being told. `issuer` is the wire and model that state may go back to."""

    able: Abilities
    wire: str
    model: str
    names: Names
    notices: Notices
    guard: Guard
    spare: int = 0
    ids: CallIds = field(default_factory=CallIds)
    losses: list[Loss] = field(default_factory=list[Loss])
    messages: list[WireMessage] = field(default_factory=list[WireMessage])
    _issued: set[str] = field(default_factory=set[str])
    _sent: set[Place] = field(default_factory=set[Place])  # media that went with their result
    _laid: dict[Place, Text] = field(default_factory=dict[Place, Text])
    _headed: set[int] = field(default_factory=set[int])
    desk: MediaDesk = field(init=False)

    def __post_init__(self) -> None:
        self.desk = MediaDesk(self.able, self.notices, self.losses, self.spare, self.wire)

    def tell(self, turns: Sequence[Turn], pairs: Pairs) -> list[WireMessage]:
        for first, run in runs_of(turns):
            if len(run) == RUN and all(_is_plain(turn) for turn in run):
                key = ("told", first, self.guard.tags, self.guard.headings)
                messages, lost = remember_run(partial(self._plain_run, first), key, run)
                self.losses += lost
                self._join(messages)
            else:
                self.tell_each(run, first, pairs)
        return self.messages

    def _plain_run(self, first: int, *turns: Turn) -> tuple[list[WireMessage], list[Loss]]:
        """Their messages, as if nothing had been said before, and what their words lost."""
        apart = replace(self, messages=[], losses=[])
        apart.tell_each(turns, first, Pairs())
        return apart.messages, apart.losses

    def tell_each(self, turns: Sequence[Turn], first: int, pairs: Pairs) -> None:
        losses = self.losses
        for number, turn in enumerate(turns, start=first):
            before = len(losses)
            told = self._turn(turn, number, pairs)
            if not told and len(losses) == before:
                self.lose("empty-turn", f"turn {number} of the history has nothing to send")

    def _join(self, messages: Sequence[WireMessage]) -> None:
        """Where the first is said by whoever spoke last, it is part of that message."""
        here = self.messages
        if here and messages and (last := here[-1]).role == messages[0].role:
            here[-1] = WireMessage(last.role, [*last.items, *messages[0].items])
            messages = messages[1:]
        here += messages

    def lose(self, code: str, message: str) -> None:
        self.losses.append(Loss(code, message))

    def _turn(self, turn: Turn, number: int, pairs: Pairs) -> bool:
        """Say the turn's parts in their order; answers follow the run of calls they belong to."""
        parts = turn.parts
        if _is_plain(turn):
            return self._plain_turn(turn, number)
        answers: list[Item] = []
        spoken: list[tuple[ToolCallPart, Place]] = []  # calls whose results are told as text
        told = False
        fresh = True
        # What an answer says after its calls it said before there were results, unless these stand
        # in the same turn.
        results = any(type(part) is ToolResultPart for part in parts)
        between = results or turn.role != "assistant"
        for index, part in enumerate(parts):
            place, calls = (number, index), type(part) is ToolCallPart
            if between and not calls:
                self._answer(answers, spoken, pairs)
                answers, spoken = [], []
            item = self._item(part, turn, place, pairs)
            if item is None:
                # With the call that it answers, or with the result that it came with.
                told = told or type(part) is ToolResultPart or place in self._sent
                continue
            told = True
            self._say(_SPEAKERS.get(type(part), turn.role), item, fresh=fresh or calls)
            fresh = calls
            if type(item) is CallItem:
                answers.append(self._result(item, pairs, place))
            elif type(part) is ToolCallPart:
                spoken.append((part, place))
        self._answer(answers, spoken, pairs)
        return told

    def _plain_turn(self, turn: Turn, number: int) -> bool:
        """A turn of one text is made a message once, for as long as it is told in its place."""
        key = ("told", number, self.guard.tags, self.guard.headings)
        message, lost = remember_message(partial(self._plain_message, number), key, turn)
        self.losses += lost
        self._join([message] if message else [])
        return message is not None

    def _plain_message(self, number: int, turn: Turn) -> tuple[WireMessage | None, list[Loss]]:
        """The message, and what its words lost."""
        before, part = len(self.losses), cast("TextPart", turn.parts[0])
        text = self._text(part, turn, number)
        lost = self.losses[before:]
        del self.losses[before:]
        return None if text is None else WireMessage(turn.role, [text], lasting=True), lost

    def _answer(
        self, answers: list[Item], spoken: list[tuple[ToolCallPart, Place]], pairs: Pairs
    ) -> None:
        if answers:
            self.messages.append(WireMessage("tool", answers))
        for call, place in spoken:
            self._say_result(call, pairs, place)

    def _say(self, role: Speaker, item: Item, *, fresh: bool) -> None:
        """Append to the last message where the same one speaks on; texts of one turn run on."""
        messages = self.messages
        if not messages or (last := messages[-1]).role != role:
            messages.append(WireMessage(role, [item]))
            return
        end = last.items[-1]
        if type(item) is Text and type(end) is Text and not (fresh or item.state or end.state):
            items = [*last.items[:-1], Text(end.text + item.text, (*end.spans, *item.spans))]
        else:
            items = [*last.items, item]
        messages[-1] = WireMessage(role, items)

    def _item(self, part: Part, turn: Turn, place: tuple[int, int], pairs: Pairs) -> Item | None:
        # Not a `match`: there is one of these for every part, and this is twice as fast.
        if isinstance(part, TextPart):
            return self._text(part, turn, place[0])
        if isinstance(part, ToolCallPart):
            return self._call(part, turn, place)
        if isinstance(part, ToolResultPart):
            return self._leftover(part, place, pairs)
        if isinstance(part, ReasoningPart):
            return self._thought(part, place[0])
        return self._media(part, turn, place, pairs)

    def _text(self, part: TextPart, turn: Turn, number: int) -> Text | None:
        text, role = part.text, turn.role
        state = self._state(part.state, number) if part.state else _NONE
        if (not text or text.isspace()) and not self._is_signed(state):
            if text:
                self.lose("empty-text", f"turn {number} has a text of blanks alone")
            return None
        if "citations" in state:
            self.lose("citations", f"citations in turn {number} are not sent back")
        if role != "assistant":
            text = self.guard.text(text, self.losses)
        elif not text.isascii():
            text = clean(text, self.losses)
        return Text(text, f"{role} turn {number}", turn.lineage, _SESSION, state)

    def _is_signed(self, state: JsonObject) -> bool:
        """A signature may ride on an empty text, and has to go back on one."""
        return self.wire == "gemini" and "thoughtSignature" in state

    def _call(self, part: ToolCallPart, turn: Turn, place: tuple[int, int]) -> Item:
        if turn.role != "assistant":
            self.lose(
                "misplaced-call", f"turn {place[0]} of the user holds a call of {part.name!r}"
            )
        raw = self._raw(part)
        arguments, size = sayable(part.arguments, part.name, self.losses)
        if not self.able.native_tools:
            said = (
                f'{{"actions":[{{"type":"{_plain(part.name)}","payload":{in_words(arguments)}}}]}}'
            )
            return Text(said, f"call of {part.name}", _SELF)
        state = self._state(part.state, place[0]) if part.state else _NONE
        wire_id = self.ids.issue(part.id, place)
        if part.id in self._issued:
            self.lose("duplicate-id", f"the id {part.id!r} was used before; now it is {wire_id!r}")
        self._issued.add(part.id)
        name = self.names.wire(part.name)
        return CallItem(wire_id, name, arguments, state, size + len(raw), raw)

    def _raw(self, part: ToolCallPart) -> str:
        """Arguments that nobody could read, where they may go back as the text they were."""
        if not part.raw:
            return ""
        if self.able.native_tools and self.able.raw_arguments and self.wire in _TEXT_ARGUMENTS:
            return clean(part.raw, self.losses)
        told = f"the arguments of an earlier call of {part.name!r} are no JSON, and left out"
        self.lose("raw-arguments", told)
        return ""

    def _result(self, call: CallItem, pairs: Pairs, place: tuple[int, int]) -> Result:
        part = pairs.answers.get(place)
        if part is None:
            self.lose("missing-result", f"the call {call.id!r} of {call.name!r} has no result")
            told = self.notices.say("notice_no_result")
            spans = (notice(told, why="a call must be answered"),)
            return Result(told, spans, id=call.id, name=call.name, failed=True)
        text = clean(part.text, self.losses)
        # One format refuses anything but text in the result of a call that failed.
        inside = part.media and not (part.failed and self.wire == "anthropic")
        media = self._result_media(pairs, place) if inside else ()
        if part.fence is None:
            source = f"result of {part.name}"
            told = Result(text, source, part.trust, _SESSION, call.id, call.name, part.failed)
            told.media = media
            return told
        spans = _told_result(part, text)
        joined = join_spans(spans)
        return Result(joined, spans, id=call.id, name=call.name, failed=part.failed, media=media)

    def _result_media(self, pairs: Pairs, call: Place) -> tuple[Media, ...]:
        """Those that the format takes inside of a result; the others are said beside it."""
        kinds = _IN_RESULTS.get(self.wire, _NO_KINDS) if self.able.result_media else _NO_KINDS
        laid: list[Media] = []
        for where, part in pairs.media.get(call, {}).items():
            if part.kind not in kinds or part.data is None:
                continue
            item = self.desk.lay(part, _SESSION)
            if isinstance(item, Media):
                laid.append(item)
                self._sent.add(where)
            else:
                self._laid[where] = item
        return tuple(laid)

    def _say_result(self, call: ToolCallPart, pairs: Pairs, place: tuple[int, int]) -> None:
        """Where there are no native tools, an answer is a text of the user's side."""
        part = pairs.answers.get(place)
        if part is None:
            self.lose("missing-result", f"the call {call.id!r} of {call.name!r} has no result")
            told = notice(self.notices.say("notice_no_result"), why="a call was not answered")
            self._say("user", of(told), fresh=True)
            return
        topic = "notice_failed_result" if part.failed else "notice_result"
        heading = self.notices.say(topic, name=_plain(call.name))
        body = _told_result(part, self.guard.text(part.text, self.losses))
        self._say("user", of(notice(f"{heading}\n", why="tool result"), *body), fresh=True)

    def _leftover(self, part: ToolResultPart, place: tuple[int, int], pairs: Pairs) -> Text | None:
        """A result that answers nothing is told as text, a second one for a call not at all."""
        if not pairs.repeated and not pairs.orphans:  # as in most conversations
            return None
        if place in pairs.repeated:
            self.lose("duplicate-result", f"a second result of call {part.call_id!r} is left out")
            return None
        if place not in pairs.orphans:
            return None
        self.lose("orphan-result", f"the result of {part.name!r} has no call and is told as text")
        heading = self.notices.say("notice_orphan", name=_plain(part.name))
        body = _told_result(part, self.guard.text(part.text, self.losses))
        return of(notice(f"{heading}\n", why="a result without its call"), *body)

    def _thought(self, part: ReasoningPart, number: int) -> ThoughtItem | None:
        state = self._state(part.state, number) if part.state else _NONE
        wanted = _REPLAYS.get((self.wire, _kind(state, self.wire)), ())
        if wanted and all(state.get(name) for name in wanted):
            return ThoughtItem(clean(part.text, self.losses), state)
        if state or part.state is None:
            self.lose("reasoning", f"reasoning of turn {number} cannot be replayed here")
        return None

    def _media(
        self, part: MediaPart, turn: Turn, place: Place, pairs: Pairs
    ) -> Media | Text | None:
        if place in self._sent:
            return None
        if (result := pairs.media_of.get(place)) is not None:
            self._head_media(result)
            return self._laid.get(place) or self.desk.lay(part, _SESSION)
        if turn.role == "assistant":
            state = self._state(part.state, place[0]) if part.state else _NONE
            if part.data is not None and self._is_signed(state):
                return Media(part, part.mime, state)
            return self.desk.not_sent(part, self.notices.say("reason_own"), Stability.SESSION)
        return self.desk.lay(part, Stability.SESSION)

    def _head_media(self, result: ToolResultPart) -> None:
        """Beside its result a picture needs a word of whose it is, once."""
        if id(result) in self._headed:
            return
        self._headed.add(id(result))
        name = f"{_plain(result.name)} {_plain(result.call_id)}".strip()
        heading = self.notices.say("notice_result", name=name)
        self._say("user", of(notice(heading, why="media of a result")), fresh=True)

    def _state(self, state: ProviderState, number: int) -> JsonObject:
        """State is for the one who issued it; anybody else would refuse it."""
        if state.provider == self.wire and state.model == self.model:
            return state.data
        issuer = f"{state.provider} {state.model}".strip()
        self.lose("foreign-state", f"state of turn {number} was issued by {issuer}")
        return _NONE


def _kind(state: JsonObject, wire: str) -> str:
    """Which kind of thought it is: by its type, or by what a part of Gemini holds."""
    if wire == "gemini":
        other = "" if state.keys() <= {"thoughtSignature"} else "other"
        return next((name for name in state if name in GEMINI_OWN), other)
    kind = str(state.get("type", ""))
    # web_search_tool_result and its like
    return "tool_result" if kind.endswith("_tool_result") else kind


def _told_result(part: ToolResultPart, text: str) -> tuple[Span, ...]:
    """The text as this wire can say it, between its marks if it has any."""
    source = f"result of {part.name}"
    body = Span(text, source=source, trust=part.trust, stability=Stability.SESSION)
    if part.fence is None:
        return (body,)
    opening, closing = part.fence.opening, part.fence.closing
    return notice(opening, why=_OUTSIDE), body, notice(closing, why=_OUTSIDE)


def _is_plain(turn: Turn) -> bool:
    """Of one text, as most are."""
    parts = turn.parts
    return len(parts) == 1 and type(only := parts[0]) is TextPart and not only.state


def _plain(name: str) -> str:
    """A tool's name on one line, without what would end the quotation it stands in."""
    return "".join(c if c.isprintable() and c not in '"\\[]' else "_" for c in name)

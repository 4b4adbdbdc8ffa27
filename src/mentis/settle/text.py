"""Reads the answers of text engines, whose calls are words among the words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Protocol

from mentis.values.action import ActionOrigin
from mentis.values.part import TextPart, ToolCallPart
from mentis.values.reply import AgainDelta, Delta, Reply, ReplyProblem, TextDelta

from .calls import SettledCalls, settle_call
from .draft import DONE, Frank, ReplyDraft
from .expected import NOTHING_EXPECTED, Expectation
from .found import MOST_STARTS, FoundJson, find_json
from .held import CallHoldback
from .leaks import Leak, find_leaks, first_opening, has_unread_leak, without
from .lenient import objects_in, printable
from .openai_chat import ChatReader
from .shapes import ENVELOPES, Shape, WantedAction, names_offered, recognise
from .spoken import SpokenText
from .written import WrittenCall, WrittenHoldback, find_written

WIRE = "text"
# The beginning of an object or a list, up to where one of its values stands.
_OPEN = re.compile(r"\s*(?:```\w*\s*)?[\[{].*[\[{:,]\s*", re.DOTALL)
_BROKEN = ("cut_off", "interrupted", "error")


class WordsReader(Protocol):
    """The reader of the format in which the words come."""

    def feed(self, event: str) -> tuple[Delta, ...]: ...

    def take(self, event: str) -> None: ...

    def rest(self) -> tuple[Delta, ...]: ...

    def finish(self, *, interrupted: bool = False) -> Reply: ...


class PlainReader(Frank):
    """Each event is a piece of the text; events of a chat server are taken for what they carry."""

    def __init__(self, expected: Expectation = NOTHING_EXPECTED) -> None:
        self._expected = expected
        self._draft = ReplyDraft(WIRE, expected)
        self._chat: ChatReader | None = None

    def feed(self, event: str) -> tuple[Delta, ...]:
        if self._chat is None and not self._draft.raw and _is_chat(event):
            self._chat = ChatReader(self._expected)
        if self._chat is not None:
            return self._chat.feed(event)
        if event == DONE and not self._draft.raw:  # of a server that said nothing
            return ()
        self._draft.raw.append(event)
        if not event:
            return ()
        pieces = self._draft.pieces
        (pieces[0] if pieces else self._draft.open("text")).texts.append(event)
        return (TextDelta(event),)

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the engine."""
        if self._chat is not None:
            return self._chat.finish(interrupted=interrupted)
        # A text has no mark of its end: what came to its end without a cut is whole.
        self._draft.stop = "interrupted" if interrupted else "end"
        return self._draft.reply(interrupted=interrupted)


class InText:
    """Reads calls out of the words of any reader. Words that may be a call are held back.

    `bound`: the answer is held to a schema of calls and of words in `{"text": ...}`; those words
    are told while they come.
    """

    def __init__(self, inner: WordsReader, expected: Expectation, *, bound: bool = False) -> None:
        self._inner = inner
        self._expected = expected
        self._held = self._holdback()
        self._spoken = SpokenText() if bound else None
        self._told: list[str] = []
        self._finished: dict[bool, Reply] = {}  # asked for several times once all has come

    def _holdback(self) -> CallHoldback | WrittenHoldback:
        return CallHoldback(self._expected)

    def feed(self, event: str) -> tuple[Delta, ...]:
        self._finished.clear()
        return self._passed(self._inner.feed(event))

    def take(self, event: str) -> None:
        if self._spoken is not None:  # the words of a bound answer are what was told of it
            self.feed(event)
            return
        self._finished.clear()
        self._inner.take(event)

    def rest(self) -> tuple[Delta, ...]:
        """What is in the text and was not told yet."""
        self._finished.clear()
        deltas = self._passed(self._inner.rest())
        text, told = self.finish().text, "".join(self._told)
        same = (told, told.lstrip(), told.rstrip(), told.strip())
        known = next((one for one in same if text.startswith(one)), text)
        if len(text) == len(known):
            return deltas
        self._told = [text]
        self._finished.clear()
        return (*deltas, TextDelta(text[len(known) :]))

    def finish(self, *, interrupted: bool = False) -> Reply:
        """The whole reply. `interrupted` says that we stopped reading, not the engine."""
        if interrupted not in self._finished:
            self._finished[interrupted] = self._read(self._inner.finish(interrupted=interrupted))
        return self._finished[interrupted]

    def _read(self, reply: Reply) -> Reply:
        if self._spoken is not None and self._spoken.found and not _is_whole(reply.text):
            settled = SettledCalls()
            settled.note("cut-words", "the answer was cut short; its words up to there are kept")
            return _with(reply, settled, "".join(self._told))
        return self._interpreted(reply)

    def _interpreted(self, reply: Reply) -> Reply:
        return interpret(reply, self._expected)

    def _restart(self) -> None:
        """What was told so far was reasoning: the answer begins now."""
        self._told, self._held = [], self._holdback()

    def _passed(self, deltas: tuple[Delta, ...]) -> tuple[Delta, ...]:
        passed: list[Delta] = []
        for delta in deltas:
            if not isinstance(delta, TextDelta):
                if isinstance(delta, AgainDelta):
                    self._restart()
                passed.append(delta)
            elif told := self._tellable(delta.text):
                self._told.append(told)
                passed.append(delta if told == delta.text else TextDelta(told))
        return tuple(passed)

    def _tellable(self, text: str) -> str:
        if self._spoken is None:
            return self._held.feed(text)
        words = self._spoken.feed(text)
        if self._spoken.found is not False:
            return words
        unread, self._spoken = self._spoken.unread, None
        return self._held.feed(unread)


class NamedInText(InText):
    """The same for a model that has calls of its own: only what names an offered tool is one."""

    def _holdback(self) -> CallHoldback | WrittenHoldback:
        return WrittenHoldback(self._expected)

    def _interpreted(self, reply: Reply) -> Reply:
        return interpret_named(reply, self._expected)


def interpret_named(reply: Reply, expected: Expectation) -> Reply:
    """The reply with the calls of offered tools that its text holds, and without their words."""
    if reply.actions or not reply.text.strip():
        return reply
    if leaks := find_leaks(reply.text, expected):
        return _with_leaks(reply, leaks, expected)
    if written := find_written(reply.text, expected, whole=_is_complete(reply)):
        return _with_written(reply, written, expected)
    opening = first_opening(reply.text)
    if opening >= 0 and names_offered(reply.text[opening:], expected):
        return _without_unread(reply, "a call in the text cannot be read")
    return reply


def _is_complete(reply: Reply) -> bool:
    return reply.stop not in (*_BROKEN, "length")


def _with_leaks(reply: Reply, leaks: tuple[Leak, ...], expected: Expectation) -> Reply:
    wanted = [one for leak in leaks for one in leak.wanted]
    settled = _settled(reply, wanted, expected, "recovered")
    settled.note("leaked-call", f"{len(wanted)} calls stood in the text as markup")
    for leak in leaks:
        if leak.mended:
            _note_mended(settled, reply.text[leak.start : leak.end])
    return _with(reply, settled, without(reply.text, leaks))


def _with_written(reply: Reply, written: tuple[WrittenCall, ...], expected: Expectation) -> Reply:
    """What cannot be read even mended is an error with its words, and no answer either."""
    wanted = [one for call in written for one in call.wanted]
    mended = [call for call in written if call.mended]
    settled = _settled(reply, wanted, expected, "recovered" if mended else "json")
    if wanted:
        settled.note("written-call", f"{len(wanted)} calls stood in the text as JSON")
    for call in mended:
        _note_mended(settled, reply.text[call.start : call.end])
    for call in written:
        if call.broken:
            settled.problem("bad-json", call.broken, reply.text[call.start : call.end])
    kept, place = list[str](), 0
    for call in written:
        kept += [reply.text[place : call.start].strip(), *call.said]
        place = call.end
    kept.append(reply.text[place:].strip())
    return _with(reply, settled, "\n\n".join(text for text in kept if text))


def _note_mended(settled: SettledCalls, raw: str) -> None:
    settled.note("mended-json", "the JSON of a call was broken and could be mended", raw)


def _without_unread(reply: Reply, hint: str) -> Reply:
    settled = SettledCalls()
    settled.problem("bad-json", hint, reply.text)
    return _with(reply, settled, reply.text[: first_opening(reply.text)].strip())


def interpret(reply: Reply, expected: Expectation) -> Reply:
    """The reply with the actions that its text asks for, and without their words."""
    if expected.tools == () or not reply.text.strip() or reply.actions:
        return reply
    if leaks := find_leaks(reply.text, expected):
        return _with_leaks(reply, leaks, expected)
    if has_unread_leak(reply.text, expected):
        cut = _without_unread(reply, "a call in the text cannot be read")
        before = interpret(cut, expected)
        return before if before.actions else cut
    found = find_json(reply.text)
    written = find_written(reply.text, expected, whole=_is_complete(reply))
    if len(written) > 1 or (written and not isinstance(found, FoundJson)):
        read = _with_written(reply, written, expected)
    elif isinstance(found, FoundJson):
        read = _from_json(reply, found, expected)
        if read is reply and written:  # what is whole in it is a part of a call that is not
            read = _with_written(reply, written, expected)
    else:
        read = _unreadable(reply, found.hint) if found.hint and expected.tools else reply
    if not found.gave_up:
        return read
    much = ReplyProblem("many-brackets", f"JSON was looked for at the first {MOST_STARTS} only")
    return replace(read, notes=(*read.notes, much))


def _unreadable(reply: Reply, hint: str) -> Reply:
    """It was meant as a call; the words stay where they are."""
    settled = SettledCalls()
    settled.problem("bad-json", hint, reply.text)
    return _with(reply, settled, reply.text)


def _from_json(reply: Reply, found: FoundJson, expected: Expectation) -> Reply:
    shape = recognise(found.value, expected)
    unsure = expected.tools is None and shape.name not in ENVELOPES
    if not shape.name or (unsure and (found.before or found.after)):
        return reply
    origin: ActionOrigin = "recovered" if found.cleaning else "json"
    settled = _settled(reply, shape.wanted, expected, origin)
    if shape.wrong:
        code = "blocked" if shape.name == "blocked" else "bad-shape"
        settled.problem(code, shape.wrong, reply.text)
    if _OPEN.fullmatch(found.before):
        # What stands around it is the rest of a larger call that was cut short, and no words.
        settled.note("cut-calls", "the JSON was cut short; the calls in it that are whole are read")
        return _with(reply, settled, "\n\n".join(shape.said))
    _say_what_was_done(settled, found, shape)
    said = [found.before, *shape.said, found.after]
    return _with(reply, settled, "\n\n".join(text for text in said if text))


def _say_what_was_done(settled: SettledCalls, found: FoundJson, shape: Shape) -> None:
    if found.cleaning:
        settled.note(found.cleaning, "the JSON could be read only after taking these out")
    if found.before or found.after:
        settled.note("words-around", "there were words around the JSON; they are the text")
    if shape.unknown:
        settled.note("unknown-keys", f"passed over beside the actions: {', '.join(shape.unknown)}")


def _settled(
    reply: Reply, wanted: list[WantedAction], expected: Expectation, origin: ActionOrigin
) -> SettledCalls:
    """The origin is that of the words; only what the reader itself rebuilt is `recovered`."""
    settled, draft = SettledCalls(), ReplyDraft(WIRE, expected)
    draft.raw = list(reply.raw)
    broken = reply.stop in _BROKEN
    for number, one in enumerate(wanted):
        settle_call(
            settled,
            expected,
            call_id=printable(one.id) or draft.made_id(number),
            name=printable(expected.own(one.name)),
            payload={} if one.payload is None else one.payload,
            origin=origin,
            unfinished=broken,
        )
    return settled


def _with(reply: Reply, settled: SettledCalls, text: str) -> Reply:
    text = printable(text)
    others = [part for part in reply.parts if not isinstance(part, TextPart | ToolCallPart)]
    words = [TextPart(text)] if text else []
    return replace(
        reply,
        text=text,
        stop="tool_use" if settled.actions and reply.stop == "end" else reply.stop,
        actions=tuple(settled.actions),
        errors=(*reply.errors, *settled.problems),
        parts=(*others, *words, *settled.parts),
        notes=(*reply.notes, *settled.notes),
    )


def _is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_chat(event: str) -> bool:
    if '"choices"' not in event:
        return False
    draft = ReplyDraft(WIRE, NOTHING_EXPECTED)
    choices = objects_in((draft.take(event) or {}).get("choices"))
    return any("delta" in choice or "message" in choice for choice in choices)

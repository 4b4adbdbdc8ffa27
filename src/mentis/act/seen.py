"""Texts that a request showed the model, sorted by who vouches for them, ready to be compared.

Text of the constitution, the owner and the runtime clears a value; untrusted text taints it. What
the agent itself wrote and what tools say of themselves do neither. Names and places are as others
call them: they clear nothing, and taint when others speak. This is done once per request.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal, TypeAlias

from mentis.codec.document_text import EXTRACTOR
from mentis.values.memo import IdentityMemo
from mentis.values.part import MediaPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest, RuntimeContext
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust, least_trusted
from mentis.values.turn import Turn
from mentis.values.value import Value

from .addresses import MARK, addresses, numbers
from .encodings import readings
from .likeness import TooMuch, normal, tight
from .short_words import amounts_in, prose_of, words_of

SHORTEST = 12  # characters of a string that is more than a word
MOST = 8 * 1024 * 1024  # characters that are looked at; a request with more cannot be judged
_SHORT = 4096  # characters
_CLEARS = (Trust.CONSTITUTION, Trust.OWNER, Trust.RUNTIME)
_APART = " \x00 "
# Spans of what is around a conversation: told as fact, but others have put it in words.
_NAMED = frozenset({"place", "weather", "feeling"})
_HEARD = frozenset({"people", "thought"})  # made from what others said, and nobody kept of whom
# Both are known by being these very objects, whatever a text or a source may say.
UNREAD = "(what cannot be read)"  # the text of a picture or a sound, which nothing compares
_HERE = "the place of the conversation"
Told: TypeAlias = tuple[str, Trust, str]  # a text, who vouches for it, where it stands
# What untrusted text is looked through in: as it is, as letters and digits alone, as words.
Form: TypeAlias = Literal["text", "tight", "told", "prose"]
_FORMS: tuple[Form, ...] = ("text", "tight", "told", "prose")
_TURNS = IdentityMemo[tuple[Told, ...]](4096)  # each turn of a conversation comes again
_HISTORIES = IdentityMemo[tuple[Told, ...]](16)  # and all of it again with each step of a turn
_TAINTING = IdentityMemo[bool](4096)
_LINEAGES = IdentityMemo[Trust](64)


@dataclass(frozen=True, slots=True)
class UntrustedText(Value):
    """`text` is all of it in one, `words` its words, sorted, `marked` those that can hold an
    address, `long` those of twelve characters and more. `pairs` are words that follow each other.

    `tight` is the text as letters and digits alone. `told` are its words as short values are
    compared with them, `prose` those that are no whole field of a structured result; `amounts` the
    numbers in the prose. The starts say where which source begins.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    pairs: frozenset[tuple[str, str]] = frozenset()
    marked: str = ""
    long: str = ""
    tight: str = ""
    told: str = ""
    prose: str = ""
    amounts: frozenset[str] = frozenset()
    sources: tuple[str, ...] = ()
    starts: tuple[tuple[int, ...], ...] = ((), (), (), ())  # of each form

    def in_form(self, form: Form) -> str:
        match form:
            case "text":
                return self.text
            case "tight":
                return self.tight
            case "told":
                return self.told
            case "prose":
                return self.prose

    def begins_a_word(self, start: str) -> bool:
        at = bisect_left(self.words, start)
        return at < len(self.words) and self.words[at].startswith(start)

    def has_word(self, word: str) -> bool:
        at = bisect_left(self.words, word)
        return at < len(self.words) and self.words[at] == word

    def source(self, form: Form, place: int) -> str:
        return self.sources[bisect_right(self.starts[_FORMS.index(form)], place) - 1]


@dataclass(frozen=True, slots=True)
class Clearing(Value):
    """`tokens` are the addresses and numbers in it, each whole; `tight` the same as letters and
    digits alone. `told` and `amounts` are as those of untrusted text.
    """

    text: str = ""
    tokens: frozenset[str] = frozenset()
    tight: frozenset[str] = frozenset()
    told: str = ""
    amounts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SeenRequest(Value):
    """`too_much` says why the request cannot be judged, if it cannot.

    `unread` is something from outside that the model could read and we cannot: a picture, a sound.
    `here` are place and number of the message that is answered.
    """

    untrusted: UntrustedText = UntrustedText()
    clearing: Clearing = Clearing()
    too_much: str = ""
    unread: str = ""
    here: frozenset[str] = frozenset()

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the untrusted texts stand, in words; empty when there are none."""
        return tuple(dict.fromkeys(self.untrusted.sources))

    @property
    def lineage(self) -> Trust:
        """Of what is made from such a request."""
        return Trust.UNTRUSTED if self.untrusted.sources or self.too_much else Trust.SELF


NOTHING_SEEN = SeenRequest()


def seen_in(
    request: PromptRequest,
    *,
    said: Trust,
    quoted: Trust = Trust.UNTRUSTED,
    later: Iterable[str] = (),
) -> SeenRequest:
    """`said`: who vouches for the current message; `quoted`: for the one that it answers.

    `later` is what the model was shown in the same turn after that. A correction repeats what the
    model said, so that it would clear what it had made up: it may only taint.
    """
    told = texts_in(request, said=said, quoted=quoted)
    corrections = ((text, Trust.UNTRUSTED, "a correction") for text in later)
    return seen_of((*told, *corrections))


def lineage_of(request: PromptRequest, *, said: Trust, quoted: Trust = Trust.UNTRUSTED) -> Trust:
    """The least trusted of what an answer to the request is made from: the agent's own at best.
    Worked out once: a step asks for it when it acts, when it ends and when it is recorded.
    """
    make = partial(_lineage, said, quoted)
    return _LINEAGES.remember(make, request, key=(said, quoted))


def _lineage(said: Trust, quoted: Trust, request: PromptRequest) -> Trust:
    reference = _reference(request)
    if _tainting(reference, request.conversation_history):
        return Trust.UNTRUSTED
    beside = replace(request, conversation_history=())
    told = texts_in(beside, said=said, quoted=quoted)
    levels = (trust for text, trust, _ in told if trust is Trust.UNTRUSTED and text.strip())
    return least_trusted((Trust.SELF, *levels))


def _tainting(reference: frozenset[str], turns: Sequence[Turn]) -> bool:
    in_question = [
        turn
        for turn in turns
        # Most are one text that is vouched for.
        if turn.lineage is Trust.UNTRUSTED
        or len(turn.parts) != 1
        or type(turn.parts[0]) is not TextPart
    ]
    holds = partial(_holds_untrusted, reference)
    return any(_TAINTING.remember(holds, turn, key=reference) for turn in in_question)


def _holds_untrusted(reference: frozenset[str], turn: Turn) -> bool:
    told = _of_parts(turn, "", reference)
    return any(trust is Trust.UNTRUSTED and text.strip() for text, trust, _ in told)


def seen_of(told: Iterable[Told]) -> SeenRequest:
    """Of texts that are no request: what a tick starts from."""
    sides = _Sides()
    try:
        for text, trust, source in told:
            sides.add(text, trust, source)
        untrusted, clearing = _untrusted(sides.untrusted), _clearing(sides.clearing)
        return SeenRequest(untrusted, clearing, unread=sides.unread, here=frozenset(sides.here))
    except TooMuch as error:
        return SeenRequest(too_much=f"the request cannot be looked at: {error}")


@dataclass(frozen=True, slots=True)
class _ClearingText:
    """One text that clears, with all that it says under other writings, ready to be joined."""

    texts: tuple[str, ...]
    told: str
    tokens: frozenset[str]
    tight: frozenset[str]
    amounts: frozenset[str]
    size: int


class _Sides:
    def __init__(self) -> None:
        self.untrusted: list[tuple[str, str, str]] = []  # text, prose, source
        self.clearing: list[_ClearingText] = []
        self.unread = ""
        self.here: set[str] = set()
        self._size = 0

    def add(self, text: str, trust: Trust, source: str) -> None:
        if text is UNREAD:
            self.unread = self.unread or source
        if source is _HERE:
            self.here.add(text)
        if len(text) > MOST:
            raise TooMuch(f"it has more than {MOST} characters")
        if trust is Trust.UNTRUSTED:
            self._add_untrusted(text, source)
        elif trust in _CLEARS:
            clearing = _clearing_text(text)
            self._count(clearing.size)
            self.clearing.append(clearing)

    def _add_untrusted(self, text: str, source: str) -> None:
        """Decoded, a structured text has no structure any more: what is prose is decoded apart."""
        prose = prose_of(text)
        if prose is not None:
            self.untrusted.append((self._normal(text), self._normal(prose), source))
            self.untrusted += [(self._normal(one), "", source) for one in readings(text)]
        for one in (text, *readings(text)) if prose is None else readings(prose):
            whole = self._normal(one)
            self.untrusted.append((whole, whole, source))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MOST:
            raise TooMuch(f"it has more than {MOST} characters")

    def _normal(self, text: str) -> str:
        self._count(len(text))
        return _known_normal(text) if len(text) <= _SHORT else normal(text)


def texts_in(
    request: PromptRequest, *, said: Trust, quoted: Trust, corrects: bool = False
) -> Iterator[Told]:
    """Everything the model is shown, piece by piece. What `corrects` is in no one's words: it
    repeats what the model said, so it may taint and never clear.
    """
    yield from _of_spans(request.system_instruction, said)
    yield from _of_spans(request.context_summary, said)
    reference = _reference(request)
    history = partial(_of_history, reference)
    yield from _HISTORIES.remember(history, request.conversation_history, key=reference)
    for number, turn in enumerate(request.continuation, start=1):
        yield from _of_parts(turn, f"step {number} of this turn", reference)
    yield from _of_facts(request.runtime_ctx, said)
    yield from _of_spans(request.runtime_ctx.spans, said)
    for part in request.attachments:
        yield from _of_media(part, said)
    if request.reply_to is not None:
        yield request.reply_to.attributed_text, quoted, "the message that is answered"
    yield from _of_spans(request.prefill, said)
    words = Trust.UNTRUSTED if corrects else said
    yield request.current_text, words, "the current message"
    for tool in request.tool_declarations:
        yield from _of_tool(tool)


def _reference(request: PromptRequest) -> frozenset[str]:
    """The tools whose answers are reference data."""
    return frozenset(one.name for one in request.tool_declarations if one.reference)


def _of_spans(spans: Iterable[Span], said: Trust) -> Iterator[Told]:
    for span in spans:
        trust = span.trust
        if span.source in _NAMED and trust in (Trust.RUNTIME, Trust.SELF):
            trust = _unvouched(said)
        elif span.source in _HEARD:
            trust = Trust.UNTRUSTED
        yield span.text, trust, span.source or span.block or "the prompt"


def _unvouched(said: Trust) -> Trust:
    """Of what came with a message and was put in words by nobody known: it never clears."""
    return Trust.UNTRUSTED if said is Trust.UNTRUSTED else Trust.SELF


def _of_history(reference: frozenset[str], turns: tuple[Turn, ...]) -> tuple[Told, ...]:
    told = list[Told]()
    for at, turn in enumerate(turns):
        if len(turn.parts) == 1 and type(said := turn.parts[0]) is TextPart:  # as most are
            told.append((said.text, turn.lineage, f"turn {at}"))
        else:
            told += _TURNS.remember(partial(_of_turn, at, reference), turn, key=(at, reference))
    return tuple(told)


def _of_turn(number: int, reference: frozenset[str], turn: Turn) -> tuple[Told, ...]:
    return tuple(_of_parts(turn, f"turn {number}", reference))


def _of_parts(turn: Turn, place: str, reference: frozenset[str]) -> Iterator[Told]:
    """`reference` are the tools whose answers are reference data: they neither taint nor clear."""
    for part in turn.parts:
        match part:
            case TextPart() | ReasoningPart():
                yield part.text, turn.lineage, place
            case ToolCallPart():
                call = part.raw or json.dumps(part.arguments, ensure_ascii=False, default=str)
                yield call, turn.lineage, f"{place}, the call of {part.name}"
            case ToolResultPart():
                trust = Trust.REFERENCE if part.name in reference else Trust.UNTRUSTED
                yield part.text, trust, f"{place}, the result of {part.name}"
            case MediaPart():
                yield from _of_media(part, turn.lineage)


def _of_media(part: MediaPart, said: Trust) -> Iterator[Told]:
    """What the owner shows is the owner's; of anybody else's only the extracted text is known."""
    source = f"the attachment {part.name or part.path or part.url or part.kind}"
    known = json.dumps(part.metadata, ensure_ascii=False, default=str) if part.metadata else ""
    for text in (part.name, part.path, part.url, part.extracted, known):
        if text:
            yield text, Trust.UNTRUSTED, source
    # Where the model is shown the document itself, it sees more than was read out of it here.
    whole = part.extracted.strip() and EXTRACTOR not in part.metadata
    if not whole and said not in _CLEARS:
        yield UNREAD, Trust.UNTRUSTED, source


def _of_facts(now: RuntimeContext, said: Trust) -> Iterator[Told]:
    """How somebody is called is their own word, and so are the names of places and messages."""
    for text in (now.username, now.usertag, now.addressee_note):
        if text:
            yield text, said, "the name of who speaks"
    unvouched = _unvouched(said)
    for text in (now.interface_path, now.message_id):
        if text:
            yield text, unvouched, _HERE
    known = (now.interface_name, now.voice_channel_id, now.language, now.tone, now.emotions)
    for text in (*known, now.time_of_day, now.beat_type):
        if text:
            yield text, unvouched, "the facts of the message"
    if now.timestamp:
        yield now.timestamp, Trust.RUNTIME, "the clock"


def _of_tool(tool: ToolDeclaration) -> Iterator[Told]:
    """It never clears anything, whoever wrote it; most of it does not taint either."""
    if tool.trust is Trust.UNTRUSTED:
        schema = json.dumps(tool.parameters, ensure_ascii=False, default=str)
        yield f"{tool.description}\n{schema}", Trust.UNTRUSTED, f"the tool {tool.name}"


def _untrusted(texts: list[tuple[str, str, str]]) -> UntrustedText:
    texts = [one for one in texts if one[0]]
    if not texts:
        return UntrustedText()
    dense = [tight(text) for text, _, _ in texts]
    told = [_known_words(text) for text, _, _ in texts]
    prose = [_known_words(said) for _, said, _ in texts]
    split = [text.split(" ") for text, _, _ in texts]
    words = tuple(sorted(set[str]().union(*split)))
    return UntrustedText(
        _APART.join(text for text, _, _ in texts),
        words,
        frozenset[tuple[str, str]]().union(*map(pairwise, split)),
        " ".join(word for word in words if MARK.search(word)),
        " ".join(word for word in words if len(word) >= SHORTEST),
        _APART.join(dense),
        _APART.join(told),
        _APART.join(prose),
        frozenset(amount for _, said, _ in texts for amount in amounts_in(said)),
        tuple(source for _, _, source in texts),
        (_starts(text for text, _, _ in texts), _starts(dense), _starts(told), _starts(prose)),
    )


def _starts(texts: Iterable[str]) -> tuple[int, ...]:
    starts, place = list[int](), 0
    for text in texts:
        starts.append(place)
        place += len(text) + len(_APART)
    return tuple(starts)


def _clearing(texts: list[_ClearingText]) -> Clearing:
    return Clearing(
        _APART.join(text for one in texts for text in one.texts),
        frozenset[str]().union(*(one.tokens for one in texts)),
        frozenset[str]().union(*(one.tight for one in texts)),
        _APART.join(one.told for one in texts),
        frozenset[str]().union(*(one.amounts for one in texts)),
    )


def _clearing_text(text: str) -> _ClearingText:
    """A conversation says the same again in every turn: what is short is looked at once."""
    return _known_clearing(text) if len(text) <= _SHORT else _look_at(text)


def _look_at(text: str) -> _ClearingText:
    said = (text, *readings(text))
    size = sum(map(len, said))
    if size > MOST:
        raise TooMuch(f"it has more than {MOST} characters")
    texts = tuple(map(normal, said))
    tokens = frozenset(place for one in texts for place in _places(one))
    return _ClearingText(
        texts,
        _APART.join(map(words_of, texts)),
        tokens,
        frozenset(map(tight, tokens)),
        frozenset(amount for one in texts for amount in amounts_in(one)),
        size,
    )


def _places(text: str) -> tuple[str, ...]:
    return (*addresses(text, single=True), *numbers(text))


def _known_words(text: str) -> str:
    return _short_words(text) if len(text) <= _SHORT else words_of(text)


_known_clearing = lru_cache(maxsize=4096)(_look_at)
_known_normal = lru_cache(maxsize=4096)(normal)
_short_words = lru_cache(maxsize=4096)(words_of)

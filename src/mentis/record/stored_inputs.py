"""Keeps the inputs of each turn beside its entry, which binds them, and finds them again.

They are marks: set in the transaction of the entry, so that keeping them costs no sync of its own.
What many turns have in common is a part, written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast

from mentis.codec.forms import from_json, to_object
from mentis.compose.fences import nonce_in
from mentis.errors import BadInput
from mentis.ports.marks import Marks
from mentis.recall.epochs import memory_id
from mentis.values.digest import Digest
from mentis.values.given import GivenText
from mentis.values.json import JsonObject
from mentis.values.library import Library
from mentis.values.mark import Mark
from mentis.values.memo import IdentityMemo
from mentis.values.part import ToolResultPart
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest, RuntimeContext
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.surroundings import NOWHERE
from mentis.values.turn import Turn
from mentis.values.value import Value
from mentis.values.written import dump

from .input_rows import (
    PART,
    ROW,
    TOLD,
    VERSION,
    NewsItem,
    Prints,
    Recollection,
    StepInputs,
    ToolList,
    TurnInputs,
    TurnRuns,
    TurnSetting,
    Variables,
    key_of,
    place_runs,
    prints_of,
    read_as,
    read_library,
    runs_of,
    write_library,
    write_row,
)
from .inputs import PlacedTurn, PromptInputs

_PLAIN = RuntimeContext()
_ACT = "act "
V = TypeVar("V", bound=Value)


@dataclass(frozen=True, slots=True)
class StepPrompt:
    """The prompt of a step: what it was made from, as it was told and sent."""

    inputs: PromptInputs | None
    rendering: Rendering
    request: PromptRequest


@dataclass(frozen=True, slots=True)
class StoredInputs:
    """What the entry binds, and the marks that are set together with it."""

    digest: Digest
    marks: tuple[Mark, ...]


class TurnInputStore:
    """Held by an agent. It blocks where it looks whether a part is there already: once for each."""

    def __init__(self, ledger: Marks, agent: str, secret: bytes) -> None:
        self._ledger = ledger
        self._agent = agent
        self._secret = secret
        self._there: set[str] = set()
        self._last: dict[str, tuple[object, str, JsonObject]] = {}
        self._library_read: tuple[JsonObject, Library] | None = None  # as it was written, and it
        self._parts_read: dict[type[Value], tuple[str, JsonObject, Value]] = {}

    def write(
        self,
        inputs: PromptInputs,
        rendering: Rendering,
        request: PromptRequest,
        *,
        place: TurnPlace,
        steps: Sequence[StepPrompt] = (),
    ) -> StoredInputs:
        """Of the first step; of the others what they had besides."""
        parts: dict[str, JsonObject] = {}
        first = StepPrompt(inputs, rendering, request)
        row = self._row(inputs, first, place, parts)
        if steps:
            row = replace(row, steps=self._steps(first, steps, place, parts))
        written = write_row(row)
        key = key_of(written)
        told = (_told(one.recalled) for one in (inputs, *(step.inputs for step in steps)) if one)
        news = dict(item for listed in told for item in listed)
        marks = [Mark(PART, name, value) for name, value in parts.items()]
        marks += [Mark(TOLD, name, value) for name, value in news.items()]
        # The prints are not bound: in another home the same turn would have others.
        prints = to_object(prints_of(place.body, self._secret))
        return StoredInputs(key, (Mark(ROW, key, {"inputs": written, "prints": prints}), *marks))

    def _steps(
        self,
        base: StepPrompt,
        steps: Sequence[StepPrompt],
        place: TurnPlace,
        parts: dict[str, JsonObject],
    ) -> tuple[StepInputs, ...]:
        made: list[StepInputs] = []
        for step in steps:
            if step.inputs is None or _is_continued(base.inputs, step.inputs):
                made.append(_beyond(base.request, step))
                continue
            base, row = step, self._row(step.inputs, step, place, parts)
            made.append(StepInputs(own=write_row(row)))
        return tuple(made)

    def _row(
        self,
        inputs: PromptInputs,
        prompt: StepPrompt,
        place: TurnPlace,
        parts: dict[str, JsonObject],
    ) -> TurnInputs:
        recalled = inputs.recalled
        return TurnInputs(
            VERSION,
            place.session,
            inputs.now.isoformat(),
            recalled.stimulus.trust,
            self._library(inputs.library, parts),
            self._part("setting", _setting(inputs), parts),
            inputs.calibration,
            number=place.number,
            tools=self._part("tools", ToolList(recalled.tools), parts),
            revealed=self._part("revealed", ToolList(recalled.revealed), parts),
            variables=self._part("variables", _variables(inputs.variables), parts),
            given=_given(inputs.variables),
            nonces=nonces_in(prompt.request),
            cached=cache_of(prompt.rendering),
            opened=len(inputs.continuation),
            output=self._part("output", recalled.stimulus.output, parts),
            **_message_fields(recalled.stimulus),
            **_history_fields(inputs, place.session),
            **_recalled_fields(recalled),
        )

    def mark_written(self, kept: StoredInputs) -> None:
        """The entry is there, and so are the parts."""
        self._there.update(mark.key for mark in kept.marks if mark.kind == PART)

    def row(self, key: str) -> tuple[TurnInputs, Prints | None] | None:
        """The inputs, and the prints of what was sent, if they can be read."""
        found = self._value(ROW, key)
        row = None if found is None else read_as(TurnInputs, _object(found.get("inputs")), key)
        if found is None or row is None:
            return None
        try:
            return row, from_json(Prints, dump(found.get("prints")))
        except BadInput:
            return row, None

    def part(self, cls: type[V], key: str) -> V | None:
        """The one of its kind that was read last is the same object, as long as it stands as it
        did: composing knows by that what it need not do again.
        """
        written, last = self._value(PART, key), self._parts_read.get(cls)
        if last is not None and last[:2] == (key, written):  # its digest was looked at then
            return cast("V", last[2])
        found = read_as(cls, written, key)
        if written is not None and found is not None:
            self._parts_read[cls] = key, written, found
        return found

    def library(self, revision: str) -> Library | None:
        """As `part` does it."""
        written, last = self._value(PART, revision), self._library_read
        if last is not None and last[0] == written and last[1].revision == revision:
            return last[1]
        found = read_library(written, revision)
        if written is not None and found is not None:
            self._library_read = written, found
        return found

    def news(self, key: str) -> Span | None:
        told = read_as(NewsItem, self._value(TOLD, key), key.rpartition("/")[2])
        return told.span if told else None

    def _value(self, kind: str, key: str) -> JsonObject | None:
        mark = self._ledger.mark(self._agent, kind, key)
        return mark.value if mark else None

    def _library(self, library: Library, parts: dict[str, JsonObject]) -> str:
        self._add(library.revision, lambda: write_library(library), parts)
        return library.revision

    def _part(self, name: str, value: Value | None, parts: dict[str, JsonObject]) -> str:
        """Its digest, worked out anew only where it is not what it was in the turn before."""
        if value is None or value == ToolList(()):
            return ""
        last = self._last.get(name)
        if last is None or last[0] != value:
            written = to_object(value)
            last = self._last[name] = (value, key_of(written), written)
        _, key, written = last
        self._add(key, lambda: written, parts)
        return key

    def _add(self, key: str, write: Callable[[], JsonObject], parts: dict[str, JsonObject]) -> None:
        if key in self._there or key in parts:
            return
        if self._value(PART, key) is not None:
            self._there.add(key)
        else:
            parts[key] = write()


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a turn stands in its conversation, and the bytes that were sent for it."""

    session: str
    number: int
    body: bytes


def _object(found: object) -> JsonObject | None:
    return cast("JsonObject", found) if isinstance(found, Mapping) else None


def nonces_in(request: PromptRequest) -> tuple[str, ...]:
    """Those around spans first, then those around results."""
    marks = (nonce_in(span) for span in _spans(request))
    before = _result_nonces(request.conversation_history)
    return (*(mark[1] for mark in marks if mark), *before, *_result_nonces(request.continuation))


def _is_continued(base: PromptInputs | None, inputs: PromptInputs) -> bool:
    """Whether a prompt is that one with more steps after it."""
    return base is not None and replace(inputs, continuation=base.continuation) == base


def _beyond(base: PromptRequest, step: StepPrompt) -> StepInputs:
    """What a step had besides that request, which it goes on with."""
    known = len(_result_nonces(base.continuation))
    nonces = _result_nonces(step.request.continuation)[known:]
    return StepInputs(nonces, cache_of(step.rendering))


def cache_of(rendering: Rendering) -> str:
    return str(rendering.payload.get("cachedContent", ""))


def _result_nonces(turns: Sequence[Turn]) -> tuple[str, ...]:
    parts = (part for turn in turns for part in turn.parts)
    fences = (part.fence for part in parts if isinstance(part, ToolResultPart))
    return tuple(fence.nonce for fence in fences if fence)


def _spans(request: PromptRequest) -> Iterator[Span]:
    yield from request.system_instruction
    yield from request.context_summary
    yield from request.runtime_ctx.spans


def _setting(inputs: PromptInputs) -> TurnSetting:
    route = _BARE_ROUTES.remember(_bare_route, inputs.route)
    return TurnSetting(installed_version(), inputs.persona, inputs.profile, inputs.policies, route)


def _bare_route(route: Route) -> Route:
    """Without what no prompt is made of: answers of a script, folders of this machine."""
    return replace(route, replies=(), folder="", url="", key_env="", fallback=())


_BARE_ROUTES = IdentityMemo[Route](64)


@cache
def installed_version() -> str:
    from importlib.metadata import version  # loads much, which a program that only looks can spare

    return version("mentis")


def _variables(values: Mapping[str, object]) -> Variables | None:
    """What many turns have in common: values that say where they came from."""
    lasting = {name: value for name, value in values.items() if isinstance(value, GivenText)}
    return Variables(lasting, guarded=True) if lasting else None


def _given(values: Mapping[str, object]) -> dict[str, str]:
    """The others, which are of one turn."""
    given = {name: value for name, value in values.items() if not isinstance(value, GivenText)}
    for name, value in given.items():
        if not isinstance(value, str):
            raise BadInput(f"the value {name!r} is no text, so it cannot be kept")
    return cast("dict[str, str]", given)


def _message_fields(stimulus: Stimulus) -> dict[str, Any]:
    delivery = _delivery(stimulus)
    return {
        "text": "" if delivery else stimulus.text,
        "author": stimulus.author,
        "named": not stimulus.unnamed,
        "mode": stimulus.mode,
        "inner": stimulus.inner,
        "delivers": stimulus.delivers,
        "resumes": stimulus.resumes or 0,
        "delivery": delivery[0] if delivery else "",
        "reply_to": stimulus.reply_to,
        "runtime_ctx": None if stimulus.runtime_ctx == _PLAIN else stimulus.runtime_ctx,
        "unsigned": stimulus.mode in ("beat", "delivery") and not stimulus.signed,
        "surroundings": None if stimulus.surroundings == NOWHERE else stimulus.surroundings,
    }


def _history_fields(inputs: PromptInputs, session: str) -> dict[str, Any]:
    history = inputs.history
    pending = [number for number, turn in enumerate(history.turns) if turn.state == "pending"]
    turns = (*history.turns, *history.thread, *inputs.continuation)
    results = [part for turn in turns for part in turn.parts if isinstance(part, ToolResultPart)]
    return {
        "before": "" if history.session == session else history.session,
        "told": () if history.sessions else runs_of(history.numbers),
        "woven": place_runs(zip(history.sessions, history.numbers, strict=bool(history.sessions))),
        "diary": _places(history.diary),
        "recaps": _places(history.recaps),
        "amended": history.amended,
        "earlier": history.earlier,
        "pending": tuple(pending),
        "fenced": history.fenced and bool(results),
        "thread": runs_of(history.thread_numbers),
        "thread_amended": history.thread_amended,
    }


def _places(turns: Sequence[PlacedTurn]) -> tuple[TurnRuns, ...]:
    return place_runs((one.session, one.number) for one in turns)


def _recalled_fields(recalled: RecalledContext) -> dict[str, Any]:
    return {
        "memories": tuple(
            Recollection(memory_id(span), span.trust, span.stability, span.reason)
            for span in recalled.memories
        ),
        "news": tuple(key for key, _ in _news(recalled.news)),
        "skills": recalled.skills,
        "candidates": recalled.candidates,
        "placements": recalled.placements,
        "degraded": recalled.degraded,
        "filtered": recalled.filtered,
        "embedding_calls": recalled.embedding_calls,
        "cache_hits": recalled.cache_hits,
        "step": recalled.step,
    }


def _told(recalled: RecalledContext) -> list[tuple[str, JsonObject]]:
    delivery = _delivery(recalled.stimulus)
    return [*_news(recalled.news), *((delivery,) if delivery else ())]


def _news(spans: tuple[Span, ...]) -> list[tuple[str, JsonObject]]:
    """Under the key of the act first, so that it goes when the act is erased; or of the window."""
    written = [(span.source.removeprefix(_ACT), to_object(NewsItem(span))) for span in spans]
    return [(f"{act}/{key_of(value)}", value) for act, value in written]


def _delivery(stimulus: Stimulus) -> tuple[str, JsonObject] | None:
    """The words of a delivery are what came of its act, and go with it."""
    if not stimulus.delivers:
        return None
    span = Span(stimulus.text, source=f"{_ACT}{stimulus.delivers}", trust=stimulus.trust)
    return _news((span,))[0]

"""A recorded turn with all that its prompt was made from, found again where each of it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice
from typing import TypeVar, cast

from mentis.errors import BadInput, LedgerError, NotCanonical, ReplayError, UsageError
from mentis.ledger.chain import derives, hash_entry
from mentis.ports.ledger_store import LedgerStore
from mentis.recall.memory.telling import memory_text
from mentis.record.agent_record import AgentRecord
from mentis.record.input_rows import (
    VERSION,
    Prints,
    Recollection,
    StepInputs,
    ToolList,
    TurnInputs,
    TurnSetting,
    Variables,
    numbers_in,
    places_in,
    read_row,
)
from mentis.record.inputs import ConversationHistory, PlacedTurn, PromptInputs
from mentis.record.late_outcomes import with_late_outcomes
from mentis.record.other_sessions import woven_turns
from mentis.record.segments import SegmentFolder
from mentis.record.stored_inputs import TurnInputStore
from mentis.record.stored_talk import StoredTalk
from mentis.record.stored_turns import turn_digest
from mentis.tools.own_memories import OwnMemories
from mentis.values.entry import Entry
from mentis.values.json import JsonObject
from mentis.values.output import OutputSchema
from mentis.values.part import MediaPart
from mentis.values.recalled import FIRST, OPENING, RESUME, RecalledContext, Stimulus
from mentis.values.request import RuntimeContext
from mentis.values.span import Span
from mentis.values.surroundings import NOWHERE
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

_LOOKED_BACK = 64  # turns among which a message is looked for first
_LIST = "`mentis ledger show` lists the entries"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """`digests` are those that the entry binds. `mentis` is the version that made the prompt."""

    entry: Entry
    digests: Mapping[str, str]
    row: TurnInputs
    prints: Prints | None
    inputs: PromptInputs
    mentis: str
    step: int = 1

    @property
    def steps(self) -> int:
        """How many answers the turn had."""
        return len(_steps(self.entry)) or 1

    @property
    def calls(self) -> int:
        """How many calls the turn made; only the first is put together again."""
        calls = self.entry.body.get("calls")
        return len(cast("list[object]", calls)) if isinstance(calls, list) else 1


def _steps(entry: Entry) -> list[JsonObject]:
    found = entry.body.get("steps")
    return cast("list[JsonObject]", found) if isinstance(found, list) else []


def find_entry(record: AgentRecord, segments: SegmentFolder, index: int) -> Entry:
    """In the store, or in a segment that was moved out of it. It blocks."""
    return find_stored(record.agent, record.ledger, segments, index)


def find_stored(agent: str, ledger: LedgerStore, segments: SegmentFolder, index: int) -> Entry:
    """The same, of an agent that nobody has opened."""
    entry, count = ledger.find(agent, index), ledger.count(agent)
    if entry is None and 0 <= index < count:
        (kept,) = islice(ledger.hashes(agent, start=index), 1)
        entry = segments.find(index, kept)
    if entry is None:
        raise UsageError(
            f"there is no entry {index} of `{agent}` here",
            hint=f"it has {count} {'entry' if count == 1 else 'entries'};"
            " `mentis ledger show` lists the newest",
        )
    return entry


def stored_inputs_of(
    record: AgentRecord, inputs: TurnInputStore, session: str, number: int
) -> TurnInputs | None:
    """What is kept of the message of that number, or of the OPENING; None where nothing is any
    more. It blocks.
    """
    newest = reversed(record.latest(_LOOKED_BACK, kind="turn"))
    for entry in chain(newest, record.ledger.entries(record.agent)):
        turn = cast("JsonObject", entry.body.get("turn") or {})
        said = turn.get("inner", ""), OPENING if turn.get("inner") else turn.get("number")
        wanted = (FIRST, OPENING) if number == OPENING else ("", number)
        if turn.get("session") != session or said != wanted or "inputs" not in entry.body:
            continue
        found = inputs.row(str(entry.body["inputs"]))
        if found is not None and found[0].version == VERSION:
            return found[0]
    return None


def load_turn(
    record: AgentRecord,
    inputs: TurnInputStore,
    notes: OwnMemories,
    entry: Entry,
    *,
    step: int = 1,
) -> RecordedTurn:
    """At one of its steps; ReplayError where something is missing that the prompt was made from. It
    blocks.
    """
    _check(entry)
    key, digests = _bound(entry)
    found = inputs.row(key)
    if found is None:
        raise _gone(entry, "its kept inputs are not in this home")
    row, prints = found
    if row.version != VERSION:
        raise ReplayError(
            f"the inputs of entry {entry.index} are kept in form {row.version}, not {VERSION}",
            hint="use the version of Mentis that made it",
            index=entry.index,
        )
    reading = _Reading(record, inputs, notes, entry, row)
    first = reading.turn(digests, prints)
    if not 1 <= step <= first.steps:
        raise UsageError(
            f"entry {entry.index} has no step {step}",
            hint=f"it has {first.steps}; they count from 1",
            index=entry.index,
        )
    return first if step == 1 else reading.at_step(first, step)


def load_answer(
    record: AgentRecord, inputs: TurnInputStore, notes: OwnMemories, kept: RecordedTurn
) -> Turn | None:
    """What the model said in that step, as the entry binds it; None where it said nothing. It
    blocks.
    """
    found = inputs.row(str(kept.entry.body["inputs"]))
    first = kept.row if found is None else found[0]
    reading = _Reading(record, inputs, notes, kept.entry, first)
    return reading.answer(kept.step)


def _check(entry: Entry) -> None:
    if entry.kind != "turn":
        raise UsageError(
            f"entry {entry.index} is no turn: it is a `{entry.kind}`", hint=_LIST, index=entry.index
        )
    try:
        whole = derives(entry.body, entry.salts, entry.fields) and hash_entry(entry) == entry.hash
    except (KeyError, ValueError, NotCanonical):
        whole = False
    if not whole:
        raise LedgerError(
            f"entry {entry.index} is not what was recorded",
            hint="`mentis verify` says what is wrong",
            index=entry.index,
        )


def _bound(entry: Entry) -> tuple[str, Mapping[str, str]]:
    """The key of its inputs, and the digests of what was told and sent."""
    erased = [name for name in ("inputs", "digests") if name in entry.fields]
    erased = [name for name in erased if name not in entry.body]
    if erased:
        raise _gone(entry, f"its `{erased[0]}` were erased")
    if "tick" in entry.fields and "turn" not in entry.fields:
        raise ReplayError(
            f"entry {entry.index} is a tick: of what its models were told only digests are kept",
            hint=f"`mentis ledger show {entry.index}` says what it came to",
            index=entry.index,
        )
    if "inputs" not in entry.body:
        why = entry.body.get("unkept") or entry.body.get("unbound")
        inner = cast("JsonObject", entry.body.get("turn") or {}).get("inner")
        raise ReplayError(
            f"entry {entry.index} has no kept inputs{f': {why}' if why else ''}",
            hint=f"what was asked as `{inner}` may be kept as its digests alone"
            if inner
            else "turns that were made by an older Mentis cannot be put together again",
            index=entry.index,
        )
    digests = cast("JsonObject", entry.body["digests"])
    return str(entry.body["inputs"]), {name: str(told) for name, told in digests.items()}


def _gone(entry: Entry, what: str) -> ReplayError:
    return ReplayError(
        f"entry {entry.index} cannot be put together again: {what}",
        hint="what was erased or forgotten is gone for good; the entry itself still verifies",
        index=entry.index,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    record: AgentRecord
    inputs: TurnInputStore
    notes: OwnMemories
    entry: Entry
    row: TurnInputs
    talks: dict[str, StoredTalk] = field(default_factory=dict[str, StoredTalk])

    def turn(self, digests: Mapping[str, str], prints: Prints | None) -> RecordedTurn:
        row, kept = self.row, self.inputs
        setting = self._there(kept.part(TurnSetting, row.setting), "the persona and the route")
        inputs = PromptInputs(
            self._there(kept.library(row.library), f"library {row.library}"),
            setting.persona,
            setting.profile,
            setting.policies,
            setting.route,
            row.calibration,
            self._recalled(),
            self._history(),
            self._variables(),
            datetime.fromisoformat(row.now),
        )
        return RecordedTurn(self.entry, digests, row, prints, inputs, setting.mentis)

    def at_step(self, first: RecordedTurn, step: int) -> RecordedTurn:
        """The same turn, with what had followed the message when that step began."""
        stepped, kept = _steps(self.entry), self.row.steps
        base, first = self._prompt_of(first, kept[: step - 1])
        row = first.row
        self._check_route(stepped, base, step)
        known = sum(cast("int", one["turns"]) for one in stepped[base - 1 : step - 1])
        own = self._followed()[row.opened : row.opened + known]
        history, talk = first.inputs.history, self._talk(row.session)
        history = replace(
            history,
            thread=(*history.thread, *(talk[number] for number in own)),
            thread_numbers=(*history.thread_numbers, *own),
            fenced=True,  # as long as there are steps, results stand between marks
        )
        later, bound = kept[base - 1 : step - 1], stepped[step - 1]
        digests = {**first.digests, **{name: str(bound[name]) for name in ("request", "payload")}}
        nonces = (*row.nonces, *(later[-1].nonces if later else ()))
        cached = later[-1].cached if later else row.cached
        return replace(
            first,
            digests=digests,
            row=replace(row, nonces=nonces, cached=cached),
            prints=None,
            inputs=replace(first.inputs, history=history),
            step=step,
        )

    def _prompt_of(
        self, first: RecordedTurn, later: Sequence[StepInputs]
    ) -> tuple[int, RecordedTurn]:
        """The step whose prompt the last of these goes on with, and that prompt."""
        made = [(step, one.own) for step, one in enumerate(later, 2) if one.own is not None]
        if not made:
            return 1, first
        step, written = made[-1]
        try:
            row = read_row(written)
        except BadInput as error:
            raise _gone(self.entry, f"the inputs of step {step} cannot be read") from error
        return step, replace(self, row=row).turn(first.digests, None)

    def _check_route(self, stepped: Sequence[JsonObject], base: int, step: int) -> None:
        """The turns of an older Mentis have the inputs for one route alone."""
        calls = cast("list[JsonObject]", self.entry.body.get("calls") or [])
        places = (sum(cast("int", one["calls"]) for one in stepped[: n - 1]) for n in (base, step))
        asked = [cast("JsonObject", calls[place]["route"])["name"] for place in places]
        if asked[0] != asked[1]:
            raise ReplayError(
                f"step {step} of entry {self.entry.index} was asked of route {asked[1]!r}, and the"
                f" inputs are those for {asked[0]!r}",
                hint="`mentis ledger show` has the digests of what it was told",
                index=self.entry.index,
            )

    def answer(self, step: int) -> Turn | None:
        """What was said in a step."""
        talk, known = self._talk(self.row.session), _steps(self.entry)[: step - 1]
        before = self.row.opened + sum(cast("int", one["turns"]) for one in known)
        said = (talk[number] for number in self._followed()[before:])
        return next((turn for turn in said if turn.role == "assistant"), None)

    def _followed(self) -> list[int]:
        """The numbers of the turns that its entry says followed, in their order."""
        talk, number = self._talk(self.row.session), self.row.number - bool(self.row.inner)
        numbers: list[int] = []
        for name in cast("list[str]", self.entry.body.get("acted") or []):
            rest = range(number + 1, len(talk))
            found = next((n for n in rest if turn_digest(talk[n]) == name), None)
            if found is None:
                raise _gone(self.entry, "a turn that it was told in a later step was erased")
            numbers.append(found)
            number = found
        return numbers

    def _there(self, found: T | None, what: str) -> T:
        if found is None:
            raise _gone(self.entry, f"{what} of then is not kept any more")
        return found

    def _talk(self, session: str) -> StoredTalk:
        return self.talks.setdefault(session, StoredTalk(self.record, session))

    def _history(self) -> ConversationHistory:
        """As it was told then: a turn that got its answer later had none yet."""
        row = self.row
        session = row.before or row.session
        places = places_in(row.woven) or [(session, number) for number in numbers_in(row.told)]
        told = self._placed(places)
        turns = list(woven_turns(told, session))
        for place in row.pending:
            turns[place] = replace(turns[place], state="pending")
        for place in row.amended:
            ledger, agent = self.record.ledger, self.record.agent
            (turns[place],) = with_late_outcomes(
                turns[place : place + 1], ledger, agent, before=self.entry.index
            )
        history = ConversationHistory(
            session,
            tuple(turns),
            tuple(one.number for one in told),
            row.amended,
            row.fenced,
            sessions=tuple(one.session for one in told) if row.woven else (),
            diary=self._placed(places_in(row.diary)),
            recaps=self._placed(places_in(row.recaps)),
            earlier=row.earlier,
        )
        return self._with_thread(history, self._talk(session))

    def _placed(self, places: Sequence[tuple[str, int]]) -> tuple[PlacedTurn, ...]:
        """Turns as they are kept now, if they still are."""
        talks = {session: self._talk(session) for session, _ in places}
        for session, number in places:
            left = len(talks[session])
            if number >= left:
                raise _gone(self.entry, f"session {session!r} has only {left} turns left")
            if not talks[session][number].parts:
                what = f"a turn of session {session!r} that it was told was erased"
                raise _gone(self.entry, what)
        return tuple(PlacedTurn(name, number, talks[name][number]) for name, number in places)

    def _with_thread(
        self, history: ConversationHistory, talk: Sequence[Turn]
    ) -> ConversationHistory:
        row = self.row
        numbers = (*numbers_in(row.thread), *self._followed()[: row.opened])
        turns = [talk[number] for number in numbers if number < len(talk)]
        if len(turns) < len(numbers) or not all(turn.parts for turn in turns):
            raise _gone(self.entry, f"a turn of session {history.session!r} that it goes on with")
        for place in row.thread_amended:
            ledger, agent = self.record.ledger, self.record.agent
            (turns[place],) = with_late_outcomes(
                turns[place : place + 1], ledger, agent, before=self.entry.index
            )
        return replace(
            history, thread=tuple(turns), thread_numbers=numbers, thread_amended=row.thread_amended
        )

    def _stimulus(self) -> Stimulus:
        row = self.row
        resumes = row.resumes if row.inner == RESUME else None
        number = row.number if resumes is None else resumes
        silent = row.inner and resumes in (None, OPENING)
        asked = () if silent else self._talk(row.session)[number : number + 1]
        parts = asked[0].parts if asked else ()
        return Stimulus(
            self._text(),
            row.author,
            tuple(part for part in parts if isinstance(part, MediaPart)),
            row.reply_to,
            row.runtime_ctx or RuntimeContext(),
            row.surroundings or NOWHERE,
            row.trust,
            inner=row.inner,
            mode=row.mode,
            delivers=row.delivers,
            unnamed=not row.named,
            resumes=resumes,
            output=self._output(),
            signed=row.mode in ("beat", "delivery") and not row.unsigned,
        )

    def _output(self) -> OutputSchema | None:
        key = self.row.output
        return self._there(self.inputs.part(OutputSchema, key), "a form of answer") if key else None

    def _text(self) -> str:
        key = self.row.delivery
        if not key:
            return self.row.text
        return self._there(self.inputs.news(key), f"what came of act {key}").text

    def _recalled(self) -> RecalledContext:
        row, kept = self.row, self.inputs
        news = [self._there(kept.news(key), f"what came of act {key}") for key in row.news]
        return RecalledContext(
            self._stimulus(),
            tools=self._tools(row.tools),
            memories=tuple(self._memory(one) for one in row.memories),
            news=tuple(news),
            filtered=row.filtered,
            embedding_calls=row.embedding_calls,
            degraded=row.degraded,
            skills=row.skills,
            candidates=row.candidates,
            step=row.step,
            cache_hits=row.cache_hits,
            revealed=self._tools(row.revealed),
            placements=row.placements,
        )

    def _tools(self, key: str) -> tuple[ToolDeclaration, ...]:
        return self._there(self.inputs.part(ToolList, key), "a tool").tools if key else ()

    def _variables(self) -> Mapping[str, object]:
        if not self.row.variables:
            return self.row.given
        found = self.inputs.part(Variables, self.row.variables)
        lasting = self._there(found, "what the persona remembered").told_values
        return {**lasting, **self.row.given}

    def _memory(self, told: Recollection) -> Span:
        try:
            text = memory_text(self.notes.open().get(told.id))
        except UsageError as error:
            raise _gone(self.entry, f"memory {told.id!r} was forgotten") from error
        return Span(
            text,
            source=f"memory {told.id}",
            trust=told.trust,
            stability=told.stability,
            reason=told.reason,
        )

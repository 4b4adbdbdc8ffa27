"""A persona living in a home: what programs and surfaces hold on to."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    overload,
    runtime_checkable,
)

import anyio
from anyio import CancelScope, to_thread
from anyio.from_thread import start_blocking_portal

from mentis.act.functions import as_handler, deferred_specs
from mentis.act.registry import Registry
from mentis.ask.ask import OnDelta
from mentis.ask.attachments import check_words, read_attachments
from mentis.ask.attempt import render_request
from mentis.ask.lone_calls import PaidCalls, ask_free, bare_attempt
from mentis.ask.previous import read_previous
from mentis.causes.causes import find_causes
from mentis.causes.plan import (
    SAMPLES,
    CauseQuestion,
    PreparedCauses,
    cause_notes,
    check_consent,
    prepare_causes,
)
from mentis.channels.parts import ChannelNews, unwatched
from mentis.channels.runner import ChannelRunner, open_runners
from mentis.codec.option_check import check_options
from mentis.codec.request_check import check_request
from mentis.compare.cases import make_cases
from mentis.compare.checks import OwnCheck
from mentis.compare.comparison import OnAnswer, run_comparison
from mentis.compare.kept_answers import AnswerKeeper, KeptAnswers, read_kept
from mentis.compare.plan import (
    AS_IT_IS,
    CompareQuestion,
    PreparedComparison,
    SideGiven,
    as_side,
    prepare_comparison,
)
from mentis.compare.plan import check_consent as check_compare_consent
from mentis.compose.compose import Composition
from mentis.costs.blame import blame_turn
from mentis.costs.record_reader import RecordReader, ReplayTurn, record_reader
from mentis.costs.report import CostQuestion, cost_report
from mentis.costs.request_search import MOST_CALLS, RequestSearch, search_requests
from mentis.costs.why import explain_turn
from mentis.engines.catalogue import tuned_for_talk
from mentis.errors import BadInput, MentisError, StoreLocked, UsageError
from mentis.home.events import OnEvent
from mentis.home.identity import RECORDED, unknown_recorded
from mentis.home.ledger import agents_here
from mentis.home.parts import Parts
from mentis.home.routes import open_routes, open_stage
from mentis.home.server import open_blobs, open_revisions
from mentis.home.system import RandomChance
from mentis.library.edit import Edit
from mentis.library.states import key_of
from mentis.loop.aside import Aside, Asides
from mentis.loop.given import poses_as_ours
from mentis.loop.loop import Loop
from mentis.loop.pause import Pause
from mentis.loop.sealed import Seals
from mentis.loop.sources import LoopChoice, open_loop
from mentis.ports.act_handler import ActHandler
from mentis.ports.chance import Chance
from mentis.ports.channel_adapter import ChannelAdapter
from mentis.ports.clock import Clock
from mentis.ports.provider import Provider
from mentis.ports.sense_source import SenseSource
from mentis.record.asked_agents import asked_around
from mentis.record.evidence import gather_evidence
from mentis.record.leases import entered, leased
from mentis.record.recent_thread import turns_page
from mentis.record.segments import open_segments
from mentis.record.verify import verify_agent
from mentis.recorder.prompt_parts import RecordedPrompts
from mentis.settings.settings import Settings, Stage
from mentis.stores.files.home import Home, checked_id
from mentis.stores.sqlite.database import Database
from mentis.talk.afterthought import Afterthought, think_again
from mentis.talk.autofill import draft_field
from mentis.talk.beat import SESSION as BEATS
from mentis.talk.beat import Beat, BeatRecord, beat_log, beat_schedule_of, due_at, make_beat
from mentis.talk.delivery import make_delivery
from mentis.talk.idle_plan import IdleCycle, IdlePlan, Tell
from mentis.talk.live import LiveSession, live_stimulus
from mentis.talk.persona_reading import progress
from mentis.talk.persona_update import Upkeep, update_persona, updates_due
from mentis.talk.schedule import BeatSchedule
from mentis.talk.session_queue import QueuePlace, SessionQueue
from mentis.talk.sessions import (
    adopt_turns,
    adopted_results,
    adopted_turn,
    answer_versions,
    branch_session,
    check_unbegun,
    first_message,
    message_again,
    opening_again,
    restore_answer,
    session_outline,
    sessions_of,
    set_title,
    turn_entries,
    undo_exchange,
)
from mentis.talk.side_call import SideCall, answer_side_call
from mentis.talk.silence import DueAfterthought, due_afterthought_of, unless_somebody_speaks
from mentis.talk.summaries import SessionSummary, SessionTitle, make_title, summarise
from mentis.talk.talking import afterthought_mode, summary_due, with_left_behind, with_note
from mentis.tick.cortex import Backlog, Cortex, TickResult
from mentis.tick.events import Emit, silent
from mentis.tools.builtin_acts import open_states
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import SideQuestion, builder_for
from mentis.turn.deliveries import deliverable_outcomes, delivery_session, news_for_turn
from mentis.turn.lock import exclusive
from mentis.turn.news_lock import deliver_alone
from mentis.turn.output import OutputForm, OutputPieces, output_form, schema_form
from mentis.turn.recaller import RecallResult, RecallScope, empty_recall
from mentis.turn.replay.fork import (
    Fork,
    fork_turn,
    live_models,
    live_route,
    run_of,
    scripted_models,
    session_of,
)
from mentis.turn.replay.prompt_change import PromptInForceChange, prompt_changes
from mentis.turn.replay.recorded_turn import RecordedTurn, find_entry, load_answer, load_turn
from mentis.turn.replay.replay import Replay, replay_turn
from mentis.turn.replay.what_if import EditTrial, WordingTrial, try_edit
from mentis.turn.resume import deferred_message, waiting_message
from mentis.turn.session_lock import AtTurn, delivery_lock, follow_talks, turn_lock
from mentis.turn.turn import (
    TurnResult,
    TypedResult,
    compose_turn,
    recall_scope,
    run_prepared,
    run_turn,
    told_history,
    with_others,
)
from mentis.turn.turn_context import TurnContext
from mentis.values.act import ActSpec
from mentis.values.action import Outcome
from mentis.values.assembly import AssembledPrompt
from mentis.values.blame import TurnBlame
from mentis.values.block import mode_named
from mentis.values.caching import CacheReconciliation, Forecast
from mentis.values.cause import CausePlan, TurnCauses
from mentis.values.cognition import Revision, Sense
from mentis.values.comparison import CompareCase, ComparePlan, CompareSide, Comparison
from mentis.values.cost import CostKey, CostReport, TurnExplanation
from mentis.values.entry import Entry, Verdict
from mentis.values.library import Library
from mentis.values.mark import Mark
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart, ToolResultPart
from mentis.values.persona import Persona
from mentis.values.persona_draft import DraftKind, PersonaDraft
from mentis.values.persona_update import PersonaUpdate, Progress, Trigger
from mentis.values.recalled import OPENING, RESUME, RecalledContext, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Delta, Usage
from mentis.values.request import HistoryScope, PromptRequest, RuntimeContext
from mentis.values.route import Route
from mentis.values.session import AnswerVersion, Session, SessionOutline, TurnPage
from mentis.values.surroundings import NOWHERE, Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .agent_tool import AgentTool, AgentToolOptions
from .wiring import open_agent_parts

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from mentis.assemble.assembler import TaskAssembler


@runtime_checkable
class _Closing(Protocol):
    async def aclose(self) -> None: ...


# A function, a handler, or the declaration of what the caller executes.
Tool: TypeAlias = ActHandler | ToolDeclaration | Callable[..., object]


T = TypeVar("T")
R = TypeVar("R", bound=TurnResult)


class AnswerStream(Generic[R]):
    """An answer on its way: iterate it for the pieces; `result` is there when it has ended."""

    def __init__(self, pieces: AsyncIterator[Delta]) -> None:
        self._pieces = pieces
        self.result: R | None = None

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._pieces


class Agent:
    """Open one with `Agent.open(path)`; use it as an async context manager, so that it is closed.

    ```python
    async with Agent.open("my-home") as agent:
        result = await agent.chat("Good morning!")
        print(result.text)
    ```
    """

    def __init__(
        self,
        parts: AgentParts,
        database: Database,
        settings: Settings,
        environ: Mapping[str, str] = os.environ,
        *,
        on_event: OnEvent | None = None,
    ) -> None:
        self._parts = parts
        self._on_event = on_event
        self._assembler: TaskAssembler | None = None
        self._environ = environ
        self._database = database
        self._settings = settings
        self._queue = SessionQueue(settings.model.turn.queue)
        self._tick: CancelScope | None = None
        self._updates: dict[CancelScope, str] = {}

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        persona: str | None = None,
        route: str = "default",
        tools: Sequence[Tool] = (),
        provider: Provider | None = None,
        parts: Parts | None = None,
    ) -> Self:
        """The agent of one persona; the only persona there is may be left unnamed.

        `tools` are functions, handlers, or declarations of what the caller executes. `provider` is
        asked in the place of the home's routes. `parts` exchanges everything else.
        """
        parts = parts or Parts()
        parts = replace(parts, handlers=(*parts.handlers, *map(as_handler, tools)))
        parts = parts if provider is None else replace(parts, provider=provider)
        opened, database, settings = open_agent_parts(
            Path(path), persona=persona, route=route, parts=parts
        )
        return cls(opened, database, settings, parts.variables, on_event=parts.on_event)

    @property
    def id(self) -> str:
        """The id that everything is recorded under: `home/persona`."""
        return self._parts.who.agent

    @property
    def persona(self) -> Persona:
        """Who it is, as its file said when it was opened."""
        return self._parts.who.persona

    @property
    def route(self) -> Route:
        """The route that is asked first."""
        return self._parts.models.route

    @property
    def acts(self) -> Registry:
        """What it can do, as it is now: `add` and `drop` count from the next turn on."""
        return self._parts.acting.registry

    @property
    def library(self) -> Library:
        """The prompt library as it is now. It blocks where files changed."""
        return self._parts.sources.shelf.current().library

    @property
    def pending_servers(self) -> tuple[str, ...]:
        """Servers that have not said yet what they can do: the turn that began waits for them."""
        return self._parts.acting.tools.connecting

    def compose(
        self,
        message: str | Stimulus,
        *,
        session: str = "main",
        options: CallOptions | None = None,
        tools: Sequence[ToolDeclaration] = (),
    ) -> Composition:
        """The request and trace for this message, as if it were sent now. Nothing is sent."""
        stimulus = self._stimulus(message)
        parts = self._calling(options).offering(deferred_specs(tools))
        checked_id(session, "session")
        history = told_history(
            parts.record, parts.sources.settings, parts.models, session, before=stimulus.replaces
        )
        history = with_others(parts.record, parts.sources.settings, history, stimulus)
        present = parts.look()
        outlook = recall_scope(parts.recaller, parts.acting, present, stimulus, session=session)
        brought = self._brought(stimulus, outlook.joined_by(history.turns))
        news = news_for_turn(
            parts.record, parts.acting, parts.sources.settings, session=session, stimulus=stimulus
        )
        return compose_turn(
            parts,
            present,
            parts.models.route,
            stimulus,
            history=history,
            news=news,
            recalled=brought,
        ).composed

    def render(
        self,
        message: str | Stimulus,
        *,
        session: str = "main",
        options: CallOptions | None = None,
    ) -> Rendering:
        """The exact payload for this message. Nothing is sent."""
        return render_request(
            self.compose(message, session=session, options=options).request,
            self._calling(options).models.route,
        )

    async def connect(self) -> tuple[ToolDeclaration, ...]:
        """Start the servers of its tools, as a turn would, and return all it can do now."""
        acting = self._parts.acting
        await acting.tools.start()
        await to_thread.run_sync(acting.tools.follow_skills)
        return acting.registry.declarations()

    async def recall(self, task: str, *, mode: str = "auto") -> RecalledContext:
        """What comes to mind for a task: tools, skills and memories, each with its reason."""
        return await self._assembling().recall(task, mode=mode)

    async def assemble(
        self,
        task: str,
        *,
        mode: str = "auto",
        root: str | Path | None = None,
        interactive: bool = False,
        git_changes: bool = False,
        session: str = "main",
        timings: bool = False,
    ) -> AssembledPrompt:
        """The prompt for a task as one text, layer by layer, with what went into it and why.

        `mode` is `plan`, `act`, `review` or `auto`; then the two hints and the words of the task
        decide. With a `root` the folder and its git repository are told of, without it nothing of
        the machine is. The same inputs give the same bytes. No model is called.
        """
        from mentis.recall.stance import Hints

        place = None if root is None else await to_thread.run_sync(Path(root).resolve)
        return await self._assembling().assemble(
            task,
            mode=mode,
            root=place,
            hints=Hints(interactive, git_changes),
            session=checked_id(session, "session"),
            timings=timings,
        )

    def forecast_cache(
        self,
        rendering: Rendering,
        *,
        route: Route | None = None,
        before: Rendering | bytes | None = None,
    ) -> Forecast:
        """What the cache is worth for a rendering: tokens and price of each boundary.

        With `before`, an earlier rendering (or what `mentis render` wrote of it), also the first
        byte that differs, the span it belongs to, and what has to be read again for that.
        """
        earlier = read_previous(before, rendering) if isinstance(before, bytes) else before
        chosen, now = route or self._parts.models.route, self._parts.record.now()
        return self._parts.models.caching.forecast(rendering, chosen, now=now, before=earlier)

    def reconcile_cache(
        self, rendering: Rendering, usage: Usage, *, session: str = "main"
    ) -> CacheReconciliation:
        """What was expected of the cache beside what a call of your own reported. Not recorded."""
        parts = self._parts
        now = parts.record.now()
        settled = parts.models.caching.reconcile(
            rendering, parts.models.route, usage, session=session, now=now
        )
        return settled.reconciled

    def history(self, *, session: str = "main") -> tuple[Turn, ...]:
        """The turns of a session as they are kept; what they waited for may be known since."""
        return self._parts.record.turns(checked_id(session, "session"))

    def turns_page(
        self,
        *,
        session: str = "main",
        after: int | None = None,
        count: int | None = None,
        newest: bool = False,
    ) -> TurnPage:
        """So many turns of a session after a number, or with `newest` the last ones, or those
        before a number: a page of a long conversation costs no more than a short one.
        """
        name, record = checked_id(session, "session"), self._parts.record
        return turns_page(record, name, after=after, count=count, newest=newest)

    def last_turns(
        self, count: int, *, before: int | None = None, session: str = "main"
    ) -> tuple[tuple[int, Turn], ...]:
        """The last turns of a session, or the last before a number, each with its own: a piece of a
        long conversation costs no more than a short one. Without the bytes of attachments.
        """
        record = self._parts.record
        name = checked_id(session, "session")
        return record.ledger.last_turns(record.agent, name, count, before=before)

    def turn_entries(
        self, numbers: Collection[int], *, session: str = "main", before: int | None = None
    ) -> dict[int, int]:
        """The entries of these messages' turns, as far as they are among the last ones, or stand
        shortly `before` an entry.
        """
        name = checked_id(session, "session")
        return turn_entries(self._parts.record, name, numbers, before=before)

    def entries(self, *, last: int | None = None) -> tuple[Entry, ...]:
        """The record of this agent, or its last entries, oldest first."""
        ledger, agent = self._parts.record.ledger, self._parts.who.agent
        return tuple(ledger.entries(agent)) if last is None else ledger.latest(agent, last)

    def find_entry(self, index: int) -> Entry | None:
        """One entry of the record; None where there is none of that number, or it was dropped."""
        return self._parts.record.ledger.find(self._parts.who.agent, index)

    def verify(self) -> Verdict:
        """Check this agent's whole record, with every checkpoint that the home knows of."""
        parts = self._parts
        home = Home(self._database.path.parent)
        asked = gather_evidence(home, self._settings, self._environ, persona=parts.who.persona.id)
        return verify_agent(parts.who.agent, parts.record.ledger, parts.record.ledger, asked)

    def costs(
        self,
        *,
        by: CostKey = "day",
        since: datetime | None = None,
        until: datetime | None = None,
        dearest: int = 5,
        session: str = "",
        of: str = "",
    ) -> CostReport:
        """What the calls of this agent cost, from its record: sums by day, session, route, model,
        block or kind, and the dearest turns with what their caches lost; of all sessions, or of
        one. Nothing is asked. `of` names a recorded agent of this home instead (`recorded/NAME`).
        """
        question = CostQuestion(by, since, until, dearest, session=session)
        own, here = self._reader_of(of), self._agents_here()
        others = [self._reader(agent, None) for agent in here if agent != own.agent]
        return cost_report([own], question, beside=others)

    def why(self, index: int | None = None, *, step: int = 1, of: str = "") -> TurnExplanation:
        """What the model was told in a recorded turn (the last one, unless an entry is named) and
        step, with trust, tokens, price and cache; what was left out; what had changed. Offline.
        `of` names a recorded agent of this home instead (`recorded/NAME`).
        """
        return explain_turn(self._reader_of(of), index, step)

    def blame(
        self, index: int | None = None, *, step: int = 1, of: str = "", wire: str = ""
    ) -> TurnBlame:
        """The same, with the text of the prompt: who wrote each run of it, and why it is in. With a
        `wire`, the request as it would be sent in that format.
        """
        return blame_turn(self._reader_of(of), index, step, wire=wire)

    def search_requests(
        self, words: str, *, before: int | None = None, most: int = MOST_CALLS
    ) -> RequestSearch:
        """Where words stand in what models were told, the newest call first, among the `most` calls
        `before` an entry: `next` of the answer goes on. Nothing is asked or written. It blocks.
        """
        reader = self._reader(self.id, self._replay_step)
        return search_requests(reader, words, before=before, most=most)

    def greeting(self) -> str:
        """The first words of the persona: those of the library on this route, then its own
        greeting. It blocks.
        """
        parts = self._parts
        present, variant = parts.look(), parts.models.route.variant
        builder = builder_for(parts.who, parts.models, present)
        told = builder.get_first_assistant_content(variant, present.variables).text.strip()
        return "\n\n".join(filter(None, (told, parts.who.persona.greeting.strip())))

    def told_library(self, index: int, *, step: int = 1) -> Library:
        """The prompt library as a recorded turn was told from it; ReplayError where it is gone."""
        return self._kept_turn(index, step).inputs.library

    def block_revisions(self, block: str, *, last: int | None = None) -> tuple[Revision, ...]:
        """The saved states of a block, the oldest first: all, or the `last` so many."""
        return open_revisions(self._database).history(key_of(block), last=last)

    def plan_cause(
        self,
        index: int | None = None,
        *,
        step: int = 0,
        blocks: int = 0,
        samples: int = SAMPLES,
        route: str = "",
    ) -> CausePlan:
        """What `cause` would ask, and what that may cost. Nobody is asked."""
        return self._prepared_cause(index, step, blocks=blocks, samples=samples, route=route).plan

    async def cause(
        self,
        index: int | None = None,
        *,
        step: int = 0,
        blocks: int = 0,
        samples: int = SAMPLES,
        route: str = "",
        confirm: bool = False,
        max_usd: Decimal | None = None,
    ) -> TurnCauses:
        """Which pieces of its prompt a recorded answer hangs on: each is left out in turn, and the
        same answer is scored again, or, where its route tells no probabilities, `samples` new ones
        are compared with it.

        The last turn, unless an entry is named, and its last step. `blocks` leaves out only so many
        pieces, those that share most words with the answer. `route` lets another route judge. What
        costs money needs `confirm`, or a `max_usd` that covers it; its calls are recorded.
        """
        prepare = partial(
            self._prepared_cause, index, step, blocks=blocks, samples=samples, route=route
        )
        prepared = await to_thread.run_sync(prepare)
        check_consent(prepared.plan, confirm=confirm, max_usd=max_usd)
        models = replace(self._parts.models.only(prepared.question.route), correction=None)
        ask = ask_free if prepared.plan.free else self._paid_calls("cause").ask
        return await find_causes(
            prepared, lambda rendering: ask(models, bare_attempt(models, rendering))
        )

    def _paid_calls(self, what: str) -> PaidCalls:
        """Calls of no turn that cost; `what` asks for them."""
        record = self._parts.record
        parts = Parts(clock=record.clock, ids=record.ids, environ=self._environ)
        return PaidCalls(Home(self._database.path.parent), self._settings, parts, what)

    def _prepared_cause(
        self, index: int | None, step: int, *, blocks: int, samples: int, route: str
    ) -> PreparedCauses:
        """It blocks."""
        if blocks < 0 or samples < 1:
            raise UsageError(
                "a cause needs something to leave out and an answer to compare",
                hint="blocks is 0 (all) or more, samples 1 or more",
            )
        entry = index if index is not None else self.why().turn.entry
        kept = self._kept_turn(entry, step or 1)
        if not step and kept.steps > 1:
            kept = self._kept_turn(entry, kept.steps)
        parts, replayed = self._parts, replay_turn(kept, self._parts.who.secret)
        answer = load_answer(parts.record, parts.inputs, parts.acting.tools.notes, kept)
        home, then = Home(self._database.path.parent), kept.inputs.route
        current = open_routes(self._settings, home, route or then.name)[0]
        question = CauseQuestion(
            self.id,
            entry,
            kept.step,
            replayed.composed.request,
            "" if answer is None else answer.text,
            current if route else live_route(then, current),
            blocks,
            samples,
            cause_notes(replayed, route),
        )
        return prepare_causes(question, parts.models.counter(question.route))

    def _reader_of(self, recorded: str) -> RecordReader:
        if not recorded:
            return self._reader(self.id, self._replay_step)
        if not recorded.startswith(RECORDED) or recorded not in self._agents_here():
            raise unknown_recorded(recorded, self._agents_here())
        return self._reader(recorded, None)

    def _agents_here(self) -> tuple[str, ...]:
        home = Home(self._database.path.parent)
        return agents_here(self._parts.record.ledger, self._settings, home, None)

    def _replay_step(self, index: int, step: int) -> Replay:
        return self.replay(index, step=step)

    def _reader(self, agent: str, replay: ReplayTurn | None) -> RecordReader:
        home, ledger = Home(self._database.path.parent), self._parts.record.ledger
        foreign = RecordedPrompts(open_blobs(home, self._database))
        return record_reader(agent, ledger, home, self._settings, replay=replay, foreign=foreign)

    @overload
    async def chat(
        self,
        message: str | Stimulus = "",
        *,
        session: str = "main",
        results: Mapping[str, str] | Sequence[ToolResultPart] = (),
        tools: Sequence[ToolDeclaration] = (),
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
        output: None = None,
    ) -> TurnResult: ...

    @overload
    async def chat(
        self,
        message: str | Stimulus = "",
        *,
        session: str = "main",
        results: Mapping[str, str] | Sequence[ToolResultPart] = (),
        tools: Sequence[ToolDeclaration] = (),
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
        output: Mapping[str, object],
    ) -> TypedResult[object]: ...

    @overload
    async def chat(
        self,
        message: str | Stimulus = "",
        *,
        session: str = "main",
        results: Mapping[str, str] | Sequence[ToolResultPart] = (),
        tools: Sequence[ToolDeclaration] = (),
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
        output: TypeForm[T],
    ) -> TypedResult[T]: ...

    async def chat(
        self,
        message: str | Stimulus = "",
        *,
        session: str = "main",
        results: Mapping[str, str] | Sequence[ToolResultPart] = (),
        tools: Sequence[ToolDeclaration] = (),
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
        output: Any = None,  # a type or a JSON Schema
    ) -> TurnResult:
        """Send a message and read the answer to its end; `on_delta` gets every piece as it comes.

        Tools are used in between, as often as the answer asks for it. A `Stimulus` carries what
        comes with the words: attachments, the message it answers, facts about this turn, what is
        around the conversation. Instead of a message, `results` answer the calls that the last turn
        left to the caller (`result.calls`), by their ids, and the turn goes on. `tools` are offered
        in this turn beside its own, and left to the caller. `options` hold for the calls of this
        turn, before those of its routes.

        `output` is the form of the answer: a pydantic model, a dataclass, a TypedDict, a union, or
        a JSON Schema. `result.output` is of that type; where no answer comes to that, also asked
        again, OutputInvalid says why, and the turn is in the record.
        """
        form = None if output is None else output_form(output)
        offered = deferred_specs(tools)
        talk = partial(self._talk, form=form, on_delta=on_delta, options=options, offered=offered)
        with self._queue.join(checked_id(session, "session")) as place:
            if results:
                async with self._going_on(session):
                    return await talk(place, partial(self._with_results, message, session, results))
            return await talk(place, await self._checked(message))  # refused at once

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None, None]:
        """Be the one who serves this agent, over all machines; LeaseHeld while another one does."""
        record = self._parts.record
        async with entered(leased(record.ledger, record.clock, record.agent, "serve")):
            yield

    async def serve(
        self, message: Stimulus, *, session: str, settles: Mark, on_delta: OnDelta | None = None
    ) -> TurnResult:
        """A turn that takes a mark away in the transaction of its entry: whoever comes second finds
        it gone, and records nothing.
        """
        with self._queue.join(checked_id(session, "session")) as place:
            stimulus = await self._checked(message)
            return await self._talk(
                place, stimulus, on_delta=on_delta, options=None, settles=(settles,)
            )

    def stands(self, mark: Mark) -> bool:
        """Whether such a mark is there. It blocks."""
        record = self._parts.record
        return record.ledger.mark(record.agent, mark.kind, mark.key) is not None

    def _going_on(self, session: str) -> AbstractAsyncContextManager[object]:
        """One at a time goes on with a turn of a session, over all processes."""
        return exclusive(self._parts.record, self._parts.who, f"resume.{session}")

    def as_tool(
        self,
        *,
        name: str,
        description: str,
        timeout_seconds: float = 300.0,
        trusted: bool = False,
    ) -> ActHandler:
        """A tool for another agent (`Agent.open(home, tools=[...])`): it asks this one a `message`
        and is told the answer.

        Each call is a turn of this agent in a session of its own, and counts for the budgets of
        the turn that calls. What an agent that had read untrusted text asks is a guest's message.
        """
        options = AgentToolOptions(name, description, timeout_seconds, trusted=trusted)
        return AgentTool(self.id, self._ask, options, depth=self._settings.model.turn.depth)

    def as_handoff(
        self, *, name: str, description: str, timeout_seconds: float = 300.0
    ) -> ActHandler:
        """A tool by which another agent hands the message over: this one answers the person, in
        the session of the same name that it has, and the turn that calls ends with that answer.
        """
        options = AgentToolOptions(name, description, timeout_seconds, handoff=True)
        return AgentTool(self.id, self._ask, options, depth=self._settings.model.turn.depth)

    async def _ask(
        self,
        message: Stimulus,
        session: str,
        outer: TurnContext | None,
        on_delta: OnDelta | None,
    ) -> TurnResult:
        """A turn that a turn of another agent asks for."""
        with self._queue.join(checked_id(session, "session")) as place:
            stimulus = await self._checked(message)
            return await self._talk(place, stimulus, on_delta=on_delta, options=None, outer=outer)

    async def _talk(
        self,
        place: QueuePlace,
        message: Stimulus | Callable[[], Stimulus],
        *,
        form: OutputForm[Any] | None = None,
        on_delta: OnDelta | None,
        options: CallOptions | None,
        offered: tuple[ActSpec, ...] = (),
        outer: TurnContext | None = None,
        settles: tuple[Mark, ...] = (),
    ) -> TurnResult:
        """A turn with this message, or the one that is found when nobody else is at the session."""
        parts = self._calling(options).offering(offered)
        session, tell = place.session, on_delta or _ignore
        async with self._at_turn(place) as (reading, turn):
            parts = parts.writing(replace(turn.record, settles=settles))
            found = callable(message)
            stimulus = await to_thread.run_sync(message) if found else message
            if stimulus.results:
                received = await parts.acting.receive(stimulus.results)
                stimulus = replace(stimulus, results=received)
            if form is not None:
                stimulus = replace(stimulus, output=form.schema)
            elif stimulus.output is not None:  # as it was asked for before
                form = schema_form(stimulus.output)
            if parts.models.route.options.cache_diagnostics:
                compared = partial(parts.models.comparing, session)
                parts = parts.asking(await to_thread.run_sync(compared))
            result = await run_turn(
                parts,
                stimulus,
                session=session,
                on_delta=tell if form is None else OutputPieces(form, tell),
                reading=reading,
                form=form,
                outer=outer,
            )
        result = with_left_behind(result, turn.left)
        if summary_due(result, self._parts.sources.settings):
            result = await self._summed_up(place, result)
        return result

    async def resume(
        self,
        *,
        session: str = "main",
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
    ) -> TurnResult | None:
        """Go on with the last turn, once a person has decided on what it waited for: the model is
        told what came of it, in a turn that names the first. What was approved is done first.
        `options` hold for the calls of this turn, before those of its routes.

        None where nothing has been decided, or somebody wrote since: the next turn tells it then.
        """
        checked_id(session, "session")
        parts = self._calling(options)
        await parts.acting.begin(session)
        await parts.acting.wait_for_approved()

        def waiting() -> int | None:
            news = {outcome.key for outcome in parts.acting.news()}
            return waiting_message(parts.record, session, news)

        number = await to_thread.run_sync(waiting)
        if number is None:
            return None
        stimulus = await to_thread.run_sync(self._resumed, session, number)
        if stimulus is None:
            return None
        async with self._answering(session) as (reading, turn), self._going_on(session):
            parts = parts.writing(turn.record)
            # Somebody may have been faster, or have written in between.
            if await to_thread.run_sync(waiting) != number:
                return None
            return await run_turn(
                parts,
                stimulus,
                session=session,
                on_delta=on_delta or _ignore,
                reading=reading,
                form=schema_form(stimulus.output) if stimulus.output else None,
            )

    def _calling(self, options: CallOptions | None) -> AgentParts:
        """As it is asked in a talk, with these options before those of the route."""
        models = self._parts.models.tuned(tuned_for_talk)
        if options is not None:
            models = models.calling(check_options(options))
        return self._parts if models is self._parts.models else self._parts.asking(models)

    async def regenerate(
        self,
        *,
        session: str = "main",
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
    ) -> TurnResult:
        """Ask once more with the last message; the earlier answer is kept, and no longer told."""

        def again() -> Stimulus:
            return self._stimulus(message_again(self._parts.record, self._parts.inputs, session))

        with self._queue.join(checked_id(session, "session")) as place:
            return await self._talk(place, again, on_delta=on_delta, options=options)

    async def edit(
        self,
        number: int,
        text: str,
        *,
        session: str = "main",
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
    ) -> TurnResult:
        """Say message `number` in other words; what followed it is kept, and no longer told."""
        again = partial(message_again, self._parts.record, self._parts.inputs, text=text)

        def edited() -> Stimulus:
            return self._stimulus(again(session, number))

        with self._queue.join(checked_id(session, "session")) as place:
            return await self._talk(place, edited, on_delta=on_delta, options=options)

    async def adopt(self, turns: Sequence[Turn], *, session: str = "main") -> Entry:
        """Keep in a session what somebody says was said there: it is told from now on, and nobody
        vouches for it. The first may say in `replaces` from where on it is told instead.
        """
        parts = self._parts
        async with self._answering(session):
            brought = [adopted_results(turn) for turn in turns]
            received = [
                await parts.acting.receive(outcomes) if outcomes else () for outcomes in brought
            ]
            kept = tuple(map(adopted_turn, turns, received))
            return await to_thread.run_sync(adopt_turns, parts.record, session, kept)

    async def undo(self, *, session: str = "main") -> Entry:
        """Take back the last message that counts and its answer: kept, and no longer told."""
        async with self._answering(session):
            return await to_thread.run_sync(undo_exchange, self._parts.record, session)

    def answer_versions(self, *, session: str = "main") -> tuple[AnswerVersion, ...]:
        """The answers that the last message has had, the oldest first. It blocks."""
        return answer_versions(self._parts.record, checked_id(session, "session"))

    async def restore_answer(self, number: int, *, session: str = "main") -> Entry:
        """Tell an earlier answer to the last message again: that of the message `number`, as
        `answer_versions` names it. The one that counted is kept, too.
        """
        async with self._answering(session):
            return await to_thread.run_sync(restore_answer, self._parts.record, session, number)

    async def branch(self, number: int, *, session: str = "main", to: str) -> Entry:
        """Begin the session `to` with what was told in another up to that turn, also where that
        was said anew since. Both go on by themselves.
        """
        record = self._parts.record
        async with self._answering(checked_id(to, "session")):
            return await to_thread.run_sync(branch_session, record, session, number, to)

    async def answer_side_call(
        self, call: SideCall, *, session: str, options: CallOptions | None = None
    ) -> SideQuestion:
        """Answer what a program asks beside a conversation, such as a title of it: of the persona
        nothing is told, and nothing is kept but the entry, which names its kind.
        """
        parts = self._calling(options)
        present = await to_thread.run_sync(parts.look)
        async with self._answering(session) as (reading, _):
            return await answer_side_call(parts, present, call, session=session, reading=reading)

    async def start_conversation(
        self,
        *,
        session: str = "main",
        on_delta: OnDelta | None = None,
        options: CallOptions | None = None,
    ) -> TurnResult:
        """Let the agent begin the conversation; only what it says is kept."""
        parts = self._parts

        def first() -> Stimulus:
            check_unbegun(parts.record, session)
            return self._stimulus(first_message(parts.who, parts.models, parts.look()))

        with self._queue.join(checked_id(session, "session")) as place:
            return await self._talk(place, first, on_delta=on_delta, options=options)

    async def afterthought(
        self, *, session: str = "main", on_delta: OnDelta | None = None
    ) -> Afterthought:
        """Let the agent think about the conversation now, and write once more if it wants to."""
        parts = self._staged("afterthought")
        async with self._answering(session) as (reading, _):
            return await think_again(parts, session, on_delta=on_delta or _ignore, reading=reading)

    async def update_memory(
        self, *, session: str = "main", trigger: Trigger = "hand"
    ) -> PersonaUpdate | None:
        """Let the persona bring its memory files up to date from a conversation.

        With the trigger `share` only if one is due, else None. It may run beside `chat`.
        """
        parts = self._staged("persona_update")
        checked_id(session, "session")
        scope = CancelScope()
        self._updates[scope] = session
        try:
            return await update_persona(parts, session, trigger=trigger, reading=scope)
        finally:
            del self._updates[scope]

    def update_progress(self, *, session: str = "main") -> Progress:
        """How far a session is from the next update of the memory files."""
        parts, settings = self._parts, self._parts.sources.settings.current()[0]
        return progress(parts.record, parts.models, settings, checked_id(session, "session"))

    def updates_due(self, since: int = 0) -> tuple[tuple[str, ...], int]:
        """The sessions whose update is due, of those with entries from index `since` on, and from
        where to look the next time.
        """
        parts = self._parts
        now = parts.record.ledger.count(parts.who.agent)
        if since and now == since:
            return (), now
        return updates_due(parts.record, parts.models, parts.sources.settings, since), now

    def upkeep(self, on_update: Callable[[PersonaUpdate | MentisError], None]) -> Upkeep:
        """The updates of the memory files in the background: `run` it beside the talk."""

        async def update(session: str, trigger: Trigger) -> PersonaUpdate | None:
            return await self.update_memory(session=session, trigger=trigger)

        return Upkeep(update, on_update=on_update)

    def idle_cycle(
        self,
        on_afterthought: Tell,
        *,
        chance: Chance | None = None,
        on_delta: OnDelta | None = None,
    ) -> IdleCycle:
        """Thinking again while nobody writes, as the settings say: `run` it beside the talk."""
        plan = IdlePlan(
            afterthought_mode(self._parts.sources.settings.current()[0]), chance or RandomChance()
        )

        async def think(session: str) -> Afterthought:
            return await self.afterthought(session=session, on_delta=on_delta)

        follow = partial(follow_talks, self._parts.who)
        return IdleCycle(
            think, plan, self._parts.record.clock, on_afterthought=on_afterthought, following=follow
        )

    def due_afterthought(self) -> DueAfterthought | None:
        """The talk that is to be thought about once more, and when; for `mentis run`, which makes
        at most `run.afterthoughts` messages of it that nobody answers.
        """
        parts, live = self._parts, self._parts.sources.settings
        most = live.current()[0].model.run.afterthoughts
        return due_afterthought_of(parts.record, parts.who, live, most=most)

    async def run_afterthought(
        self, due: DueAfterthought, *, poll: float = 1.0
    ) -> Afterthought | None:
        """The afterthought of that silence; None if it is over. Once somebody speaks, in whatever
        process, it is broken off.
        """
        if await to_thread.run_sync(self.due_afterthought) != due:
            return None
        think = partial(self.afterthought, session=due.session)
        return await unless_somebody_speaks(
            self._parts.record,
            due.session,
            think,
            break_off=partial(self.interrupt, due.session),
            poll=poll,
            is_awaited=partial(self._queue.is_awaited, due.session),
        )

    async def make_title(self, *, session: str = "main") -> SessionTitle:
        """A title for the session from the model; where none comes, its first words, noted so."""
        present = await to_thread.run_sync(self._parts.look)
        async with self._answering(session) as (reading, _):
            return await make_title(self._parts, present, session, reading=reading)

    async def autofill(self, kind: DraftKind, wish: str, *, session: str = "main") -> PersonaDraft:
        """A field of the persona, drafted by the model out of a few words. Nothing is written:
        `Personas.accept_draft` does that.
        """
        present = await to_thread.run_sync(self._parts.look)
        async with self._answering(session) as (reading, _):
            return await draft_field(
                self._parts, present, kind, wish, session=session, reading=reading
            )

    def set_title(self, title: str, *, session: str = "main") -> Entry:
        """Your own title for the session."""
        return set_title(self._parts.record, checked_id(session, "session"), title)

    async def summarise(self, *, session: str = "main") -> SessionSummary | None:
        """Have all but the newest turns told as a summary from now on; None if there are none."""
        with self._queue.join(checked_id(session, "session")) as place:
            return await self._summarise(place)

    async def _summarise(self, place: QueuePlace) -> SessionSummary | None:
        async with self._at_turn(place) as (reading, _):
            present = await to_thread.run_sync(self._parts.look)
            return await summarise(self._parts, present, place.session, reading=reading)

    def sessions(self, names: Collection[str] | None = None) -> tuple[Session, ...]:
        """The conversations of this persona, or those of these names, the oldest first."""
        return sessions_of(self._parts.record, names)

    def session_outline(self, name: str) -> SessionOutline:
        """What a list shows of a conversation; a long one costs no more than a short one."""
        return session_outline(self._parts.record, checked_id(name, "session"))

    def session_names(self) -> tuple[str, ...]:
        """The names of all conversations, the oldest first, without a look into them."""
        record = self._parts.record
        return record.ledger.sessions(record.agent)

    async def _summed_up(self, place: QueuePlace, result: TurnResult) -> TurnResult:
        """Before whoever waits is answered. Where no summary comes, what did not fit stays left
        out: the turn is not lost for it.
        """
        try:
            await self._summarise(place)
        except MentisError as error:
            return with_note(result, Degradation("summary", f"none was made: {error.message}"))
        return result

    def _staged(self, stage: Stage) -> AgentParts:
        """The parts, with the route that the stage has of its own, if it has one."""
        parts, home = self._parts, self._parts.who.home
        route = open_stage(self._settings, home, stage, instead_of=parts.models.route)
        return parts if route is None else parts.asking(parts.models.only(route))

    @asynccontextmanager
    async def _answering(self, session: str) -> AsyncGenerator[tuple[CancelScope, AtTurn], None]:
        """After everybody who came to the session before."""
        with self._queue.join(checked_id(session, "session")) as place:
            async with self._at_turn(place) as answering:
                yield answering

    @asynccontextmanager
    async def _at_turn(self, place: QueuePlace) -> AsyncGenerator[tuple[CancelScope, AtTurn], None]:
        """Once it is its turn; what another process left behind in the session is settled."""
        reading = await place.wait()
        async with turn_lock(self._parts.record, self._parts.who, place.session) as turn:
            yield reading, turn

    def replay(self, index: int, *, step: int = 1) -> Replay:
        """The prompt of a recorded turn, put together again and compared with its entry, offline:
        that of its first step, or of another. Notes name the turns of other agents that belong
        to it.

        ReplayError where something it was made from is gone, or was never kept.
        """
        kept = self._kept_turn(index, step)
        replayed = replay_turn(kept, self._parts.who.secret)
        return replace(
            replayed, notes=(*replayed.notes, *asked_around(self._parts.record, kept.entry))
        )

    def fork(
        self, index: int, blocks: Mapping[str, str], *, step: int = 1, force: bool = False
    ) -> Fork:
        """A step of a recorded turn with other texts in some blocks, and what differs for that.

        Nothing is sent or written; `run_fork` does that. Only `force` changes the constitution.
        """
        self._check_texts(blocks)
        models, secret = self._parts.models, self._parts.who.secret
        return fork_turn(models, self._kept_turn(index, step), blocks, secret=secret, force=force)

    def _check_texts(self, blocks: Mapping[str, str]) -> None:
        most = self._settings.model.limits.prompt_file_bytes
        for name, text in blocks.items():
            if len(text.encode("utf-8", "surrogatepass")) > most:
                raise BadInput(
                    f"the text for block {name!r} is over {most} bytes",
                    hint="shorten it, or raise limits.prompt_file_bytes",
                )

    def what_if(
        self,
        block: str,
        text: str,
        *,
        variant: str = "default",
        index: int | None = None,
        whole: str = "",
    ) -> EditTrial:
        """What saving this text as a wording of a block would do on every route: tokens, price and
        what a cache keeps of the prompt of the last turn, or of the one named, told with the
        prompts of now. On the route `whole`, also the prompt itself. Nothing is sent or written.
        """
        self._check_texts({block: text})
        turn = None if index is None else self._kept_turn(index, 1)
        trial = WordingTrial(block, text, variant)
        return try_edit(self._parts, trial, turn, load=self._kept_turn, whole=whole)

    def prompt_changes(
        self, before: Library, edits: Sequence[Edit] = ()
    ) -> tuple[PromptInForceChange, ...]:
        """What became of the prompt in force since the library was `before`, on every route: the
        differences, tokens and price, or why it is the same (of these `edits`) and the command that
        would change it. Nothing is sent or written.
        """
        return prompt_changes(self._parts, before, edits, load=self._kept_turn)

    async def plan_comparison(
        self,
        messages: Sequence[str | Mapping[str, object] | CompareCase],
        a: SideGiven = AS_IT_IS,
        b: SideGiven | None = None,
        *,
        repeat: int | None = None,
        replay: str | Path = "",
    ) -> ComparePlan:
        """What `compare` would ask, how the prompts of both sides differ, and what it may cost.
        Nobody is asked.
        """
        kept = await to_thread.run_sync(read_kept, Path(replay)) if replay else None
        return (await self._prepared_comparison(messages, a, b, repeat=repeat, kept=kept)).plan

    async def compare(  # noqa: PLR0913  # each is a choice of its own
        self,
        messages: Sequence[str | Mapping[str, object] | CompareCase],
        a: SideGiven = AS_IT_IS,
        b: SideGiven | None = None,
        *,
        repeat: int | None = None,
        functions: Mapping[str, OwnCheck] | None = None,
        keep: str | Path = "",
        replay: str | Path = "",
        confirm: bool = False,
        max_usd: Decimal | None = None,
        on_answer: OnAnswer | None = None,
    ) -> Comparison:
        """The same messages answered as `a` and as `b` say, each `repeat` times, checked and
        counted; without `b`, one side alone is measured. Without `repeat` each is asked once, and
        of kept answers all are taken.

        A message is a text, or a mapping with its checks: `{"message": "Who are you?", "contains":
        "Ada"}`; `functions` are those that checks name. A side says its `route`, `model`, `blocks`
        (texts by their ids) or `prompts` (a prompt set): `b={"route": "small"}`. A message is said
        outside of every conversation, and what an answer asks for is not done. `keep` writes the
        answers to a file, and `replay` judges those of such a file without asking anybody. What
        costs money needs `confirm`, or a `max_usd` that covers it; its calls are recorded.
        """
        kept = await to_thread.run_sync(read_kept, Path(replay)) if replay else None
        prepared = await self._prepared_comparison(messages, a, b, repeat=repeat, kept=kept)
        run = partial(
            run_comparison,
            prepared,
            functions=functions or {},
            on_answer=on_answer or _uncounted,
        )
        if kept is not None:
            return await run(kept.ask, replayed=True)
        check_compare_consent(prepared.plan, confirm=confirm, max_usd=max_usd)
        ask = ask_free if prepared.plan.free else self._paid_calls("compare").ask
        if not keep:
            return await run(ask)
        keeper = AnswerKeeper(ask, prepared.now, prepared.plan.repeat)
        try:
            return await run(keeper.ask)
        finally:
            with CancelScope(shield=True):
                await to_thread.run_sync(keeper.write, Path(keep))

    async def _prepared_comparison(
        self,
        messages: Sequence[str | Mapping[str, object] | CompareCase],
        a: SideGiven,
        b: SideGiven | None,
        *,
        repeat: int | None,
        kept: KeptAnswers | None,
    ) -> PreparedComparison:
        cases, parts = make_cases(messages, "messages"), self._parts
        sides = tuple(as_side(one) for one in ((a,) if b is None else (a, b)))
        for side in sides:
            self._check_texts(side.blocks)
        stimuli = [await self._checked(one.message) for one in cases]
        now, usual = (parts.models.clock.now(), 1) if kept is None else (kept.now, kept.repeat)
        times = usual if repeat is None else repeat
        question = CompareQuestion(cases, tuple(stimuli), sides, times, self._route_of_side, now)
        return await prepare_comparison(parts, question)

    def _route_of_side(self, side: CompareSide) -> Route:
        """The route of the agent, unless the side names another, tuned as for a talk."""
        home = Home(self._database.path.parent)
        route = open_routes(self._settings, home, side.route)[0] if side.route else self.route
        return tuned_for_talk(replace(route, model=side.model) if side.model else route)

    async def run_fork(
        self,
        fork: Fork,
        *,
        live: bool = False,
        script: Sequence[str] | None = None,
        on_delta: OnDelta | None = None,
    ) -> TurnResult:
        """Ask what a fork would ask: its provider (`live`), or a script of replies.

        It is a turn in a session of its own, and its entry names the turn that it was made from.
        What the answer asks for is not done.
        """
        if live == (script is not None):
            raise UsageError(
                "a fork goes on live or with a script", hint="choose one: live=True, or script=..."
            )
        if script is not None:
            models = scripted_models(self._parts.models, fork, script)
        else:
            home = Home(self._database.path.parent)
            chain = open_routes(self._settings, home, fork.inputs.route.name)
            models = live_models(self._parts.models, fork, chain[0])
        parts = self._parts.asking(models)
        present = await to_thread.run_sync(parts.look)
        session = await to_thread.run_sync(session_of, parts.record, fork)
        run = await run_of(parts, present, fork)
        async with self._answering(session) as (reading, _):
            return await run_prepared(
                run, session=session, on_delta=on_delta or _ignore, reading=reading
            )

    async def beat(
        self,
        kind: str | None = None,
        *,
        chance: Chance | None = None,
        on_delta: OnDelta | None = None,
    ) -> Beat:
        """Let it have a moment of its own: of that kind, or of one that chance draws.

        Nothing of it goes to anybody. There is one at a time, over all processes.
        """
        parts = self._staged("beat")
        async with (
            exclusive(parts.record, parts.who, "beat") as record,
            self._answering(BEATS) as (reading, _),
        ):
            return await make_beat(
                replace(parts, record=record),
                kind,
                chance=chance or RandomChance(),
                on_delta=on_delta or _ignore,
                reading=reading,
            )

    def next_beat(self) -> datetime:
        """When a beat is due, whoever makes it; `beats.enabled` is about `mentis run` alone."""
        return due_at(self._parts.record, self._parts.sources.settings.current()[0].model.beats)

    def beat_schedule(self) -> BeatSchedule:
        """Beats as `mentis run` plans them: when the next is due, never if not enabled."""
        return beat_schedule_of(
            self._parts.record, self._parts.sources.settings.current()[0].model.beats
        )

    def beats(self, count: int = 20) -> tuple[BeatRecord, ...]:
        """The log: the last beats, the oldest first."""
        return beat_log(self._parts.record, count)

    async def deliver(
        self, outcome: Outcome, *, session: str | None = None, on_delta: OnDelta | None = None
    ) -> TurnResult:
        """Tell whoever asked what came of an act after its turn: in one message, once.

        It is told in the session that asked for it, unless another is named, after the messages
        that came there before. StoreLocked while another process answers somebody there, or
        somebody is told of it elsewhere: a message and its answer stay together.
        """
        parts = self._parts
        chosen = session or await to_thread.run_sync(delivery_session, parts.record, outcome)
        with self._queue.join(checked_id(chosen, "session")) as place:
            reading = await place.wait()
            async with exclusive(parts.record, parts.who, "delivery") as record:
                parts = replace(parts, record=record)
                with deliver_alone(parts.claims, parts.who, outcome):
                    async with delivery_lock(record, parts.who, chosen):
                        return await make_delivery(
                            parts,
                            outcome,
                            session=chosen,
                            on_delta=on_delta or _ignore,
                            reading=reading,
                        )

    async def deliverable_outcomes(self) -> tuple[Outcome, ...]:
        """What came of acts that somebody waits for, and can be delivered. What a person has
        approved meanwhile is done first.
        """
        await self._parts.acting.begin()
        parts = self._parts
        find = partial(deliverable_outcomes, parts.record, parts.acting, parts.sources.settings)
        return await to_thread.run_sync(find)

    async def live(
        self,
        *,
        session: str = "main",
        surroundings: Surroundings = NOWHERE,
        attachments: Sequence[MediaPart] = (),
        scope: HistoryScope | None = None,
    ) -> LiveSession:
        """Open a spoken conversation: its instructions as one text, and updates of them. Of what
        is attached it is told the words; `scope` says of which conversations, by default as
        `conversations.scope` does.
        """
        checked_id(session, "session")
        limits = self._settings.model.limits
        read = await to_thread.run_sync(read_attachments, attachments, limits)
        stimulus = live_stimulus(surroundings, read)
        stimulus = replace(stimulus, author=self._parts.who.profile.name, scope=scope)
        stimulus = replace(stimulus, runtime_ctx=self._scoped(stimulus))
        return await LiveSession.open(self._parts, session, stimulus)

    async def tick(
        self,
        senses: Sequence[Sense] = (),
        *,
        strict: bool | None = None,
        emit: Emit = silent,
        taken: Sequence[str] = (),
        only: Collection[str] | None = None,
    ) -> TickResult:
        """Let it think for one moment: it may act, change its goals, keep something in mind.

        What an earlier tick left to be sensed is sensed too, with `only` just what has one of these
        ids. `strict` makes a tick come to nothing whose answer breaks the contract anywhere (by
        default as `cortex.strict` says); `emit` gets every event as it happens; `taken` are
        deliveries that its entry says were taken. BadInput for a sense that would pass for one of
        the program's own.
        """
        for one in senses:
            if reason := poses_as_ours(one):
                raise BadInput(f"sense {one.id!r}: {reason}", hint="choose another name for it")
        return await self.tick_trusted(senses, strict=strict, emit=emit, taken=taken, only=only)

    async def tick_trusted(
        self,
        senses: Sequence[Sense],
        *,
        strict: bool | None = None,
        emit: Emit,
        taken: Sequence[str],
        only: Collection[str] | None,
    ) -> TickResult:
        """The tick of a loop, whose timers and folders hand over senses of the program's own."""
        if self._tick is not None:
            raise StoreLocked(
                f"a tick of {self._parts.who.persona.id} is going on already, by this agent",
                hint="wait until it is over: there is one at a time",
            )
        self._tick = CancelScope()
        try:
            return await self._cortex.run(
                senses, emit=emit, strict=strict, taken=taken, only=only, reading=self._tick
            )
        finally:
            self._tick = None

    async def backlog(self) -> Backlog:
        """What it has to think about without a new sense; a tick with nothing costs nothing."""
        return await self._cortex.backlog()

    def taken_deliveries(self) -> tuple[str, ...]:
        """Deliveries of senses that recorded ticks took, the last ones, and what was set aside."""
        return (*self._cortex.taken_deliveries(), *(one.id for one in self.senses_set_aside.all()))

    def set_sense_aside(self, sense: Sense, *, failures: int, reason: str) -> Aside:
        """Let no tick take a sense any more, whether a source has it or an earlier tick left it. It
        blocks; StoreLocked while one goes on.
        """
        with self._cortex.withdraw_sense(sense.id) as (record, carried, marks):
            put = replace(self.senses_set_aside, record=record).put
            return put(carried or (sense,), marks, failures=failures, reason=reason)

    @property
    def senses_set_aside(self) -> Asides:
        """The senses that no tick could take."""
        parts = self._parts
        seals = Seals(parts.who.agent, parts.who.secret)
        return Asides(parts.record, parts.acting.blobs, seals)

    def loop(
        self,
        sources: Sequence[SenseSource] = (),
        *,
        choice: LoopChoice | None = None,
        emit: Emit = silent,
        pause: Pause | None = None,
    ) -> Loop:
        """The loop that lets it go on ticking: `run` it. Beside `sources` it listens to its own
        folder, to its timers, and to what `choice` names.
        """
        parts, chosen = self._parts, self._parts.sources.settings.current()[0].model.run
        return open_loop(
            self,
            parts.who,
            parts.record,
            chosen,
            sources=sources,
            choice=choice,
            emit=emit,
            pause=pause,
        )

    def channels(
        self,
        names: Collection[str] = (),
        *,
        adapters: Mapping[str, ChannelAdapter] | None = None,
        on_news: Callable[[ChannelNews], None] = unwatched,
    ) -> tuple[ChannelRunner, ...]:
        """A runner for each of its channels, or for those of these names: `run` them. `adapters`
        stand in the place of those that the settings name, by the name of the channel.
        """
        return open_runners(
            self, self._parts, self._environ, names=names, adapters=adapters, on_news=on_news
        )

    @property
    def clock(self) -> Clock:
        """The clock that it lives by."""
        return self._parts.record.clock

    def secrets(self) -> tuple[str, ...]:
        """What must not be shown or written: the keys of its routes, where it can see them."""
        return self._cortex.secrets()

    @cached_property
    def _cortex(self) -> Cortex:
        states = open_states(self._database, self._parts.record.clock)
        return Cortex(self._parts, states, self._environ)

    def interrupt(self, session: str | None = None) -> None:
        """End the answers that are being read, of one session or of all; `chat` returns what came
        so far, marked so. Whoever waits in the session is answered next. Without a session a tick
        ends too: what was not decided by then is not, and what it was told of comes again.
        """
        reading = [*self._queue.reading(session)]
        reading += [] if self._tick is None or session is not None else [self._tick]
        if reading:
            self._parts.acting.interrupt(session)
        else:
            chosen = self._updates.items()
            reading = [scope for scope, place in chosen if session in (None, place)]
        for scope in reading:
            scope.cancel()

    @overload
    def stream(
        self,
        message: str | Stimulus,
        *,
        session: str = "main",
        options: CallOptions | None = None,
        output: None = None,
    ) -> AbstractAsyncContextManager[AnswerStream[TurnResult]]: ...

    @overload
    def stream(
        self,
        message: str | Stimulus,
        *,
        session: str = "main",
        options: CallOptions | None = None,
        output: Mapping[str, object],
    ) -> AbstractAsyncContextManager[AnswerStream[TypedResult[object]]]: ...

    @overload
    def stream(
        self,
        message: str | Stimulus,
        *,
        session: str = "main",
        options: CallOptions | None = None,
        output: TypeForm[T],
    ) -> AbstractAsyncContextManager[AnswerStream[TypedResult[T]]]: ...

    @asynccontextmanager
    async def stream(
        self,
        message: str | Stimulus,
        *,
        session: str = "main",
        options: CallOptions | None = None,
        output: Any = None,  # a type or a JSON Schema
    ) -> AsyncGenerator[AnswerStream[Any], None]:
        """The answer piece by piece. Leaving early interrupts it and keeps the part that came.

        With an `output` there are pieces of the kind `output` too: the object so far.
        """
        send, receive = anyio.create_memory_object_stream[Delta](math.inf)
        answer, failures = AnswerStream[Any](receive), list[BaseException]()

        async def talk() -> None:
            with send:
                try:
                    answer.result = await self.chat(
                        message,
                        session=session,
                        on_delta=send.send_nowait,
                        options=options,
                        output=output,
                    )
                except MentisError as error:
                    failures.append(error)

        with receive:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(talk)
                    yield answer
                    tasks.cancel_scope.cancel()
            except BaseExceptionGroup as group:
                # `talk` keeps its failure; what is in here is what the caller's own code raised.
                failures.extend(group.exceptions)
        if failures:
            raise failures[0]

    async def aclose(self) -> None:
        """Close it: its tools, its provider, its database. `async with` does that."""
        try:
            await self._parts.acting.aclose()
            if isinstance(self._parts.models.provider, _Closing):
                await self._parts.models.provider.aclose()
        finally:
            self.close()

    def close(self) -> None:
        """Enough for an agent that was never asked anything."""
        self._parts.acting.close()
        self._parts.record.ledger.close()
        self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _kept_turn(self, index: int, step: int) -> RecordedTurn:
        parts, home = self._parts, Home(self._database.path.parent)
        segments = open_segments(home, self._settings, parts.who.persona.id, parts.who.agent)
        entry = find_entry(parts.record, segments, index)
        notes = parts.acting.tools.notes
        return load_turn(parts.record, parts.inputs, notes, entry, step=step)

    def _brought(self, stimulus: Stimulus, outlook: RecallScope) -> RecallResult:
        """It blocks, also where a loop runs already: embedders are asked in a loop of their own."""
        if not outlook.is_needed:
            return empty_recall(stimulus, outlook)
        with start_blocking_portal() as portal:
            return portal.call(self._parts.recaller.recall, stimulus, outlook)

    def _assembling(self) -> TaskAssembler:
        from mentis.assemble.assembler import (
            TaskAssembler,  # with the whole of recall, which most agents do without
        )

        if self._assembler is None:
            self._assembler = TaskAssembler(self._parts, self._environ, on_event=self._on_event)
        return self._assembler

    def _with_results(
        self,
        message: str | Stimulus,
        session: str,
        results: Mapping[str, str] | Sequence[ToolResultPart],
    ) -> Stimulus:
        """The message whose calls are answered, with the results. It blocks."""
        if message:
            raise UsageError(
                "a message and results were given at once",
                hint="give the results first: the answer to them may ask for more",
            )
        checked_id(session, "session")
        number, given = deferred_message(self._parts.record, session, results)
        stimulus = self._resumed(session, number)
        if stimulus is None:
            raise UsageError(
                f"what the agent began session {session!r} with is not kept",
                hint="say something there: the next turn tells the calls as unanswered",
            )
        return replace(stimulus, results=given)

    def _resumed(self, session: str, number: int) -> Stimulus | None:
        """The message whose turn goes on; or what the agent began the conversation with, None where
        that is not kept. It blocks.
        """
        record, inputs = self._parts.record, self._parts.inputs
        if number == OPENING:
            again = opening_again(record, inputs, session)
        else:
            again = message_again(record, inputs, session, number)
        return again and replace(again, replaces=None, inner=RESUME, resumes=number)

    async def _checked(self, message: str | Stimulus) -> Stimulus:
        if isinstance(message, Stimulus) and message.attachments:
            return await to_thread.run_sync(self._stimulus, message)
        return self._stimulus(message)  # there is nothing to read

    def _stimulus(self, message: str | Stimulus) -> Stimulus:
        """The message, if it is one, with its files read and everything inside the limits."""
        given = Stimulus(message) if isinstance(message, str) else message
        limits = self._settings.model.limits
        check_words(given, limits)
        stimulus = replace(
            given,
            author=given.author or ("" if given.from_guest else self._parts.who.profile.name),
            attachments=read_attachments(given.attachments, limits),
            mode=mode_named(given.mode),
            runtime_ctx=self._scoped(given),
        )
        if stimulus.attachments:
            check_request(
                PromptRequest(
                    current_text=stimulus.text,
                    attachments=stimulus.attachments,
                    reply_to=stimulus.reply_to,
                )
            )
        return stimulus

    def _scoped(self, given: Stimulus) -> RuntimeContext:
        """The facts of a message, with whose past it is told: as it asks, or the settings say."""
        facts, chosen = given.runtime_ctx, self._parts.sources.settings.current()[0].model
        asked = given.scope or (None if facts.scope == "local" else facts.scope)
        if given.trust is Trust.UNTRUSTED:
            if asked not in (None, "local"):
                raise BadInput(
                    f"a guest is told of no other conversation, and the scope is {asked!r}",
                    hint='leave the scope out, or ask with scope="local"',
                )
            return facts
        scope = asked or chosen.conversations.scope
        return facts if scope == facts.scope else replace(facts, scope=scope)


def _uncounted(_done: int, _of: int) -> None:
    """Nobody waits for the number."""


def _ignore(_delta: Delta) -> None:
    """Nobody listens to the pieces; the whole answer is returned."""

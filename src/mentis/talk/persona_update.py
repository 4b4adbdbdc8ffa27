"""The persona goes through a conversation and brings its three memory files up to date.

One update of a persona at a time; what it writes are revisions that the owner can look through
(`mentis persona review`) and undo. The place up to which a conversation was read moves on only
with an update that came to its end; one that failed is recorded, and shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TypeAlias, cast

from anyio import CancelScope, create_memory_object_stream, to_thread

from mentis.ask.ask import ask
from mentis.ask.models import Models
from mentis.ask.reservation import release_after
from mentis.call.faults import is_passing
from mentis.codec.forms import to_json
from mentis.compose.built import BuiltText
from mentis.compose.compose import Composition
from mentis.compose.fences import fence_results
from mentis.disk.atomic import unwritable
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.errors import MentisError, ProviderPaused, ReplyError, StoreLocked, UsageError
from mentis.home.identity import Identity
from mentis.library.memory.files import PersonaMemory
from mentis.record.agent_record import AgentRecord
from mentis.record.inputs import ComposedPrompt
from mentis.record.stored_turns import answer_turns
from mentis.settings.sources import LiveSettings
from mentis.telemetry import names
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import builder_for, one_prompt, require_text, speakers
from mentis.turn.ending import recorder_of
from mentis.turn.replay.fork import SESSION as FORK
from mentis.turn.run import TurnRun
from mentis.turn.snapshot import TurnSnapshot
from mentis.turn.turn import run_shielded, turn_span
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.part import TextPart
from mentis.values.persona_update import PersonaUpdate, Progress, Trigger
from mentis.values.recalled import Stimulus
from mentis.values.reply import Delta, Reply
from mentis.values.route import Route
from mentis.values.trace import TokenCount
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.written import dump

from .beat import SESSION as BEATS
from .persona_reading import (
    LEAST,
    Reading,
    failure_mark,
    progress,
    read_on,
    success_mark,
    unread_turns,
)
from .persona_tools import FileTools, tools_in

INNER = "persona_update"
_TASK = "cortex_update_user_message"
_SPARE_TOKENS = 200
_FOLDER = "updates"

Tell: TypeAlias = Callable[[PersonaUpdate | MentisError], None]
Update: TypeAlias = Callable[[str, Trigger], Awaitable[PersonaUpdate | None]]


async def update_persona(
    parts: AgentParts, session: str, *, trigger: Trigger, reading: CancelScope
) -> PersonaUpdate | None:
    """One update; None where none is due (by hand there is always one, or an error says why not).

    A failure of the model or the world is no error here: it is recorded, and told in the result.
    """
    present = await to_thread.run_sync(parts.look)
    before = await to_thread.run_sync(
        progress, parts.record, parts.models, present.settings, session
    )
    if trigger == "share" and not before.due:
        return None
    if before.messages < LEAST:
        raise UsageError(
            f"in session {session!r} there are {before.messages} messages that no update has read,"
            f" and it takes {LEAST}",
            hint="talk a little more first",
        )
    with (
        _alone(parts.who),
        turn_span(parts.who, parts.models.route, names.PERSONA_UPDATE, before.session) as span,
    ):
        span.scope.content = present.settings.model.telemetry.content
        made = await _update(parts, present, before, trigger=trigger, reading=reading)
        facts = {names.SUCCESS: made.success, names.FAILURE: made.failure}
        span.tell({**facts, names.WRITTEN: len(made.written)})
        return made


@contextmanager
def _alone(who: Identity) -> Generator[None]:
    """Across processes. Taken and let go in one thread, as the lock wants it; nobody waits."""
    home = who.home
    inside(home.path, f"{home.owners.name}/{_FOLDER}")
    folder = home.owners / _FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    with ExitStack() as held:
        try:
            held.enter_context(write_lock(folder / f"{who.persona.id}.lock", seconds=0))
        except StoreLocked as error:
            raise StoreLocked(
                f"the memory files of {who.persona.id!r} are being updated already",
                hint="wait until that is done",
            ) from error
        yield


@dataclass(slots=True)
class _Run:
    """One update on its way."""

    who: Identity
    models: Models
    present: TurnSnapshot
    before: Progress
    read: Reading
    tools: FileTools
    rounds: list[Turn] = field(default_factory=list[Turn])
    calls: int = 0

    def compose(self, route: Route, _stimulus: Stimulus) -> ComposedPrompt:
        who, models, variant = self.who, self.models.on(route), route.variant
        builder = builder_for(who, models, self.present)
        given = {"cortex_conversation_text": self.read.text}
        system = builder.build_system_prompt(variant, {}, "cortex")
        task = builder.resolve_prompt_by_id(_TASK, variant, given)
        require_text(system, "cortex_update_system")
        require_text(task, _TASK)
        made = one_prompt(who, models, self.present, task, system=system, prefill=BuiltText())
        request = replace(made.request, tool_declarations=tools_in(self.present.library))
        if not self.rounds:
            return ComposedPrompt(Composition(request, made.trace))
        first = Turn("user", (TextPart(task.text),), self.read.lineage)
        note = request.words.get("notice_outside", "")
        history = (first, *(fence_results(turn, who.secret, note) for turn in self.rounds))
        request = replace(request, conversation_history=history, current_text="")
        trace = replace(made.trace, tokens=self._tokens(models, made))
        return ComposedPrompt(Composition(request, trace))

    def _tokens(self, models: Models, made: Composition) -> dict[str, TokenCount]:
        told = b"\n".join(map(to_json, self.rounds)).decode()
        later = models.counter(models.route).count(told)
        total = made.trace.tokens["total"].tokens + later.tokens
        return {**made.trace.tokens, "history": later, "total": TokenCount(total)}


async def _update(
    parts: AgentParts,
    present: TurnSnapshot,
    before: Progress,
    *,
    trigger: Trigger,
    reading: CancelScope,
) -> PersonaUpdate:
    small = parts.limited(present.settings.model.persona_update.tokens)
    reading_on = partial(_read, small.who, small.models, present, before)
    reading_on = partial(reading_on, record=parts.record, memory=parts.sources.memory)
    read = await to_thread.run_sync(reading_on)
    tools = FileTools(parts.sources.memory, session=before.session, lineage=read.lineage)
    run = _Run(small.who, small.models, present, before, read, tools)
    stimulus = Stimulus(read.text, trust=read.lineage, inner=INNER)
    try:
        turn = await TurnRun.begin(small, stimulus, run.compose, present=present)
    except MentisError as error:
        entry = await run_shielded(partial(_record_unasked, parts.record, run, error, trigger))
        return _made(run, entry, None, trigger=trigger, failure=error)
    failure, ended = None, False
    try:
        with reading:
            failure = await _go_through(turn, run)
            ended = True
    finally:
        reply = turn.reply(interrupted=not ended)
        if not ended:
            failure = ReplyError("it was broken off", hint="run it again: mentis persona update")
        record = partial(_record, turn, run, reply, trigger=trigger, failure=failure)
        entry = await run_shielded(partial(release_after, turn.reserve, record))
    return _made(run, entry, reply, trigger=trigger, failure=failure)


async def _go_through(turn: TurnRun, run: _Run) -> MentisError | None:
    """Ask, do what is called for, tell what came of it, and ask again; why it failed, if it did."""
    most = run.present.settings.model.persona_update.rounds
    while True:
        failure = await ask(turn.inquiry, _unheard)
        if failure is not None:
            return failure
        reply = turn.attempt.reader.finish()
        run.calls += 1
        unread = [error.message for error in reply.errors if error.call_id or error.action]
        if not reply.actions and not unread:
            return None
        outcomes = await run_shielded(partial(run.tools.do_all, reply.actions))
        if run.calls >= most:
            return None if run.tools.written else _no_end(most)
        run.rounds += (*answer_turns(reply, outcomes, at_once=True), *_unreadable(run, unread))
        turn.inquiry.close(reply, then="tools")
        turn.ask_once_more()


def _no_end(most: int) -> ReplyError:
    return ReplyError(
        f"after {most} calls the model has neither written anything nor come to an end",
        hint="raise persona_update.rounds, or name another model as routes.persona_update",
    )


def _unreadable(run: _Run, problems: Sequence[str]) -> tuple[Turn, ...]:
    """Calls that nobody could read have no result; that is said instead."""
    run.tools.refused.extend(problems)
    told = dump({"error": list(problems)}).decode()
    return (Turn("user", (TextPart(told),), Trust.UNTRUSTED),) if problems else ()


def _read(
    who: Identity,
    models: Models,
    present: TurnSnapshot,
    before: Progress,
    *,
    record: AgentRecord,
    memory: PersonaMemory,
) -> Reading:
    """As much as leaves room for the rules, for the files twice, and for the answer. It blocks."""
    counter, route = models.counter(models.route), models.route
    system = builder_for(who, models, present).build_system_prompt(route.variant, {}, "cortex").text
    files = "".join(file.text for file in memory.files())
    taken = counter.count(system).tokens + 2 * counter.count(files).tokens + _SPARE_TOKENS
    return read_on(
        unread_turns(record, before.session, before.since),
        before.since,
        names=speakers(who),
        counter=counter,
        room=max(route.context_tokens - route.max_tokens - taken, 0),
    )


def _facts(run: _Run, trigger: Trigger, failure: MentisError | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "trigger": trigger,
        "success": failure is None,
        "messages": run.read.messages,
        "until": run.read.until,
        "lineage": run.tools.lineage.value,
        "wrote": {change.name: change.revision for change in run.tools.written.values()},
    }
    facts |= {"refused": len(run.tools.refused)} if run.tools.refused else {}
    facts |= {"waiting": run.read.waiting} if run.read.waiting else {}
    return facts | ({"cut": run.read.cut} if run.read.cut else {})


def _mark(run: _Run, failure: MentisError | None) -> Mark:
    if failure is None:
        return success_mark(run.before.session, run.read.until)
    # The provider could not take it just now: nothing was answered that would be asked for again.
    soon = not run.calls and (is_passing(failure) or isinstance(failure, ProviderPaused))
    return failure_mark(run.before, failure.code, soon=soon)


def _record(
    turn: TurnRun, run: _Run, reply: Reply, *, trigger: Trigger, failure: MentisError | None
) -> Entry:
    recorder = recorder_of(turn.parts.record, turn.parts.inputs, turn.inquiry, run.before.session)
    keep = partial(recorder.note, turn.stimulus, None, reply=reply, failure=failure)
    return keep(facts=_facts(run, trigger, failure), marks=(_mark(run, failure),))


def _record_unasked(
    record: AgentRecord, run: _Run, failure: MentisError, trigger: Trigger
) -> Entry:
    """Nothing could be asked at all: that is recorded too, and counts as a failure."""
    session = run.before.session
    number = record.ledger.count_turns(record.agent, session)
    turn: dict[str, object] = {"session": session, "number": number, "inner": INNER}
    turn |= {**_facts(run, trigger, failure), "failure": failure.code}
    body = {"turn": turn, "digests": {"instruction": digest(run.read.text.encode())}}
    return record.append("turn", body, marks=(_mark(run, failure),))


def _made(
    run: _Run,
    entry: Entry,
    reply: Reply | None,
    *,
    trigger: Trigger,
    failure: MentisError | None,
) -> PersonaUpdate:
    read, tools = run.read, run.tools
    return PersonaUpdate(
        run.before.session,
        trigger,
        failure is None,
        entry.index,
        messages=read.messages,
        until=read.until,
        waiting=read.waiting,
        cut=read.cut,
        rounds=run.calls,
        read=tuple(tools.seen),
        written=tuple(tools.written.values()),
        refused=tuple(tools.refused),
        lineage=tools.lineage,
        said=reply.text.strip() if reply is not None else "",
        usage=reply.usage if reply is not None else None,
        failure=failure.code if failure else "",
        message=failure.message if failure else "",
    )


def failed_updates(entries: Sequence[Entry]) -> tuple[tuple[str, Entry, str], ...]:
    """The sessions whose last update among these entries failed, where that stands, and why."""
    last: dict[str, tuple[Entry, str]] = {}
    for entry in entries:
        turn = entry.body.get("turn")
        told = cast("dict[str, object]", turn) if isinstance(turn, dict) else {}
        if told.get("inner") == INNER:
            last[str(told.get("session"))] = entry, str(told.get("failure", ""))
    return tuple((name, entry, why) for name, (entry, why) in last.items() if why)


def updates_due(
    record: AgentRecord, models: Models, live: LiveSettings, since: int
) -> tuple[str, ...]:
    """The sessions whose update is due, of those with entries from `since` on; 0 is all. It blocks.

    What the agent says to itself, and what a fork shows, is no conversation.
    """
    settings = live.current()[0]
    if not settings.model.features.persona_memory or not settings.model.persona_update.percent:
        return ()
    if since:
        names = map(_session, record.ledger.entries(record.agent, start=since))
    else:
        sessions = record.ledger.sessions(record.agent)
        names = (one for one in sessions if not one.startswith(FORK) and one != BEATS)
    found = dict.fromkeys(filter(None, names))
    return tuple(one for one in found if progress(record, models, settings, one).due)


def _session(entry: Entry) -> str:
    turn = entry.body.get("turn")
    if entry.kind != "turn" or not isinstance(turn, Mapping) or "fork" in entry.body:
        return ""
    name = str(cast("Mapping[str, object]", turn).get("session", ""))
    return "" if name == BEATS else name


class Upkeep:
    """Updates in the background: `run` it beside a conversation, and say `heard` after each answer.

    What came of each is told; that none was due, or that it is put off, is not: another process
    is at one, perhaps of another session, and `again` asks once more for those.
    """

    def __init__(self, update: Update, *, on_update: Tell) -> None:
        self._update, self._tell = update, on_update
        self._send, self._wanted = create_memory_object_stream[str](inf)
        self._put_off: dict[str, None] = {}

    def note_message(self, session: str) -> None:
        self._send.send_nowait(session)

    def again(self) -> None:
        put_off, self._put_off = self._put_off, {}
        for session in put_off:
            self.note_message(session)

    def finish(self) -> None:
        """Nothing more will be heard: `run` ends with what was."""
        self._send.close()

    async def run(self) -> None:
        """One after the other, until `finish`, or until it is cancelled."""
        with self._send, self._wanted:
            async for session in self._wanted:
                await self._one(session)

    async def _one(self, session: str) -> None:
        try:
            made = await self._update(session, "share")
        except StoreLocked:
            self._put_off[session] = None
            return
        except MentisError as error:
            self._tell(error)
            return
        if made is not None:
            self._tell(made)


def _unheard(_delta: Delta) -> None:
    """Nobody is told what the persona writes down while it does."""

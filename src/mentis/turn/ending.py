"""Records a turn: the message before the call, the answer and the entry after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mentis.act.entries import told_mark
from mentis.ask.caching import CacheReport
from mentis.ask.calls import ModelCall, request_digest, standing, total
from mentis.ask.inquiry import Inquiry, PassedOver
from mentis.codec.forms import to_json, to_object
from mentis.compose.compose import Composition
from mentis.errors import BadInput, MentisError, NotCanonical
from mentis.record.agent_record import AgentRecord
from mentis.record.inputs import PromptInputs
from mentis.record.media_digest import media_digest
from mentis.record.stored_inputs import StepPrompt, TurnInputStore, TurnPlace
from mentis.record.stored_turns import (
    BROKEN,
    asked_text,
    question_turn,
    turn_digest,
    writable,
)
from mentis.turn.repeat import Repeat
from mentis.values.action import Outcome
from mentis.values.digest import Digest, digest
from mentis.values.entry import Entry
from mentis.values.mark import Mark
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.route import Route
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

from .recaller import residency_mark
from .steps import TurnStep, TurnStop, outcomes_digest
from .window import WindowRequest, turn_stamp, window_fields


@dataclass(frozen=True, slots=True)
class TurnRecorder:
    """Keeps one turn of one session. Its methods block; the turn calls them in a worker thread."""

    record: AgentRecord
    kept_inputs: TurnInputStore
    route: Route
    session: str
    composed: Composition
    rendering: Rendering
    passed: tuple[PassedOver, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    repeat: Repeat | None = None
    opening: tuple[Turn, ...] = ()
    steps: tuple[TurnStep, ...] = ()
    stop: TurnStop = "answer"
    journal: tuple[Mark, ...] = ()
    settled: tuple[CacheReport, ...] = ()
    unanswered: tuple[ModelCall, ...] = ()
    told: tuple[str, ...] = ()  # the keys of acts whose outcome was news to the model
    inputs: PromptInputs | None = None
    about: Mapping[str, object] = field(default_factory=dict[str, object])  # for the entry
    window: WindowRequest | None = None

    def end(
        self,
        stimulus: Stimulus,
        number: int,
        reply: Reply,
        *,
        failure: MentisError | None,
    ) -> Entry:
        """The entry and what it binds, as one: what was said is never without its record."""
        outcomes = [outcome for step in self.steps for outcome in step.outcomes]
        turn = self._turn(stimulus, number, reply, failure=failure)
        # A beat writes to nobody: what is news stays so, until somebody can be told.
        told = self.told if self._heard and stimulus.mode != "beat" else ()
        if stimulus.delivers and failure is None and was_delivered(reply, outcomes):
            told = (*told, stimulus.delivers)
        turn |= {"told": list(told)} if told else {}
        waits = [one.key for one in outcomes if one.state == "waiting"]
        turn |= {"waits": waits} if stimulus.delivers and waits else {}
        turns = (*self.opening, *(said for step in self.steps for said in step.turns))
        # A question that got part of an answer stays in the conversation, together with the part;
        # one that got none is unanswered, also where somebody broke it off before the first word.
        unanswered = (failure is not None or reply.stop in BROKEN) and not turns
        question = (
            None
            if stimulus.inner
            else question_turn(stimulus, "failed" if unanswered else "complete")
        )
        ended = self._ended(number, question, turns)
        try:
            acted = _kept(question, turns)
            sent = self.rendering.body()
            bound = self._bound(stimulus, reply, outcomes, payload=digest(sent))
            body = {**turn, **self.about, **bound, **acted, **self._stepped()}
            body |= self._windowed(reply, outcomes)
            place = TurnPlace(self.session, number, sent)
            return self._record_with_inputs(body, told, place, ended=ended)
        except (BadInput, NotCanonical) as refusal:
            # Nothing a model or a handler says may keep the turn out of the record.
            body = {**turn, **self.about, "unbound": refusal.message}
            return self._record(body, told, ended=ended and writable(ended))

    def note(
        self,
        stimulus: Stimulus,
        turn: Turn | None,
        *,
        reply: Reply,
        failure: MentisError | None,
        facts: Mapping[str, object],
        marks: Sequence[Mark] = (),
    ) -> Entry:
        """Record what was asked beside the conversation, then keep what came of it, if it did.

        `facts` are added to what the entry says of the turn.
        """
        number = store_message(self.record, self.session, stimulus)
        body = self._turn(stimulus, number, reply, failure=failure, **facts)
        try:
            sent = self.rendering.body()
            bound = self._bound(stimulus, reply, (), payload=digest(sent))
            bound["digests"].pop("answer", None)
            acted = {"acted": [turn_digest(turn)]} if turn is not None else {}
            place = TurnPlace(self.session, number, sent)
            ended = self._ended(number, None, () if turn is None else (turn,))
            whole = {**body, **bound, **acted}
            return self._record_with_inputs(whole, (), place, also=marks, ended=ended)
        except (BadInput, NotCanonical) as refusal:
            return self._record({**body, "unbound": refusal.message}, (), marks)

    def _stepped(self) -> dict[str, object]:
        """Of a turn of one step nothing that it did not always say."""
        if len(self.steps) <= 1:
            return {}
        return {"steps": [step.entry_fields() for step in self.steps]}

    def _ended(
        self, number: int, question: Turn | None, turns: tuple[Turn, ...]
    ) -> TurnWrites | None:
        """The message itself is there since the beginning, with what is attached."""
        if question is None and not turns:
            return None
        state = None if question is None else question.state
        return TurnWrites(self.session, number, state, turns)

    @property
    def _heard(self) -> bool:
        """Something came back, so that the model has read what it was shown."""
        return self.repeat is None and any(call.reply.raw for call in self.calls)

    def _windowed(self, reply: Reply, outcomes: Sequence[Outcome]) -> dict[str, object]:
        declared = self.composed.request.tool_declarations
        return window_fields(
            self.window if self.repeat is None else None,
            self._openings(),
            outcomes,
            known=[tool.name for tool in (*declared, *self.composed.revealed)],
            broken=reply.stop in BROKEN,
        )

    def _openings(self) -> list[str | None]:
        """What the answers opened with; the last step knows best what was done."""
        return [call.whole for step in reversed(self.steps) for call in standing(step.calls)]

    def _record_with_inputs(
        self,
        body: Mapping[str, object],
        told: Sequence[str],
        place: TurnPlace,
        *,
        also: Sequence[Mark] = (),
        ended: TurnWrites | None = None,
    ) -> Entry:
        """What the prompt was made from is kept, so that it can be made again."""
        if self.inputs is None:
            return self._record(body, told, also, ended=ended)
        keeping, request = self.kept_inputs, self.composed.request
        try:
            kept = keeping.write(
                self.inputs, self.rendering, request, place=place, steps=self._later_steps()
            )
        except (BadInput, UnicodeEncodeError) as refusal:
            return self._record({**body, "unkept": str(refusal)}, told, also, ended=ended)
        body, also = {**body, "inputs": kept.digest}, (*kept.marks, *also)
        entry = self._record(body, told, also, ended=ended)
        keeping.mark_written(kept)
        return entry

    def _later_steps(self) -> list[StepPrompt]:
        calls = (step.calls[0] for step in self.steps[1:])
        return [StepPrompt(call.inputs, call.rendering, call.composed.request) for call in calls]

    def _record(
        self,
        body: Mapping[str, object],
        told: Sequence[str],
        also: Sequence[Mark] = (),
        *,
        ended: TurnWrites | None = None,
    ) -> Entry:
        stamp = turn_stamp(self.record, self.window)
        marks = [*also, *(told_mark(key) for key in told)]
        marks += [replace(mark, value=None) for mark in self.journal]
        if self.composed.residency is not None and any(call.sent for call in self.calls):
            marks.append(residency_mark(self.session, self.composed.residency))
        marks += self.record.settles
        return self.record.append("turn", body, marks=marks, turns=ended, stamp=stamp)

    def _turn(
        self,
        stimulus: Stimulus,
        number: int,
        reply: Reply,
        *,
        failure: MentisError | None,
        **facts: object,
    ) -> dict[str, object]:
        turn = {"session": self.session, "number": number, "stop": reply.stop}
        turn |= {**_about(stimulus, failure), **facts}
        if len(self.steps) > 1:
            turn["ended"] = self.stop
        if self.repeat is not None:
            turn["repeats"] = self.repeat.index
        place = _place(self.route)
        if self.passed:
            place["after"] = [to_object(passed) for passed in self.passed]
        body: dict[str, object] = {"turn": turn, "route": place, **self._used()}
        if len(self.calls) > 1:
            body["calls"] = [call.entry_fields() for call in self.calls]
        if self.unanswered:
            body["unanswered"] = [
                {"route": call.place(), **call.usage_fields()} for call in self.unanswered
            ]
        if self.settled:
            body["cache"] = [settled.recorded for settled in self.settled]
        return body

    def _used(self) -> Mapping[str, object]:
        """Of one call also what is only planned; of several, each says so for itself."""
        if len(self.calls) == 1:
            return self.calls[0].usage_fields()
        usage = total(call.reply.usage for call in self.calls)
        return {} if usage is None else {"usage": to_object(usage)}

    def _bound(
        self, stimulus: Stimulus, reply: Reply, outcomes: Sequence[Outcome], *, payload: Digest
    ) -> dict[str, Any]:
        """Digests of what was told, said and done; of texts as the conversation keeps them."""
        digests = {
            "request": request_digest(self.composed.request),
            "payload": payload,
            "library": self.composed.trace.library,
            "reply": digest(to_json(reply)),
            "acts": outcomes_digest(outcomes),
            **_message(stimulus),
        }
        if reply.text:
            digests["answer"] = digest(reply.text.encode())
        return {"digests": digests, **_attached(stimulus)}


def recorder_of(
    record: AgentRecord, inputs: TurnInputStore, inquiry: Inquiry, session: str
) -> TurnRecorder:
    """For a question that was asked: what its first call was told is what the entry binds."""
    first = inquiry.calls[0]
    return TurnRecorder(
        record,
        inputs,
        first.route,
        session,
        first.composed,
        first.rendering,
        inquiry.passed,
        tuple(inquiry.calls),
        unanswered=tuple(inquiry.unanswered),
        inputs=first.inputs,
    )


def store_message(record: AgentRecord, session: str, stimulus: Stimulus) -> int:
    """Store the message before anything is done for it, so that it cannot vanish. It blocks.

    Of what nobody said only the number is taken that its answer will have, or one after it.
    """
    if stimulus.inner:
        return record.ledger.count_turns(record.agent, session)
    return record.add_message(session, question_turn(stimulus, "pending"))


def record_unasked(
    record: AgentRecord,
    session: str,
    number: int,
    stimulus: Stimulus,
    *,
    route: Route,
    failure: MentisError | None,
) -> Entry:
    """A turn in which nobody was asked: its prompt could not be put together, or it was broken off
    before. The message stays, as one that failed. It blocks.
    """
    stop = "interrupted" if failure is None else "error"
    turn = {"session": session, "number": number, "stop": stop, **_about(stimulus, failure)}
    question = None if stimulus.inner else question_turn(stimulus, "failed")
    body = {"turn": turn, "route": _place(route), "digests": _message(stimulus)}
    body |= {**_attached(stimulus), **_kept(question, ())}
    ended = question and TurnWrites(session, number, question.state)
    return record.append("turn", body, marks=record.settles, turns=ended)


def stimulus_fields(stimulus: Stimulus) -> tuple[dict[str, object], dict[str, object]]:
    """What an entry says of a turn by what set it off: about the turn, and what was asked."""
    return _about(stimulus, None), {**_message(stimulus)}


def _about(stimulus: Stimulus, failure: MentisError | None) -> dict[str, object]:
    told: dict[str, object] = {"inner": stimulus.inner} if stimulus.inner else {}
    told |= {} if stimulus.resumes is None else {"resumes": stimulus.resumes}
    told |= {} if stimulus.replaces is None else {"replaces": stimulus.replaces}
    told |= {} if stimulus.caller is None else {"caller": to_object(stimulus.caller)}
    told |= {"delivery": stimulus.delivery} if stimulus.delivery else {}
    return {
        **told,
        **mode_fields(stimulus),
        **({} if failure is None else {"failure": failure.code}),
    }


def _place(route: Route) -> dict[str, object]:
    return {"name": route.name, "backend": route.backend, "model": route.model}


def _message(stimulus: Stimulus) -> dict[str, Digest]:
    name = "instruction" if stimulus.inner else "message"
    return {name: digest(asked_text(stimulus).encode())}


def _attached(stimulus: Stimulus) -> dict[str, object]:
    attached = [media_digest(part) for part in stimulus.attachments]
    return {"attachments": attached} if attached else {}


def _kept(question: Turn | None, turns: Sequence[Turn]) -> dict[str, object]:
    """Each turn as the conversation keeps it from now on, all of it: by its digest."""
    kept: dict[str, object] = {} if question is None else {"asked": turn_digest(question)}
    return kept | ({"acted": [turn_digest(one) for one in turns]} if turns else {})


def was_delivered(reply: Reply, outcomes: Sequence[Outcome]) -> bool:
    """Whether somebody was told: in words of the whole answer, or by a message that went out.

    One that waits for a yes has told nobody yet.
    """
    went = any(outcome.state == "done" for outcome in outcomes)
    return went or (bool(reply.text) and reply.stop not in BROKEN)


def mode_fields(stimulus: Stimulus) -> dict[str, object]:
    """What the entry says of a turn that is no message of a conversation."""
    if stimulus.mode == "chat":
        return {}
    told = {"mode": stimulus.mode, "beat": stimulus.runtime_ctx.beat_type}
    return {k: v for k, v in {**told, "delivers": stimulus.delivers}.items() if v}

"""What a turn leaves behind: the message before the call, the answer and the entry after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mentis.act.entries import told_mark
from mentis.act.seen import lineage_of
from mentis.codec.forms import to_json, to_object
from mentis.compose.compose import Composed
from mentis.errors import BadInput, MentisError, NotCanonical
from mentis.ledger.chain import make_stamp
from mentis.values.action import Outcome
from mentis.values.digest import Digest, digest
from mentis.values.entry import Draft, Entry
from mentis.values.mark import Mark
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.trust import Trust
from mentis.values.turn import Turn

from .attachments import media_digest
from .attempts import Call, total
from .bringing import residency_mark
from .caching import Settled
from .inputs import Inputs
from .kept_inputs import Place
from .legs import Passed
from .mind import Mind
from .repeat import Repeat
from .said import answered, asked, asked_text, turn_digest


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps one turn of one session. Its methods block; the turn calls them in a worker thread."""

    mind: Mind
    session: str
    composed: Composed
    rendering: Rendering
    passed: tuple[Passed, ...] = ()
    calls: tuple[Call, ...] = ()
    repeat: Repeat | None = None
    settled: tuple[Settled, ...] = ()
    unanswered: tuple[Call, ...] = ()
    told: tuple[str, ...] = ()  # the keys of acts whose outcome was news to the model
    inputs: Inputs | None = None
    about: Mapping[str, object] = field(default_factory=dict[str, object])  # for the entry

    def begin(self, stimulus: Stimulus) -> int:
        """Store the message before the call, so that it cannot vanish with it."""
        turn = asked(stimulus, "pending")
        return self.mind.conversations.add(self.mind.agent, self.session, turn)

    def end(
        self,
        stimulus: Stimulus,
        number: int,
        *,
        reply: Reply,
        outcomes: Sequence[Outcome],
        failure: MentisError | None,
    ) -> Entry:
        """The entry first, then the conversation: what was said is never without its record."""
        turn = self._turn(number, reply, failure)
        told = self.told if self._heard(reply) else ()
        turn |= {"told": list(told)} if told else {}
        lineage = self._lineage(stimulus)
        turns = answered(reply, outcomes, at_once=len(self.calls) <= 1, lineage=lineage)
        try:
            acted = {"acted": [turn_digest(one) for one in turns]} if len(turns) > 1 else {}
            sent = self.rendering.body()
            bound = self._bound(stimulus, reply, outcomes, payload=digest(sent))
            body = {**turn, **self.about, **bound, **acted}
            entry = self._record_with_inputs(body, told, Place(self.session, number, sent))
        except (BadInput, NotCanonical) as refusal:
            # Nothing a model or a handler says may keep the turn out of the record.
            entry = self._record({**turn, **self.about, "unbound": refusal.message}, told)
        self._answer(stimulus, number, turns, failed=failure is not None)
        return entry

    def _lineage(self, stimulus: Stimulus) -> Trust:
        """Of the answer. What an answer that is given once more was made from is not known here.

        A correction quotes what the model said and what tools said to that: nobody vouches for it.
        """
        if self.repeat is not None or len(self.calls) > 1:
            return Trust.UNTRUSTED
        return lineage_of(self.composed.request, said=stimulus.trust)

    def _answer(
        self, stimulus: Stimulus, number: int, turns: tuple[Turn, ...], *, failed: bool
    ) -> None:
        talk, agent = self.mind.conversations, self.mind.agent
        # A question that got part of an answer stays in the conversation, together with the part.
        unanswered = failed and not turns
        question = asked(stimulus, "failed" if unanswered else "complete")
        talk.replace(agent, self.session, number, question)
        for turn in turns:
            talk.add(agent, self.session, turn)

    def _heard(self, reply: Reply) -> bool:
        """Something came back, so that the model has read what it was shown."""
        return self.repeat is None and bool(reply.raw)

    def _record_with_inputs(
        self, body: Mapping[str, object], told: Sequence[str], place: Place
    ) -> Entry:
        """What the prompt was made from is kept, so that it can be made again."""
        if self.inputs is None:
            return self._record(body, told)
        keeping, request = self.mind.kept, self.composed.request
        try:
            kept = keeping.write(self.inputs, self.rendering, request, place=place)
        except (BadInput, UnicodeEncodeError) as refusal:
            return self._record({**body, "unkept": str(refusal)}, told)
        entry = self._record({**body, "inputs": kept.digest}, told, kept.marks)
        keeping.written(kept)
        return entry

    def _record(
        self, body: Mapping[str, object], told: Sequence[str], kept: Sequence[Mark] = ()
    ) -> Entry:
        stamp = make_stamp(self.mind.clock.now, self.mind.ids.salt, self.mind.clock.uptime)
        draft = Draft("turn", "runtime", body)
        marks = [*kept, *(told_mark(key) for key in told)]
        if self.composed.residency is not None and any(call.sent for call in self.calls):
            marks.append(residency_mark(self.session, self.composed.residency))
        (entry,) = self.mind.ledger.append(self.mind.agent, [draft], stamp, marks=marks)
        return entry

    def _turn(self, number: int, reply: Reply, failure: MentisError | None) -> dict[str, object]:
        route = self.mind.route
        turn: dict[str, object] = {"session": self.session, "number": number, "stop": reply.stop}
        if failure is not None:
            turn["failure"] = failure.code
        if self.repeat is not None:
            turn["repeats"] = self.repeat.index
        place: dict[str, object] = {
            "name": route.name,
            "backend": route.backend,
            "model": route.model,
        }
        if self.passed:
            place["after"] = [to_object(passed) for passed in self.passed]
        body: dict[str, object] = {"turn": turn, "route": place, **self._used()}
        if len(self.calls) > 1:
            body["calls"] = [call.recorded() for call in self.calls]
        if self.unanswered:
            body["unanswered"] = [
                {"route": call.place(), **call.counted()} for call in self.unanswered
            ]
        if self.settled:
            body["cache"] = [settled.recorded for settled in self.settled]
        return body

    def _used(self) -> Mapping[str, object]:
        """Of one call also what is only planned; of several, each says so for itself."""
        if len(self.calls) == 1:
            return self.calls[0].counted()
        usage = total(call.reply.usage for call in self.calls)
        return {} if usage is None else {"usage": to_object(usage)}

    def _bound(
        self, stimulus: Stimulus, reply: Reply, outcomes: Sequence[Outcome], *, payload: Digest
    ) -> dict[str, object]:
        """Digests of what was told, said and done; of texts as the conversation keeps them."""
        digests = {
            "request": digest(to_json(self.composed.request)),
            "payload": payload,
            "library": self.composed.trace.library,
            "reply": digest(to_json(reply)),
            "acts": _digest_of(outcomes),
            "message": digest(asked_text(stimulus).encode()),
        }
        if reply.text:
            digests["answer"] = digest(reply.text.encode())
        attached = [media_digest(part) for part in stimulus.attachments]
        return {"digests": digests, **({"attachments": attached} if attached else {})}


def _digest_of(outcomes: Sequence[Outcome]) -> str:
    listed = [to_object(outcome) for outcome in outcomes]
    return digest(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())

"""What a turn leaves behind: the message before the call, the answer and the entry after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mentis.codec.forms import to_json, to_object
from mentis.compose.compose import Composed
from mentis.errors import BadInput, MentisError, NotCanonical
from mentis.ledger.chain import make_stamp
from mentis.values.action import Outcome
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.part import TextPart
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.trust import Trust
from mentis.values.turn import Turn, TurnState

from .legs import Passed
from .mind import Mind


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps one turn of one session. Its methods block; the turn calls them in a worker thread."""

    mind: Mind
    session: str
    composed: Composed
    rendering: Rendering
    passed: tuple[Passed, ...] = ()

    def begin(self, stimulus: Stimulus) -> int:
        """Store the message before the call, so that it cannot vanish with it."""
        turn = _user_turn(stimulus, "pending")
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
        try:
            entry = self._record({**turn, **self._bound(stimulus, reply, outcomes)})
        except (BadInput, NotCanonical) as refusal:
            # Nothing a model or a handler says may keep the turn out of the record.
            entry = self._record({**turn, "unbound": refusal.message})
        self._answer(stimulus, number, reply, failed=failure is not None)
        return entry

    def _answer(self, stimulus: Stimulus, number: int, reply: Reply, *, failed: bool) -> None:
        talk, agent = self.mind.conversations, self.mind.agent
        # A question that got part of an answer stays in the conversation, together with the part.
        unanswered = failed and not reply.text
        asked = _user_turn(stimulus, "failed" if unanswered else "complete")
        talk.replace(agent, self.session, number, asked)
        if reply.text:
            whole = reply.stop not in ("interrupted", "cut_off", "error")
            state: TurnState = "complete" if whole else "interrupted"
            said = Turn("assistant", (TextPart(reply.text),), Trust.SELF, state)
            talk.add(agent, self.session, said)

    def _record(self, body: Mapping[str, object]) -> Entry:
        stamp = make_stamp(self.mind.clock.now, self.mind.ids.salt)
        draft = Draft("turn", "runtime", body)
        (entry,) = self.mind.ledger.append(self.mind.agent, [draft], stamp)
        return entry

    def _turn(self, number: int, reply: Reply, failure: MentisError | None) -> dict[str, object]:
        route = self.mind.route
        turn: dict[str, object] = {"session": self.session, "number": number, "stop": reply.stop}
        if failure is not None:
            turn["failure"] = failure.code
        place: dict[str, object] = {
            "name": route.name,
            "backend": route.backend,
            "model": route.model,
        }
        if self.passed:
            place["after"] = [to_object(passed) for passed in self.passed]
        return {"turn": turn, "route": place}

    def _bound(
        self, stimulus: Stimulus, reply: Reply, outcomes: Sequence[Outcome]
    ) -> dict[str, object]:
        """Digests of what was told, said and done; of texts as the conversation keeps them."""
        digests = {
            "request": digest(to_json(self.composed.request)),
            "payload": self.rendering.digest,
            "library": self.composed.trace.library,
            "reply": digest(to_json(reply)),
            "acts": _digest_of(outcomes),
            "message": digest(stimulus.text.encode()),
        }
        if reply.text:
            digests["answer"] = digest(reply.text.encode())
        usage = {} if reply.usage is None else {"usage": to_object(reply.usage)}
        return {"digests": digests, **usage}


def _user_turn(stimulus: Stimulus, state: TurnState) -> Turn:
    return Turn("user", (TextPart(stimulus.text),), Trust.OWNER, state)


def _digest_of(outcomes: Sequence[Outcome]) -> str:
    listed = [to_object(outcome) for outcome in outcomes]
    return digest(json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode())

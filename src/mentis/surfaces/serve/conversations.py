"""Which session a client's conversation is, and what its next turn is there."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyio import to_thread

from mentis.app.agent import Agent
from mentis.errors import BadInput
from mentis.record.threads import is_message, standing_numbers
from mentis.values.part import ToolResultPart
from mentis.values.turn import Turn
from mentis.values.value import Value
from mentis.web.agents import fresh_session, is_own_session, own_name, session_of
from mentis.web.tokens import AccessToken

from .reconcile import (
    TurnPlan,
    check_last,
    first_words,
    first_words_here,
    plan_turn,
    with_call_ids,
)
from .requests import ClientRequest

_ANSWER_ID = re.compile(r"(resp_(\d+)_([a-z0-9][a-z0-9_-]*)_[0-9a-f]{8})([0-9a-f]{8})")
_LEAST_SHARED = 2  # a message and our answer to it: less could be anybody's


@dataclass(frozen=True, slots=True)
class Conversation(Value):
    """A session, what was said in it, and what the client's turn is there."""

    session: str
    kept: tuple[Turn, ...]
    plan: TurnPlan


@dataclass(frozen=True, slots=True)
class FoundSession(Value):
    """The session of a conversation, and whether the client named it. Where it had to be looked
    into to be found, also what the turn is there as long as nobody else says something.
    """

    name: str
    named: bool
    conversation: Conversation | None = None


class Conversations:
    """Finds sessions again by how they begin. What was found is held against the session itself."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str, str], dict[str, set[str]]] = {}

    async def find(
        self, agent: Agent, token: AccessToken, request: ClientRequest, session: str
    ) -> FoundSession:
        """By its name, by the answer that it goes on from, or by what was said in it."""
        if named := _named(token, request, session):
            return FoundSession(named, named=True)
        if _place(agent, token) in self._begun and not self._candidates(agent, token, request):
            return _fresh(token, request)
        return await to_thread.run_sync(self._find, agent, token, request)

    async def plan(self, agent: Agent, request: ClientRequest, found: FoundSession) -> Conversation:
        """What the turn is there now. It holds as long as nobody else says something there."""
        return await to_thread.run_sync(_planned, agent, request, found)

    async def remember(self, agent: Agent, token: AccessToken, conversation: Conversation) -> None:
        """Find it again by how it begins: as it did before the turn, unless that is new."""
        known = self._begun.get(_place(agent, token))
        session, plan = conversation.session, conversation.plan
        if known is None or not is_own_session(token, session):
            return
        new = (*plan.adopted, Turn("user", plan.message)) if not conversation.kept else ()
        same = plan.replaces is None and _add(known, session, new or conversation.kept)
        if not same:
            _add(known, session, await to_thread.run_sync(_history, agent, session))

    def _find(self, agent: Agent, token: AccessToken, request: ClientRequest) -> FoundSession:
        found = [
            _planned(agent, request, FoundSession(one, named=False))
            for one in self._candidates(agent, token, request)
        ]
        fitting = [
            one for one in found if one.plan.shared >= _LEAST_SHARED or one.plan.answers_calls
        ]
        most = max((one.plan.shared for one in fitting), default=0)
        best = [one for one in fitting if one.plan.shared == most]
        if len(best) == 1:
            return FoundSession(best[0].session, named=False, conversation=best[0])
        return _fresh(token, request)

    def _candidates(self, agent: Agent, token: AccessToken, request: ClientRequest) -> list[str]:
        """Sessions of this token that begin with the same words. It blocks the first time."""
        place = _place(agent, token)
        if place not in self._begun:
            known: dict[str, set[str]] = {}
            for one in agent.sessions():
                if is_own_session(token, one.name):
                    _add(known, one.name, agent.history(session=one.name))
            self._begun.setdefault(place, known)  # another may have been first, and added to it
        said = first_words(request.turns[:-1])
        return [] if said is None else sorted(self._begun[place].get(_key(said), ()))


def _place(agent: Agent, token: AccessToken) -> tuple[str, str, str]:
    """A name may be given to a token of somebody else, once it is free."""
    return agent.id, token.person.id, token.name


def answer_id(conversation: Conversation) -> str:
    """The name of an answer, by which a client can go on from it: it has the number from which on
    everything follows its message. Its last digits hold the others together.
    """
    plan = conversation.plan
    own = 0 if plan.results else 1  # results go on with a message that is there
    after = len(conversation.kept) + len(plan.adopted) + own
    name = f"resp_{after}_{conversation.session}_{secrets.token_hex(4)}"
    return name + _last_digits(name)


def _last_digits(name: str) -> str:
    """An id that was cut, mixed up or made up is no answer of ours."""
    return hashlib.sha256(f"mentis answer {name}".encode()).hexdigest()[:8]


def _named(token: AccessToken, request: ClientRequest, session: str) -> str:
    """The session that the client means; "" where it has said none."""
    if request.previous:
        return _session_of_answer(token, request.previous)
    named = session or request.session or token.session
    return session_of(token, named) if named else ""


def _fresh(token: AccessToken, request: ClientRequest) -> FoundSession:
    """A session that nobody has said anything in."""
    name = fresh_session(token, secrets.token_hex(6))
    plan = plan_turn(request.turns, (), named=False)
    return FoundSession(name, named=False, conversation=Conversation(name, (), plan))


def _planned(agent: Agent, request: ClientRequest, found: FoundSession) -> Conversation:
    """It blocks."""
    kept = agent.history(session=found.name)
    if request.previous:
        return Conversation(found.name, kept, _plan_after_answer(request, kept))
    turns = with_call_ids(request.turns, kept) if request.nameless else request.turns
    return Conversation(found.name, kept, plan_turn(turns, kept, named=found.named))


def _session_of_answer(token: AccessToken, answer: str) -> str:
    found = _ANSWER_ID.fullmatch(answer)
    ours = found is not None and _last_digits(found[1]) == found[4]
    name = own_name(token, found[3]) if found and ours else ""
    if not name:
        raise BadInput(
            f"there is no answer {answer!r}",
            hint="leave previous_response_id out, and send the whole conversation",
            openai_code="previous_response_not_found",
            param="previous_response_id",
        )
    return session_of(token, name)


def _plan_after_answer(request: ClientRequest, kept: Sequence[Turn]) -> TurnPlan:
    """What follows an answer: at the end of its session, or in the place of what followed it."""
    check_last(request.turns)
    *before, last = request.turns
    if any(isinstance(part, ToolResultPart) for part in last.parts):
        return plan_turn([last], kept, named=True)
    after = int(request.previous.split("_")[1])
    following = (n for n in standing_numbers(kept) if is_message(kept[n]) and n >= after)
    replaces = next(following, None)
    if before:
        adopted = (replace(before[0], replaces=replaces), *before[1:])
        return TurnPlan(adopted, last.parts)
    return TurnPlan(message=last.parts, replaces=replaces)


def _add(known: dict[str, set[str]], session: str, kept: Sequence[Turn]) -> bool:
    """Whether anything was said there."""
    said = first_words_here(kept)
    if said is not None:
        known.setdefault(_key(said), set()).add(session)
    return said is not None


def _history(agent: Agent, session: str) -> Sequence[Turn]:
    return agent.history(session=session)


def _key(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()

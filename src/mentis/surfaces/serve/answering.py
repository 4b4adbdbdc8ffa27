"""One request answered: which agent, which conversation, the turn, and its pieces as they come."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from anyio import to_thread

from mentis.app.agent import Agent
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import AccessDenied
from mentis.settings.web import WebSettings
from mentis.talk.side_call import SideCall
from mentis.turn.turn import TurnResult
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart, TextPart
from mentis.values.recalled import Stimulus
from mentis.values.reply import (
    AgainDelta,
    Delta,
    ReasoningDelta,
    StepDelta,
    TextDelta,
)
from mentis.values.request import RuntimeContext
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.web.agents import AgentPool, is_guest, said_by, session_of
from mentis.web.metrics import Metrics
from mentis.web.tokens import AccessToken

from .conversations import Conversation, Conversations, answer_id
from .requests import NO_USAGE, AnswerHead, ClientRequest, ServedAnswer, answer_of
from .side_calls import side_kind

_SIDE_SESSION = "side-calls"
_CLIENT = "client"  # who says what was never said here, where that is no guest


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of an answer, as a client is told it."""

    text: str
    thought: bool = False


OnHead: TypeAlias = Callable[[AnswerHead], None]
OnPiece: TypeAlias = Callable[[AnswerPiece], None]


@dataclass(frozen=True, slots=True)
class _Call:
    """One request on its way: whom it is for, whose it is, and who hears the answer."""

    agent: Agent
    token: AccessToken
    request: ClientRequest
    on_head: OnHead
    on_piece: OnPiece


@dataclass(frozen=True, slots=True)
class Answering:
    """Answers the requests of all protocols."""

    pool: AgentPool
    settings: WebSettings
    metrics: Metrics
    conversations: Conversations

    async def answer(
        self, request: ClientRequest, token: AccessToken, on_head: OnHead, on_piece: OnPiece
    ) -> ServedAnswer:
        """Answer it; `on_head` is told once it is known where, before the first piece."""
        model = await self.pool.named(request.model, token)
        agent = await self.pool.agent(model.persona)
        call = _Call(agent, token, request, on_head, on_piece)
        if kind := side_kind(request):
            return await self._answer_aside(call, kind)
        _check_guest(token, request)
        queue = self.pool.queue(agent)
        before = queue.changes
        session = await self.conversations.find(agent, token, request, model.session)
        with queue.join(session.name) as place:
            await place.wait()  # what the turn is depends on what was said before it
            found = session.conversation if queue.changes == before + 1 else None
            if found is None:
                found = await self.conversations.plan(agent, request, session)
            return await self._answer_in(call, found)

    async def count_tokens(self, request: ClientRequest, token: AccessToken) -> int:
        """How many tokens the prompt of this request would have, all of it."""
        model = await self.pool.named(request.model, token)
        agent = await self.pool.agent(model.persona)
        session = await self.conversations.find(agent, token, request, model.session)
        found = await self.conversations.plan(agent, request, session)
        stimulus = self._stimulus(token, request, found)
        said = stimulus if stimulus.text or stimulus.attachments else replace(stimulus, text=".")

        def compose() -> int:
            composed = agent.compose(said, session=found.session, tools=self._tools(token, request))
            counted = composed.trace.tokens
            own = sum(counted[name].tokens for name in ("total", "framing") if name in counted)
            results = [Turn("user", found.plan.results)] if found.plan.results else []
            return own + sum(map(_tokens, (*found.plan.adopted, *results)))

        return await to_thread.run_sync(compose)

    async def _answer_in(self, call: _Call, found: Conversation) -> ServedAnswer:
        agent, token, request = call.agent, call.token, call.request
        head = AnswerHead(answer_id(found), int(time.time()), request.model)
        call.on_head(head)
        if found.plan.adopted:
            author = token.person.name if is_guest(token) else _CLIENT
            adopted = [replace(turn, author=author) for turn in found.plan.adopted]
            await agent.adopt(adopted, session=found.session)
        result = await self._turn(call, found)
        await self.conversations.remember(agent, token, found)
        self._count(agent, result)
        return _shown(token, answer_of(head, result))

    async def _turn(self, call: _Call, found: Conversation) -> TurnResult:
        request, results = call.request, found.plan.results
        return await call.agent.chat(
            "" if results else self._stimulus(call.token, request, found),
            session=found.session,
            results=results,
            tools=self._tools(call.token, request),
            on_delta=_Pieces(call.on_piece, thoughts=not is_guest(call.token)),
            options=_options(request.options, call.agent),
            output=None if results else request.output,
        )

    async def _answer_aside(self, call: _Call, kind: str) -> ServedAnswer:
        request, token = call.request, call.token
        head = AnswerHead(f"side_{secrets.token_hex(12)}", int(time.time()), request.model)
        call.on_head(head)
        trust = Trust.OWNER if token.person.trust == "owner" else Trust.UNTRUSTED
        said = "\n\n".join(turn.text for turn in request.turns if turn.text)
        asked = await call.agent.answer_side_call(
            SideCall(kind, said, request.instructions, trust),
            session=session_of(replace(token, session=""), _SIDE_SESSION),
            options=_options(request.options, call.agent),
        )
        reply = asked.reply
        if reply.text:
            call.on_piece(AnswerPiece(reply.text))
        steps = (reply.text,) if reply.text else ()
        answer = ServedAnswer(head, steps, reply.reasoning, usage=reply.usage or NO_USAGE)
        return _shown(token, answer)

    def _tools(self, token: AccessToken, request: ClientRequest) -> tuple[ToolDeclaration, ...]:
        """A guest's client brings none: the model would trust their descriptions, and they could
        stand in the place of the agent's own.
        """
        if is_guest(token) or self.settings.tools == "own":
            return ()
        return request.tools

    def _stimulus(
        self, token: AccessToken, request: ClientRequest, found: Conversation
    ) -> Stimulus:
        parts = found.plan.message
        message = Stimulus(
            "\n\n".join(part.text for part in parts if isinstance(part, TextPart)),
            attachments=tuple(part for part in parts if isinstance(part, MediaPart)),
            replaces=found.plan.replaces,
            runtime_ctx=self._instructions(request, guest=is_guest(token)),
        )
        return said_by(token, message)

    def _instructions(self, request: ClientRequest, *, guest: bool) -> RuntimeContext:
        """The system prompt of the client, told with the message: a guest's client gives none."""
        text = request.instructions.strip()
        if not text or guest or self.settings.instructions == "ignore":
            return RuntimeContext()
        span = Span(
            f"<client-instructions>\n{text}\n</client-instructions>",
            source=_CLIENT,
            trust=Trust.REFERENCE,
            stability=Stability.TURN,
        )
        return RuntimeContext(spans=(span,))

    def _count(self, agent: Agent, result: TurnResult) -> None:
        told = "Turns that were served, by how they ended."
        self.metrics.count("mentis_turns_total", told, agent=agent.id, stop=result.stop)
        usage = result.reply.usage
        for kind in ("input", "output", "cache_read", "cache_write") if usage else ():
            told, amount = "Tokens of turns that were served.", getattr(usage, kind)
            self.metrics.count("mentis_tokens_total", told, amount, agent=agent.id, kind=kind)


class _Pieces:
    """What of a turn a client is told: words and thoughts, with a gap where tools were used.
    Guests are told no thoughts: those may be about anything that the agent knows.
    """

    def __init__(self, on_piece: OnPiece, *, thoughts: bool) -> None:
        self._tell = on_piece
        self._thoughts = thoughts
        self._said = self._gap = False

    def __call__(self, delta: Delta) -> None:
        match delta:
            case TextDelta() if delta.text:
                gap = "\n\n" if self._gap else ""
                self._said, self._gap = True, False
                self._tell(AnswerPiece(f"{gap}{delta.text}"))
            case ReasoningDelta() if delta.text and self._thoughts:
                self._tell(AnswerPiece(delta.text, thought=True))
            case StepDelta() | AgainDelta():
                self._gap = self._said
            case _:
                pass


def _check_guest(token: AccessToken, request: ClientRequest) -> None:
    """A schema holds words too, which the model would trust; an answer without it would not be
    what was asked for.
    """
    if is_guest(token) and request.output is not None:
        raise AccessDenied(
            "an answer in the form of a schema is not given to guests",
            hint="leave the schema out",
            status=403,
        )


def _shown(token: AccessToken, answer: ServedAnswer) -> ServedAnswer:
    return replace(answer, reasoning="") if is_guest(token) else answer


def _options(given: CallOptions, agent: Agent) -> CallOptions | None:
    """No answer longer than the owner's route allows."""
    if given.max_tokens is not None and given.max_tokens > agent.route.max_tokens:
        given = replace(given, max_tokens=None)
    return given if given.chosen() else None


def _tokens(turn: Turn) -> int:
    texts = [getattr(part, "text", "") for part in turn.parts]
    return EstimatingCounter().count("\n".join(map(str, texts))).tokens

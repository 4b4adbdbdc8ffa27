"""An open agent as a tool of another one: asked for an answer, or handed the conversation.

Each call is a turn of the agent that is asked, with an entry in its own record that names the act;
the outcome of the act names that entry. Trust and budgets go down with it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from mentis.act.functions import failure_of
from mentis.ask.ask import OnDelta
from mentis.errors import MentisError
from mentis.turn.turn import TurnResult
from mentis.turn.turn_context import TurnContext, current_turn
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import InnerTurn, Outcome, OutcomeState
from mentis.values.json import JsonObject
from mentis.values.recalled import Stimulus, TurnCaller
from mentis.values.reply import Delta, TextDelta
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

MESSAGE = "message"
_ASKED: JsonObject = {
    "type": "object",
    "properties": {MESSAGE: {"type": "string", "minLength": 1}},
    "required": [MESSAGE],
    "additionalProperties": False,
}
_HANDED: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
_NOBODY = "no turn goes on that could be handed over"
# Asks the agent in a session: the message, the turn that it is part of, who hears the pieces.
Ask: TypeAlias = Callable[
    [Stimulus, str, TurnContext | None, OnDelta | None], Awaitable[TurnResult]
]


@dataclass(frozen=True, slots=True)
class AgentToolOptions:
    """`trusted`: the owner vouches for what the agent answers. `handoff`: its answer is the answer
    of the turn that calls it.
    """

    name: str
    description: str
    timeout_seconds: float
    trusted: bool = False
    handoff: bool = False


class AgentTool:
    """`depth` is how deep this agent may be asked by agents."""

    def __init__(self, agent: str, ask: Ask, options: AgentToolOptions, *, depth: int) -> None:
        self._agent = agent
        self._ask = ask
        self._depth = depth
        self._handoff = options.handoff
        parameters = _HANDED if options.handoff else _ASKED
        self._spec = ActSpec(
            ToolDeclaration(options.name, options.description, parameters),
            source=f"agent:{agent}",
            modes=("chat",) if options.handoff else (),
            timeout_seconds=options.timeout_seconds,
            trusted=options.trusted,
        )

    @property
    def spec(self) -> ActSpec:
        return self._spec

    async def handle(self, call: ActCall) -> Outcome:
        outer = current_turn()
        depth = 1 if outer is None else outer.depth + 1
        most = self._depth if outer is None else min(outer.most, self._depth)
        if depth > most:
            reason = f"agents ask agents at most {most} deep here (turn.depth), and this is {depth}"
            return self._outcome(call, "refused", reason=reason)
        if self._handoff and outer is None:
            return self._outcome(call, "refused", reason=_NOBODY)
        caller = TurnCaller(call.agent, call.session, call.key, depth)
        try:
            if self._handoff and outer is not None:
                result = await self._hand_over(call, caller, outer)
            else:
                asked = _message(call, caller)
                result = await self._ask(asked, session_for(call.key), outer, None)
        except MentisError as error:
            state, reason = failure_of(error)
            return self._outcome(call, state, reason=reason)
        if outer is not None:
            outer.inner.append(result)
        return self._answered(call, result)

    async def _hand_over(self, call: ActCall, caller: TurnCaller, outer: TurnContext) -> TurnResult:
        """The person's own words go on, in the session of the same name that the agent has."""

        def tell(delta: Delta) -> None:
            if isinstance(delta, TextDelta):
                outer.tell(delta)

        said = replace(
            outer.stimulus, caller=caller, inner="", resumes=None, replaces=None, results=()
        )
        return await self._ask(said, call.session, outer, tell)

    def _answered(self, call: ActCall, result: TurnResult) -> Outcome:
        entry = result.entry
        inner = InnerTurn(entry.agent, result.session, entry.index, entry.hash, self._handoff)
        waiting = ", ".join(one.action.type for one in result.pending)
        reason = f"{waiting} of {self._agent} waits for a person to say yes" if waiting else ""
        return replace(self._outcome(call, "done", text=result.text, reason=reason), turn=inner)

    def _outcome(
        self, call: ActCall, state: OutcomeState, *, text: str = "", reason: str = ""
    ) -> Outcome:
        source = self._spec.source
        return Outcome(call.action, state, text=text, reason=reason, key=call.key, source=source)


def session_for(key: str) -> str:
    """A session of its own for each act; a retry of it comes to the same one."""
    return f"act-{re.sub('[^a-z0-9_-]', '-', key.lower())}"[:64]


def _message(call: ActCall, caller: TurnCaller) -> Stimulus:
    """What a model wrote is its own at best, and nobody's where it had read untrusted text."""
    trust = Trust.UNTRUSTED if call.lineage is Trust.UNTRUSTED else Trust.SELF
    author = caller.agent.rpartition("/")[2]
    return Stimulus(str(call.action.payload[MESSAGE]), author=author, trust=trust, caller=caller)

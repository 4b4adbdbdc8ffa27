"""The part of the demo where the agent uses a tool and is told what came of it, in one turn."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from .acts_show import call_line, result_line
from .output import emit

if TYPE_CHECKING:
    from mentis.app.agent import Agent
    from mentis.turn.turn import TurnResult

    from .demo import Checks

QUESTION = "Which light is on now?"
REQUESTS = ("Use lights: hall, on.", "Turn on the light in the kitchen.")


async def show_tool(agent: Agent, checks: Checks) -> None:
    """Ask for something that a tool does, until it is used. What a small model says is not judged:
    its answer is bound to words or calls of the tools.
    """
    from mentis.values.options import CallOptions

    short = CallOptions(max_tokens=320)  # room for all the calls that an answer is bound to
    result = await agent.chat(REQUESTS[0], session="tools", options=short)
    if not result.steps[1:]:
        result = await agent.chat(REQUESTS[1], session="tools", options=short)
    if not checks.quiet:
        _show(result)
    _claim(agent, result, checks)
    # A model this small calls again where a larger one speaks: without tools it is bound to words.
    words = replace(short, tool_choice="none", max_tokens=48)
    answer = await agent.chat(QUESTION, session="tools", options=words)
    if not checks.quiet:
        emit(f"  you: {QUESTION}\n  {answer.text}")
    spoken = bool(answer.text) and not answer.outcomes
    checks.claim("where no tool may be used, it answers in words", spoken, f"stop: {answer.stop}")


def _show(result: TurnResult) -> None:
    for number, step in enumerate(result.steps, 1):
        emit(f"  step {number}  {step.reply.text}".rstrip())
        for one in step.outcomes:
            emit(f"    {call_line(one.action.type, one.action.payload)}")
            emit(f"    {result_line(one.action.type, one.state, one.text or one.reason)}")


def _claim(agent: Agent, result: TurnResult, checks: Checks) -> None:
    index, told = result.entry.index, [one.text for one in result.outcomes if one.state == "done"]
    later = result.steps[1:]
    again = agent.replay(index, step=2) if later else None
    sent = again.rendering.body().decode() if again else ""
    holds = bool(told) and json.dumps(told[0])[1:-1] in sent
    seen = f"{len(result.steps)} steps"
    checks.claim("the second request holds what came of the call", holds, seen)
    answered = any(step.reply.text or step.reply.actions for step in later)
    checks.claim("an answer to it follows, in the same turn", answered, f"stop: {result.stop}")
    checks.claim(
        "the second request is replayed byte by byte from the record",
        again is not None and again.identical,
        f"entry {index}",
    )

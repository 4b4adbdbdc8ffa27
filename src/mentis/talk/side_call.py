"""A question of a program beside a conversation, such as a title of it: answered and recorded, and
no part of any conversation. Of the persona nothing is told; the program says all that is.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyio import CancelScope

from mentis.compose.built import BuiltText
from mentis.record.inputs import ComposedPrompt
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import SideAnswer, SideNote, SideQuestion, ask_aside, one_prompt
from mentis.turn.snapshot import TurnSnapshot
from mentis.values.recalled import Stimulus
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class SideCall(Value):
    """`kind` is what the entry calls it: `side_title`, `side_tags` ..."""

    kind: str
    text: str
    instructions: str = ""
    trust: Trust = Trust.UNTRUSTED


async def answer_side_call(
    parts: AgentParts,
    present: TurnSnapshot,
    call: SideCall,
    *,
    session: str,
    reading: CancelScope,
) -> SideQuestion:
    """Ask what the program asks; the failure is raised, once it is recorded."""

    def compose(route: Route, _stimulus: Stimulus) -> ComposedPrompt:
        system, user = _text(call.instructions, call.trust), _text(call.text, call.trust)
        models = parts.models.on(route)
        return ComposedPrompt(
            one_prompt(parts.who, models, present, user, system=system, prefill=BuiltText())
        )

    stimulus = Stimulus(call.text, trust=call.trust, inner=call.kind)
    asked = await ask_aside(
        parts, stimulus, compose, present=present, session=session, take=_nothing, reading=reading
    )
    if asked.failure is not None:
        raise asked.failure
    return asked


def _nothing(_heard: SideAnswer) -> SideNote:
    """The program keeps it."""
    return SideNote()


def _text(text: str, trust: Trust) -> BuiltText:
    if not text:
        return BuiltText()
    span = Span(text, source="client", trust=trust, stability=Stability.TURN)
    return BuiltText(text=text, spans=(span,))

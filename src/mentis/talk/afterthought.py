"""An afterthought: the agent thinks about the talk once more, and may write again.

First it decides, by the last word of a thought that nobody is sent; only if that is the word for
writing does a message follow. Both carry what the persona knows of itself, and both are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Literal, TypeAlias, cast

from anyio import CancelScope, to_thread

from mentis.ask.ask import OnDelta
from mentis.ask.models import Models
from mentis.compose.computed import Facts
from mentis.compose.encounter import ago
from mentis.errors import UsageError
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.record.inputs import ComposedPrompt, ConversationHistory, compose_inputs
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import SideAnswer, SideNote, ask_aside, builder_for, require_text
from mentis.turn.snapshot import TurnSnapshot
from mentis.turn.turn import TurnResult, inputs_now, run_turn, told_history
from mentis.values.entry import Entry
from mentis.values.given import GivenText
from mentis.values.measured import age_of, reading_of
from mentis.values.part import TextPart
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.route import Route
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.value import Value

Decision: TypeAlias = Literal["write", "wait"]
DECISION, FOLLOWUP = "afterthought_decision", "afterthought_followup"
_YES = "[afterthought_ok]"
_PUNCTUATION = ".,!?:;"
_LOOKED_BACK = 64


@dataclass(frozen=True, slots=True)
class Afterthought(Value):
    """`entry` is that of the decision; the message, if one followed, has its own."""

    session: str
    decision: Decision
    thought: str
    entry: Entry
    followup: TurnResult | None = None


def decide(text: str) -> tuple[Decision, str]:
    """What was decided, and the thought without the word for it. Anything unclear is to wait."""
    words = text.split()
    last = words[-1] if words else ""
    if last.strip(_PUNCTUATION).lower() == _YES:
        return "write", text.rstrip().removesuffix(last).rstrip()
    if last.strip(_PUNCTUATION).lower().startswith("["):
        return "wait", text.rstrip().removesuffix(last).rstrip()
    return "wait", text.strip()


async def think_again(
    parts: AgentParts, session: str, *, on_delta: OnDelta, reading: CancelScope
) -> Afterthought:
    """Decide, and write if that is the decision."""
    present = await to_thread.run_sync(parts.look)
    elapsed = await to_thread.run_sync(_elapsed, parts.record, parts.who, present, session)
    thought, noted = await _decide(parts, present, session, elapsed=elapsed, reading=reading)
    if thought.decision == "wait" or reading.cancel_called:
        return thought
    make = partial(_followup, parts.who, parts.models, present, thought.thought)
    stimulus = await to_thread.run_sync(partial(make, noted=noted, elapsed=elapsed))
    number = await to_thread.run_sync(_number_of, parts.record, session, noted)
    chosen = present.settings.model.afterthought
    result = await run_turn(
        parts.limited(chosen.followup_tokens),
        replace(stimulus, replaces=number),
        session=session,
        on_delta=on_delta,
        reading=reading,
    )
    return replace(thought, followup=result)


async def _decide(
    parts: AgentParts, present: TurnSnapshot, session: str, *, elapsed: str, reading: CancelScope
) -> tuple[Afterthought, Turn | None]:
    """What was decided, and the thought as it was kept."""
    record, live = parts.record, parts.sources.settings
    history = await to_thread.run_sync(told_history, record, live, parts.models, session)
    if not any(turn.kind == "said" and turn.role == "assistant" for turn in history.turns):
        raise UsageError(
            f"in session {session!r} the agent has not said anything yet", hint="talk to it first"
        )
    small = parts.limited(present.settings.model.afterthought.decision_tokens)
    text = _inner_dialogue(small.who, small.models, present, elapsed)

    def compose(route: Route, stimulus: Stimulus) -> ComposedPrompt:
        models = small.models.on(route)
        return _compose(small.who, models, present, stimulus, history=history)

    asked = await ask_aside(
        small,
        Stimulus(text, inner=DECISION),
        compose,
        present=present,
        session=session,
        take=_take,
        reading=reading,
    )
    if asked.failure is not None:
        raise asked.failure
    decision: Decision = "write" if asked.note.facts["decision"] == "write" else "wait"
    thought = asked.note.turn.text if asked.note.turn else ""
    return Afterthought(session, decision, thought, asked.entry), asked.note.turn


def _take(heard: SideAnswer) -> SideNote:
    decision, thought = decide(heard.text)
    facts: dict[str, object] = {"decision": decision if heard.text else "none"}
    if not thought:
        return SideNote(None, facts)
    return SideNote(Turn("assistant", (TextPart(thought),), heard.lineage, kind="thought"), facts)


def _compose(
    who: Identity,
    models: Models,
    present: TurnSnapshot,
    stimulus: Stimulus,
    *,
    history: ConversationHistory,
) -> ComposedPrompt:
    """As for any message, but that nothing can be done: no tools, no news."""
    recalled = RecalledContext(stimulus, degraded=present.degraded)
    variables = {**present.variables, "afterthought": "on"}
    inputs = inputs_now(who, models, present, recalled, history=history, variables=variables)
    return ComposedPrompt(compose_inputs(inputs, models.counter(models.route), who.secret), inputs)


def _inner_dialogue(who: Identity, models: Models, present: TurnSnapshot, elapsed: str) -> str:
    built = builder_for(who, models, present).build_afterthought_inner_dialogue(
        models.route.variant, {"elapsed_time": elapsed}
    )
    return require_text(built, "afterthought_inner_dialogue")


def _followup(
    who: Identity,
    models: Models,
    present: TurnSnapshot,
    thought: str,
    *,
    noted: Turn | None,
    elapsed: str,
) -> Stimulus:
    """The thought in it is as trusted as what it was thought about, whatever was said since."""
    lineage = noted.lineage if noted else Trust.SELF
    given: Mapping[str, object] = {
        "elapsed_time": elapsed,
        "inner_dialogue": GivenText(thought, source="thought", trust=lineage),
    }
    built = builder_for(who, models, present).build_afterthought_followup(
        models.route.variant, given
    )
    stimulus = Stimulus(require_text(built, FOLLOWUP), inner=FOLLOWUP)
    return stimulus if noted is None else replace(stimulus, trust=noted.lineage)


def _number_of(record: AgentRecord, session: str, noted: Turn | None) -> int | None:
    """Of the thought, if it is still the last thing: then it is told in the message alone."""
    turns = () if noted is None else record.turns(session)
    return len(turns) - 1 if turns and turns[-1] == noted else None


def _elapsed(record: AgentRecord, who: Identity, present: TurnSnapshot, session: str) -> str:
    """How long ago something was last said here, in the words of the library. It blocks."""
    now, language = record.reading(), who.persona.language.strip().casefold()
    for entry in reversed(record.latest(_LOOKED_BACK, kind="turn")):
        told = entry.body.get("turn")
        if not isinstance(told, Mapping):
            continue
        turn = cast("Mapping[str, object]", told)
        if turn.get("session") == session and turn.get("inner") in (None, FOLLOWUP):
            facts = Facts(who.persona, who.profile, now.shown, language, present.library.words)
            return ago(max(age_of(reading_of(entry), now), timedelta(0)), facts)
    return ""

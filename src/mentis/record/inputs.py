"""All that a prompt is made from: what is composed now can be composed again later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from mentis.compose.compose import Composition, compose
from mentis.compose.computed import Facts
from mentis.compose.continuation import continue_with
from mentis.compose.purposes import Policies
from mentis.ports.token_counter import TokenCounter
from mentis.values.calibration import Calibration
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext
from mentis.values.route import Route
from mentis.values.turn import Turn


@dataclass(frozen=True, slots=True)
class ConversationHistory:
    """A conversation as the model is told it: not all that is in the session, and a summary first.

    `numbers` are those of the turns in it. `amended` are the places, among `turns`, of those that
    are kept in other words: an act in them waited then, and has ended since. Results in it are
    `fenced` where nobody vouches for them; an older Mentis told them as they came. The `thread` is
    what followed the message before, where a turn goes on with an earlier one; `waited` are the
    keys of the acts that it waited for.
    """

    session: str
    turns: tuple[Turn, ...] = ()
    numbers: tuple[int, ...] = ()
    amended: tuple[int, ...] = ()
    fenced: bool = True
    thread: tuple[Turn, ...] = ()
    thread_numbers: tuple[int, ...] = ()
    thread_amended: tuple[int, ...] = ()
    waited: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """`recalled` holds the message, and what came to mind in its place. `calibration` is what the
    counter of the route had learned by then. `continuation` are the steps of the turn so far.
    """

    library: Library
    persona: Persona
    profile: Profile
    policies: Policies
    route: Route
    calibration: Calibration
    recalled: RecalledContext
    history: ConversationHistory
    variables: Mapping[str, object]
    now: datetime
    continuation: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class ComposedPrompt:
    """A prompt, and what it was made from; None where that is not kept."""

    composed: Composition
    inputs: PromptInputs | None = None


def continue_inputs(
    composed: Composition, inputs: PromptInputs, counter: TokenCounter, secret: bytes
) -> Composition:
    """What `compose_inputs` makes of these inputs, from what it made of them without the steps."""
    persona, route = inputs.persona, inputs.route
    language = persona.language.strip().casefold()
    facts = Facts(persona, inputs.profile, inputs.now, language, inputs.library.words, secret)
    turns = (*inputs.history.thread, *inputs.continuation)
    room = route.context_tokens - route.max_tokens
    made = continue_with(composed, turns, facts, counter, limit=room)
    return compose_inputs(inputs, counter, secret) if made is None else made


def compose_inputs(inputs: PromptInputs, counter: TokenCounter, secret: bytes) -> Composition:
    """The same inputs make the same prompt, whenever and wherever that is."""
    stimulus, route = inputs.recalled.stimulus, inputs.route
    return compose(
        inputs.library,
        persona=inputs.persona,
        profile=inputs.profile,
        recalled=inputs.recalled,
        history=inputs.history.turns,
        now=inputs.now,
        variant=route.variant,
        mode=stimulus.mode,
        runtime_vars=inputs.variables,
        policies=inputs.policies,
        counter=counter,
        context_tokens=route.context_tokens,
        reserve_tokens=route.max_tokens,
        surroundings=stimulus.surroundings,
        runtime_ctx=stimulus.runtime_ctx,
        attachments=stimulus.attachments,
        reply_to=stimulus.reply_to,
        secret=secret,
        fences_results=inputs.history.fenced,
        continuation=(*inputs.history.thread, *inputs.continuation),
    )

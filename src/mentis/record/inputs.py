"""All that a prompt is made from: what is composed now can be composed again later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from mentis.compose.compose import Composition, compose
from mentis.compose.computed import Facts
from mentis.compose.continuation import continue_with
from mentis.compose.purposes import Policies
from mentis.compose.shorten import first_words
from mentis.ports.token_counter import TokenCounter
from mentis.values.calibration import Calibration
from mentis.values.library import Library
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.trust import Trust, least_trusted
from mentis.values.turn import Role, Turn

_MOST_CHARACTERS = 500  # of one turn of another conversation


@dataclass(frozen=True, slots=True)
class PlacedTurn:
    """A turn, and where it is kept."""

    session: str
    number: int
    turn: Turn


@dataclass(frozen=True, slots=True)
class ConversationHistory:
    """A conversation as the model is told it: not all that is in the session, and a summary first.

    `numbers` are those of the turns in it. `amended` are the places, among `turns`, of those that
    are kept in other words: an act in them waited then, and has ended since. Results in it are
    `fenced` where nobody vouches for them; an older Mentis told them as they came. The `thread` is
    what followed the message before, where a turn goes on with an earlier one; `waited` are the
    keys of the acts that it waited for. Where other conversations are told as one with this,
    `sessions` says of each turn whose it is. `diary` and `recaps` are told beside it. So many
    `earlier` turns were not even read, because no prompt has room for them.
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
    sessions: tuple[str, ...] = ()
    diary: tuple[PlacedTurn, ...] = ()
    recaps: tuple[PlacedTurn, ...] = ()
    earlier: int = 0


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
        recalled=_with_other_words(inputs),
        history=inputs.history.turns,
        numbers=() if inputs.history.sessions else inputs.history.numbers,
        earlier=inputs.history.earlier,
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


def _with_other_words(inputs: PromptInputs) -> RecalledContext:
    """What came to mind, and what is told of other conversations."""
    history = inputs.history
    if not history.diary and not history.recaps:
        return inputs.recalled
    names: dict[Role, str] = {
        "user": inputs.profile.name or "user",
        "assistant": inputs.persona.name,
    }
    diary = (_words(one, "", Stability.SESSION) for one in history.diary)
    recaps = (_words(one, _heading(one, names), Stability.TURN) for one in history.recaps)
    return replace(inputs.recalled, diary=tuple(diary), recaps=tuple(recaps))


def _heading(placed: PlacedTurn, names: Mapping[Role, str]) -> str:
    """Which conversation it is of, and who said it; a summary is nobody's words."""
    said = placed.turn.kind == "said"
    return f"{placed.session}: {placed.turn.speaker(names)}: " if said else f"{placed.session}: "


def _words(placed: PlacedTurn, heading: str, stability: Stability) -> Span:
    """Trusted as little as what it was made from, and never more than the agent's own."""
    return Span(
        f"{heading}{first_words(placed.turn.text.strip(), _MOST_CHARACTERS)}",
        source=f"turn {placed.session}/{placed.number}",
        trust=least_trusted((Trust.SELF, placed.turn.lineage)),
        stability=stability,
    )

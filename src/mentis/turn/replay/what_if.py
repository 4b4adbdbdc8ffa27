"""A block that says something else: the prompt, its tokens, its price, and what a cache keeps.

Nobody is asked, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import commonprefix

from mentis.ask.attempt import render_request
from mentis.ask.models import Models
from mentis.compose.compose import Composition
from mentis.engines.counters import counter_for
from mentis.errors import LedgerError, ReplayError, UsageError
from mentis.facts.abilities import abilities
from mentis.home.identity import Identity
from mentis.library.forking import try_wording
from mentis.record.agent_record import AgentRecord
from mentis.record.inputs import ConversationHistory, PromptInputs, compose_inputs
from mentis.turn.agent_parts import AgentParts
from mentis.turn.snapshot import TurnSnapshot
from mentis.turn.turn import inputs_now
from mentis.values.block import Block, variant_name
from mentis.values.caching import Forecast
from mentis.values.library import Library
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.trace import TokenCount
from mentis.values.value import Value

from .fork import PromptCost, PromptDifference, price_prompt, prompt_differences, prompt_sections
from .recorded_turn import RecordedTurn

_LOOKED_BACK = 16  # turns, of which the newest that can be told again is taken


@dataclass(frozen=True, slots=True)
class WordingTrial(Value):
    """A text that might be saved as one wording of a block."""

    block: str
    text: str
    variant: str = "default"


@dataclass(frozen=True, slots=True)
class PrefixKept(Value):
    """What of the prompt as it was can still be found in a cache: `bytes` of the body, and `tokens`
    of the `planned` ones that are kept. `cached`: the route has a cache at all.
    """

    bytes: int
    of_bytes: int
    tokens: TokenCount
    planned: TokenCount
    cached: bool


@dataclass(frozen=True, slots=True)
class TrialEffect(Value):
    """A prompt as it is and with the trial, on one route. `wording` is the one told there, with the
    trial made; `reason` says why the prompt stays as it is. `forecast` names the byte where the two
    part and what reading the rest again costs on the next turn. `shared` characters of the `prompt`
    are as before.
    """

    persona: str
    route: str
    model: str
    wording: str
    changed: bool
    was: PromptCost
    now: PromptCost
    kept: PrefixKept
    forecast: Forecast
    reason: str = ""
    differences: tuple[PromptDifference, ...] = ()
    prompt: str = ""
    shared: int = 0


@dataclass(frozen=True, slots=True)
class EditTrial(Value):
    """What an edit would do on each route. `entry` is the turn whose prompt was told anew for it;
    None where there was none, and a first greeting stands for one.
    """

    entry: int | None
    effects: tuple[TrialEffect, ...]


def try_edit(
    parts: AgentParts,
    trial: WordingTrial,
    turn: RecordedTurn | None,
    *,
    load: Callable[[int, int], RecordedTurn],
    whole: str = "",
) -> EditTrial:
    """On each route, with the prompts of now: the prompt of a turn, of the newest that can be told
    again where none is given. On the route `whole` the prompt itself is told, too. It blocks.
    """
    present, who = parts.look(), parts.who
    turn = turn or _newest_turn(parts.record, load)
    inputs = inputs_in_force(parts, turn, load, present=present)
    library = try_wording(inputs.library, trial.block, trial.variant, trial.text)
    made = list[TrialEffect]()
    for route in map(parts.models.taught, present.settings.every_route()):
        learned = parts.models.caching.applied_calibration(route)
        here = replace(inputs, route=route, calibration=learned)
        counter = counter_for(route.model, learned)
        before = compose_inputs(here, counter, who.secret)
        after = compose_inputs(replace(here, library=library), counter, who.secret)
        effect = _effect(parts.models, trial, library, here, before=before, after=after)
        if route.name == whole:
            apart = prompt_differences(before.request, after.request, name="with your change")
            old, new = _text(before), _text(after)
            shared = len(commonprefix((old, new)))  # noqa: RUF071  # texts, and no paths
            effect = replace(effect, differences=tuple(apart), prompt=new, shared=shared)
        made.append(effect)
    return EditTrial(None if turn is None else turn.entry.index, tuple(made))


def inputs_in_force(
    parts: AgentParts,
    turn: RecordedTurn | None,
    load: Callable[[int, int], RecordedTurn],
    *,
    present: TurnSnapshot,
) -> PromptInputs:
    """Those of a turn, of the newest that can be told again where none is given, with the prompts,
    the persona and the settings of now.
    """
    turn = turn or _newest_turn(parts.record, load)
    who = parts.who
    return replace(
        _greeting(who, parts.models, present) if turn is None else turn.inputs,
        library=present.library,
        persona=who.persona,
        profile=who.profile,
        policies=present.policies,
    )


def _newest_turn(
    record: AgentRecord, load: Callable[[int, int], RecordedTurn]
) -> RecordedTurn | None:
    for entry in reversed(record.latest(_LOOKED_BACK, kind="turn")):
        with suppress(LedgerError, ReplayError, UsageError):
            return load(entry.index, 1)
    return None


def _greeting(who: Identity, models: Models, present: TurnSnapshot) -> PromptInputs:
    """A first word, where nothing was said yet."""
    return inputs_now(
        who,
        models,
        present,
        RecalledContext(Stimulus("Hello!")),
        history=ConversationHistory("main"),
        variables=present.variables_for("chat"),
    )


def _effect(
    models: Models,
    trial: WordingTrial,
    library: Library,
    inputs: PromptInputs,
    *,
    before: Composition,
    after: Composition,
) -> TrialEffect:
    route, persona = inputs.route, inputs.persona
    old, new = render_request(before.request, route), render_request(after.request, route)
    forecast = models.caching.forecast(new, route, now=models.clock.now(), before=old)
    language = persona.language.strip().casefold()
    block = library.block(trial.block)
    wording = "" if block is None else variant_name(block, route.variant, language) or ""
    changed = forecast.broken is not None
    return TrialEffect(
        persona.id,
        route.name,
        route.model,
        wording,
        changed,
        price_prompt(before, route),
        price_prompt(after, route),
        _kept(old, forecast, route),
        forecast,
        "" if changed else _reason(trial, inputs.library.block(trial.block), after, wording),
    )


def _kept(old: Rendering, forecast: Forecast, route: Route) -> PrefixKept:
    able, size = abilities(route), len(old.body())
    cached = route.caching and able.cache != "none" and bool(forecast.boundaries)
    steps = [step.tokens for step in forecast.boundaries]
    planned = steps[-1] if steps else TokenCount(0)
    broken = forecast.broken
    if broken is None:
        return PrefixKept(size, size, planned, planned, cached)
    kept = steps[min(broken.kept, len(steps)) - 1] if broken.kept and steps else TokenCount(0)
    whole = TokenCount(kept.tokens + broken.tokens.tokens, kept.exact and broken.tokens.exact)
    return PrefixKept(min(broken.byte, size), size, kept, whole, cached)


def _reason(trial: WordingTrial, block: Block | None, after: Composition, wording: str) -> str:
    """Why a trial does not show."""
    now = None if block is None else block.variants.get(trial.variant)
    if now is not None and now.content == trial.text:
        return "it says that already"
    trace = next((one for one in after.trace.blocks if one.block == trial.block), None)
    if trace is not None and not trace.included:
        return f"the block is not told here: {trace.reason}"
    if wording != trial.variant:
        return f"its wording {wording} is told here" if wording else "no wording of it is told here"
    return "the prompt comes out the same"


def _text(composed: Composition) -> str:
    """Everything that is told, in its order."""
    return "\n".join(text for _, text in prompt_sections(composed.request) if text)

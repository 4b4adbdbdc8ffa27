"""The plan of a comparison: the prompts of each message, how they differ, what asking costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path, PurePath
from typing import TypeAlias

from anyio import to_thread

from mentis.act.registry import Registry
from mentis.ask.attempt import RouteAttempt, attempt_on
from mentis.ask.calls import planned_usage, prompt_tokens, total
from mentis.ask.models import Models
from mentis.ask.prices import call_price
from mentis.codec.forms import from_json
from mentis.compose.compose import Composition
from mentis.disk.bounded import read_bounded
from mentis.errors import BadInput, UsageError
from mentis.library.acts import DOORWAY
from mentis.library.archive.read import read_archive, read_folder
from mentis.library.archive.trial import library_of_set
from mentis.library.forking import reword_block
from mentis.library.shelf import Shelf
from mentis.ports.clock import Clock
from mentis.record.inputs import ConversationHistory
from mentis.tools.acting import ActRunner
from mentis.turn.agent_parts import AgentParts
from mentis.turn.recaller import Recaller, RecallResult
from mentis.turn.replay.fork import prompt_differences
from mentis.turn.snapshot import TurnSnapshot
from mentis.turn.turn import compose_turn, recall_scope
from mentis.turn.window import opening_for
from mentis.values.comparison import CompareCase, ComparePlan, CompareSide, PlannedSide
from mentis.values.entry import Uptime
from mentis.values.library import Library
from mentis.values.prompt_difference import PromptDifference
from mentis.values.recalled import Stimulus
from mentis.values.reply import Usage
from mentis.values.route import Route

SESSION = "compare"  # what is asked is part of no conversation, and sees none
NAMES = ("A", "B")
AS_IT_IS = CompareSide()
# One way to answer: a value, or its fields by their names.
SideGiven: TypeAlias = CompareSide | Mapping[str, object]
_MOST_REPEATS = 1000
_MOST_ARCHIVE = 50_000_000


@dataclass(frozen=True, slots=True)
class CompareQuestion:
    """`stimuli` are the messages as they are said, `routes` finds the one of a side. `now` is the
    time that every prompt tells.
    """

    cases: tuple[CompareCase, ...]
    stimuli: tuple[Stimulus, ...]
    sides: tuple[CompareSide, ...]
    repeat: int
    routes: Callable[[CompareSide], Route]
    now: datetime


@dataclass(frozen=True, slots=True)
class PreparedSide:
    """The prompts of one side, in the order of the messages."""

    models: Models
    prompts: tuple[Composition, ...]
    doorway: str

    def attempt(self, case: int, time: int) -> RouteAttempt:
        """The prompt of a message, ready to be sent; with a seed, every time has its own."""
        route, composed = self.models.route, self.prompts[case]
        if route.seed is not None:
            route = replace(route, seed=route.seed + time)
        opening = opening_for(composed.request)
        return attempt_on(route, composed, opening=opening, doorway=self.doorway)


@dataclass(frozen=True, slots=True)
class PreparedComparison:
    """A plan with what it takes to carry it out."""

    plan: ComparePlan
    sides: tuple[PreparedSide, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class _StoppedClock:
    """A time at which all prompts are composed; for the rest, the clock of the agent."""

    at: datetime
    running: Clock

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.running.monotonic()

    def uptime(self) -> Uptime:
        return self.running.uptime()


async def prepare_comparison(parts: AgentParts, question: CompareQuestion) -> PreparedComparison:
    """Nobody is asked. Both sides are told the same time, and what came to mind once."""
    if not 1 <= question.repeat <= _MOST_REPEATS:
        raise UsageError(
            f"a comparison cannot ask {question.repeat} times",
            hint=f"repeat is from 1 to {_MOST_REPEATS}",
        )
    present = await to_thread.run_sync(parts.look)
    looking = partial(_recalled, parts.recaller, parts.acting, present)
    recalled = [await looking(stimulus) for stimulus in question.stimuli]
    prepare = partial(_prepare, parts, question, present, recalled)
    return await to_thread.run_sync(prepare)


async def _recalled(
    recaller: Recaller, acting: ActRunner, present: TurnSnapshot, stimulus: Stimulus
) -> RecallResult:
    scope = partial(recall_scope, recaller, acting, present, stimulus, session=SESSION)
    return await recaller.recall(stimulus, await to_thread.run_sync(scope))


def _prepare(
    parts: AgentParts,
    question: CompareQuestion,
    present: TurnSnapshot,
    recalled: Sequence[RecallResult],
) -> PreparedComparison:
    sides = tuple(_side(parts, question, present, recalled, chosen=one) for one in question.sides)
    planned = tuple(
        _planned(chosen, side, question.repeat)
        for chosen, side in zip(question.sides, sides, strict=True)
    )
    differences = tuple(_differences(sides))
    notes = tuple(_notes(question, sides, differences))
    plan = ComparePlan(
        parts.who.agent, question.cases, question.repeat, planned, differences, notes
    )
    return PreparedComparison(plan, sides, question.now)


def _side(
    parts: AgentParts,
    question: CompareQuestion,
    present: TurnSnapshot,
    recalled: Sequence[RecallResult],
    *,
    chosen: CompareSide,
) -> PreparedSide:
    route = question.routes(chosen)
    clock = _StoppedClock(question.now, parts.models.clock)
    models = replace(parts.models.only(route), clock=clock, correction=None)
    asking = parts.asking(models)
    present = replace(present, library=_library(asking, present.library, chosen))
    history = ConversationHistory(SESSION)
    prompts = tuple(
        compose_turn(
            asking, present, route, stimulus, history=history, news=(), recalled=mind
        ).composed
        for stimulus, mind in zip(question.stimuli, recalled, strict=True)
    )
    return PreparedSide(models, prompts, _doorway(parts.acting.registry))


def _doorway(registry: Registry) -> str:
    return "" if registry.spec(DOORWAY) else DOORWAY


def _library(parts: AgentParts, library: Library, chosen: CompareSide) -> Library:
    if chosen.prompts:
        library = _prompt_set(parts.sources.shelf, Path(chosen.prompts))
    language = parts.who.persona.language.strip().casefold()
    for block_id, text in chosen.blocks.items():
        variant = parts.models.route.variant
        library = reword_block(
            library, block_id, text, variant=variant, language=language, force=True
        )
    return library


def _prompt_set(shelf: Shelf, path: Path) -> Library:
    try:
        found = read_folder(path) if path.is_dir() else read_archive(_bytes(path))
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}",
            hint="a prompt set is a zip from `mentis prompts export`, or the folder of one",
        ) from error
    return library_of_set(shelf.current(), found)


def _bytes(path: Path) -> bytes:
    return read_bounded(path, _MOST_ARCHIVE)


def _planned(chosen: CompareSide, side: PreparedSide, repeat: int) -> PlannedSide:
    route, tokens = side.models.route, [prompt_tokens(one.trace) for one in side.prompts]
    each = [planned_usage(count, route) for count in tokens]
    prices = [call_price(route, one) for one in each]
    known = [Decimal(str(one.usd)) for one in prices if one.usd is not None]
    most = total(each) or Usage()
    return PlannedSide(
        label_of(chosen),
        route.name,
        route.model,
        len(tokens) * repeat,
        sum(tokens),
        Usage(most.input * repeat, most.output * repeat),
        sum(known, Decimal(0)) * repeat if len(known) == len(prices) else None,
        prices[0].told,
    )


def as_side(given: SideGiven) -> CompareSide:
    """BadInput names a field that no side has."""
    if isinstance(given, CompareSide):
        return given
    return from_json(CompareSide, json.dumps(given, default=str))


def label_of(chosen: CompareSide) -> str:
    """What is special about a side, in a few words."""
    told = [f"route {chosen.route}"] if chosen.route else []
    told += [f"model {chosen.model}"] if chosen.model else []
    told += [f"prompts {PurePath(chosen.prompts).name}"] if chosen.prompts else []
    told += [f"block {name}" for name in chosen.blocks]
    return ", ".join(told) or "as it is"


def _differences(sides: Sequence[PreparedSide]) -> Iterator[PromptDifference]:
    """How the prompts of two sides differ; what differs alike for every message is told once."""
    if len(sides) < 2:  # there are no others
        return
    first, second = sides
    pairs = zip(first.prompts, second.prompts, strict=True)
    found = (
        one
        for a, b in pairs
        for one in prompt_differences(a.request, b.request, was=f"of {NAMES[0]}", name="of B")
    )
    yield from dict.fromkeys(found)


def _notes(
    question: CompareQuestion,
    sides: Sequence[PreparedSide],
    differences: Sequence[PromptDifference],
) -> Iterator[str]:
    if len(sides) > 1 and not differences:
        routes = [(one.models.route.name, one.models.route.model) for one in sides]
        if routes[0] == routes[1]:
            yield "both sides ask the same model with the same prompt: only chance differs"
        else:
            yield "both sides are told the same prompt"
    for name, side, chosen in zip(NAMES, sides, question.sides, strict=False):
        for block, reason in _untold(side, chosen.blocks):
            yield f"{name}: block {block!r} is not told: {reason}"


def _untold(side: PreparedSide, blocks: Iterable[str]) -> Iterator[tuple[str, str]]:
    traces = {one.block: one for one in side.prompts[0].trace.blocks}
    for block in blocks:
        if block in traces and not traces[block].included:
            yield block, traces[block].reason


def check_consent(plan: ComparePlan, *, confirm: bool, max_usd: Decimal | None) -> None:
    """UsageError where it costs something that nobody agreed to."""
    if plan.free or (confirm and max_usd is None):
        return
    if max_usd is not None and plan.usd is not None and plan.usd <= max_usd:
        return
    models = " and ".join(dict.fromkeys(one.model for one in plan.sides))
    most = "at an unknown price" if plan.usd is None else f"for at most ${plan.usd:.4f}"
    raise UsageError(
        f"this asks {models} {plan.calls} times, {most}",
        hint="agree to it (confirm), name a price that covers it (max_usd), ask for fewer"
        " messages or less often, or play answers that were kept (replay)",
        calls=plan.calls,
        usd=None if plan.usd is None else format(plan.usd, "f"),
    )

"""A recorded turn with one change: what else is different for it, and what it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mentis.ask.attempt import render_request
from mentis.ask.models import Models
from mentis.ask.prices import input_rate
from mentis.call.deadline import TimedProvider
from mentis.call.scripted import ScriptedProvider
from mentis.compose.compose import Composition
from mentis.compose.history import tool_text
from mentis.errors import RouteError, UsageError
from mentis.library.forking import reword_block
from mentis.library.readable import unified_diff
from mentis.record.agent_record import AgentRecord
from mentis.record.inputs import ComposedPrompt, PromptInputs
from mentis.turn.agent_parts import AgentParts
from mentis.turn.run import TurnRun
from mentis.turn.snapshot import TurnSnapshot
from mentis.values.caching import Forecast, Price
from mentis.values.digest import Digest, digest
from mentis.values.prompt_difference import PromptDifference
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span, join_spans
from mentis.values.trace import TokenCount
from mentis.values.turn import Turn
from mentis.values.value import Value

from .recorded_turn import RecordedTurn
from .replay import Replay, compose_again, replay_turn

SESSION = "fork-"  # how the names of their sessions begin
_NONE = TokenCount(0)


@dataclass(frozen=True, slots=True)
class PromptCost(Value):
    """A number of tokens for each part of the prompt, and what reading all of it costs."""

    tokens: Mapping[str, TokenCount]
    cost: Price

    @property
    def total(self) -> TokenCount:
        return self.tokens.get("total", _NONE)


@dataclass(frozen=True, slots=True)
class ForkPreview(Value):
    """`before` is the turn as it was. `blocks` are the digests of the texts put in.

    `differences` are all there are up to the first call. `forecast` says what a cache that knows
    the turn as it was could still use. `notes` say why a change changed nothing.
    """

    before: Replay
    composed: Composition
    rendering: Rendering
    blocks: Mapping[str, Digest]
    differences: tuple[PromptDifference, ...]
    was: PromptCost
    now: PromptCost
    forecast: Forecast
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fork:
    """What is shown of it, and what it takes to go on from there."""

    shown: ForkPreview
    kept: RecordedTurn
    inputs: PromptInputs


def fork_turn(
    models: Models,
    kept: RecordedTurn,
    blocks: Mapping[str, str],
    *,
    secret: bytes,
    force: bool = False,
) -> Fork:
    """The turn with other words in these blocks. Nobody is asked. It blocks."""
    if not blocks:
        raise UsageError("a fork needs a change", hint="name a block and its new text")
    inputs, route = kept.inputs, kept.inputs.route
    library, language = inputs.library, inputs.persona.language.strip().casefold()
    for block_id, text in blocks.items():
        library = reword_block(
            library, block_id, text, variant=route.variant, language=language, force=force
        )
    inputs = replace(inputs, library=library)
    before = replay_turn(kept, secret)
    composed, _ = compose_again(kept, inputs, secret)
    rendering = render_request(composed.request, route)  # whole: a cache of then holds other words
    whole = render_request(before.composed.request, route) if kept.row.cached else before.rendering
    shown = ForkPreview(
        before,
        composed,
        rendering,
        {name: digest(text.encode()) for name, text in blocks.items()},
        tuple(prompt_differences(before.composed.request, composed.request)),
        price_prompt(before.composed, route),
        price_prompt(composed, route),
        models.caching.forecast(rendering, route, now=models.clock.now(), before=whole),
        tuple(_notes(before, composed, blocks)),
    )
    return Fork(shown, kept, inputs)


def scripted_models(models: Models, fork: Fork, replies: Sequence[str]) -> Models:
    """With a script in the place of the provider, in the format that scripts are read in."""
    route = replace(fork.inputs.route, backend="scripted", name="script")
    provider = TimedProvider(ScriptedProvider(replies))
    return replace(models.only(route), correction=None, provider=provider)


def live_models(models: Models, fork: Fork, current: Route) -> Models:
    """Rendered for the route of then, sent where the settings of now lead."""
    return replace(models.only(live_route(fork.inputs.route, current)), correction=None)


def live_route(then: Route, current: Route) -> Route:
    """The route of then at the address of now. RouteError where it led to another model."""
    if (current.backend, current.model) != (then.backend, then.model):
        raise RouteError(
            f"route {then.name!r} led to {then.backend} {then.model!r} then, and leads to"
            f" {current.backend} {current.model!r} now",
            hint="set it back for this; a fork can also go on with a script",
        )
    where = {
        name: getattr(current, name)
        for name in ("url", "key_env", "folder", "replies", "timeout_seconds", "idle_seconds")
    }
    return replace(then, **where)


async def run_of(parts: AgentParts, present: TurnSnapshot, fork: Fork) -> TurnRun:
    """Ready for its first call. What the answer asks for is not done: a fork only shows."""
    prompted = ComposedPrompt(fork.shown.composed, replace(fork.inputs, route=parts.models.route))
    # It says nothing anew in its own session, and what it tells reaches nobody.
    stimulus = replace(fork.inputs.recalled.stimulus, replaces=None, delivers="")
    run = await TurnRun.begin(parts, stimulus, lambda _route, _stimulus: prompted, present=present)
    entry = fork.kept.entry
    run.dry = True
    run.about = {"fork": {"of": entry.index, "hash": entry.hash, "blocks": dict(fork.shown.blocks)}}
    return run


def session_of(record: AgentRecord, fork: Fork) -> str:
    """A session of its own, which no turn has been in."""
    taken = set(record.ledger.sessions(record.agent))
    name = f"{SESSION}{fork.kept.entry.index}"
    number = 1
    while name in taken:
        number += 1
        name = f"{SESSION}{fork.kept.entry.index}-{number}"
    return name


def price_prompt(composed: Composition, route: Route) -> PromptCost:
    tokens = composed.trace.tokens
    whole = sum(tokens.get(name, _NONE).tokens for name in ("total", "framing"))
    return PromptCost(tokens, input_rate(route, whole).price(whole))


def prompt_differences(
    old: PromptRequest, new: PromptRequest, *, name: str = "forked", was: str = "as it was"
) -> Iterator[PromptDifference]:
    """Layer by layer; `name` is what the new one is called, and `was` the old one."""
    then, now = dict(prompt_sections(old)), dict(prompt_sections(new))
    for where in dict.fromkeys((*now, *then)):
        before, after = then.get(where, ""), now.get(where, "")
        names = f"{where} {was}", f"{where} {name}"
        if before != after:
            yield PromptDifference(where, unified_diff(_lines(before), _lines(after), names))


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def prompt_sections(request: PromptRequest) -> Iterator[tuple[str, str]]:
    """What the model is told, layer by layer, and in each of them block by block."""
    yield "tools", "\n".join(map(tool_text, request.tool_declarations))
    yield from _blocks("system", request.system_instruction)
    yield from _blocks("context", request.context_summary)
    yield "history", "\n".join(map(_said, request.conversation_history))
    yield from _blocks("turn", request.runtime_ctx.spans)
    yield "message", request.current_text
    yield "continuation", "\n".join(map(_said, request.continuation))
    yield from _blocks("prefill", request.prefill)


def _blocks(layer: str, spans: Sequence[Span]) -> Iterator[tuple[str, str]]:
    texts: dict[str, str] = {}
    for name, run in groupby(spans, key=lambda span: span.block or span.source):
        text = join_spans(run)
        if name != "layout" or text.strip():
            texts[name] = texts.get(name, "") + text
    yield from ((f"{layer}, {name}", text) for name, text in texts.items())


def _said(turn: Turn) -> str:
    return f"{turn.role}: {turn.text}"


def _notes(before: Replay, composed: Composition, blocks: Mapping[str, str]) -> Iterator[str]:
    if not before.identical:
        yield "the turn itself is not byte-identical any more: more may differ than your change"
    for block in composed.trace.blocks:
        if block.block in blocks and not block.included:
            yield f"block {block.block!r} is not told in this turn: {block.reason}"

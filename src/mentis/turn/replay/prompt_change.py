"""Effect of a change of the prompts on the prompt in force: its words, its tokens, its price.

Where it did nothing, why, and the command that would. Nobody is asked, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from mentis.compose.compose import Composition
from mentis.compose.history import NO_ROOM
from mentis.engines.counters import counter_for
from mentis.errors import MentisError
from mentis.library.edit import Edit
from mentis.library.overlay import VARIANTS
from mentis.library.readable import unified_diff
from mentis.record.inputs import PromptInputs, compose_inputs
from mentis.turn.agent_parts import AgentParts
from mentis.values.block import Block
from mentis.values.caching import Price
from mentis.values.library import Library
from mentis.values.route import Route
from mentis.values.trace import BlockTrace
from mentis.values.value import Value

from .fork import (
    PromptCost,
    PromptDifference,
    price_prompt,
    prompt_differences,
    prompt_sections,
)
from .recorded_turn import RecordedTurn
from .what_if import inputs_in_force

_UNKNOWN = PromptCost({}, Price(0.0, None))


@dataclass(frozen=True, slots=True)
class PromptInForceChange(Value):
    """The prompt of a persona on one route, before and after. `reason` says why it stays as it was,
    and `command` what would change it, or show where the block is told.
    """

    persona: str
    route: str
    model: str
    changed: bool
    was: PromptCost
    now: PromptCost
    differences: tuple[PromptDifference, ...] = ()
    reason: str = ""
    command: str = ""


def prompt_changes(
    parts: AgentParts,
    before: Library,
    edits: Sequence[Edit] = (),
    *,
    load: Callable[[int, int], RecordedTurn],
) -> tuple[PromptInForceChange, ...]:
    """On each route: the prompt of the newest turn that can be told again, or of a first greeting,
    with the prompts as they were `before` and as they are. It blocks.
    """
    present = parts.look()
    inputs = inputs_in_force(parts, None, load, present=present)
    made = list[PromptInForceChange]()
    for route in present.settings.every_route():
        learned = parts.models.caching.applied_calibration(route)
        here = replace(inputs, route=parts.models.taught(route), calibration=learned)
        made.append(_change(here, before, edits, parts.who.secret))
    return tuple(made)


def _change(
    inputs: PromptInputs, before: Library, edits: Sequence[Edit], secret: bytes
) -> PromptInForceChange:
    route, persona = inputs.route, inputs.persona.id
    counter = counter_for(route.model, inputs.calibration)
    try:
        old = compose_inputs(replace(inputs, library=before), counter, secret)
        new = compose_inputs(inputs, counter, secret)
    except MentisError as error:  # it does not fit there, before or after
        reason = f"no prompt can be made: {error.message}"
        return PromptInForceChange(
            persona, route.name, route.model, changed=False, was=_UNKNOWN, now=_UNKNOWN,
            reason=reason, command=_more_room(route),
        )  # fmt: skip
    apart = (*prompt_differences(old.request, new.request, name="from now on"), *_moved(old, new))
    reason, command = ("", "") if apart else _why_not(inputs, old, new, edits)
    return PromptInForceChange(
        persona,
        route.name,
        route.model,
        bool(apart),
        price_prompt(old, route),
        price_prompt(new, route),
        apart,
        reason,
        command,
    )


def _moved(old: Composition, new: Composition) -> Iterator[PromptDifference]:
    """The order of what is told before and after, where that alone would show."""
    was, now = ([name for name, _ in prompt_sections(one.request)] for one in (old, new))
    stayed = [name for name in was if name in now]
    if stayed != [name for name in now if name in was]:
        names = "order as it was", "order from now on"
        yield PromptDifference("order", unified_diff(was, now, names))


def _why_not(
    inputs: PromptInputs, old: Composition, new: Composition, edits: Iterable[Edit]
) -> tuple[str, str]:
    """The first of the edits that has a reason of its own; else that nothing is told otherwise."""
    before, after = _traces(old), _traces(new)
    for edit in edits:
        block, trace = inputs.library.block(edit.block), after.get(edit.block)
        worded = [path.removeprefix(VARIANTS) for path in edit.changed if path.startswith(VARIANTS)]
        if not edit.changed:
            show = f"mentis prompts show {quote(edit.block)}"
            return f"{edit.block} was like that already", show
        if block is None or trace is None:
            continue
        if not block.enabled and "meta.enabled" in edit.changed and block.id in before:
            return f"{block.id} was not told here before either: {before[block.id].reason}", ""
        if not trace.included:
            return f"{block.id} is not told here: {trace.reason}", _way_in(block, trace, inputs)
        if worded and trace.variant not in worded:
            told = f"what is told of {block.id} here is its wording {trace.variant}"
            place = f"--persona {inputs.persona.id} --route {quote(inputs.route.name)}"
            return told, f"mentis prompts edit {quote(block.id)} --in-force {place}"
    return "the prompt comes out the same", ""


def _traces(composed: Composition) -> dict[str, BlockTrace]:
    return {trace.block: trace for trace in composed.trace.blocks}


def _way_in(block: Block, trace: BlockTrace, inputs: PromptInputs) -> str:
    """The command that would have the block told, or that shows where it is."""
    name, reason, persona = quote(block.id), trace.reason, inputs.persona.id
    keys = (*block.requires_all, *block.requires_any, "")
    ways = (
        (not block.enabled, f"toggle {name} --on"),
        (
            reason.startswith("only for mode"),
            f"preview --mode {''.join(block.modes[:1])} --persona {persona}",
        ),
        (trace.elsewhere, f"preview --kinds --persona {persona}"),
        (reason.startswith("only for variant"), f"edit {name} --set variant_condition=null"),
        (reason.startswith("needs "), f"placeholder list {quote(keys[0])}"),
        (reason.startswith("group "), f"toggle {quote(reason.rpartition(' ')[2])} --off"),
        (reason == NO_ROOM, ""),
    )
    usual = f"edit {name} --variant {quote(inputs.route.variant)} --text TEXT"
    way = next((way for holds, way in ways if holds), usual)
    return f"mentis prompts {way}" if way else _more_room(inputs.route)


def _more_room(route: Route) -> str:
    more = route.context_tokens * 2
    return f"mentis settings set routes.{route.name}.context_tokens {more}"

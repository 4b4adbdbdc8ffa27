"""One tick: the order of its stages stands here, and nowhere else.

A function of what it is given. It keeps nothing, saves nothing and does nothing: whoever calls it
saves the state, does the acts and hands on the senses.
"""

from __future__ import annotations

from collections.abc import Sequence

from mentis.errors import UsageError
from mentis.values.cognition import CognitionState, Sense
from mentis.values.tick import HIBERNATE, Catalogue, Tick

from .conclude import conclude, conclude_with_nothing
from .deadline import Deadline
from .events import Emit, TickEvent, silent
from .expand import with_expansion
from .output import read_output
from .perceive import perceive
from .run import TickLimits, TickRun
from .stages import Stages
from .think import think

DEFAULT_LIMITS = TickLimits()


async def tick(
    senses: Sequence[Sense],
    capabilities: Catalogue,
    state: CognitionState,
    *,
    stages: Stages,
    limits: TickLimits = DEFAULT_LIMITS,
    emit: Emit = silent,
) -> Tick:
    """Acts to be done, the state after them, and a report of how it came to that.

    No senses are fine: the agent may move by itself. Whatever fails inside is in the report; a
    primary that fails, or says what nothing can be made of, leaves the very state that was given.
    """
    _refuse_hibernate(senses)
    deadline = Deadline.begin(limits.seconds, limits.shares)
    known = with_expansion(capabilities, senses, limits.expand)
    run = TickRun(tuple(senses), known, state, stages, limits, emit, deadline)
    facts = {"senses": len(run.senses), "revision": state.revision, "version": capabilities.version}
    emit(TickEvent("tick_started", facts=facts))
    ir = await perceive(run)
    thought = await think(run, ir)
    if thought is None:
        return conclude_with_nothing(run)
    made = await read_output(run, thought)
    try:
        return conclude(run, made)
    except Exception as error:  # noqa: BLE001  # a model was asked: it is noted, and counted
        return conclude_with_nothing(run, fault=error)


def _refuse_hibernate(senses: Sequence[Sense]) -> None:
    if any(sense.kind == HIBERNATE for sense in senses):
        raise UsageError(
            "a hibernate sense stops the loop; it is nothing to think about",
            hint="take it out before the tick, and end the loop",
            kind=HIBERNATE,
        )

"""The names under which the runtime tells what it does, and the one way it tells it.

Only the API of OpenTelemetry is known here: where no SDK is set up, nothing is kept and nothing is
sent. Names of GenAI attributes are not stable yet, so they stand in this file alone.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opentelemetry.trace import Span

SCOPE: Final = "mentis"
# Spans
TICK: Final = "mentis.tick"
PERSONA_UPDATE: Final = "mentis.persona_update"
# Attributes
AGENT: Final = "gen_ai.agent.id"
TICK_ID: Final = "mentis.tick.id"
REVISION: Final = "mentis.state.revision"
NOOP: Final = "mentis.tick.noop"
SENSES: Final = "mentis.tick.senses"
ACTS: Final = "mentis.tick.acts"
SUCCESS: Final = "mentis.persona_update.success"
FAILURE: Final = "mentis.persona_update.failure"
WRITTEN: Final = "mentis.persona_update.written"
TEXT: Final = "mentis.text"
FACTS: Final = "mentis.facts"
# What a tick starts from and comes to, text by text
INPUT_SENSE: Final = "input_ir_sense"
INPUT_CATALOG: Final = "input_ir_act_descriptor_catalog"
INPUT_GOALS: Final = "input_ir_goal_tree"
INPUT_MEMORY: Final = "input_ir_l1_memory"
OUTPUT_ACTS: Final = "output_ir_acts"
OUTPUT_GOALS: Final = "output_ir_goal_tree_patch"
OUTPUT_MEMORY: Final = "output_ir_l1_memory_patch"
RETURNED_ACTS: Final = "final_returned_acts"
TEXTS: Final = (
    INPUT_SENSE,
    INPUT_CATALOG,
    INPUT_GOALS,
    INPUT_MEMORY,
    OUTPUT_ACTS,
    OUTPUT_GOALS,
    OUTPUT_MEMORY,
    RETURNED_ACTS,
)


@contextmanager
def span(name: str, attributes: Mapping[str, str | int]) -> Generator[Span]:
    """A span around what is done; the API alone makes one that records nothing."""
    from opentelemetry import trace  # only where something is told: it is not needed to start

    tracer = trace.get_tracer(SCOPE)
    with tracer.start_as_current_span(name, attributes=attributes) as one:
        yield one

"""The settings of the tick."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mentis.values.tick import PatchLimits

from .constant import Constant
from .section import SettingsSection


class CortexSettings(SettingsSection):
    """How the agent thinks by itself: `mentis tick`. A helper is a model once it has a route: one
    of its own name (`routes.sense_helper`), or `routes.helper` for all six.
    """

    drives: Annotated[
        tuple[str, ...],
        Field(description="What the agent is for; it serves them and cannot change them."),
    ] = ()
    seconds: Annotated[
        float, Field(gt=0, le=86_400, description="Longest a whole tick may think, in seconds.")
    ] = 120.0
    input_share = Constant(
        0.25,
        "Part of it by whose end the input helpers are done.",
        "Later helpers cost the primary its time: `cortex.seconds`, the whole, is the choice.",
    )
    primary_share = Constant(
        0.55,
        "Part of it after that for the primary; the rest is left.",
        "What is left is for the helpers of the output, without which nothing is done.",
    )
    primary_tokens: Annotated[
        int,
        Field(
            ge=16,
            description="Longest answer of the primary, its window apart; a route may allow less.",
        ),
    ] = 1024
    helper_tokens: Annotated[
        int, Field(ge=16, description="The same for a helper that is a model.")
    ] = 768
    format: Annotated[
        Literal["tools", "output-ir"],
        Field(
            description="How the primary says what it wants: by tool calls where its route has"
            " them, or always by one `<output-ir>` with its three sections."
        ),
    ] = "tools"
    strict: Annotated[
        bool,
        Field(
            description="Whether any breach of the output contract (text around it, a section that"
            " is missing, unknown or there twice) makes the tick come to nothing. By default such a"
            " breach is recorded, and what can be read of the answer counts."
        ),
    ] = False
    cached_texts = Constant(
        512,
        "Most texts of helpers that are kept to be used again.",
        "A bound on memory: one text is a few kilobytes.",
    )
    alarm_failures = Constant(
        3,
        "Failures of a stage in a row that raise an alarm.",
        "One failure is chance and two may be; an alarm that comes later is missed.",
    )
    goals: Annotated[
        int, Field(ge=1, le=1000, description="Most goals the agent may have; more are refused.")
    ] = 200
    goal_chars = Constant(
        500,
        "Longest goal, in characters.",
        "A longer goal is a plan; plans are goals below each other.",
    )
    goal_depth = Constant(
        16,
        "Most goals below each other; deeper are refused.",
        "Deeper trees are a loop of the model, and could not be read back.",
    )
    l1_entries: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="Most entries held in mind; for one more, the oldest of its own goes.",
        ),
    ] = 100
    l1_chars = Constant(
        2000,
        "Longest entry held in mind, in characters.",
        "A longer entry is a text: those belong into the memory files.",
    )

    def patch_limits(self) -> PatchLimits:
        return PatchLimits(
            self.goals, self.goal_chars, self.l1_entries, self.l1_chars, self.goal_depth
        )

"""The settings of the tick."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mentis.values.tick import PatchLimits

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
    input_share: Annotated[
        float,
        Field(gt=0, lt=1, description="Part of it by whose end the input helpers are done."),
    ] = 0.25
    primary_share: Annotated[
        float,
        Field(gt=0, lt=1, description="Part of it after that for the primary; the rest is left."),
    ] = 0.55
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
    cached_texts: Annotated[
        int, Field(ge=0, description="Most texts of helpers that are kept to be used again.")
    ] = 512
    alarm_failures: Annotated[
        int, Field(ge=1, description="Failures of a stage in a row that raise an alarm.")
    ] = 3
    goals: Annotated[
        int, Field(ge=1, le=1000, description="Most goals the agent may have; more are refused.")
    ] = 200
    goal_chars: Annotated[int, Field(ge=16, description="Longest goal, in characters.")] = 500
    goal_depth: Annotated[
        int, Field(ge=1, le=32, description="Most goals below each other; deeper are refused.")
    ] = 16
    l1_entries: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="Most entries held in mind; for one more, the oldest of its own goes.",
        ),
    ] = 100
    l1_chars: Annotated[
        int, Field(ge=16, description="Longest entry held in mind, in characters.")
    ] = 2000

    @model_validator(mode="after")
    def _fits(self) -> CortexSettings:
        if self.input_share + self.primary_share > 1:
            raise ValueError("input_share and primary_share are more than the whole: at most 1")
        return self

    def patch_limits(self) -> PatchLimits:
        return PatchLimits(
            self.goals, self.goal_chars, self.l1_entries, self.l1_chars, self.goal_depth
        )

"""The settings of the loop."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import Field, model_validator

from .constant import Constant
from .section import SettingsSection

_CLOCK = r"^(([01][0-9]|2[0-3]):[0-5][0-9])?$"


class TimerSettings(SettingsSection):
    """Something the agent senses by the clock: `every` so many seconds, or each day `at` a time."""

    text: Annotated[str, Field(min_length=1, max_length=2000, description="What it is told.")]
    every: Annotated[
        float, Field(ge=0, le=31_536_000, description="Seconds from one to the next.")
    ] = 0.0
    at: Annotated[
        str, Field(pattern=_CLOCK, description="Time of the day here, like 08:30; instead of it.")
    ] = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.every) == bool(self.at):
            raise ValueError("a timer has either `every` or `at`")
        return self

    @property
    def moment(self) -> tuple[int, int]:
        hour, minute = re.findall(r"\d+", self.at or "00:00")
        return int(hour), int(minute)


class RunSettings(SettingsSection):
    """How an agent goes on ticking: `mentis run`."""

    interval: Annotated[
        float, Field(ge=0, le=86_400, description="Seconds from one tick to the next.")
    ] = 10.0
    senses: Annotated[
        int, Field(ge=1, le=256, description="Most senses that one tick takes; others wait.")
    ] = 32
    waiting: Annotated[
        int,
        Field(ge=1, description="Most senses that wait in the agent's folder; more are refused."),
    ] = 1000
    file_bytes: Annotated[
        int, Field(ge=64, le=16_777_216, description="Largest file that is taken as a sense.")
    ] = 262_144
    idle_gate: Annotated[
        bool,
        Field(description="Whether a tick with nothing to think about asks no model at all."),
    ] = True
    proactive: Annotated[
        int,
        Field(
            ge=0,
            description="With drives or open goals it thinks at least every so many ticks; 0: never"
            " by itself.",
        ),
    ] = 60
    poll = Constant(
        1.0,
        "Seconds between looks for a sense while asleep.",
        "It wakes an agent that sleeps: a look at a folder, seldom enough to cost nothing.",
    )
    retry: Annotated[
        float,
        Field(ge=0, le=86_400, description="Longest wait after ticks that failed, in seconds."),
    ] = 300.0
    grace: Annotated[
        float,
        Field(ge=0, le=86_400, description="Seconds a tick has to end once it should stop."),
    ] = 10.0
    tries: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Failed ticks with the same sense, after which it is set aside once one"
            " without it has not failed (`mentis sense failed`); 0: it is tried for ever.",
        ),
    ] = 3
    deliver: Annotated[
        bool,
        Field(
            description="Whether what an act brought after its turn is told to whoever asked for it"
            " in a talk; no tick is told of it as long as it can be. Else the next tick is."
        ),
    ] = True
    afterthoughts: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Most messages it writes into a talk by itself until somebody answers,"
            " while `features.afterthoughts`; 0: `mentis run` makes no afterthoughts.",
        ),
    ] = 3
    updates: Annotated[
        bool,
        Field(
            description="Whether the persona's memory files are updated in the background when that"
            " is due, while `features.persona_memory`."
        ),
    ] = True
    timers: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")], TimerSettings],
        Field(description="What it senses by the clock, by name."),
    ] = Field(default_factory=dict[str, TimerSettings])

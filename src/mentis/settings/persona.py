"""The settings of the persona's own memory files, and of their updates."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from .constant import Constant
from .section import SettingsSection

UpdateFrequency: TypeAlias = Literal["off", "frequent", "medium", "rare"]
# Percent of the window that has to be new.
SHARES = {"off": 0, "frequent": 50, "medium": 75, "rare": 95}


class MemorySettings(SettingsSection):
    """What an agent keeps about itself: its memory files, its goals, what it holds in mind."""

    review: Annotated[
        Literal["auto", "manual"],
        Field(
            description="Whether the agent is told what it changed in its memory files at once"
            " (`auto`), or only once you have accepted it with `mentis persona review` (`manual`);"
            " then goals and what it holds in mind that are in review wait too, for"
            " `mentis state accept`."
        ),
    ] = "auto"


class PersonaUpdateSettings(SettingsSection):
    """When the persona goes through a conversation and brings its memory files up to date. They
    are updated by themselves only while `features.persona_memory`; a route may be named for it.
    """

    frequency: Annotated[
        UpdateFrequency,
        Field(
            description="After which share of the window is new: 50 (`frequent`), 75 (`medium`) or"
            " 95 percent (`rare`); `off` is only by hand, with `mentis persona update`."
        ),
    ] = "medium"
    window_messages: Annotated[
        int, Field(ge=10, description="How many messages the window has that the share is of.")
    ] = 100
    rounds: Annotated[
        int, Field(ge=1, le=100, description="Most calls of the model in one update.")
    ] = 10
    tokens = Constant(
        8192,
        "Longest answer in one call; the route may allow less.",
        "Whole files are written, of `limits.memory_chars` each; a route that allows less counts.",
    )

    @property
    def percent(self) -> int:
        return SHARES[self.frequency]

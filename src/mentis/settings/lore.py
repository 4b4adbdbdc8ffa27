"""The settings of lore: blocks that what was said brings up."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mentis.values.keywords import LoreLayout, LoreRules

from .section import SettingsSection


class LoreSettings(SettingsSection):
    """How blocks with keywords are told."""

    layout: Annotated[
        LoreLayout,
        Field(
            description="Where an entry is told: in the history, where it was brought up first"
            " (`frozen`), so that the prompt before it stays; or so many messages from the end,"
            " anew in every prompt (`depth`), as other programs do."
        ),
    ] = "frozen"
    tokens: Annotated[
        int, Field(ge=0, description="Most tokens of entries that one message brings up.")
    ] = 1500
    rounds: Annotated[
        int,
        Field(ge=0, le=10, description="How often entries that were brought up may wake others."),
    ] = 3

    @property
    def rules(self) -> LoreRules:
        return LoreRules(self.layout, self.tokens, self.rounds)

"""The settings of what the agent does by itself: its beats, and what it passes on."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from .section import SettingsSection

KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
WEIGHTS = {
    "tag_elaboration": 0.30,
    "self_reflection": 0.25,
    "curiosity": 0.20,
    "memory_consolidation": 0.15,
    "relationship": 0.10,
}


class BeatSettings(SettingsSection):
    """Moments of the agent's own, with nobody waiting. `routes.beat` is their route, if there is
    one; `acts.unasked` says what may be done in them.
    """

    enabled: Annotated[
        bool, Field(description="Whether `mentis run` makes beats; `mentis beat` makes one anyway.")
    ] = False
    interval: Annotated[
        float, Field(gt=0, description="Seconds from the end of one beat until the next is due.")
    ] = 1800.0
    seconds: Annotated[
        float, Field(gt=0, description="Longest a beat may take; then it is broken off.")
    ] = 300.0
    tokens: Annotated[int, Field(ge=16, description="Most tokens for the answer of a beat.")] = 800
    day_beats: Annotated[
        int, Field(ge=0, description="Most beats in a day (UTC); 0 means no limit.")
    ] = 0
    day_tokens: Annotated[
        int,
        Field(
            ge=0,
            description="Tokens that all beats of a day may use; once they did, there is no other"
            " that day. 0 means no limit.",
        ),
    ] = 0
    weights: Annotated[
        dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]],
        Field(
            description="How often each kind is drawn, against the others. A kind is a block named"
            " `beat_KIND`; your own table takes the place of this one."
        ),
    ] = Field(default_factory=lambda: dict(WEIGHTS))

    @field_validator("weights")
    @classmethod
    def _names(cls, weights: dict[str, float]) -> dict[str, float]:
        bad = next((name for name in weights if not KIND.fullmatch(name)), None)
        if bad is not None:
            raise ValueError(f"{bad!r} is no kind: small letters, digits and _, a letter first")
        return weights


class DeliverySettings(SettingsSection):
    """Passing on what an act brought after the turn that asked for it."""

    attempts: Annotated[
        int,
        Field(
            ge=1,
            le=10,
            description="How often it is tried; after that the next message or tick tells it.",
        ),
    ] = 2
    tokens: Annotated[int, Field(ge=16, description="Most tokens for the message.")] = 400

"""The settings of channels: where people talk to an agent, and how it answers there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from .section import SettingsSection

ChannelKind: TypeAlias = Literal["telegram", "discord", "matrix"]
CHANNEL_NAME = r"^[a-z][a-z0-9]{0,23}$"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"


class ChannelSettings(SettingsSection):
    """One account of the agent at a chat platform. Its key is never written here."""

    kind: Annotated[ChannelKind, Field(description="Which platform it is.")]
    key_env: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$",
            description="Environment variable, or entry of the system's keyring, that holds the"
            " token of the bot (Telegram, Discord) or the access token of the account (Matrix).",
        ),
    ]
    persona: Annotated[
        str, Field(description="Who answers; the only persona there is may be left unnamed.")
    ] = ""
    url: Annotated[
        str,
        Field(
            description="Address of the server: of a Matrix account its homeserver; left out, the"
            " platform's own."
        ),
    ] = ""
    user: Annotated[
        str, Field(description="Of a Matrix account: its id, such as @ada:example.org.")
    ] = ""
    groups: Annotated[
        Literal["mentions", "all", "off"],
        Field(
            description="In groups it answers who names it or replies to it (`mentions`), everybody"
            " (`all`), or nobody (`off`)."
        ),
    ] = "mentions"
    guests: Annotated[
        Literal["groups", "everywhere", "nowhere"],
        Field(
            description="Where people are answered who are not the paired owner: in groups,"
            " also in private rooms (`everywhere`), or not at all."
        ),
    ] = "groups"
    owner_in_groups: Annotated[
        bool,
        Field(
            description="Whether the owner's words in a group count as the owner's. Everybody there"
            " reads the answers, so by default they count as a guest's."
        ),
    ] = False
    quiet: Annotated[
        str,
        Field(
            pattern=f"^({_CLOCK}-{_CLOCK})?$",
            description="Quiet hours, by the clock here: 22:00-07:00.",
        ),
    ] = ""
    quiet_mode: Annotated[
        Literal["wait", "silent"],
        Field(
            description="In quiet hours messages wait until they are over, or are answered without"
            " a sound (`silent`)."
        ),
    ] = "wait"
    per_minute: Annotated[
        int, Field(ge=1, le=600, description="Most messages it sends in a minute.")
    ] = 20
    waiting: Annotated[
        int, Field(ge=1, description="Most messages that wait for their answer; more are refused.")
    ] = 200
    tries: Annotated[
        int,
        Field(
            ge=1,
            le=100,
            description="How often an answer is tried before whoever asked is told that none came.",
        ),
    ] = 3

    def quiet_left(self, now: datetime) -> float:
        """Seconds until the quiet hours are over; 0 outside of them."""
        if not self.quiet:
            return 0.0
        start, end = (_at(now, clock) for clock in self.quiet.split("-"))
        if start <= end:
            inside = start <= now < end
        else:
            inside = now >= start or now < end
            end += timedelta(days=1) if now >= start else timedelta()
        return (end - now).total_seconds() if inside else 0.0


def _at(now: datetime, clock: str) -> datetime:
    hour, minute = map(int, clock.split(":"))
    return now.replace(hour=hour, minute=minute, second=0, microsecond=0)

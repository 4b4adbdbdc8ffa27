"""The channels of a home, to add, list, pair and remove: what `mentis channels` does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from mentis.errors import MentisError, UsageError
from mentis.home.channel_reach import SERVERS, reach_digest, server_of
from mentis.home.parts import Parts
from mentis.home.system import SystemClock
from mentis.ports.clock import Clock
from mentis.record.agent_record import AgentRecord
from mentis.record.record import open_record
from mentis.settings.channels import CHANNEL_NAME, ChannelSettings
from mentis.settings.sources import load_settings
from mentis.settings.tables import add_table, remove_table, restore
from mentis.stores.files.channel_owners import ChannelOwners
from mentis.stores.files.home import Home, find_home
from mentis.stores.files.key_folder import config_folder
from mentis.values.value import Value

from .log import ChannelLog

ChannelState: TypeAlias = Literal["paired", "unpaired", "untrusted"]
_USUAL_KEYS = {
    "telegram": "TELEGRAM_BOT_TOKEN",
    "discord": "DISCORD_BOT_TOKEN",
    "matrix": "MATRIX_ACCESS_TOKEN",
}


@dataclass(frozen=True, slots=True)
class ChannelStatus(Value):
    """A channel as a list shows it. `waiting` have no answer yet, `outgoing` are to be sent;
    `unknown` may have been sent, and nobody knows.
    """

    name: str
    kind: str
    persona: str
    server: str
    key_env: str
    state: ChannelState
    owner: str = ""
    rooms: int = 0
    waiting: int = 0
    outgoing: int = 0
    unknown: int = 0


def open_channels(home: str | Path, parts: Parts | None = None) -> Channels:
    """The channels of a home: `add`, `list`, `pair`, `trust` and `remove` them."""
    parts = parts or Parts()
    return Channels(find_home(Path(home)), parts)


class Channels:
    """Those of one home. These methods block."""

    def __init__(self, home: Home, parts: Parts) -> None:
        self._home, self._parts = home, parts
        self.owners = ChannelOwners(config_folder(parts.variables), home.path)

    def add(
        self,
        kind: str,
        name: str,
        *,
        key_env: str = "",
        persona: str = "",
        url: str = "",
        user: str = "",
    ) -> ChannelStatus:
        """Write it into the settings, and say that its key may go to its server."""
        if kind not in SERVERS:
            raise UsageError(
                f"there are no channels of kind {kind!r}", hint=f"one of {', '.join(SERVERS)}"
            )
        if kind == "matrix" and not (url and user):
            raise UsageError(
                "a Matrix channel needs its homeserver and the id of its account",
                hint="--url https://matrix.example.org --user @ada:example.org",
            )
        if persona and persona not in self._home.personas():
            known = ", ".join(self._home.personas())
            raise UsageError(f"there is no persona {persona!r}", hint=f"there are: {known}")
        if not re.fullmatch(CHANNEL_NAME, name):
            raise UsageError(
                f"{name!r} cannot be the name of a channel",
                hint="use small letters and digits, a letter first, 24 at most",
            )
        if name in self._all():
            raise UsageError(
                f"there is a channel {name!r} already",
                hint=f"take another name, or remove it first: mentis channels rm {name}",
            )
        values = {"kind": kind, "key_env": key_env or _USUAL_KEYS[kind], "persona": persona}
        values |= {"url": url, "user": user}
        before = add_table(
            self._home.path, "channels", name, {k: v for k, v in values.items() if v}
        )
        try:
            self.trust(name)
        except MentisError:
            restore(self._home.path, before)
            raise
        return self.status(name)

    def trust(self, name: str) -> None:
        """Let its key go to its server, as the settings name both now."""
        self.owners.trust(name, reach_digest(name, self._settings(name)))

    def pair(self, name: str) -> str:
        """A code for its owner: whoever sends it to the agent in a private room is the owner there.
        It counts once, for a quarter of an hour, and takes the place of an earlier one.
        """
        self._settings(name)
        clock: Clock = self._parts.clock or SystemClock()
        return self.owners.new_code(name, clock.now())

    def remove(self, name: str) -> None:
        """Out of the settings, with what was said of it. Its sessions and entries stay."""
        self._settings(name)
        remove_table(self._home.path, "channels", name)
        self.owners.forget(name)

    def list(self) -> tuple[ChannelStatus, ...]:
        return tuple(self.status(name) for name in sorted(self._all()))

    def status(self, name: str) -> ChannelStatus:
        chosen, owner = self._settings(name), self.owners.of(name)
        persona, state = self._persona(chosen), "unpaired"
        if owner.trusted != reach_digest(name, chosen):
            state = "untrusted"
        elif owner.owner:
            state = "paired"
        with open_record(self._home.path, persona, self._parts, readonly=True) as record:
            log = ChannelLog(
                AgentRecord(record.agent, record.ledger, record.clock, record.ids), name
            )
            return ChannelStatus(
                name,
                chosen.kind,
                persona,
                server_of(name, chosen),
                chosen.key_env,
                state,
                owner.name or owner.owner,
                len(log.rooms()),
                len(log.receipts()),
                len(log.outgoing()),
                log.unknown(),
            )

    def _persona(self, chosen: ChannelSettings) -> str:
        default = load_settings(self._home.path, self._parts.variables).model.persona
        return self._home.pick_persona(chosen.persona or None, default)

    def _all(self) -> Mapping[str, ChannelSettings]:
        return load_settings(self._home.path, self._parts.variables).model.channels

    def _settings(self, name: str) -> ChannelSettings:
        known = self._all()
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"there is no channel {name!r}", hint=f"there are: {there}")
        return known[name]

"""The ground acts stand on: an agent's home, its stores, and what its owner handed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mentis.ledger.chain import make_stamp
from mentis.library.memory.files import PersonaMemory
from mentis.ports.act_handler import ActHandler
from mentis.ports.blob_store import BlobStore
from mentis.ports.channel import Channel
from mentis.ports.clock import Clock
from mentis.ports.embedder import Embedder
from mentis.ports.entries import Stamp
from mentis.ports.ids import Ids
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.screener import Screener
from mentis.settings.acts import ActSettings
from mentis.settings.settings import Settings
from mentis.stores.files.accepted_acts import AcceptedFile
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import config_folder
from mentis.stores.sqlite.database import Database
from mentis.values.persona import Persona

from .server import open_blobs


@dataclass(frozen=True, slots=True)
class Ground:
    """The stores are open, and somebody else closes them. `handlers`, `channels`, `embedder` and
    `screener` are those that a program hands in.
    """

    home: Home
    settings: Settings
    environ: Mapping[str, str]
    agent: str
    persona: Persona
    memory: PersonaMemory
    database: Database
    ledger: LedgerStore
    clock: Clock
    ids: Ids
    handlers: tuple[ActHandler, ...] = ()
    channels: tuple[Channel, ...] = ()
    embedder: Embedder | None = None
    screener: Screener | None = None

    @property
    def act_settings(self) -> ActSettings:
        return self.settings.model.acts

    @property
    def stamp(self) -> Stamp:
        return make_stamp(self.clock.now, self.ids.salt, self.clock.uptime)

    @property
    def accepted_file(self) -> AcceptedFile:
        return AcceptedFile(config_folder(self.environ), self.home.path)

    @property
    def blobs(self) -> BlobStore:
        return open_blobs(self.home, self.database)

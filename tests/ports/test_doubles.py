"""Each port has a double that ships. The checker proves that it fits, the table that none lacks."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import mentis.ports
from mentis.call.scripted import ScriptedProvider
from mentis.engines.estimate import EstimatingCounter
from mentis.engines.hashed import HashEmbedder
from mentis.ports.accepted_acts import AcceptedActs
from mentis.ports.act_handler import ActHandler, RecordingHandler
from mentis.ports.blob_store import BlobStore
from mentis.ports.chance import Chance, ListedChance
from mentis.ports.channel import Channel, RecordingChannel
from mentis.ports.channel_adapter import ChannelAdapter, ScriptedChannel
from mentis.ports.checkpoints import Checkpoints
from mentis.ports.clock import Clock, FixedClock
from mentis.ports.embedder import Embedder
from mentis.ports.entries import Entries
from mentis.ports.ids import CountingIds, Ids
from mentis.ports.inbox import AgentInbox
from mentis.ports.leases import Leases
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.marks import Marks
from mentis.ports.memory_store import MemoryStore
from mentis.ports.provider import Provider
from mentis.ports.revisions import Revisions
from mentis.ports.screener import ListedScreener, Screener
from mentis.ports.secrets import ListedSecrets, Secrets
from mentis.ports.sense_source import ListedSenses, SenseSource
from mentis.ports.signer import SeededSigner, Signer
from mentis.ports.state_store import StateStore
from mentis.ports.token_counter import TokenCounter
from mentis.ports.turns import Turns
from mentis.ports.witness import ListWitness, Witness
from mentis.stores.memory import (
    AcceptedInMemory,
    BlobsInMemory,
    InboxInMemory,
    LedgerInMemory,
    MemoriesInMemory,
    RevisionsInMemory,
    StatesInMemory,
)

accepted_acts: type[AcceptedActs] = AcceptedInMemory
act_handler: type[ActHandler] = RecordingHandler
blob_store: type[BlobStore] = BlobsInMemory
channel: type[Channel] = RecordingChannel
channel_adapter: type[ChannelAdapter] = ScriptedChannel
chance: type[Chance] = ListedChance
clock: type[Clock] = FixedClock
embedder: type[Embedder] = HashEmbedder
ids: type[Ids] = CountingIds
inbox: type[AgentInbox] = InboxInMemory
ledger_store: type[LedgerStore] = LedgerInMemory
entries: type[Entries] = LedgerInMemory
marks: type[Marks] = LedgerInMemory
leases: type[Leases] = LedgerInMemory
checkpoints: type[Checkpoints] = LedgerInMemory
memory_store: type[MemoryStore] = MemoriesInMemory
provider: type[Provider] = ScriptedProvider
revisions: type[Revisions] = RevisionsInMemory
screener: type[Screener] = ListedScreener
secrets: type[Secrets] = ListedSecrets
sense_source: type[SenseSource] = ListedSenses
signer: type[Signer] = SeededSigner
state_store: type[StateStore] = StatesInMemory
turns: type[Turns] = LedgerInMemory
token_counter: type[TokenCounter] = EstimatingCounter
witness: type[Witness] = ListWitness

PORTS = sorted(module.name for module in pkgutil.iter_modules(mentis.ports.__path__))


def port_of(name: str) -> type:
    module = importlib.import_module(f"mentis.ports.{name}")
    classes = inspect.getmembers(module, inspect.isclass)
    return next(
        cls
        for _, cls in classes
        if cls.__module__ == module.__name__ and getattr(cls, "_is_protocol", False)
    )


@pytest.mark.parametrize("name", PORTS)
def test_a_port_has_a_double_with_everything_it_asks_for(name: str) -> None:
    double = globals()[name]
    asked = [member for member in vars(port_of(name)) if not member.startswith("_")]
    assert asked
    assert [member for member in asked if not hasattr(double, member)] == []
    assert double.__module__.startswith("mentis.")

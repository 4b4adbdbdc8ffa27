"""Doubles of every port, to test a program that uses Mentis without a model, a disk or a clock.

Names are loaded when they are first used, as those of the package root are.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # loading typing takes longer than all the rest here

if TYPE_CHECKING:
    from .call.scripted import ScriptedProvider
    from .engines.estimate import EstimatingCounter
    from .engines.hashed import HashEmbedder
    from .ports.act_handler import RecordingHandler
    from .ports.chance import ListedChance
    from .ports.channel import RecordingChannel
    from .ports.channel_adapter import ScriptedChannel
    from .ports.clock import FixedClock, SettableClock
    from .ports.ids import CountingIds
    from .ports.screener import ListedScreener
    from .ports.secrets import ListedSecrets
    from .ports.sense_source import ListedSenses
    from .ports.signer import SeededSigner
    from .ports.witness import ListWitness
    from .stores.memory import (
        AcceptedInMemory,
        BlobsInMemory,
        LedgerInMemory,
        MemoriesInMemory,
        RevisionsInMemory,
        StatesInMemory,
    )

_HOMES = {
    "AcceptedInMemory": "stores.memory",
    "BlobsInMemory": "stores.memory",
    "CountingIds": "ports.ids",
    "EstimatingCounter": "engines.estimate",
    "FixedClock": "ports.clock",
    "HashEmbedder": "engines.hashed",
    "LedgerInMemory": "stores.memory",
    "ListWitness": "ports.witness",
    "ListedChance": "ports.chance",
    "ListedScreener": "ports.screener",
    "ListedSecrets": "ports.secrets",
    "ListedSenses": "ports.sense_source",
    "MemoriesInMemory": "stores.memory",
    "RecordingChannel": "ports.channel",
    "RecordingHandler": "ports.act_handler",
    "RevisionsInMemory": "stores.memory",
    "ScriptedChannel": "ports.channel_adapter",
    "ScriptedProvider": "call.scripted",
    "SeededSigner": "ports.signer",
    "SettableClock": "ports.clock",
    "StatesInMemory": "stores.memory",
}

__all__ = (
    "AcceptedInMemory",
    "BlobsInMemory",
    "CountingIds",
    "EstimatingCounter",
    "FixedClock",
    "HashEmbedder",
    "LedgerInMemory",
    "ListWitness",
    "ListedChance",
    "ListedScreener",
    "ListedSecrets",
    "ListedSenses",
    "MemoriesInMemory",
    "RecordingChannel",
    "RecordingHandler",
    "RevisionsInMemory",
    "ScriptedChannel",
    "ScriptedProvider",
    "SeededSigner",
    "SettableClock",
    "StatesInMemory",
)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mentis.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)

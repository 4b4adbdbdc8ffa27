"""In-memory doubles of the store ports, for tests and for homes without a disk."""

from __future__ import annotations

from .accepted import AcceptedInMemory
from .blobs import BlobsInMemory
from .inbox import InboxInMemory
from .ledger import LedgerInMemory
from .memories import MemoriesInMemory
from .revisions import RevisionsInMemory
from .states import StatesInMemory

__all__ = [
    "AcceptedInMemory",
    "BlobsInMemory",
    "InboxInMemory",
    "LedgerInMemory",
    "MemoriesInMemory",
    "RevisionsInMemory",
    "StatesInMemory",
]

"""In-memory doubles of the store ports, for tests and for homes without a disk."""

from __future__ import annotations

from .accepted import AcceptedInMemory
from .blobs import BlobsInMemory
from .ledger import LedgerInMemory
from .memories import MemoriesInMemory
from .revisions import RevisionsInMemory
from .states import StatesInMemory

__all__ = [
    "AcceptedInMemory",
    "BlobsInMemory",
    "LedgerInMemory",
    "MemoriesInMemory",
    "RevisionsInMemory",
    "StatesInMemory",
]

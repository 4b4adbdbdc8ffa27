"""All operations, and the commands that have none, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from . import conversations, prompts
from .operation import Operation, OperationTable

TABLES: tuple[OperationTable, ...] = (conversations.table, prompts.table)
OPERATIONS: tuple[Operation, ...] = tuple(row for table in TABLES for row in table)
NO_OPERATION: Mapping[str, str] = {}

"""What is opened on a home has its database open, and closes it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from mentis.stores.sqlite.database import Database


class Opened:
    """A context manager around the database; `close` ends it without one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

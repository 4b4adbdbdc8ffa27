"""Context managers for whatever is opened on a home: closed at the end, also by a `with`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

from mentis.stores.sqlite.database import Database


class _Closable(Protocol):
    def close(self) -> None: ...


class Closeable(ABC):
    """A context manager; `close` ends it without one."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class DatabaseHolder(Closeable):
    """It has the database of the home open, and nothing else."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def close(self) -> None:
        self._database.close()


@contextmanager
def closed_on_failure(opened: _Closable) -> Generator[None]:
    try:
        yield
    except BaseException:
        opened.close()
        raise

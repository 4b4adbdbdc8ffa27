"""Blobs, too large for a record, as rows named by their digest.

The name says what must be in it, so every read is checked, and the same content is kept once.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from mentis.errors import StoreDamaged
from mentis.values.digest import Digest, digest

from .database import PostgresDatabase

_KEEP = "INSERT INTO blobs (digest, data) VALUES (%s, %s) ON CONFLICT (digest) DO NOTHING"
_MEND = "UPDATE blobs SET data = %s WHERE digest = %s"
_READ = "SELECT data FROM blobs WHERE digest = %s"
_FORGET = "DELETE FROM blobs WHERE digest = %s RETURNING 1"
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/blobs', 0))"
_PATIENCE = "SET LOCAL lock_timeout = '60s'"  # an erasure looks through every entry


class PostgresBlobs:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def keep(self, content: bytes) -> Digest:
        name = digest(content)
        kept = self._database.read(_READ, (name,))
        with self._database.session() as connection:
            if not kept:
                connection.execute(_KEEP, (name, content))
            elif bytes(kept[0][0]) != content:
                connection.execute(_MEND, (content, name))
        return name

    def has(self, digest: Digest) -> bool:  # noqa: ARG002 - another machine may have forgotten it
        return False

    def read(self, digest: Digest, *, start: int = 0, length: int | None = None) -> bytes | None:
        content = self._checked(digest)
        if content is None:
            return None
        end = None if length is None else max(start, 0) + max(length, 0)
        return content[max(start, 0) : end]

    @contextmanager
    def held(self) -> Generator[None]:
        with self._database.session() as connection, connection.transaction():
            connection.execute(_PATIENCE)
            connection.execute(_ALONE)
            yield

    def forget(self, digest: Digest) -> bool:
        return bool(self._database.read(_FORGET, (digest,)))

    def names(self) -> tuple[Digest, ...]:
        """Of all there are, for whoever moves them."""
        rows = self._database.read("SELECT digest FROM blobs ORDER BY digest")
        return tuple(name for (name,) in rows)

    def _checked(self, name: Digest) -> bytes | None:
        if "\0" in name or not (rows := self._database.read(_READ, (name,))):
            return None
        content = bytes(rows[0][0])
        if digest(content) != name:
            raise StoreDamaged(
                f"blob {name} in {self._database.where} is not what was kept there",
                hint="put it back from a backup, or forget it",
                column="blobs",
            )
        return content

"""The files of a home that lies in a database, each a row with its digest and its revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mentis.errors import StoreConflict, StoreDamaged
from mentis.values.digest import Digest, digest

from .database import PostgresDatabase

GONE: Digest = ""  # the digest of a file that was removed
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/files', 0))"
_NEWEST = "SELECT coalesce(max(revision), 0) FROM files"
_SINCE = "SELECT path, data, digest, runs, revision FROM files WHERE revision > %s ORDER BY path"
_DIGESTS = "SELECT path, digest FROM files WHERE path = ANY(%s)"
_SAVE = """
INSERT INTO files (path, data, digest, runs, revision) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (path) DO UPDATE SET data = excluded.data, digest = excluded.digest,
    runs = excluded.runs, revision = excluded.revision
"""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file; `data` is None where it was removed, `runs` says that it is a program."""

    path: str
    data: bytes | None
    runs: bool = False

    @property
    def digest(self) -> Digest:
        return GONE if self.data is None else digest(self.data)


class PostgresFiles:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @property
    def newest(self) -> int:
        """The revision that changed last; 0 where no home lies here."""
        ((newest,),) = self._database.read(_NEWEST)
        return newest

    def since(self, revision: int) -> tuple[tuple[FileRow, ...], int]:
        """What changed after a revision, and the revision that this leads to."""
        rows = self._database.read(_SINCE, (revision,))
        return tuple(map(self._file, rows)), max((row[4] for row in rows), default=revision)

    def save(self, files: Sequence[FileRow], expected: Mapping[str, Digest]) -> int:
        """Keep all of them or none: StoreConflict, which names it, where one is not any more what
        is `expected` of it. The revision after that.
        """
        with self._database.session() as connection, connection.transaction():
            connection.execute(_TURN)
            rows = connection.execute(_DIGESTS, ([file.path for file in files],)).fetchall()
            kept: dict[str, Digest] = dict(rows)
            for file in files:
                if kept.get(file.path, GONE) != expected.get(file.path, GONE):
                    raise StoreConflict(
                        f"{file.path} was changed in {self._database.where} meanwhile",
                        hint="nothing was written; `mentis view discard` takes what is there, and"
                        " keeps yours beside it",
                        path=file.path,
                    )
            ((revision,),) = connection.execute(_NEWEST).fetchall()
            for file in files:
                revision += 1
                cells = (file.path, file.data, file.digest, int(file.runs), revision)
                connection.execute(_SAVE, cells)
            return revision

    def _file(self, row: Sequence[object]) -> FileRow:
        path, data, told, runs, _ = row
        file = FileRow(str(path), None if data is None else bytes(data), bool(runs))  # pyright: ignore[reportArgumentType]
        if file.digest != told:
            raise StoreDamaged(
                f"{path} in {self._database.where} is not what its digest says",
                hint="somebody changed the database; put a backup in its place",
                column="files",
            )
        return file

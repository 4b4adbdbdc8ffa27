"""Files as they were: kept under a second name, so that going back needs no space."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from mentis.errors import StoreError

from .atomic import sync_folder, unwritable


class Former:
    """`restore` puts every file back, and removes those that were not there."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._links: dict[Path, Path | None] = {}
        for path in paths:
            # The name of a temporary file: one that is left over is swept with the others.
            link = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
            try:
                os.link(path, link)
            except FileNotFoundError:
                self._links[path] = None
            except OSError as error:
                self.drop()
                raise unwritable(path, error) from error
            else:
                self._links[path] = link

    def restore(self) -> None:
        try:
            for path, link in self._links.items():
                if link is None:
                    path.unlink(missing_ok=True)
                else:
                    link.replace(path)
                sync_folder(path.parent)
        except OSError as error:
            raise StoreError(
                f"the files hold a change whose revision could not be stored: {error}",
                hint="it becomes a revision at the next edit; undo it then if it is not wanted",
            ) from error

    def drop(self) -> None:
        for link in self._links.values():
            if link is not None:
                link.unlink(missing_ok=True)


@contextmanager
def kept_former(paths: Iterable[Path]) -> Generator[Former]:
    former = Former(paths)
    try:
        yield former
    finally:
        former.drop()

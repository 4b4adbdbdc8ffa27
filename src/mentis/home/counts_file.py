"""A small file of counts beside the ledger: no part of the record, and it outlives a process.

Who may write it, and when, is up to whoever has it: there is no lock in here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mentis.disk.atomic import unwritable, write_atomic
from mentis.errors import BadInput
from mentis.values.json import JsonObject

_MOST_BYTES = 1_000_000


@dataclass(slots=True)
class CountsFile:
    """Its methods block. `lost` says what it means for the owner that it cannot be read."""

    path: Path
    lost: str
    _last: Mapping[str, object] | None = field(default=None, repr=False)

    def read(self) -> Mapping[str, object]:
        """What was kept last; BadInput where that is no file of ours."""
        self._last = None
        try:
            with self.path.open("rb") as file:
                content = file.read(_MOST_BYTES)
            found: object = json.loads(content)
        except FileNotFoundError:
            found = {}
        except (OSError, ValueError, RecursionError) as error:
            raise BadInput(f"{self.path.name} cannot be read: {error}", hint=self.lost) from error
        self._last = cast("Mapping[str, object]", found) if isinstance(found, dict) else {}
        return self._last

    def keep(self, known: Mapping[str, JsonObject]) -> None:
        """Written only where it says something else than what was read or kept last."""
        if known == self._last:
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.path.parent, error) from error
        write_atomic(self.path, json.dumps(known))
        self._last = known

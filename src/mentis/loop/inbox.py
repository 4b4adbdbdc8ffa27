"""The folder of an agent where senses wait for its loop, from the side of whoever puts them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mentis.home.system import RandomIds, SystemClock
from mentis.ports.clock import Clock
from mentis.ports.ids import Ids
from mentis.settings.run import RunSettings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.json import JsonObject

from .folder import drop_in, look_in
from .given import OWN_DOORS, check_names
from .sealed import SEAL


@dataclass(frozen=True, slots=True)
class Inbox:
    folder: Path
    chosen: RunSettings
    clock: Clock
    ids: Ids

    @classmethod
    def open(cls, path: Path, *, persona: str | None = None) -> Self:
        home = find_home(path)
        settings = load_settings(home.path, os.environ)
        folder = home.senses(home.pick_persona(persona, settings.model.persona))
        return cls(folder, settings.model.run, SystemClock(), RandomIds())

    def add(self, sense: JsonObject) -> Path:
        """Written whole or not at all; refused while too much waits, when it is too large, and
        under a name that is the program's own.
        """
        if SEAL not in sense:
            check_names({"endpoint": "folder", **sense}, OWN_DOORS)
        when = self.clock.now().strftime("%Y%m%dT%H%M%S")
        name = f"{when}-{self.ids.new_id()[:12]}.json"
        content = json.dumps(sense, ensure_ascii=False)
        chosen = self.chosen
        return drop_in(
            self.folder, name, content, most=chosen.waiting, most_bytes=chosen.file_bytes
        )

    def waiting(self) -> list[tuple[str, str]]:
        """Names and beginnings of what waits, the oldest first."""
        return look_in(self.folder)

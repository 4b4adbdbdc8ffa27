"""Conversations for a client: each line looked at by the screener and set between marks, since to
whoever reads it there it is text from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mentis.errors import BadInput, MentisError
from mentis.home.parts import Parts
from mentis.home.secret import open_secret
from mentis.memories.parts import HomeScreener
from mentis.ports.screener import Screener
from mentis.record.said_lines import SaidLine
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.cognition import Screening
from mentis.values.fence import Fence
from mentis.values.marks import neutral, nonce_of

_SNIPPET = 240  # characters of a line that is only pointed at


@dataclass(frozen=True, slots=True)
class LineGuard:
    """What a line passes before a client sees it. It fails closed."""

    secret: bytes
    screener: Screener

    def shown(self, line: SaidLine, *, whole: bool) -> dict[str, Any]:
        """The line for a client; what the screener drops is withheld, with the reason."""
        told: dict[str, Any] = {
            "session": line.session,
            "number": line.number,
            "role": line.role,
            "author": line.author,
            "trust": line.trust.value,
        }
        looked = self._look(line)
        if looked.outcome == "dropped":
            return {**told, "text": None, "withheld": looked.category or looked.reason}
        cut = not whole and len(line.text) > _SNIPPET
        text = neutral(line.text[:_SNIPPET] if cut else line.text)
        fenced = Fence(nonce_of([text], self.secret)).around(text)
        return {**told, "text": fenced, "cut": cut, "screening": looked.outcome}

    def _look(self, line: SaidLine) -> Screening:
        try:
            return self.screener.screen(line.text, source=f"session {line.session}")
        except MentisError as error:
            return Screening("dropped", f"the screener failed: {error.message}")


def open_guard(home: Path, parts: Parts | None = None) -> LineGuard | None:
    """For the home's conversations; None where its owner wants none of them served."""
    place = find_home(home)
    parts = parts or Parts()
    if not load_settings(place.path, parts.variables).model.status.conversations:
        return None
    secret, _ = open_secret(place, parts)
    return LineGuard(secret, HomeScreener(place.path))


def refuse_unserved() -> BadInput:
    return BadInput(
        "conversations are not served here",
        hint="the owner can allow it: `status.conversations = true` in mentis.toml",
    )

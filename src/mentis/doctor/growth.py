"""Growth of a prompt since the call before, by source, as far as a log shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

# A result of a tool longer than this is long: what is more of it could have been left out.
LONG_RESULT = 5000
WRITTEN, SAID, REMINDED = "what the model wrote", "what you wrote", "attachments and reminders"
_CHARACTERS = 4  # of a token, about; only shares are made of it
_PICTURE = 1600
_MOST_NAMES = 4096
_DEPTH = 6


def result_of(tool: str) -> str:
    return f"results of {tool}"


@dataclass(slots=True)
class Growth:
    """Since the last call: tokens by source, and of results those beyond `LONG_RESULT`."""

    added: dict[str, int] = field(default_factory=dict[str, int])
    excess: dict[str, int] = field(default_factory=dict[str, int])
    _tools: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, source: str, tokens: int) -> None:
        if tokens:
            self.added[source] = self.added.get(source, 0) + tokens

    def add_result(self, call: object, content: object) -> None:
        tool = self._tools.get(call, "tools") if isinstance(call, str) else "tools"
        source, tokens = result_of(tool), tokens_in(content)
        self.add(source, tokens)
        if tokens > LONG_RESULT:
            self.excess[source] = self.excess.get(source, 0) + tokens - LONG_RESULT

    def name_tool(self, call: object, name: object) -> None:
        if isinstance(call, str) and isinstance(name, str):
            if len(self._tools) >= _MOST_NAMES:
                self._tools.clear()
            self._tools[call] = name

    def take(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        taken = self.added, self.excess
        self.added, self.excess = {}, {}
        return taken


def tokens_in(value: object, depth: int = _DEPTH) -> int:
    """About how many tokens a part of a message is."""
    if isinstance(value, str):
        return len(value) // _CHARACTERS
    if not depth:
        return 0
    if isinstance(value, list):
        return sum(tokens_in(one, depth - 1) for one in cast("list[object]", value))
    if isinstance(value, dict):
        told = cast("dict[str, object]", value)
        if told.get("type") in ("image", "document", "input_image"):
            return _PICTURE
        return sum(tokens_in(one, depth - 1) for one in told.values())
    return 0

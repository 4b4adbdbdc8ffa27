"""What the reader was told of the request: the names that were sent, and the tools offered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mentis.values.tool import ToolDeclaration
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class Expected(Value):
    """`names` leads from the name on the wire to our own. `tools` None: nobody said.

    `model` is the model that was asked for: replayed state is tagged with it, because what a
    provider reports may be another name of the same model.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    tools: tuple[ToolDeclaration, ...] | None = None
    model: str = ""

    def own(self, name: str) -> str:
        return self.names.get(name, name)

    def tool(self, name: str) -> ToolDeclaration | None:
        own = self.own(name)
        return next((tool for tool in self.tools or () if tool.name == own), None)

    def offers(self, name: str) -> bool:
        return self.tool(name) is not None


NOTHING_EXPECTED = Expected()

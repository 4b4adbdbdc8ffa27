"""Facts of the request that a reader needs: the names that were sent, and the tools offered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mentis.values.tool import ToolDeclaration
from mentis.values.value import Value

_MESSAGE = "message_"
_ANY_MESSAGE = ("message", "send_message")


@dataclass(frozen=True, slots=True)
class Expectation(Value):
    """`names` leads from the name on the wire to our own. `tools` None: nobody said.

    `model` is the model that was asked for: replayed state is tagged with it, because what a
    provider reports may be another name of the same model. `place` is where the conversation
    is held (`interface_path`): messages without an address go there. `doorway` is the declared
    tool that calls the others by name, those that only the text told of among them.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    tools: tuple[ToolDeclaration, ...] | None = None
    model: str = ""
    place: str = ""
    doorway: str = ""

    def own(self, name: str) -> str:
        return self.names.get(name, name)

    def tool(self, name: str) -> ToolDeclaration | None:
        own = self.own(name)
        return next((tool for tool in self.tools or () if tool.name == own), None)

    def resolve_name(self, name: str) -> str:
        """Our own name; an invented kind of message is the one of this place, or the only one."""
        own = self.own(name)
        if self.offers(own) or not (own in _ANY_MESSAGE or own.startswith(_MESSAGE)):
            return own
        messages = [tool.name for tool in self.tools or () if tool.name.startswith(_MESSAGE)]
        here = f"{_MESSAGE}{self.place.partition('/')[0]}"
        if here in messages:
            return here
        return messages[0] if len(messages) == 1 else own

    def offers(self, name: str) -> bool:
        return self.tool(name) is not None


NOTHING_EXPECTED = Expectation()

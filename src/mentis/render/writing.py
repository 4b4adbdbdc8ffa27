"""Messages written down by a format, one after the other, with the spans behind each text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mentis.values.rendering import Fragment, Loss
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration

from .draft import Draft, Message
from .memo import remembered


@dataclass(slots=True)
class Page:
    """The items of one list in the payload. `root` is the JSON pointer to that list."""

    root: str
    first: int = 0
    items: list[Fragment] = field(default_factory=list[Fragment])
    sources: dict[str, tuple[Span, ...]] = field(default_factory=dict[str, tuple[Span, ...]])
    losses: list[Loss] = field(default_factory=list[Loss])
    characters: int = 0  # of text, and of schemas
    settled: int = 0  # how many of the items are settled history
    settled_characters: int = 0

    @property
    def here(self) -> str:
        """The pointer to the item that is added next."""
        return f"{self.root}/{self.first + len(self.items)}"

    def add(self, item: dict[str, object]) -> None:
        self.items.append(Fragment(item))

    def trace(self, pointer: str, spans: Sequence[Span]) -> None:
        """Say what the text at `pointer`, below the item that is added next, was joined from."""
        self.sources[f"{self.root}/{self.first + len(self.items)}{pointer}"] = tuple(spans)
        for span in spans:
            self.characters += len(span.text)


Write: TypeAlias = Callable[[Page, Message], None]


def write_messages(draft: Draft, wire: object, root: str, write: Write, *, first: int = 0) -> Page:
    """Settled history is taken from memory where it was written before."""
    head = draft.head

    def make() -> Page:
        page = Page(root, first)
        for message in head:
            write(page, message)
        return page

    ends = (head[0], head[-1]) if head else ()
    settled = remembered((wire, root, first, len(head)), (draft.told, *ends), make)
    page = Page(root, first, settled.items.copy(), settled.sources.copy(), settled.losses.copy())
    page.settled = len(page.items)
    page.characters = page.settled_characters = settled.characters
    for message in draft.tail:
        write(page, message)
    return page


def write_tools(
    draft: Draft,
    wire: object,
    root: str,
    write: Callable[[Page, ToolDeclaration, str], None],
) -> Page:
    """Tools are written once for as long as they are the same ones under the same names."""

    def make() -> Page:
        page = Page(root)
        for tool in draft.tools:
            write(page, tool, draft.wire_name(tool.name))
        return page

    if not draft.tools:
        return Page(root)
    return remembered((wire, root, tuple(draft.names.items())), draft.tools, make)

"""The look of an answer's Markdown: headings and code without frames, links with their address."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import (
    CodeBlock,
    Heading,
    ListItem,
    Markdown,
    MarkdownElement,
    TableElement,
)
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table

_NUMBER_WIDTH = 4


class _PlainHeading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        yield text


class _PlainCode(CodeBlock):
    """Set in, in the colours of the terminal."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme="ansi_dark",
            word_wrap=True,
            background_color="default",
        )
        yield Padding(code, (0, 0, 0, 4))


class _Item(ListItem):
    """Numbers have a full stop, and the room of two digits: a list may come item by item."""

    def render_number(
        self,
        console: Console,
        options: ConsoleOptions,
        number: int,
        last_number: int,  # noqa: ARG002  # their signature
    ) -> RenderResult:
        width = max(_NUMBER_WIDTH, len(str(number)) + 2)
        inner = options.update(width=options.max_width - width)
        for place, line in enumerate(console.render_lines(self.elements, inner, style=self.style)):
            yield Segment((f"{number}." if place == 0 else "").rjust(width - 1) + " ")
            yield from line
            yield Segment("\n")


class _PlainTable(TableElement):
    """Without the empty lines that its frame would be."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                part.show_edge = False
            yield part


class AnswerMarkdown(Markdown):
    """Where a link leads is said: no text may hide it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "list_item_open": _Item,
        "table_open": _PlainTable,
    }

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)

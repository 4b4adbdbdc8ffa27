"""Prompts for other occasions than a turn's system prompt, shown one at a time or side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from .blocks import token_text
from .groups import RenamedChoice
from .report import Note, Report, Text
from .tables import TextTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mentis.compose.built import BuiltMessages, BuiltText
    from mentis.prompts.kinds import RequestKind
    from mentis.values.value import Value


mode_option = click.option(
    "--mode",
    type=RenamedChoice(("chat", "beat", "delivery", "live"), older={"grillo": "beat"}),
    default="chat",
    show_default=True,
    help="What it is for.",
)
part_option = click.option(
    "--part", metavar="NAME", help="Another prompt than the system prompt: summary, title, ..."
)


def part_report(made: Value) -> Report:
    return Report(made, part_lines(made))


def part_lines(made: Value) -> Iterator[Text]:
    from mentis.codec.forms import to_object

    told = to_object(made)
    for name, value in told.items():
        if isinstance(value, dict):
            yield f"--- {name} ---\n{cast('dict[str, object]', value).get('text', '')}"
    if isinstance(told.get("text"), str):
        yield str(told["text"])
    for message in getattr(made, "messages", ()):
        yield f"[{message.role}] {message.text}"
    for step in getattr(made, "steps", ()):
        yield f"{step.order:g} {step.id} ({step.position})"
    for block in getattr(made, "skipped", ()):
        yield Note(f"{block.block}: {block.reason}")
    for gap in getattr(made, "unresolved", ()):
        yield Note(f"no value for {{{{{gap.placeholder}}}}} in {gap.block}: {gap.policy}")


def category_report(found: Mapping[str, BuiltText | BuiltMessages]) -> Report:
    def text() -> Iterator[Text]:
        for block_id, made in found.items():
            yield f"\n--- {block_id} ---"
            yield from part_lines(made)

    return Report(dict(found), text())


def kinds_report(kinds: tuple[RequestKind, ...]) -> Report:
    rows = [
        (kind.name, token_text(kind.tokens), str(len(kind.blocks)), " ".join(kind.blocks))
        for kind in kinds
    ]
    grid = TextTable(("kind", "tokens", "blocks", "made of"), rows, right=("tokens", "blocks"))
    return Report(kinds, grid)

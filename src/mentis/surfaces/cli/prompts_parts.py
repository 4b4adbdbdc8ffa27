"""Prompts for other occasions than a turn's system prompt, shown one at a time or side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from mentis.values.block import mode_named

from .blocks import token_text
from .output import emit, emit_json, say, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mentis.compose.built import BuiltMessages, BuiltText
    from mentis.prompts.kinds import RequestKind
    from mentis.values.value import Value


def _named(_context: click.Context, _option: click.Parameter, given: str) -> str:
    return mode_named(given)


mode_option = click.option(
    "--mode",
    type=click.Choice(["chat", "beat", "delivery", "live", "grillo"]),
    callback=_named,
    default="chat",
    show_default=True,
    help="What it is for.",
)
part_option = click.option(
    "--part", metavar="NAME", help="Another prompt than the system prompt: summary, title, ..."
)


def show_part(made: Value, *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    told = to_object(made)
    if as_json:
        emit_json(told)
        return
    for name, value in told.items():
        if isinstance(value, dict):
            emit(f"--- {name} ---\n{cast('dict[str, object]', value).get('text', '')}")
    if isinstance(told.get("text"), str):
        emit(str(told["text"]))
    for message in getattr(made, "messages", ()):
        emit(f"[{message.role}] {message.text}")
    for step in getattr(made, "steps", ()):
        emit(f"{step.order:g} {step.id} ({step.position})")
    for block in getattr(made, "skipped", ()):
        say(f"{block.block}: {block.reason}")
    for gap in getattr(made, "unresolved", ()):
        say(f"no value for {{{{{gap.placeholder}}}}} in {gap.block}: {gap.policy}")


def show_category(found: Mapping[str, BuiltText | BuiltMessages], *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json({block_id: to_object(made) for block_id, made in found.items()})
        return
    for block_id, made in found.items():
        emit(f"\n--- {block_id} ---")
        show_part(made, as_json=False)


def show_kinds(kinds: tuple[RequestKind, ...], *, as_json: bool) -> None:
    from mentis.codec.forms import to_object

    if as_json:
        emit_json([to_object(kind) for kind in kinds])
        return
    rows = [
        (kind.name, token_text(kind.tokens), str(len(kind.blocks)), " ".join(kind.blocks))
        for kind in kinds
    ]
    table(("kind", "tokens", "blocks", "made of"), rows, right=("tokens", "blocks"))

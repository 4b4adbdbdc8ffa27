"""Going back: history, diff, undo, reset, and what an upgrade changed under an edit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, cast

import click

from .options import home_option, open_prompts
from .prompts_change import apply, force_option, id_argument
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mentis.library.edit import Edit, Editor
    from mentis.prompts.prompts import Prompts


@click.command(epilog="For example: mentis prompts history style")
@id_argument
@home_option
@prints_report
def history(block_id: str) -> Report:
    """List every revision of a block, with its time and its reason."""
    with open_prompts() as prompts:
        revisions = prompts.editor.history(block_id)
    rows = [(str(r.number), r.time, r.digest[:19], r.author, r.words) for r in revisions]
    return Report(
        revisions,
        TextTable(("revision", "time", "digest", "author", "words"), rows, right=("revision",)),
    )


@click.command(epilog="For example: mentis prompts diff style 1 3")
@id_argument
@click.argument("older", type=int, required=False)
@click.argument("newer", type=int, required=False)
@home_option
@prints_report
def diff(block_id: str, older: int | None, newer: int | None) -> Report:
    """Show what changed between two revisions; by default, since the shipped text."""
    with open_prompts() as prompts:
        text = prompts.editor.diff(block_id, older, newer)
    return Report(
        {"block": block_id, "older": older, "newer": newer, "diff": text},
        text.rstrip("\n") if text else "no difference",
    )


@click.command(epilog="For example: mentis prompts undo style")
@click.argument("block_id", metavar="[ID]", required=False)
@click.option("--redo", is_flag=True, help="Take back the last undo instead.")
@click.option("--to", type=int, metavar="N", help="Go to revision N; 0 is before the first.")
@click.option("--reset", "of_reset", is_flag=True, help="Undo the last factory reset.")
@click.option("--import", "of_import", is_flag=True, help="Undo the last import, all of it.")
@force_option
@home_option
@prints_report
def undo(  # one parameter an option
    block_id: str | None,
    *,
    redo: bool,
    to: int | None,
    of_reset: bool,
    of_import: bool,
    force: bool,
) -> Report:
    """Undo the last change of a block, factory reset or import."""
    whole = of_reset or of_import
    if (block_id is None) is not whole or (of_reset and of_import) or (redo and to is not None):
        raise click.UsageError(
            "name a block, or say --reset or --import; --redo and --to exclude each other"
        )
    with open_prompts() as prompts:
        if of_import:
            return apply(prompts, lambda editor: editor.undo_write())
        return apply(prompts, _way_back(block_id, redo=redo, to=to, force=force))


def _way_back(
    block_id: str | None, *, redo: bool, to: int | None, force: bool
) -> Callable[[Editor], Edit | tuple[Edit, ...]]:
    if block_id is None:
        return lambda editor: editor.undo_reset()
    if redo:
        return lambda editor: editor.redo(block_id, force=force)
    if to is not None:
        return lambda editor: editor.restore(block_id, to, force=force)
    return lambda editor: editor.undo(block_id, force=force)


@click.command(epilog="For example: mentis prompts reset style")
@click.argument("block_id", metavar="[ID]", required=False)
@click.option(
    "--factory",
    type=click.Choice(["system", "full"]),
    help="All of it: `system` keeps the blocks you made, `full` does not.",
)
@home_option
@prints_report
def reset(block_id: str | None, factory: str | None) -> Report:
    """Bring back the shipped text of a block, or of the whole library. It can be undone."""
    if (block_id is None) is (factory is None):
        raise click.UsageError("name a block, or say --factory system or full")
    with open_prompts() as prompts:
        if block_id is not None:
            return apply(prompts, lambda editor: editor.reset(block_id))
        if factory == "full":
            return apply(prompts, lambda editor: editor.factory_reset("full"))
        return apply(prompts, lambda editor: editor.factory_reset("system"))


@click.command(epilog="For example: mentis prompts conflicts style variants.default --take ours")
@click.argument("block_id", metavar="[ID]", required=False)
@click.argument("field", required=False)
@click.option("--take", type=click.Choice(["ours", "theirs"]), help="Settle one conflict.")
@home_option
@prints_report
def conflicts(block_id: str | None, field: str | None, take: str | None) -> Report:
    """Show where you and a new version of Mentis changed the same text.

    Until it is settled, your text stays in force. `base` is what you changed, `ours` is yours,
    `theirs` is what is shipped now. Exit code 1 if there is a conflict.
    """
    from mentis.prompts.prompt_data import conflict_data

    with open_prompts() as prompts:
        if take is not None:
            return _settle(prompts, block_id, field, take)
        found = [c for c in prompts.editor.conflicts() if block_id in (None, c.block)]

    def text() -> Iterator[Text]:
        for conflict in found:
            yield f"{conflict.block} {conflict.field}"
            for side in ("base", "ours", "theirs"):
                yield f"--- {side}\n{_readable(getattr(conflict, side))}"
            yield ""
        yield Note(f"{len(found)} conflicts" if found else "no conflicts")

    return Report([conflict_data(one) for one in found], text(), code=1 if found else 0)


def _settle(prompts: Prompts, block_id: str | None, field: str | None, take: str) -> Report:
    if block_id is None or field is None:
        raise click.UsageError("--take needs the block and the field")
    side = cast("Literal['ours', 'theirs']", take)
    return apply(
        prompts,
        lambda editor: editor.settle(block_id, field, side),
    )


def _readable(value: object) -> str:
    if value is None:
        return "(not shipped any more)"
    if isinstance(value, dict) and set(value) == {"content"}:  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        return str(value["content"])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return json.dumps(value, ensure_ascii=False, indent=2)

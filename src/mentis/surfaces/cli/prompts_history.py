"""Going back: history, diff, undo, reset, and what an upgrade changed under an edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, cast

import click

from .options import home_option, open_prompts
from .output import emit, emit_json, json_option, say, table
from .prompts_change import apply, force_option, id_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from mentis.library.edit import Edit, Editor
    from mentis.prompts.prompts import Prompts


@click.command(epilog="For example: mentis prompts history style")
@id_argument
@home_option
@json_option
def history(block_id: str, *, as_json: bool) -> None:
    """List every revision of a block: when, and in whose words why."""
    from mentis.codec.forms import to_object

    with open_prompts() as prompts:
        revisions = prompts.editor.history(block_id)
    if as_json:
        emit_json([to_object(revision) for revision in revisions])
        return
    rows = [(str(r.number), r.time, r.digest[:19], r.words) for r in revisions]
    table(("revision", "time", "digest", "words"), rows, right=("revision",))


@click.command(epilog="For example: mentis prompts diff style 1 3")
@id_argument
@click.argument("older", type=int, required=False)
@click.argument("newer", type=int, required=False)
@home_option
@json_option
def diff(block_id: str, older: int | None, newer: int | None, *, as_json: bool) -> None:
    """Show what changed between two revisions; by default, since the shipped text."""
    with open_prompts() as prompts:
        text = prompts.editor.diff(block_id, older, newer)
    if as_json:
        emit_json({"block": block_id, "older": older, "newer": newer, "diff": text})
    else:
        emit(text.rstrip("\n") if text else "no difference")


@click.command(epilog="For example: mentis prompts undo style")
@click.argument("block_id", metavar="ID", required=False)
@click.option("--redo", is_flag=True, help="Take back the last undo instead.")
@click.option("--to", type=int, metavar="N", help="Go to revision N; 0 is before the first.")
@click.option("--reset", "of_reset", is_flag=True, help="Undo the last factory reset.")
@click.option("--import", "of_import", is_flag=True, help="Undo the last import, all of it.")
@force_option
@home_option
@json_option
def undo(  # one parameter an option
    block_id: str | None,
    *,
    redo: bool,
    to: int | None,
    of_reset: bool,
    of_import: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Take back the last change of a block, the last factory reset, or the last import."""
    whole = of_reset or of_import
    if (block_id is None) is not whole or (of_reset and of_import) or (redo and to is not None):
        raise click.UsageError(
            "name a block, or say --reset or --import; --redo and --to exclude each other"
        )
    with open_prompts() as prompts:
        if of_import:
            apply(prompts, lambda editor: editor.undo_write(), as_json=as_json)
            return
        apply(prompts, _way_back(block_id, redo=redo, to=to, force=force), as_json=as_json)


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
@click.argument("block_id", metavar="ID", required=False)
@click.option(
    "--factory",
    type=click.Choice(["system", "full"]),
    help="All of it: `system` keeps the blocks you made, `full` does not.",
)
@home_option
@json_option
def reset(block_id: str | None, factory: str | None, *, as_json: bool) -> None:
    """Bring back the shipped text of a block, or of the whole library. It can be undone."""
    if (block_id is None) is (factory is None):
        raise click.UsageError("name a block, or say --factory system or full")
    with open_prompts() as prompts:
        if block_id is not None:
            apply(prompts, lambda editor: editor.reset(block_id), as_json=as_json)
        elif factory == "full":
            apply(prompts, lambda editor: editor.factory_reset("full"), as_json=as_json)
        else:
            apply(prompts, lambda editor: editor.factory_reset("system"), as_json=as_json)


@click.command(epilog="For example: mentis prompts conflicts style variants.default --take ours")
@click.argument("block_id", metavar="ID", required=False)
@click.argument("field", required=False)
@click.option("--take", type=click.Choice(["ours", "theirs"]), help="Settle one conflict.")
@home_option
@json_option
def conflicts(block_id: str | None, field: str | None, take: str | None, *, as_json: bool) -> int:
    """Show where you and a new version of Mentis changed the same text; exit code 1 if anywhere.

    Until it is settled, your text stays in force. `base` is what you changed, `ours` is yours,
    `theirs` is what is shipped now.
    """
    from mentis.prompts.prompt_data import conflict_data

    with open_prompts() as prompts:
        if take is not None:
            return _settle(prompts, block_id, field, take, as_json=as_json)
        found = [c for c in prompts.editor.conflicts() if block_id in (None, c.block)]
    if as_json:
        emit_json([conflict_data(one) for one in found])
        return 1 if found else 0
    for conflict in found:
        emit(f"{conflict.block} {conflict.field}")
        for side in ("base", "ours", "theirs"):
            emit(f"--- {side}\n{_readable(getattr(conflict, side))}")
        emit("")
    say(f"{len(found)} conflicts" if found else "no conflicts")
    return 1 if found else 0


def _settle(
    prompts: Prompts, block_id: str | None, field: str | None, take: str, *, as_json: bool
) -> int:
    if block_id is None or field is None:
        raise click.UsageError("--take needs the block and the field")
    side = cast("Literal['ours', 'theirs']", take)
    apply(
        prompts,
        lambda editor: editor.settle(block_id, field, side),
        as_json=as_json,
    )
    return 0


def _readable(value: object) -> str:
    if value is None:
        return "(not shipped any more)"
    if isinstance(value, dict) and set(value) == {"content"}:  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        return str(value["content"])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return json.dumps(value, ensure_ascii=False, indent=2)

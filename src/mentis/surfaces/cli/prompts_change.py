"""Changing prompts: edit, new, copy, rm, toggle, order, and placeholders of your own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

import click

from mentis.values.block import Block, Variant

from .groups import RenamedGroup
from .options import (
    every_persona_option,
    given_text,
    home_option,
    open_prompts,
    persona_option,
    route_option,
)
from .prompt_changes import changes_lines, changes_since
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.library.changes import Wording
    from mentis.library.edit import Edit, Editor
    from mentis.prompts.effects import WordingInForce
    from mentis.prompts.prompts import Prompts

words_option = click.option(
    "-m",
    "--reason",
    "--words",
    "words",
    default="",
    metavar="TEXT",
    help="Why: kept with the revision.",
)
yes_option = click.option(
    "--yes", is_flag=True, help="Accept placeholders that are not registered."
)
force_option = click.option("--force", is_flag=True, help="Allow a change of the constitution.")
id_argument = click.argument("block_id", metavar="ID")


def apply(
    prompts: Prompts,
    do: Callable[[Editor], Edit | tuple[Edit, ...]],
    *,
    persona: str | None = None,
    worded: str | None = None,
) -> Report:
    """Make one change and tell what it did: to the block, and to the prompts it is part of.

    `worded` is a block whose wordings are worth a word, as one of them was changed.
    """
    from mentis.prompts.prompt_data import edit_data

    before = prompts.loaded_library.library
    done, effects = prompts.change(do, persona=persona)
    edits = done if isinstance(done, tuple) else (done,)
    changes = changes_since(before, edits, persona)
    told = edit_data(prompts, edits, effects, worded)
    in_force = _in_force(prompts, worded)

    def text() -> Iterator[Text]:
        for each in edits:
            fields = ", ".join(each.changed) or "nothing"
            yield Note(f"{each.block}: revision {each.number}, changed: {fields}")
        if not edits:
            yield Note("nothing to change")
        if not changes:
            yield Note("there is no persona whose prompt could be shown for comparison")
        yield from _in_force_lines(in_force)
        yield from changes_lines(changes)

    return Report({**told, "changes": changes}, text())


def _in_force(prompts: Prompts, worded: str | None) -> tuple[WordingInForce, ...]:
    return prompts.wordings_in_force(worded) if worded else ()


def _in_force_lines(in_force: tuple[WordingInForce, ...]) -> Iterator[Text]:
    """Who is told which wording."""
    told: dict[str, list[WordingInForce]] = {}
    for one in in_force:
        over = f" instead of the shipped {one.instead_of}" if one.instead_of else ""
        name = f"{one.variant} ({one.whose}{over})" if one.variant else "nothing"
        told.setdefault(name, []).append(one)
    for name, listeners in told.items():
        whom = ", ".join(f"{one.persona} on {one.route}" for one in listeners)
        yield Note(f"in force is {name}: {whom}")


@click.command(epilog='For example: mentis prompts edit style --text "Be brief." -m "too long"')
@id_argument
@click.option("--variant", metavar="NAME", help="Which wording; by default `default`.")
@click.option("--in-force", is_flag=True, help="The wording told to --persona on --route.")
@click.option("--text", metavar="TEXT", help="The new text.")
@click.option("--from-shipped", is_flag=True, help="Take the wording as it is shipped.")
@click.option(
    "--remove", is_flag=True, help="Remove your wording, so that a shipped one counts again."
)
@click.option("--from-file", type=click.File(encoding="utf-8"), help="Take the text from a file.")
@click.option("--set", "given", multiple=True, metavar="FIELD=JSON", help="Change a setting.")
@click.option("--rename", metavar="ID", help="Give a block of yours another id.")
@click.option("--move", metavar="FILE", help="Keep it in another domain file.")
@click.option("--expected", type=int, metavar="N", help="Only if this is the newest revision.")
@yes_option
@force_option
@words_option
@every_persona_option
@route_option
@home_option
@prints_report
def edit(  # noqa: PLR0913  # one parameter an option
    block_id: str,
    *,
    variant: str | None,
    in_force: bool,
    from_shipped: bool,
    remove: bool,
    route: str,
    text: str | None,
    from_file: TextIO | None,
    given: tuple[str, ...],
    rename: str | None,
    move: str | None,
    expected: int | None,
    yes: bool,
    force: bool,
    words: str,
    persona: str | None,
) -> Report:
    """Change a block: its text, its settings, its id or its file.

    Without --text, --from-file or a setting, the text opens in your editor. `--from-file -` reads
    standard input. The shipped text is kept: `mentis prompts reset ID` brings it back.

    Your wordings come before shipped ones. Among yours, and then among the shipped ones, the order
    is `VARIANT@LANGUAGE`, `VARIANT`, `default@LANGUAGE`, `default`. With `--variant compact
    --from-shipped` the shipped text stays in force for that variant.
    """
    if in_force and variant:
        raise click.UsageError("--in-force finds the wording itself: leave --variant out")
    with open_prompts(route) as prompts:
        block = prompts.block(block_id)
        if in_force:
            variant = prompts.wording_told(block_id, persona=persona).variant
        variant = variant or "default"
        meta = dict(_setting(item) for item in given)
        wording = _shipped_text(prompts, block, variant) if from_shipped else None
        wording = given_text(text, from_file) if wording is None else wording
        if remove and (wording is not None or rename or move):
            raise click.UsageError("--remove takes a wording away: give no text, id or file")
        if rename or move:
            if (rename and move) or meta or wording is not None:
                raise click.UsageError("--rename and --move stand alone: make one change at a time")
            return apply(prompts, _relocate(block_id, rename, move, force=force))
        if wording is None and not meta and not remove:
            # Whoever saves while the editor is open is not overwritten.
            expected = len(prompts.editor.history(block_id)) if expected is None else expected
            wording = _in_editor(block, variant)
        _confirm_unknown(prompts, wording, block, yes=yes)
        variants = _variants(block, variant, wording) if remove or wording is not None else None
        return apply(
            prompts,
            lambda editor: editor.save(
                block_id, meta=meta, variants=variants, words=words, force=force, expected=expected
            ),
            persona=persona,
            worded=None if variants is None else block_id,
        )


def _variants(block: Block, variant: str, wording: str | None) -> dict[str, Wording]:
    """None takes it away."""
    return {variant: None if wording is None else _wording(block.type, wording)}


def _confirm_unknown(
    prompts: Prompts, wording: str | None, block: Block | None, *, yes: bool
) -> None:
    """A key that nothing registers is more often a slip than meant: it needs a yes."""
    from mentis.prompts.prompt_data import check_placeholders, unknown_placeholders

    if yes:
        return
    if not sys.stdin.isatty():
        check_placeholders(prompts, wording or "", block)
        return
    unknown = unknown_placeholders(prompts, wording or "", block)
    named = ", ".join(f"{{{{{key}}}}}" for key in unknown)
    verb = "are" if len(unknown) > 1 else "is"
    if unknown and not click.confirm(f"{named} {verb} not registered; save anyway?"):
        raise click.Abort


def _shipped_text(prompts: Prompts, block: Block, variant: str) -> str:
    found = prompts.shipped_wording(block.id, variant)
    if block.type == "text":
        return str(found.get("content", ""))
    return json.dumps(found.get("messages", []), ensure_ascii=False)


def _relocate(
    block_id: str, rename: str | None, move: str | None, *, force: bool
) -> Callable[[Editor], Edit]:
    if rename:
        return lambda editor: editor.rename(block_id, rename, force=force)
    return lambda editor: editor.move(block_id, move or "", force=force)


def _setting(item: str) -> tuple[str, object]:
    name, equals, value = item.partition("=")
    if not equals:
        raise click.BadParameter(f"{item!r} is not FIELD=JSON", param_hint="--set")
    from mentis.codec.strict_json import json_or_text

    return name, json_or_text(value, what=f"--set {name}")


def _wording(kind: object, text: str) -> dict[str, object]:
    if kind != "multi_turn":
        return {"content": text}
    from mentis.codec.strict_json import read_outside

    hint = "a multi-turn block holds messages: give a JSON list of role and content"
    return {"messages": read_outside(text, what="the messages", hint=hint)}


def _in_editor(block: Block, variant: str) -> str:
    if not sys.stdin.isatty():
        raise click.UsageError("give the text with --text or --from-file")
    current = block.variants.get(variant) or Variant()
    start = current.content
    if block.type == "multi_turn":
        messages = [{"role": m.role, "content": m.content} for m in current.messages]
        start = json.dumps(messages, ensure_ascii=False, indent=2)
    changed = click.edit(start, extension=".md")
    if changed is None:
        raise click.Abort
    return changed.rstrip("\n")


@click.command(epilog="For example: mentis prompts new my_rule --name 'My rule' --text 'Be kind.'")
@id_argument
@click.option("--name", metavar="TEXT", help="What it is called; by default its id.")
@click.option("--text", default="", metavar="TEXT", help="Its text.")
@click.option("--from-file", type=click.File(encoding="utf-8"), help="Take the text from a file.")
@click.option("--category", default="custom", show_default=True, metavar="NAME", help="Category.")
@click.option("--target", default="system_prompt", show_default=True, help="Where it goes.")
@click.option("--position", metavar="NAME", help="Where in the target; by default the target.")
@click.option(
    "--order",
    default=9999,
    show_default=True,
    type=float,
    metavar="NUMBER",
    help="Its place among others.",
)
@click.option("--set", "given", multiple=True, metavar="FIELD=JSON", help="Any other setting.")
@yes_option
@force_option
@words_option
@home_option
@prints_report
def new(  # noqa: PLR0913  # one parameter an option
    block_id: str,
    *,
    name: str | None,
    text: str,
    from_file: TextIO | None,
    category: str,
    target: str,
    position: str | None,
    order: float,
    given: tuple[str, ...],
    yes: bool,
    force: bool,
    words: str,
) -> Report:
    """Make a block of your own."""
    meta: dict[str, object] = {
        "name": name or block_id,
        "category": category,
        "type": "text",
        "target": target,
        "position": position or target,
        "order": order,
        "enabled": True,
        **dict(_setting(item) for item in given),
    }
    said = given_text(text, from_file) or ""
    wording = _wording(meta["type"], said)
    with open_prompts() as prompts:
        _confirm_unknown(prompts, said, None, yes=yes)
        return apply(
            prompts,
            lambda editor: editor.create(
                block_id, meta=meta, variants={"default": wording}, words=words, force=force
            ),
        )


@click.command(epilog="For example: mentis prompts copy style my_style")
@id_argument
@click.argument("new_id", metavar="NEW_ID")
@click.option("--name", metavar="TEXT", help="What the copy is called.")
@force_option
@home_option
@prints_report
def copy(block_id: str, new_id: str, name: str | None, *, force: bool) -> Report:
    """Make a block of your own from another one, in a file of its own."""
    with open_prompts() as prompts:
        return apply(
            prompts,
            lambda editor: editor.duplicate(block_id, new_id, name=name, force=force),
        )


@click.command(epilog="For example: mentis prompts rm my_rule")
@id_argument
@force_option
@home_option
@prints_report
def rm(block_id: str, *, force: bool) -> Report:
    """Remove a block of your own. It can be brought back with undo."""
    with open_prompts() as prompts:
        return apply(prompts, lambda editor: editor.delete(block_id, force=force))


@click.command(epilog="For example: mentis prompts toggle emotion --off")
@id_argument
@click.option("--on/--off", "enabled", default=None, help="By default, the opposite of what it is.")
@force_option
@home_option
@prints_report
def toggle(block_id: str, *, enabled: bool | None, force: bool) -> Report:
    """Switch a block on or off."""
    with open_prompts() as prompts:
        return apply(prompts, lambda editor: editor.toggle(block_id, enabled, force=force))


@click.command(epilog="For example: mentis prompts order style=1250 format=1260")
@click.argument("places", nargs=-1, required=True, metavar="ID=NUMBER...")
@force_option
@home_option
@prints_report
def order(places: tuple[str, ...], *, force: bool) -> Report:
    """Put blocks in another order."""
    orders = dict(_place(item) for item in places)
    with open_prompts() as prompts:
        return apply(prompts, lambda editor: editor.reorder(orders, force=force))


def _place(item: str) -> tuple[str, float]:
    block_id, _, number = item.partition("=")
    try:
        return block_id, float(number)
    except ValueError:
        raise click.BadParameter(f"{item!r} is not ID=NUMBER", param_hint="ID=NUMBER") from None


@click.group(cls=RenamedGroup)
def placeholder() -> None:
    """See what placeholders stand for; make and remove placeholders of your own."""


@placeholder.command("list", epilog="For example: mentis prompts placeholder list --set input=hi")
@click.argument("key", required=False)
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A runtime value.")
@persona_option
@route_option
@home_option
@prints_report
def list_placeholders(
    key: str | None, *, given: tuple[str, ...], persona: str | None, route: str
) -> Report:
    """List every placeholder: its value now, where that comes from, and the blocks that use it.

    One without a value gets it when it is used, such as the conversation for a summary.
    """
    values = {name: str(value) for name, value in map(_setting, given)}
    with open_prompts(route) as prompts:
        found = prompts.placeholders(persona=persona, runtime_vars=values)
    found = tuple(one for one in found if key in (None, one.key))
    if not found:
        raise click.BadParameter(f"there is no placeholder {key!r}", param_hint="KEY")
    rows = [
        (one.key, _brief(one.value), one.source or one.phase or "-", one.origin, one.used_by)
        for one in found
    ]
    names = ("placeholder", "value", "source", "origin", "used by")
    return Report(found, TextTable(names, [(*row[:4], " ".join(row[4])) for row in rows]))


def _brief(value: str | None) -> str:
    if value is None:
        return "(given by its occasion)"
    line = " ".join(value.split())
    return f"{line[:59]}…" if len(line) > 60 else line or "(empty)"


@placeholder.command(
    "new", epilog="For example: mentis prompts placeholder new city --default Bonn"
)
@click.argument("key")
@click.option("--default", default="", metavar="TEXT", help="The text it stands for.")
@click.option("--name", default="", metavar="TEXT", help="What it is called.")
@click.option("--description", default="", metavar="TEXT", help="What it is for.")
@home_option
@prints_report
def new_placeholder(key: str, *, default: str, name: str, description: str) -> Report:
    """Register a placeholder with a fixed text."""
    with open_prompts() as prompts:
        return apply(
            prompts,
            lambda editor: editor.create_placeholder(
                key, default=default, name=name, description=description
            ),
        )


@placeholder.command("rm", epilog="For example: mentis prompts placeholder rm city")
@click.argument("key")
@home_option
@prints_report
def rm_placeholder(key: str) -> Report:
    """Remove a placeholder of your own."""
    with open_prompts() as prompts:
        return apply(prompts, lambda editor: editor.delete_placeholder(key))

"""Looking at prompts: list, show, search, usages, check, preview."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, cast, get_args

import click

from mentis.values.block import Block, Category, Mode, pick_variant
from mentis.values.keywords import Keywords
from mentis.values.span import Span

from .blocks import block_lines, token_text
from .options import home_option, open_prompts, persona_option, route_option
from .pages import names_page, page_options, rest_note
from .prompts_parts import category_report, kinds_report, mode_option, part_option, part_report
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.values.location import Problem

_SHOWN = (
    "id",
    "name",
    "description",
    "category",
    "type",
    "target",
    "position",
    "order",
    "enabled",
    "tags",
    "variant_condition",
    "requires_any",
    "requires_all",
    "requires_none",
    "modes",
    "group",
    "stability",
    "trust",
    "priority",
    "max_tokens",
    "required",
    "keep_with",
    "personas",
    "keywords",
    "origin",
    "file",
    "extra",
    "owned",
)


@click.command("list", epilog="For example: mentis prompts list --category persona")
@click.option("--category", metavar="NAME", help="Only the blocks of this category.")
@page_options
@home_option
@prints_report
def list_(category: str | None, *, limit: int | None, after: str) -> Report:
    """List blocks as they are ordered: each with its id, target, state and origin.

    `mentis prompts show ID` shows all of one; --json adds its name, category and variants.
    """
    from mentis.prompts.prompt_data import block_data

    with open_prompts() as prompts:
        loaded = prompts.loaded_library
        changed = prompts.overridden_fields()
    found = {
        block.id: block for block in loaded.library.blocks if category in (None, block.category)
    }
    names, more = names_page([*found], limit, after)
    blocks = [found[name] for name in names]
    rows = [block_data(block, changed) for block in blocks]

    def text() -> Iterator[Text]:
        yield TextTable(
            ("order", "block", "target", "enabled", "origin"),
            [_row(block, changed) for block in blocks],
            right=("order",),
        )
        if more:
            yield rest_note(names[-1])
        yield from _problem_lines(loaded.problems)

    return Report({"revision": loaded.library.revision, "blocks": rows}, text())


def _row(block: Block, changed: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    whose = "yours" if block.origin == "owner" else "shipped"
    if edited := changed.get(block.id):
        whose = f"edited ({len(edited)})"
    place = block.target if block.target == block.position else f"{block.target}/{block.position}"
    return (
        f"{block.order:g}",
        block.id,
        place,
        "yes" if block.enabled else "no",
        whose,
    )


def _problem_lines(problems: tuple[Problem, ...]) -> Iterator[Text]:
    for problem in problems:
        yield Note(str(problem))
        if problem.hint:
            yield Note(f"  hint: {problem.hint}")


@click.command(epilog="For example: mentis prompts show constitution --variant compact")
@click.argument("block_id", metavar="ID")
@click.option("--variant", metavar="NAME", help="Wording; `default`, or resolved the route's.")
@click.option("--language", default="english", show_default=True, metavar="NAME", help="Language.")
@click.option("--resolved", is_flag=True, help="The text with its values, for the persona.")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A runtime value.")
@mode_option
@persona_option
@route_option
@home_option
@prints_report
def show(  # one parameter an option
    block_id: str,
    *,
    variant: str | None,
    language: str,
    resolved: bool,
    given: tuple[str, ...],
    mode: Mode,
    persona: str | None,
    route: str,
) -> Report:
    """Show one block: its settings and its text as it stands, placeholders included.

    With --resolved: the text alone, as it would be told to the persona on the route, whatever its
    conditions say; what would keep it out, and which placeholders have no value, is told beside.
    """
    from mentis.library.search import block_keys
    from mentis.prompts.prompt_data import block_data

    with open_prompts(route) as prompts:
        if resolved:
            values = dict(_pair(item) for item in given)
            made = prompts.resolve(
                block_id, persona=persona, variant=variant, mode=mode, runtime_vars=values
            )
            return part_report(made)
        block = prompts.block(block_id)
        overridden = prompts.overridden_fields()
    chosen = variant or "default"
    wording = pick_variant(block, chosen, language)

    def text() -> Iterator[Text]:
        changed = overridden.get(block_id, ())
        for name in _SHOWN:
            yield Note(f"{name:17} {_value(getattr(block, name))}")
        yield Note(f"{'placeholders':17} {', '.join(block_keys(block)) or '-'}")
        yield Note(f"{'variants':17} {', '.join(block.variants)}")
        yield Note(f"{'changed':17} {', '.join(changed) or 'nothing'}\n")
        if wording is None:
            yield Note(f"(no wording for variant {chosen})")
            return
        yield wording.content or "\n".join(f"[{m.role}] {m.content}" for m in wording.messages)

    return Report(block_data(block, overridden), text())


def _value(value: object) -> str:
    if isinstance(value, Keywords):
        told = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return "; ".join(
            f"{name} {_value(chosen)}" for name, chosen, usual in told if chosen != usual
        )
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value))) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "-" if value in (None, "", {}) else str(value)


@click.command(epilog="For example: mentis prompts search honest")
@click.argument("text")
@home_option
@prints_report
def search(text: str) -> Report:
    """Find blocks by id, name, description or text. Exit code 1 when nothing is found."""
    from mentis.library.search import search as find

    with open_prompts() as prompts:
        matches = find(prompts.loaded_library.library, text)

    rows = [(match.block, match.where, match.excerpt) for match in matches]
    grid = TextTable(("block", "found in", "text"), rows)
    return Report(
        matches,
        grid if matches else Note(f"no block says {text!r}"),
        code=0 if matches else 1,
    )


@click.command(epilog="For example: mentis prompts usages char_name")
@click.argument("key", required=False)
@home_option
@prints_report
def usages(key: str | None) -> Report:
    """Show which blocks use which placeholder; unknown and unused ones."""
    from mentis.library.search import usages as find
    from mentis.prompts.prompt_data import usage_data

    with open_prompts() as prompts:
        found = find(prompts.loaded_library.library)
    used = {name: blocks for name, blocks in found.by_key.items() if key in (None, name)}

    def text() -> Iterator[Text]:
        yield TextTable(
            ("placeholder", "used by"), [(name, ", ".join(by)) for name, by in used.items()]
        )
        if key is None:
            yield Note(f"used but not registered: {', '.join(found.orphaned) or 'none'}")
            yield Note(f"registered but not used: {', '.join(found.unused) or 'none'}")

    return Report(usage_data(found, key), text())


@click.command(epilog="For example: mentis prompts check --json")
@home_option
@prints_report
def check() -> Report:
    """Check every prompt file like a compiler. Exit code 1 when there are errors."""
    from mentis.library.checking.check import check as find_problems

    with open_prompts() as prompts:
        problems = find_problems(prompts.loaded_library)
    errors = sum(problem.severity == "error" for problem in problems)

    def text() -> Iterator[Text]:
        for problem in problems:
            yield str(problem)
            if problem.hint:
                yield f"  hint: {problem.hint}"
        yield Note(f"{errors} errors, {len(problems) - errors} warnings")

    return Report({"errors": errors, "problems": problems}, text(), code=1 if errors else 0)


@click.command(epilog="For example: mentis prompts preview --variant default --mode chat")
@click.option("--variant", metavar="NAME", help="Wording; by default the one the route wants.")
@mode_option
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A runtime value.")
@part_option
@click.option("--category", metavar="NAME", help="Every block of this category, resolved.")
@click.option("--kinds", is_flag=True, help="Show every kind of request side by side, with tokens.")
@persona_option
@route_option
@home_option
@prints_report
def preview(  # one parameter an option
    *,
    variant: str | None,
    mode: Mode,
    persona: str | None,
    route: str,
    given: tuple[str, ...],
    part: str | None,
    category: str | None,
    kinds: bool,
) -> Report:
    """Show the assembled prompt, block by block, and what is absent.

    This is what a turn would say now, persona memory included. --part shows prompts for other
    occasions: appended text, the first message, injected dialogue, the order of messages, the
    prefill, and the prompts for a summary, an afterthought and an autofill. --kinds lists them all.
    """
    if sum((part is not None, category is not None, kinds)) > 1:
        raise click.UsageError("--part, --category and --kinds exclude each other")
    values = dict(_pair(item) for item in given)
    choice = {"persona": persona, "variant": variant}
    with open_prompts(route) as prompts:
        if kinds:
            return kinds_report(prompts.kinds(**choice))
        if part is not None:
            made = prompts.part(part, **choice, mode=mode, runtime_vars=values)
            return part_report(made)
        if category is not None:
            known = require_category(category)
            found = prompts.resolve_category(known, **choice, mode=mode, runtime_vars=values)
            return category_report(found)
        composed = prompts.preview(**choice, mode=mode, runtime_vars=values)

    def text() -> Iterator[Text]:
        tokens = {block.block: token_text(block.tokens) for block in composed.trace.blocks}
        request = composed.request
        yield from _span_lines((*request.system_instruction, *request.runtime_ctx.spans), tokens)
        yield from block_lines(composed.trace)
        total = composed.trace.tokens["system"]
        yield Note(
            f"{token_text(total)} tokens in the lasting part, variant {composed.trace.variant}"
        )

    return Report(composed, text())


def require_category(name: str) -> Category:
    known = get_args(Category)
    if name not in known:
        raise click.BadParameter(f"{name!r} is none of {', '.join(known)}", param_hint="--category")
    return cast("Category", name)


def _pair(item: str) -> tuple[str, str]:
    key, equals, value = item.partition("=")
    if not equals:
        raise click.BadParameter(f"{item!r} is not KEY=VALUE", param_hint="--set")
    return key, value


def _span_lines(spans: tuple[Span, ...], tokens: dict[str, str]) -> Iterator[str]:
    """The text with a line where each block begins."""
    block, text = "", ""
    for span in spans:
        if span.block and span.block != block:
            if text.strip():
                yield from text.strip("\n").split("\n")
            block, text = span.block, ""
            yield from ("", f"--- {block} ({tokens[block]} tokens) ---")
        text += span.text
    yield from text.strip("\n").split("\n")


@click.command(epilog='For example: mentis prompts lore "What lies beyond the glade?"')
@click.argument("message")
@click.option(
    "--before", multiple=True, metavar="TEXT", help="An earlier message; several in their order."
)
@persona_option
@home_option
@prints_report
def lore(message: str, *, before: tuple[str, ...], persona: str | None) -> Report:
    """Show which entries a message would bring up, and why the others near to it would not.

    Entries are blocks with keywords: a lorebook that was imported, or your own. Earlier messages
    are taken as said by both in turn, the last one as an answer. Nothing is sent.
    """
    from .blocks import lore_lines

    with open_prompts() as prompts:
        found = prompts.try_lore(message, before=before, persona=persona)
    return Report(found, lore_lines(found) if found else Note("it brings up nothing"))

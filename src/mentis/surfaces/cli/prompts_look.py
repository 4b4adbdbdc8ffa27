"""Looking at prompts: list, show, search, usages, check, preview."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

import click

from mentis.values.block import Block, Category, Mode, pick_variant
from mentis.values.span import Span

from .blocks import show_blocks, token_text
from .options import home_option, open_prompts, persona_option, route_option
from .output import emit, emit_json, json_option, say, table
from .prompts_parts import mode_option, part_option, show_category, show_kinds, show_part

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
    "origin",
    "file",
    "extra",
    "owned",
)


@click.command("list", epilog="For example: mentis prompts list --category persona")
@click.option("--category", metavar="NAME", help="Only the blocks of this category.")
@home_option
@json_option
def list_(category: str | None, *, as_json: bool) -> None:
    """List every block: order, id, name, where it goes, whether it is on and whose it is."""
    from mentis.prompts.prompt_data import block_data

    with open_prompts() as prompts:
        loaded = prompts.loaded_library
        changed = prompts.overridden_fields()
    blocks = [block for block in loaded.library.blocks if category in (None, block.category)]
    if as_json:
        rows = [block_data(block, changed) for block in blocks]
        emit_json({"revision": loaded.library.revision, "blocks": rows})
        return
    table(
        ("order", "block", "name", "category", "goes to", "on", "whose", "variants"),
        [_row(block, changed) for block in blocks],
        right=("order",),
    )
    _tell_problems(loaded.problems)


def _row(block: Block, changed: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    whose = "yours" if block.origin == "owner" else "shipped"
    if fields := changed.get(block.id):
        whose = f"shipped, {len(fields)} changed"
    place = block.target if block.target == block.position else f"{block.target}/{block.position}"
    return (
        f"{block.order:g}",
        block.id,
        block.name,
        block.category,
        place,
        "yes" if block.enabled else "no",
        whose,
        " ".join(block.variants),
    )


def _tell_problems(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        say(str(problem))
        if problem.hint:
            say(f"  hint: {problem.hint}")


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
@json_option
def show(  # noqa: PLR0913  # one parameter an option
    block_id: str,
    *,
    variant: str | None,
    language: str,
    resolved: bool,
    given: tuple[str, ...],
    mode: Mode,
    persona: str | None,
    route: str,
    as_json: bool,
) -> None:
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
            show_part(made, as_json=as_json)
            return
        block = prompts.block(block_id)
        overridden = prompts.overridden_fields()
    if as_json:
        emit_json(block_data(block, overridden))
        return
    changed = overridden.get(block_id, ())
    variant = variant or "default"
    wording = pick_variant(block, variant, language)
    for name in _SHOWN:
        say(f"{name:17} {_value(getattr(block, name))}")
    say(f"{'placeholders':17} {', '.join(block_keys(block)) or '-'}")
    say(f"{'variants':17} {', '.join(block.variants)}")
    say(f"{'changed':17} {', '.join(changed) or 'nothing'}\n")
    if wording is None:
        say(f"(no wording for variant {variant})")
        return
    emit(wording.content or "\n".join(f"[{m.role}] {m.content}" for m in wording.messages))


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value))) or "-"
    return "-" if value in (None, "", {}) else str(value)


@click.command(epilog="For example: mentis prompts search honest")
@click.argument("text")
@home_option
@json_option
def search(text: str, *, as_json: bool) -> int:
    """Find blocks by id, name, description or text. Exit code 1 when nothing is found."""
    from mentis.codec.forms import to_object
    from mentis.library.search import search as find

    with open_prompts() as prompts:
        matches = find(prompts.loaded_library.library, text)
    if as_json:
        emit_json([to_object(match) for match in matches])
    elif matches:
        rows = [(match.block, match.where, match.excerpt) for match in matches]
        table(("block", "found in", "text"), rows)
    else:
        say(f"no block says {text!r}")
    return 0 if matches else 1


@click.command(epilog="For example: mentis prompts usages char_name")
@click.argument("key", required=False)
@home_option
@json_option
def usages(key: str | None, *, as_json: bool) -> None:
    """Show which blocks use which placeholder, which are unknown and which are unused."""
    from mentis.library.search import usages as find
    from mentis.prompts.prompt_data import usage_data

    with open_prompts() as prompts:
        found = find(prompts.loaded_library.library)
    used = {name: blocks for name, blocks in found.by_key.items() if key in (None, name)}
    if as_json:
        emit_json(usage_data(found, key))
        return
    table(("placeholder", "used by"), [(name, ", ".join(by)) for name, by in used.items()])
    if key is None:
        say(f"used but not registered: {', '.join(found.orphaned) or 'none'}")
        say(f"registered but not used: {', '.join(found.unused) or 'none'}")


@click.command(epilog="For example: mentis prompts check --json")
@home_option
@json_option
def check(*, as_json: bool) -> int:
    """Check every prompt file like a compiler. Exit code 1 when there are errors."""
    from mentis.codec.forms import to_object
    from mentis.library.checking.check import check as find_problems

    with open_prompts() as prompts:
        problems = find_problems(prompts.loaded_library)
    errors = sum(problem.severity == "error" for problem in problems)
    if as_json:
        emit_json({"errors": errors, "problems": [to_object(problem) for problem in problems]})
        return 1 if errors else 0
    for problem in problems:
        emit(str(problem))
        if problem.hint:
            emit(f"  hint: {problem.hint}")
    say(f"{errors} errors, {len(problems) - errors} warnings")
    return 1 if errors else 0


@click.command(epilog="For example: mentis prompts preview --variant default --mode chat")
@click.option("--variant", metavar="NAME", help="Wording; by default the one the route wants.")
@mode_option
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A runtime value.")
@part_option
@click.option("--category", metavar="NAME", help="Every block of this category, resolved.")
@click.option("--kinds", is_flag=True, help="Every kind of request side by side, with tokens.")
@persona_option
@route_option
@home_option
@json_option
def preview(  # noqa: PLR0913  # one parameter an option
    *,
    variant: str | None,
    mode: Mode,
    persona: str | None,
    route: str,
    given: tuple[str, ...],
    part: str | None,
    category: str | None,
    kinds: bool,
    as_json: bool,
) -> None:
    """Show the assembled prompt with its block boundaries, tokens and what is absent and why.

    It is what a turn would tell now, persona memory included. --part shows what is made for other
    occasions: what is appended, the first message, injected dialogue, the order of messages, the
    prefill, the prompts of a summary, an afterthought and an autofill. --kinds lists them all.
    """
    from mentis.codec.forms import to_object

    if sum((part is not None, category is not None, kinds)) > 1:
        raise click.UsageError("--part, --category and --kinds exclude each other")
    values = dict(_pair(item) for item in given)
    choice = {"persona": persona, "variant": variant}
    with open_prompts(route) as prompts:
        if kinds:
            show_kinds(prompts.kinds(**choice), as_json=as_json)
            return
        if part is not None:
            made = prompts.part(part, **choice, mode=mode, runtime_vars=values)
            show_part(made, as_json=as_json)
            return
        if category is not None:
            known = require_category(category)
            found = prompts.resolve_category(known, **choice, mode=mode, runtime_vars=values)
            show_category(found, as_json=as_json)
            return
        composed = prompts.preview(**choice, mode=mode, runtime_vars=values)
    if as_json:
        emit_json(to_object(composed))
        return
    tokens = {block.block: token_text(block.tokens) for block in composed.trace.blocks}
    request = composed.request
    _show_spans((*request.system_instruction, *request.runtime_ctx.spans), tokens)
    show_blocks(composed.trace)
    total = composed.trace.tokens["system"]
    say(f"{token_text(total)} tokens in the lasting part, variant {composed.trace.variant}")


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


def _show_spans(spans: tuple[Span, ...], tokens: dict[str, str]) -> None:
    """The text with a line where each block begins."""
    block, text = "", ""
    for span in spans:
        if span.block and span.block != block:
            if text.strip():
                emit(text.strip("\n"))
            block, text = span.block, ""
            emit(f"\n--- {block} ({tokens[block]} tokens) ---")
        text += span.text
    emit(text.strip("\n"))

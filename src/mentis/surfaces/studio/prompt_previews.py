"""Prompts as they would be told now: the whole, the chat, a category, and every kind of request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, cast, get_args

from mentis.codec.forms import to_object
from mentis.compose.built import BuiltMessages, BuiltText, StepPlan
from mentis.compose.compose import Composition
from mentis.errors import RequestRefused
from mentis.values.block import Category, Mode
from mentis.values.span import Span
from mentis.values.trace import BlockTrace

from .pages import PageData
from .prompt_desk import PromptLook, window

_TEXT = 120_000  # characters of a preview that come with its page
_SKIPPED = 100  # blocks that are named as absent
_LISTED = 40  # blocks that are named for one kind of request
_BLOCKS = 25  # blocks of a category that are shown with their values
_PARTS = ("append", "first", "dialog", "prefill")
# Kinds of requests, by what they are for. What is in none of these is a utility.
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Chat", ("chat", "delivery", "live", "append", "first", "dialog", "sequence", "prefill")),
    ("Persona memory", ("update",)),
    ("Tick", ("primary",)),
    ("Afterthought", ("afterthought", "followup")),
    ("Summary", ("summary",)),
    ("Autofill", ("autofill",)),
    ("Beat", ("beat",)),
)
View = Literal["whole", "chat", "category"]


def preview_page(look: PromptLook) -> PageData:
    """What a turn would be told now, or every block of a category."""
    view = look.query("view", "whole")
    if view not in get_args(View):
        raise RequestRefused(f"there is no preview {view[:80]!r}", hint="", status=404)
    data = {**look.choices(), **_asked(look), "view": view, "categories": list(get_args(Category))}
    if not look.personas:
        return {**data, "sections": [], "skipped": [], "parts": [], "tokens": 0, "left": 0}
    if view == "category":
        return {**data, **_category(look)}
    composed = look.prompts.preview(
        persona=look.persona, variant=look.query("variant") or None, mode=_mode(look)
    )
    return {**data, **_composed(composed), "parts": _parts(look, view)}


def kinds_page(look: PromptLook) -> PageData:
    """Every kind of request side by side: its blocks in their order, and what it costs."""
    data = {**look.choices(), **_asked(look)}
    if not look.personas:
        return {**data, "groups": []}
    variant = look.query("variant") or None
    kinds = look.prompts.kinds(persona=look.persona, variant=variant)
    groups: dict[str, list[PageData]] = {label: [] for label, _ in _GROUPS}
    for kind in kinds:
        made: PageData = {
            "name": kind.name,
            "tokens": kind.tokens.tokens,
            "blocks": list(kind.blocks[:_LISTED]),
            "others": max(0, len(kind.blocks) - _LISTED),
        }
        groups.setdefault(_group(kind.name), []).append(made)
    return {**data, "groups": [{"label": one, "kinds": kinds} for one, kinds in groups.items()]}


def _group(name: str) -> str:
    for label, names in _GROUPS:
        if name in names or (name.partition("_")[0] in names and "_" in name):
            return label
    return "Utility"


def _asked(look: PromptLook) -> PageData:
    return {
        "variant": look.query("variant"),
        "mode": _mode(look),
        "modes": list(get_args(Mode)),
        "wordings": _wordings(look),
        "category": look.query("category"),
    }


def _wordings(look: PromptLook) -> list[str]:
    """Variants that any block has, without their languages."""
    blocks = look.prompts.loaded_library.library.blocks
    return sorted({name.partition("@")[0] for block in blocks for name in block.variants})


def _mode(look: PromptLook) -> Mode:
    mode = look.query("mode", "chat")
    if mode not in get_args(Mode):
        raise RequestRefused(f"there is no mode {mode[:80]!r}", hint="", status=404)
    return cast("Mode", mode)


def _composed(composed: Composition) -> PageData:
    request, trace = composed.request, composed.trace
    known = {one.block: one for one in trace.blocks}
    sections, left = _cut(
        _sections((*request.system_instruction, *request.runtime_ctx.spans), known)
    )
    absent = [one for one in trace.blocks if not one.included and not one.elsewhere]
    return {
        "sections": sections,
        "left": left,
        "skipped": _skipped(absent),
        "absent": len(absent),
        "tokens": trace.tokens["system"].tokens,
        "language": trace.language,
        "unresolved": [to_object(one) for one in trace.unresolved[:_SKIPPED]],
    }


def _sections(spans: Iterable[Span], known: dict[str, BlockTrace]) -> list[PageData]:
    made: list[PageData] = []
    for block, run in groupby(_with_block(spans), key=lambda one: one[0]):
        trace, text = known.get(block), "".join(span.text for _, span in run).strip("\n")
        made.append(
            {
                "block": block,
                "name": trace.name if trace else block,
                "tokens": trace.tokens.tokens if trace else 0,
                "variant": trace.variant if trace else "",
                "text": text,
            }
        )
    return made


def _with_block(spans: Iterable[Span]) -> Iterable[tuple[str, Span]]:
    """What stands between blocks belongs to the one before."""
    block = ""
    for span in spans:
        block = span.block or block
        yield block, span


def _cut(sections: Sequence[PageData]) -> tuple[list[PageData], int]:
    """As much as a page may hold, and how many blocks are left."""
    room, made = _TEXT, list[PageData]()
    for one in sections:
        if room <= 0:
            break
        text = str(one["text"])
        made.append({**one, "text": text[:room], "cut": max(0, len(text) - room)})
        room -= len(text)
    return made, len(sections) - len(made)


def _skipped(traces: Sequence[BlockTrace]) -> list[PageData]:
    return [{"block": one.block, "reason": one.reason} for one in traces[:_SKIPPED]]


def _parts(look: PromptLook, view: str) -> list[PageData]:
    """What a chat has beside its system prompt; for the chat, in the order of its messages."""
    variant, mode = look.query("variant") or None, _mode(look)
    names = ("sequence", *_PARTS) if view == "chat" else _PARTS
    made: list[PageData] = []
    for name in names:
        built = look.prompts.part(name, persona=look.persona, variant=variant, mode=mode)
        if isinstance(built, StepPlan):
            steps = [to_object(one) for one in built.steps[:_SKIPPED]]
            made.append({"name": name, "steps": steps, "messages": [], "text": "", "tokens": 0})
        elif isinstance(built, BuiltText | BuiltMessages):
            made.append({"name": name, "steps": [], **_built(look, built)})
    return made


def _category(look: PromptLook) -> PageData:
    category = look.query("category", "system")
    if category not in get_args(Category):
        raise RequestRefused(f"there is no category {category[:80]!r}", hint="", status=404)
    blocks = look.prompts.loaded_library.library.blocks
    inside = sorted((one for one in blocks if one.category == category), key=lambda b: b.order)
    shown, more = window(inside, look.number("from"), _BLOCKS)
    variant, made = look.query("variant") or None, list[PageData]()
    ids = [block.id for block in shown]
    found = look.prompts.resolve_blocks(
        ids, persona=look.persona, variant=variant, mode=_mode(look)
    )
    for block in shown:
        built = found[block.id]
        reason = next((one.reason for one in built.skipped if one.block == block.id), "")
        named = {"block": block.id, "name": block.name, "variant": "", "reason": reason, "cut": 0}
        made.append({**named, **_built(look, built)})
    total = sum(cast("int", one["tokens"]) for one in made)
    return {"category": category, "sections": made, "more": more, "tokens": total, "parts": []}


def _built(look: PromptLook, built: BuiltText | BuiltMessages) -> PageData:
    said = built.messages if isinstance(built, BuiltMessages) else ()
    return {
        "text": built.text[:_TEXT] if isinstance(built, BuiltText) else "",
        "messages": [{"role": one.role, "text": one.text[:_TEXT]} for one in said],
        "tokens": look.prompts.count(built).tokens,
    }

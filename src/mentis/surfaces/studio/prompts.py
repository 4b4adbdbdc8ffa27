"""Prompts: the blocks by category, and one block with its form, wordings and what is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from mentis.codec.forms import to_object
from mentis.library.history import redo_target, undo_target
from mentis.library.overlay import merge_block
from mentis.library.search import block_keys, search_part
from mentis.prompts.effects import WordingInForce
from mentis.prompts.prompt_data import block_data
from mentis.values.block import Block, Category, Mode, Position, Target, Variant
from mentis.values.library import Library
from mentis.values.stability import Stability
from mentis.values.trust import Trust
from mentis.web.application import Door
from mentis.web.etags import etag_of

from . import prompt_pages, prompt_previews
from .pages import PageData, Pages
from .prompt_desk import MORE_ROWS, ROWS, PromptDesk, PromptLook, window

_FOUND = 50  # blocks that a search shows at a time
_KEYS = 500  # placeholders that an editor knows by name
_LISTENERS = 8  # personas and routes that are named for one wording
_ALWAYS = ("default", "experimental")  # wordings that can be written at any time
LABELS: dict[str, str] = {
    "system": "System",
    "persona": "Persona",
    "context": "Context",
    "prefill": "Prefill",
    "dialog_injection": "Injected dialogue",
    "afterthought": "Afterthought",
    "summary": "Summary",
    "spec_autofill": "Autofill",
    "utility": "Utility",
    "custom": "Your own",
    "cortex": "Cortex",
}


def prompt_doors(pages: Pages) -> list[Door]:
    """The list, the pages about all of it, and those of one block."""
    desk = PromptDesk(pages.served)
    tools = {
        "new": ("prompt_new.html", prompt_pages.new_page),
        "preview": ("prompt_preview.html", prompt_previews.preview_page),
        "kinds": ("prompt_kinds.html", prompt_previews.kinds_page),
        "placeholders": ("prompt_placeholders.html", prompt_pages.placeholders_page),
        "check": ("prompt_check.html", prompt_pages.check_page),
        "conflicts": ("prompt_conflicts.html", prompt_pages.conflicts_page),
        "files": ("prompt_files.html", prompt_pages.files_page),
        "memory": ("prompt_memory.html", prompt_pages.memory_page),
    }
    doors = pages.doors("/studio/prompts", "prompts.html", desk.page(list_page))
    for name, (template, look) in tools.items():
        doors += pages.doors(f"/studio/prompts/-/{name}", template, desk.page(look))
    history = desk.page(prompt_pages.history_page)
    doors += pages.doors("/studio/prompts/{block}/history", "prompt_history.html", history)
    doors += pages.doors("/studio/prompts/{block}", "prompt.html", desk.page(block_page))
    return doors


def list_page(look: PromptLook) -> PageData:
    """Every category with its first blocks; one of them whole; or what a search finds."""
    loaded = look.prompts.loaded_library
    library, query = loaded.library, look.query("q").strip()
    made: PageData = {
        "q": query,
        "chosen": look.query("category"),
        "revision": library.revision,
        "blocks": len(library.blocks),
        "problems": len(loaded.problems),
        "conflicts": len(look.prompts.editor.conflicts()),
        "found": None,
        "more": None,
        "categories": [],
        "labels": LABELS,
    }
    if query:
        start = look.number("from")
        shown, count = search_part(library, query[:2000], start=start, count=_FOUND)
        more = start + _FOUND if start + _FOUND < count else None
        known = {one.id: one for one in library.blocks}
        rows = look.rows(known[one.block] for one in shown)
        found = [{**row, **to_object(one)} for row, one in zip(rows, shown, strict=True)]
        return {**made, "found": found, "count": count, "more": more}
    return {**made, "categories": _categories(look, library)}


def _categories(
    look: PromptLook, library: Library, *, beside: Block | None = None
) -> list[PageData]:
    """Beside a block, only its own category has rows: the others come when they are opened."""
    chosen, start = look.query("category"), look.number("from")
    groups: dict[str, list[Block]] = {}
    for block in library.blocks:
        groups.setdefault(block.category, []).append(block)
    made: list[PageData] = []
    for name in get_args(Category):
        blocks = sorted(groups.get(name, ()), key=lambda one: one.order)
        if not blocks or chosen not in ("", name):
            continue
        begin, most = (start, MORE_ROWS) if chosen else (0, ROWS)
        if beside is not None:
            begin, most = _around(blocks, beside), ROWS if beside.category == name else 0
        shown, more = window(blocks, begin, most)
        made.append(
            {
                "name": name,
                "label": LABELS[name],
                "count": len(blocks),
                "on": sum(one.enabled for one in blocks),
                "begin": begin,
                "rows": look.rows(shown),
                "next": more,
                "next_order": None if more is None else blocks[more].order,
            }
        )
    return made


def _around(blocks: Sequence[Block], beside: Block) -> int:
    place = next((n for n, one in enumerate(blocks) if one.id == beside.id), 0)
    return max(0, place - ROWS // 2) if len(blocks) > ROWS else 0


def block_page(look: PromptLook) -> PageData:
    """One block: every field, the wordings, who is told which of them."""
    block, prompts = look.block(), look.prompts
    loaded = prompts.loaded_library
    library = loaded.library
    changed = merge_block(block.id, loaded.shipped, loaded.owner).overridden
    data = block_data(block, {block.id: changed})
    in_force = prompts.wordings_in_force(block.id)
    variant = look.query("variant") or _first_wording(look, block, in_force)
    revisions = prompts.editor.history(block.id)
    keys = sorted(library.placeholders.items())[:_KEYS]
    return {
        **look.choices(),
        "block": data,
        "etag": etag_of(data),
        "number": len(revisions),
        "undo": undo_target(revisions) is not None,
        "redo": redo_target(revisions) is not None,
        "variant": variant,
        "wording": to_object(block.variants.get(variant, Variant())),
        "written": variant in block.variants,
        "variants": [
            _tab(block, name, in_force)
            for name in dict.fromkeys((*block.variants, *_ALWAYS, variant))
        ],
        "told": _listeners(in_force),
        "overruled": _listeners(prompts.overruling(block.id, variant)),
        "keys": [{"key": key, "words": one.description or one.name} for key, one in keys],
        "used": list(block_keys(block)),
        "changed": sorted(path.removeprefix("meta.") for path in changed),
        "fields": _field_choices(),
        "extra": block.extra.get("manifest", {}),
        "categories": _categories(look, library, beside=block),
        "labels": LABELS,
        "q": "",
        "chosen": "",
        "revision": library.revision,
    }


def _first_wording(look: PromptLook, block: Block, in_force: Sequence[WordingInForce]) -> str:
    """The one that is told where the page looks, so that what is edited is what counts."""
    if look.personas:
        here = (one for one in in_force if one.persona == look.persona and one.route == look.route)
        if (told := next(here, None)) is not None and told.variant:
            return told.variant
    return next(iter(block.variants), "default")


def _tab(block: Block, name: str, in_force: Sequence[WordingInForce]) -> PageData:
    return {
        "name": name,
        "written": name in block.variants,
        "own": block.origin == "owner" or name in block.owned,
        "told": any(one.variant == name for one in in_force),
    }


def _listeners(in_force: Sequence[WordingInForce]) -> list[PageData]:
    """Each wording that is told, and to whom."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in in_force:
        whom = f"{one.persona} on {one.route}"
        groups.setdefault((one.variant, one.whose, one.instead_of), []).append(whom)
    return [
        {
            "variant": variant,
            "whose": whose,
            "instead_of": over,
            "whom": whom[:_LISTENERS],
            "others": max(0, len(whom) - _LISTENERS),
        }
        for (variant, whose, over), whom in groups.items()
    ]


def _field_choices() -> PageData:
    return {
        "category": [[name, LABELS[name]] for name in get_args(Category)],
        "target": list(get_args(Target)),
        "position": list(get_args(Position)),
        "modes": list(get_args(Mode)),
        "stability": [one.value for one in Stability],
        "trust": [one.value for one in Trust],
    }

"""Pages about all prompts: placeholders, problems, conflicts, files; and the history of a block."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import cast, get_args

from mentis.codec.forms import to_object
from mentis.errors import LibraryError, RequestRefused
from mentis.library.checking.check import CheckedPlace, check_places
from mentis.library.history import redo_target, undo_target
from mentis.library.memory.files import NAMES
from mentis.library.overlay import VARIANTS, Conflict
from mentis.prompts.personas import Personas
from mentis.prompts.placeholders import PlaceholderUse
from mentis.settings.persona import SHARES
from mentis.settings.sources import load_settings
from mentis.values.block import Category, Position, Target
from mentis.values.memo import IdentityMemo
from mentis.web.etags import etag_of
from mentis.web.problems import with_status

from .diffs import diff_lines
from .pages import PageData
from .prompt_desk import PromptLook, window

_LISTED = 100
_USERS = 6  # blocks that are named for one placeholder
_REVISIONS = 50
_DIFF = 60_000  # characters of a difference
_SHOWN = ("all", "used", "unknown", "unused", "yours")


def new_page(look: PromptLook) -> PageData:
    """A form for a block of one's own, or for a copy of another."""
    copied = look.query("copy")
    source = look.prompts.block(copied) if copied else None
    return {
        "copy": copied,
        "name": f"{source.name} (copy)" if source else "",
        "categories": list(get_args(Category)),
        "targets": list(get_args(Target)),
        "positions": list(get_args(Position)),
    }


def placeholders_page(look: PromptLook) -> PageData:
    """Every placeholder: what it stands for now, where it is used, which are unknown or unused."""
    which = look.query("which", "all")
    if which not in _SHOWN:
        raise RequestRefused(f"there is no list {which[:80]!r}", hint="", status=404)
    every = look.prompts.placeholders(persona=look.persona)
    groups = {name: [one for one in every if _is_in(one, name)] for name in _SHOWN}
    shown, more = window(groups[which], look.number("from"), _LISTED)
    rows = [
        {**to_object(one), "used_by": list(one.used_by[:_USERS]), "uses": len(one.used_by)}
        for one in shown
    ]
    counts = {name: len(found) for name, found in groups.items()}
    return {**look.choices(), "which": which, "counts": counts, "rows": rows, "more": more}


def _is_in(one: PlaceholderUse, which: str) -> bool:
    match which:
        case "used":
            return bool(one.used_by)
        case "unknown":
            return one.origin == "unknown"
        case "unused":
            return not one.used_by and one.origin != "unknown"
        case "yours":
            return one.origin == "yours"
        case _:
            return True


_CHECKS = IdentityMemo[Sequence[CheckedPlace]](2)  # the same files need no second look


def check_page(look: PromptLook) -> PageData:
    """What is wrong with the prompt files, each with the place to mend it; and what is loaded."""
    loaded = look.prompts.loaded_library
    found = _CHECKS.remember(check_places, loaded)
    errors = sum(one.problem.severity == "error" for one in found)
    ordered = sorted(found, key=lambda one: one.problem.severity)
    shown, more = window(ordered, look.number("from"), _LISTED)
    blocks = loaded.library.blocks
    return {
        "errors": errors,
        "warnings": len(found) - errors,
        "rows": [{**to_object(one.problem), "jump": _jump(one)} for one in shown],
        "more": more,
        "engine": {
            "version": version("mentis"),
            "revision": loaded.library.revision,
            "blocks": len(blocks),
            "on": sum(one.enabled for one in blocks),
            "own": sum(one.origin == "owner" for one in blocks),
            "overridden": len(loaded.owner.bases),
            "placeholders": len(loaded.library.placeholders),
            "files": len({one.file for one in blocks}),
            "categories": dict(Counter(one.category for one in blocks)),
        },
    }


def _jump(one: CheckedPlace) -> str:
    """The page, and the field on it, where a problem can be mended."""
    if one.placeholder:
        return f"/studio/prompts/-/placeholders#p-{one.placeholder}"
    if not one.block:
        return ""
    path = f"/studio/prompts/{one.block}"
    if one.field.startswith(VARIANTS):
        return f"{path}?variant={one.field.removeprefix(VARIANTS)}#wording"
    return f"{path}#f-{one.field.partition('.')[2]}" if one.field else path


def conflicts_page(look: PromptLook) -> PageData:
    """Where the owner and a new version of Mentis changed the same field."""
    found = look.prompts.editor.conflicts()
    shown, more = window(found, look.number("from"), _REVISIONS)
    return {"rows": [_conflict_row(one) for one in shown], "count": len(found), "more": more}


def _conflict_row(one: Conflict) -> PageData:
    sides = {name: _readable(getattr(one, name)) for name in ("base", "ours", "theirs")}
    return {"block": one.block, "field": one.field, "gone": one.theirs is None, **sides}


def _readable(value: object) -> str:
    """A wording as its text; anything else as JSON."""
    if isinstance(value, Mapping):
        text = cast("Mapping[str, object]", value).get("content")
        if isinstance(text, str):
            return text
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def history_page(look: PromptLook) -> PageData:
    """Every revision of a block, also of one that was removed, and what one of them changed."""
    name, editor = look.call.path("block"), look.prompts.editor
    try:
        revisions = editor.history(name)
    except LibraryError as error:
        raise with_status(error, 404) from error
    newer = look.call.number("newer", len(revisions)) or 0
    older = look.call.number("older", max(newer - 1, 0)) or 0
    block = look.prompts.loaded_library.library.block(name)
    before = look.call.number("before", len(revisions)) or 0
    shown = [one for one in reversed(revisions) if one.number <= before][:_REVISIONS]
    text = editor.diff(name, older, newer) if revisions else ""
    undo, redo = undo_target(revisions), redo_target(revisions)
    return {
        "id": name,
        "name": block.name if block else name,
        "removed": block is None,
        "revisions": [
            {"number": one.number, "time": one.time, "words": one.words, "author": one.author}
            for one in shown
        ],
        "count": len(revisions),
        "next": shown[-1].number - 1 if shown and shown[-1].number > 1 else None,
        "older": older,
        "newer": newer,
        "diff": diff_lines(text[:_DIFF]),
        "left": max(0, len(text) - _DIFF),
        "undo": undo is not None,
        "redo": redo is not None,
    }


def files_page(look: PromptLook) -> PageData:
    """Taking prompts in, giving them out, and going back to what is shipped."""
    loaded = look.prompts.loaded_library
    own = sum(one.origin == "owner" for one in loaded.library.blocks)
    return {"own": own, "overridden": len(loaded.owner.bases), "blocks": len(loaded.library.blocks)}


def memory_page(look: PromptLook) -> PageData:
    """A memory file of a persona, and whether and how often it is kept."""
    name = look.query("file", NAMES[0])
    if name not in NAMES:
        hint = f"there are: {', '.join(NAMES)}"
        raise RequestRefused(f"there is no memory file {name[:80]!r}", hint=hint, status=404)
    served = look.call.served
    model = load_settings(served.pool.path, served.parts.variables).model
    updates = {
        "enabled": model.features.persona_memory,
        "frequency": model.persona_update.frequency,
    }
    data: PageData = {
        **look.choices(),
        "file": name,
        "names": list(NAMES),
        "updates": updates,
        "updates_tag": etag_of(updates),
        "frequencies": dict(SHARES),
        "window": model.persona_update.window_messages,
        "memory": None,
    }
    if not look.personas:
        return data
    with Personas.open(served.pool.path, parts=served.parts) as personas:
        memory = personas.memory(look.persona)
        found = to_object(memory.read(name))
        waiting = len(memory.pending_changes(name))
    return {**data, "memory": found, "etag": etag_of(found), "waiting": waiting}

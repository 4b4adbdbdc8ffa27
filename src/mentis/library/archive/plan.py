"""The plan of an import, block by block, before anything is written.

A shipped block becomes an override of exactly the fields that differ; any other block becomes the
owner's. `merge` adds what is missing, `overwrite` also replaces, `replace` makes the set that of
the archive: own blocks it has not are removed, shipped ones switched off, the constitution aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from mentis.errors import UsageError
from mentis.library.block_layer import BlockLayer, changed_fields, fields_of
from mentis.library.load import LoadedLibrary
from mentis.values.json import JsonObject
from mentis.values.location import Location, Problem
from mentis.values.value import Value

from .blocks import Arrivals, Incoming
from .placeholders import IncomingPlaceholder, incoming_placeholders
from .read import Archive

Mode: TypeAlias = Literal["replace", "merge", "overwrite"]
What: TypeAlias = Literal["added", "changed", "same", "skipped", "removed", "off"]
MODES: tuple[Mode, ...] = ("replace", "merge", "overwrite")
_THERE = "there is one already"
_CONSTITUTION = "it is constitution"
_ABSENT = "the file has none"


@dataclass(frozen=True, slots=True)
class ImportRow(Value):
    """What becomes of one block or placeholder; `fields` are the paths that would change."""

    block: str
    what: What
    fields: tuple[str, ...] = ()
    note: str = ""
    kind: Literal["block", "placeholder"] = "block"


@dataclass(frozen=True, slots=True)
class ImportPlan(Value):
    """`blocks` and `placeholders` are what to write; None takes the owner's layer of it away."""

    mode: Mode
    blocks: Mapping[str, BlockLayer | None]
    placeholders: Mapping[str, JsonObject | None]
    rows: tuple[ImportRow, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.blocks and not self.placeholders


@dataclass(slots=True)
class _Draft:
    mode: Mode
    blocks: dict[str, BlockLayer | None] = field(default_factory=dict[str, BlockLayer | None])
    placeholders: dict[str, JsonObject | None] = field(default_factory=dict[str, JsonObject | None])
    rows: list[ImportRow] = field(default_factory=list[ImportRow])
    problems: list[Problem] = field(default_factory=list[Problem])


def plan_import(
    loaded: LoadedLibrary, archive: Archive, mode: Mode, *, force: bool = False
) -> ImportPlan:
    """Nothing is written: the plan is for looking at, then for `Editor.write`.

    A block that cannot be taken over is a problem and stays out. With `force` the constitution
    may be changed as well.
    """
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}", hint=f"the modes are: {', '.join(MODES)}")
    draft = _Draft(mode)
    draft.problems.extend(_ignored(archive.ignored))
    arrivals = Arrivals(archive, loaded)
    for block_id in arrivals.entries:
        _plan_block(draft, arrivals.block(block_id), force=force)
    if mode == "replace":
        _remove_blocks(draft, arrivals, loaded, force=force)
        _switch_off(draft, arrivals, loaded, force=force)
    _plan_placeholders(draft, archive, loaded)
    return ImportPlan(
        mode, draft.blocks, draft.placeholders, tuple(draft.rows), tuple(draft.problems)
    )


def _plan_block(draft: _Draft, block: Incoming, *, force: bool) -> None:
    draft.problems.extend(block.problems)
    if block.problems:
        draft.rows.append(ImportRow(block.id, "skipped", note="it is not valid"))
    elif block.exists and not block.changed:
        draft.rows.append(ImportRow(block.id, "same"))
    elif block.exists and draft.mode == "merge":
        draft.rows.append(ImportRow(block.id, "skipped", block.changed, _THERE))
    elif block.needs_force and not force:
        draft.problems.append(_constitution(block.id, block.location))
        draft.rows.append(ImportRow(block.id, "skipped", block.changed, _CONSTITUTION))
    else:
        draft.blocks[block.id] = block.layer
        what: What = "changed" if block.exists else "added"
        draft.rows.append(ImportRow(block.id, what, block.changed, block.note))


def _remove_blocks(
    draft: _Draft, arrivals: Arrivals, loaded: LoadedLibrary, *, force: bool
) -> None:
    for block_id in _owners_blocks(loaded):
        if block_id in arrivals.entries or block_id in loaded.shipped.prompts:
            continue
        fields = tuple(fields_of(arrivals.present(block_id)))
        if arrivals.needs_force(block_id, None) and not force:
            draft.problems.append(_constitution(block_id, None))
            draft.rows.append(ImportRow(block_id, "skipped", fields, _CONSTITUTION))
            continue
        draft.blocks[block_id] = None
        draft.rows.append(ImportRow(block_id, "removed", fields))


def _switch_off(draft: _Draft, arrivals: Arrivals, loaded: LoadedLibrary, *, force: bool) -> None:
    """Shipped blocks the archive has not: as they are shipped, and off."""
    for block_id in loaded.shipped.prompts:
        if block_id in arrivals.entries:
            continue
        present, off = arrivals.present(block_id), arrivals.switched_off(block_id)
        if arrivals.needs_force(block_id, off) and not force:
            off = None  # the constitution stays on, as it is shipped
        fields = changed_fields(present, off)
        is_off = arrivals.is_off(block_id, off)
        what: What = "skipped" if not is_off else "off" if fields else "same"
        note = _ABSENT if is_off else f"{_CONSTITUTION}, and stays on"
        if fields:
            draft.blocks[block_id] = off
        draft.rows.append(ImportRow(block_id, what, fields, note))


def _owners_blocks(loaded: LoadedLibrary) -> dict[str, None]:
    """Every block of which the owner's layer says something."""
    owner = loaded.owner
    written = (block_id for entries in owner.domains.values() for block_id in entries)
    known = {*loaded.shipped.prompts, *owner.prompts}
    return dict.fromkeys((*owner.prompts, *(one for one in written if one in known)))


def _plan_placeholders(draft: _Draft, archive: Archive, loaded: LoadedLibrary) -> None:
    arriving = {one.key: one for one in incoming_placeholders(archive, loaded)}
    for one in arriving.values():
        _plan_placeholder(draft, one)
    if draft.mode == "replace":
        for key in (key for key in loaded.owner.placeholders if key not in arriving):
            draft.placeholders[key] = None
            fields = tuple(loaded.owner.placeholders[key])
            draft.rows.append(ImportRow(key, "removed", fields, kind="placeholder"))


def _plan_placeholder(draft: _Draft, one: IncomingPlaceholder) -> None:
    draft.problems.extend(one.problems)
    if one.refusal:
        row = ImportRow(one.key, "skipped", (), one.refusal, "placeholder")
    elif one.exists and not one.changed:
        row = ImportRow(one.key, "same", kind="placeholder")
    elif one.exists and draft.mode == "merge":
        row = ImportRow(one.key, "skipped", one.changed, _THERE, "placeholder")
    else:
        draft.placeholders[one.key] = one.entry
        what: What = "changed" if one.exists else "added"
        row = ImportRow(one.key, what, one.changed, kind="placeholder")
    draft.rows.append(row)


def _constitution(block_id: str, location: Location | None) -> Problem:
    message = f"{block_id!r} is constitution, which an import leaves alone"
    return Problem("import-constitution", message, location, "read it, then import with force")


def _ignored(names: Iterable[str]) -> Iterable[Problem]:
    for name in names:
        hint = "nothing to do, unless it should have been imported"
        message = f"member {name!r} is no part of a prompt set and is not read"
        yield Problem("import-ignored", message, Location(name), hint, "warning")

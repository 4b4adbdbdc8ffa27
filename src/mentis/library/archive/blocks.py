"""One block of an archive, as the owner's layer it would become here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from mentis.library.block_layer import (
    BlockLayer,
    base_entry,
    changed_fields,
    effective,
    fields_of,
    layer_of,
    normalise_layer,
)
from mentis.library.constitution import needs_force
from mentis.library.layer import Base, Layer, as_problem
from mentis.library.load import LoadedLibrary
from mentis.library.overlay import (
    VARIANTS,
    digest_of,
    domain_file,
    merge_block,
    owner_fields,
    shipped_fields,
)
from mentis.library.problems import SourceFile
from mentis.library.validate import EntryFault, make_block
from mentis.values.json import JsonObject
from mentis.values.location import Location, Problem

from .read import Archive
from .write import DOMAINS

# Wider than what a new block may be called here: ids of other systems stay as they are.
_ID = re.compile(r"\w[\w .-]{0,127}")


@dataclass(frozen=True, slots=True)
class Incoming:
    """`layer` is None where nothing differs from what is shipped; `changed` is against what is
    here. `location` is looked up only where there is something to say about it."""

    id: str
    layer: BlockLayer | None
    exists: bool
    changed: tuple[str, ...] = ()
    needs_force: bool = False
    location: Location | None = None
    note: str = ""
    problems: tuple[Problem, ...] = ()


class Arrivals:
    """The blocks of an archive, seen from a library."""

    def __init__(self, archive: Archive, loaded: LoadedLibrary) -> None:
        self._archive = archive
        self._shipped, self._owner = loaded.shipped, loaded.owner
        self.entries = archive.blocks()

    def block(self, block_id: str) -> Incoming:
        member, meta = self.entries[block_id]
        content = self._archive.content(domain_file(meta), block_id)
        exists = block_id in self._shipped.prompts or block_id in self._owner.prompts
        present, layer = self.present(block_id), self._layer(block_id, meta, content or {})
        if faults := _faults(block_id, meta, content, layer=layer, shipped=self._shipped):
            problems = tuple(self._problem(fault, member, meta) for fault in faults)
            return Incoming(block_id, layer, exists, problems=problems)
        forced = needs_force(block_id, present, layer, self._shipped)
        place = ("prompts", block_id)
        return Incoming(
            block_id,
            layer,
            exists,
            changed=changed_fields(present, layer),
            needs_force=forced,
            location=_place(self._archive.sources[member], place) if forced else None,
            note=self._note(block_id, content or {}),
        )

    def present(self, block_id: str) -> BlockLayer | None:
        """What the owner's layer has of a block now, in the form in which it is stored."""
        layer = layer_of(block_id, self._shipped, self._owner)
        return layer and normalise_layer(block_id, layer, self._shipped)

    def needs_force(self, block_id: str, layer: BlockLayer | None) -> bool:
        return needs_force(block_id, self.present(block_id), layer, self._shipped)

    def switched_off(self, block_id: str) -> BlockLayer | None:
        """A shipped block as it is shipped, but off."""
        return normalise_layer(block_id, BlockLayer({"enabled": False}), self._shipped)

    def is_off(self, block_id: str, layer: BlockLayer | None) -> bool:
        return effective(block_id, layer, self._shipped)[0].get("enabled") is False

    def _layer(self, block_id: str, meta: JsonObject, content: JsonObject) -> BlockLayer | None:
        """With the bases the archive tells; else those of the same change, made here earlier."""
        told = self._archive.bases(block_id)
        if self._archive.is_ours:
            content = self._own_wordings(block_id, content, told)
        now, fields = self.present(block_id), owner_fields(meta, content)
        bases = {
            path: base
            for path, base in (now.bases.items() if now else ())
            if path in fields and digest_of(fields[path]) == digest_of(fields_of(now)[path])
        }
        bases.update((path, base_entry(base)) for path, base in told.items() if path in fields)
        return normalise_layer(block_id, BlockLayer(meta, content, bases), self._shipped)

    def _own_wordings(
        self, block_id: str, content: JsonObject, bases: Mapping[str, Base]
    ) -> JsonObject:
        """Without those that are as shipped here, unless their owner wanted them so."""
        below = shipped_fields(block_id, self._shipped)
        variants = content.get("variants")
        if not below or not isinstance(variants, dict):
            return content
        own = {
            name: wording
            for name, wording in cast("JsonObject", variants).items()
            if (path := f"{VARIANTS}{name}") in bases
            or path not in below
            or digest_of(wording) != digest_of(below[path])
        }
        return {**content, "variants": own}

    def _note(self, block_id: str, content: JsonObject) -> str:
        """Shipped variants the archive has not, such as other languages, stay as they are."""
        ours, below = owner_fields({}, content), shipped_fields(block_id, self._shipped)
        kept = [path for path in below if path.startswith(VARIANTS) and path not in ours]
        names = ", ".join(path.removeprefix(VARIANTS) for path in kept)
        return f"the shipped wording stays for {names}" if kept else ""

    def _problem(self, fault: EntryFault, member: str, meta: JsonObject) -> Problem:
        sources = self._archive.sources
        wording = sources.get(f"{DOMAINS}{domain_file(meta)}") if fault.part == "domain" else None
        location = _place(wording or sources[member], fault.path)
        return Problem("import-invalid", fault.message, location, fault.hint)


def _faults(
    block_id: str,
    meta: JsonObject,
    content: JsonObject | None,
    *,
    layer: BlockLayer | None,
    shipped: Layer,
) -> list[EntryFault]:
    """What would be wrong with the block once it is imported."""
    place = ("prompts", block_id)
    if not _ID.fullmatch(block_id):
        hint = "use letters, digits, dashes and underscores"
        return [EntryFault("manifest", place, f"{block_id!r} cannot be the id of a block", hint)]
    over = layer or BlockLayer()
    file = domain_file({**shipped.prompts.get(block_id, {}), **over.meta})
    above = Layer("owner", prompts={block_id: over.meta}, domains={file: {block_id: over.content}})
    made = make_block(merge_block(block_id, shipped, above))
    if content is None and (not isinstance(made, list) or made[0].part == "domain"):
        message = f"{DOMAINS}{domain_file(meta)} holds no block {block_id!r}"
        return [EntryFault("manifest", (*place, "domain_file"), message, "export it anew")]
    return made if isinstance(made, list) else []


def _place(source: SourceFile, path: tuple[str | int, ...]) -> Location | None:
    return as_problem(source.fault(path, "")).location

"""Both layers become one library; a block that is wrong is left out, and the problem says why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from mentis.values.block import Block
from mentis.values.digest import digest
from mentis.values.json import JsonObject
from mentis.values.library import Library
from mentis.values.location import Problem
from mentis.values.placeholder import Placeholder

from .faults import also, locate_faults
from .layer import WORDS, Layer, as_problem
from .overlay import MergedBlock, domain_file, merge_block, merge_blocks, merge_placeholder
from .problems import first_fault
from .validate import EntryFault, fleeting, make_block, make_placeholder

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LoadedLibrary:
    """A library, and what had to be left out of it and why."""

    library: Library
    problems: tuple[Problem, ...]
    shipped: Layer
    owner: Layer


class Assembly:
    """One pass over both layers."""

    def __init__(self, shipped: Layer, owner: Layer) -> None:
        self._shipped = shipped
        self._owner = owner
        self._merged = merge_blocks(shipped, owner)
        self._domains = frozenset(shipped.domains) | frozenset(owner.domains)
        self._faulty: dict[str, MergedBlock] = {}
        self._problems = [*shipped.broken.values(), *self._broken_of_owner()]

    def load(self) -> LoadedLibrary:
        raw: dict[str, JsonObject] = {}
        placeholders = dict(self._placeholders(raw))
        made = [self._block(merged, placeholders) for merged in list(self._merged.values())]
        blocks = [block for block in made if block]
        if not blocks and (source := self._shipped.files.get(self._shipped.manifest_file)):
            fault = source.fault(("prompts",), "prompts: there is no block", hint="add one")
            self._problems.append(as_problem(fault))
        blocks.sort(key=lambda block: block.order)  # stable: ties keep the manifest's order
        self._problems.extend(self._unreferenced())
        library = Library(
            revision=self._revision(blocks, raw),
            blocks=tuple(blocks),
            placeholders=placeholders,
            words=self._words(),
        )
        return LoadedLibrary(library, tuple(self._problems), self._shipped, self._owner)

    def _block(self, merged: MergedBlock, placeholders: Mapping[str, Placeholder]) -> Block | None:
        made = make_block(merged, self._domains)
        if isinstance(made, Block):
            faults = fleeting(made, placeholders)
            if not faults:
                return made
            made = faults
        self._faulty[merged.id] = merged
        if not merged.content and self._told_already(merged):
            return None
        below = merge_block(merged.id, self._shipped, Layer("owner"))
        self._merged[merged.id] = below
        shipped = make_block(below) if merged.overridden else None
        return self._report(made, shipped, "the shipped block stays in force")

    def _placeholders(self, raw: dict[str, JsonObject]) -> Iterator[tuple[str, Placeholder]]:
        for key in dict.fromkeys((*self._shipped.placeholders, *self._owner.placeholders)):
            raw[key] = merge_placeholder(key, self._shipped, self._owner)
            made: Placeholder | list[EntryFault] | None = make_placeholder(key, raw[key])
            if isinstance(made, list):
                below = self._shipped.placeholders.get(key)
                shipped = make_placeholder(key, below) if below and below != raw[key] else None
                raw[key] = below or {}
                made = self._report(made, shipped, "the shipped placeholder stays in force")
            if made is not None:
                yield key, made

    def _report(
        self, faults: list[EntryFault], shipped: _T | list[EntryFault] | None, so: str
    ) -> _T | None:
        """The shipped value that takes the place of a faulty one, if there is one that is good."""
        stays = shipped is not None and not isinstance(shipped, list)
        for problem in locate_faults(faults, self._shipped, self._owner):
            self._problems.append(also(problem, so) if stays else problem)
        return None if isinstance(shipped, list) else shipped

    def _told_already(self, merged: MergedBlock) -> bool:
        """Whether the problem of its domain file or of its entry there says all there is to say."""
        file = domain_file(merged.meta)
        broken = self._owner.broken if merged.origin == "owner" else self._shipped.broken
        return file in broken or f"{file}#{merged.id}" in broken

    def _broken_of_owner(self) -> Iterator[Problem]:
        for name, problem in self._owner.broken.items():
            so = self._consequence(*name.partition("#")[::2])
            yield also(problem, so) if so else problem

    def _consequence(self, file: str, entry: str) -> str:
        if entry:
            known = entry in self._shipped.prompts or entry in self._shipped.placeholders
            return "what is shipped stays in force" if known else ""
        if file.startswith("_meta/"):
            return "nothing in it is in force"
        ids = [each.id for each in self._merged.values() if domain_file(each.meta) == file]
        shipped = [block_id for block_id in ids if block_id in self._shipped.prompts]
        own = [block_id for block_id in ids if block_id not in self._shipped.prompts]
        said = [f"left out: {', '.join(own)}"] if own else []
        said += [f"as shipped: {', '.join(shipped)}"] if shipped else []
        return "; ".join(said)

    def _unreferenced(self) -> Iterator[Problem]:
        """Entries of the owner's that nothing points to: a wrong name goes unseen otherwise."""
        if self._owner.manifest_file in self._owner.broken:
            return
        for file, entries in self._owner.domains.items():
            for block_id in entries:
                merged = self._faulty.get(block_id) or self._merged.get(block_id)
                if merged and domain_file(merged.meta) == file:
                    continue
                if f"{self._owner.manifest_file}#{block_id}" not in self._owner.broken:
                    yield self._unused(file, block_id)

    def _unused(self, file: str, block_id: str) -> Problem:
        message = f"no manifest entry names this file for {block_id!r}, so the text is not used"
        hint = f"give {block_id!r} an entry with this domain_file, or take it out of the file"
        source = self._owner.files.get(file)
        place = as_problem(source.fault((block_id,), "", key=True)).location if source else None
        return Problem("library", message, place, hint, "warning")

    def _revision(self, blocks: list[Block], placeholders: Mapping[str, JsonObject]) -> str:
        """The digest of everything that decides a prompt, independent of files and key order."""
        used = (self._merged[block.id] for block in blocks)
        matter = {
            "blocks": [_matter(merged) for merged in used],
            "placeholders": placeholders,
            "words": self._shipped.words,
        }
        return digest(json.dumps(matter, sort_keys=True, ensure_ascii=True).encode())

    def _words(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        from pydantic import ValidationError

        from .formats import Words  # loads pydantic

        try:
            words = Words.model_validate(self._shipped.words)
        except ValidationError as error:
            fault = first_fault(self._shipped.files[WORDS], error, {})
            self._problems.append(as_problem(fault))
            return {}
        return {
            language: {topic: tuple(said) for topic, said in topics.items()}
            for language, topics in words.root.items()
        }


def _matter(merged: MergedBlock) -> list[object]:
    """Whose a wording is decides where there are several; without the owner's, nothing is said."""
    owned = [list(merged.owned)] if merged.owned else []
    return [merged.id, merged.meta, merged.content, *owned]

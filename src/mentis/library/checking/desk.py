"""Where a checked value stands: in the owner's file if it is there, else in the shipped one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from mentis.codec.locate import locate
from mentis.library.layer import Layer
from mentis.library.load import LoadedLibrary
from mentis.library.overlay import MergedBlock, domain_file, merge_blocks
from mentis.library.problems import SourceFile, did_you_mean
from mentis.values.json import JsonObject
from mentis.values.location import Location, Problem

from .table import SEVERITIES

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A value in a file, or the first `words` inside that value."""

    source: SourceFile | None
    path: Path
    words: str = ""
    key: bool = False

    @property
    def file(self) -> str:
        return self.source.file if self.source else ""

    def at(self, *steps: str | int, words: str = "") -> FilePlace:
        return FilePlace(self.source, (*self.path, *steps), words)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A problem whose line and column are not looked up yet."""

    code: str
    place: FilePlace
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CheckDesk:
    """Both layers, and what they make of each block."""

    loaded: LoadedLibrary
    merged: Mapping[str, MergedBlock]
    _meant: dict[str, str] = field(default_factory=dict[str, str])

    def suggestion(self, key: str) -> str:
        """Which registered placeholder an unknown key may mean; looked for once."""
        if key not in self._meant:
            self._meant[key] = did_you_mean(key, self.loaded.library.placeholders)
        return self._meant[key]

    def meta(self, block_id: str, field: str) -> FilePlace:
        own = field in self._owner.prompts.get(block_id, {})
        layer = self._owner if own or block_id not in self._shipped.prompts else self._shipped
        return FilePlace(layer.manifest_of(block_id), ("prompts", block_id, field))

    def wording(self, block_id: str, variant: str) -> FilePlace:
        own = self.is_owners(block_id, variant)
        return self._in_domain(block_id, "variants", variant, own=own)

    def content(self, block_id: str, field: str) -> FilePlace:
        own = field in self._content(self._owner, block_id)
        return self._in_domain(block_id, field, own=own)

    def placeholder(self, key: str, field: str = "") -> FilePlace:
        own = field in self._owner.placeholders.get(key, {})
        layer = self._owner if own or key not in self._shipped.placeholders else self._shipped
        path = ("placeholders", key, field) if field else ("placeholders", key)
        return FilePlace(layer.registry_of(key), path, key=not field)

    def is_owners(self, block_id: str, variant: str) -> bool:
        return variant in _variants(self._content(self._owner, block_id))

    def shipped_wordings(self, block_id: str) -> JsonObject:
        return _variants(self._content(self._shipped, block_id))

    @property
    def _shipped(self) -> Layer:
        return self.loaded.shipped

    @property
    def _owner(self) -> Layer:
        return self.loaded.owner

    def _file(self, layer: Layer, block_id: str) -> str:
        """The domain file of a block in a layer; a moved block stays where it was shipped."""
        owner = layer.name == "owner"
        meta = self.merged[block_id].meta if owner else layer.prompts.get(block_id, {})
        return domain_file(meta)

    def _content(self, layer: Layer, block_id: str) -> JsonObject:
        return layer.domains.get(self._file(layer, block_id), {}).get(block_id, {})

    def _in_domain(self, block_id: str, *steps: str, own: bool) -> FilePlace:
        shipped = not own and block_id in self._shipped.prompts
        layer = self._shipped if shipped else self._owner
        return FilePlace(layer.files.get(self._file(layer, block_id)), (block_id, *steps))


def open_desk(loaded: LoadedLibrary) -> CheckDesk:
    return CheckDesk(loaded, merge_blocks(loaded.shipped, loaded.owner))


def as_located(finding: CheckFinding) -> Problem:
    return Problem(
        finding.code,
        finding.message,
        _location(finding.place),
        finding.hint,
        SEVERITIES[finding.code],
    )


def _location(place: FilePlace) -> Location | None:
    source = place.source
    if source is None:
        return None
    line, column = locate(source.text, place.path, source.syntax, key=place.key)
    if place.words:
        column = _column(source.text, line, column, place.words)
    return Location(source.file, line, column)


def _column(text: str, line: int, column: int, words: str) -> int:
    """A JSON string stands on one line, so what is inside it is further right there."""
    told = text.split("\n", line)[line - 1].casefold()
    found = told.find(words.casefold(), column)
    return column if found < 0 else found + 1


def _variants(content: JsonObject) -> JsonObject:
    variants = content.get("variants")
    return cast("JsonObject", variants) if isinstance(variants, dict) else {}

"""One layer of prompt files, as they stand: the shipped one, or the owner's on top of it.

Entries are kept as raw JSON, so that fields nobody here knows survive. A file that cannot be
read is a problem of this layer; what is in the other files still counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from mentis.errors import MentisError, UserError
from mentis.values.json import JsonObject
from mentis.values.location import Location, Problem

from .files import Folder, read_members
from .problems import SourceFile

if TYPE_CHECKING:
    from pathlib import Path

LayerName = Literal["shipped", "owner"]
WORDS = "_meta/words.json"
OVERRIDES = "_meta/overrides.json"
MANIFESTS: Mapping[LayerName, str] = {
    "shipped": "_meta/prompt_manifest.json",
    "owner": "_meta/user_manifest.json",
}
REGISTRIES: Mapping[LayerName, str] = {
    "shipped": "_meta/placeholder_registry.json",
    "owner": "_meta/user_placeholder_registry.json",
}
# What the origin system calls its own manifest and registry: in the owner's folder they are the
# owner's, below those that have our names.
ORIGIN_MANIFEST, ORIGIN_REGISTRY = MANIFESTS["shipped"], REGISTRIES["shipped"]
# Which member of a file holds its entries; a domain file is nothing but entries.
ENTRIES: Mapping[str, str] = {
    MANIFESTS["shipped"]: "prompts",
    MANIFESTS["owner"]: "prompts",
    REGISTRIES["shipped"]: "placeholders",
    REGISTRIES["owner"]: "placeholders",
    OVERRIDES: "overrides",
}


@dataclass(frozen=True, slots=True)
class Base:
    """What a shipped field held when the owner changed it."""

    digest: str
    value: object


@dataclass(frozen=True, slots=True)
class Layer:
    """`domains` holds every block entry by file and id, `files` every text that was read.

    `tops` are the members of a manifest or registry beside its entries: `version`, unknown ones.
    `documents` is what the files hold, whole. `broken` has a file, or `file#entry`, for each
    problem; what it names is in none of the others.
    """

    name: LayerName
    prompts: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    placeholders: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    domains: Mapping[str, Mapping[str, JsonObject]] = field(
        default_factory=dict[str, Mapping[str, JsonObject]]
    )
    words: JsonObject = field(default_factory=dict[str, object])
    bases: Mapping[str, Mapping[str, Base]] = field(default_factory=dict[str, Mapping[str, Base]])
    tops: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    files: Mapping[str, SourceFile] = field(default_factory=dict[str, SourceFile])
    broken: Mapping[str, Problem] = field(default_factory=dict[str, Problem])
    documents: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])

    @property
    def manifest_file(self) -> str:
        return MANIFESTS[self.name]

    @property
    def registry_file(self) -> str:
        return REGISTRIES[self.name]

    def manifest_of(self, block_id: str) -> SourceFile | None:
        """The manifest that holds the entry of a block."""
        return self._holder(self.manifest_file, ORIGIN_MANIFEST, block_id)

    def registry_of(self, key: str) -> SourceFile | None:
        """The registry that holds a placeholder."""
        return self._holder(self.registry_file, ORIGIN_REGISTRY, key)

    def _holder(self, own: str, origin: str, key: str) -> SourceFile | None:
        entries = self.documents.get(own, {}).get(ENTRIES[own])
        elsewhere = origin in self.files and not (isinstance(entries, dict) and key in entries)
        return self.files.get(origin if elsewhere else own)


def read_layer(root: Folder, name: LayerName) -> Layer:
    """Read every file of a layer. A shipped layer must have its three files in `_meta`."""
    documents: dict[str, JsonObject] = {}
    files: dict[str, SourceFile] = {}
    broken: dict[str, Problem] = {}
    needed = (MANIFESTS[name], REGISTRIES[name], WORDS) if name == "shipped" else ()
    for file in (*needed, *_present(root, name)):
        try:
            files[file], documents[file] = read_members(root, file)
        except UserError as fault:
            broken[file] = as_problem(fault)
    return make_layer(name, documents, files, broken)


def make_layer(
    name: LayerName,
    documents: Mapping[str, JsonObject],
    files: Mapping[str, SourceFile],
    broken: Mapping[str, Problem],
    *,
    known_keys: Collection[str] = (),
) -> Layer:
    """A layer out of files that are parsed already, by their names.

    Of a registry of the origin system placeholders with `known_keys` stay out: Mentis has its own.
    """
    reader = _Reader(documents, files, dict(broken))
    top = {MANIFESTS[name], REGISTRIES[name], OVERRIDES if name == "owner" else WORDS}
    prompts, placeholders = reader.entries(MANIFESTS[name]), reader.entries(REGISTRIES[name])
    if name == "owner":
        top |= {ORIGIN_MANIFEST, ORIGIN_REGISTRY}
        theirs = reader.entries(ORIGIN_REGISTRY).items()
        prompts = {**reader.entries(ORIGIN_MANIFEST), **prompts}
        placeholders = {**{k: v for k, v in theirs if k not in known_keys}, **placeholders}
    return Layer(
        name=name,
        prompts=prompts,
        placeholders=placeholders,
        domains={file: reader.entries(file) for file in documents if file not in top},
        words=documents.get(WORDS, {}),
        bases=reader.bases(),
        tops={file: _without_entries(file, documents) for file in sorted(top & ENTRIES.keys())},
        files=files,
        broken=reader.broken,
        documents=documents,
    )


class _Reader:
    def __init__(
        self,
        documents: Mapping[str, JsonObject],
        files: Mapping[str, SourceFile],
        broken: dict[str, Problem],
    ) -> None:
        self._documents = documents
        self._files = files
        self.broken = broken

    def entries(self, file: str) -> dict[str, JsonObject]:
        """The entries of a file that are objects; another one breaks only itself."""
        entries = self._documents.get(file, {})
        path: tuple[str, ...] = ()
        if file in ENTRIES:
            path = (ENTRIES[file],)
            entries = self._object(entries.get(path[0], {}), path, file=file, name=file)
        found = cast("dict[str, JsonObject]", entries)
        if all(isinstance(entry, dict) for entry in found.values()):
            return found
        for key, entry in found.items():
            self._object(entry, (*path, key), file=file, name=f"{file}#{key}")
        return {key: entry for key, entry in found.items() if isinstance(entry, dict)}

    def bases(self) -> dict[str, Mapping[str, Base]]:
        found: dict[str, Mapping[str, Base]] = {}
        for block_id, paths in self.entries(OVERRIDES).items():
            known = {path: _base(base) for path, base in paths.items()}
            found[block_id] = {path: base for path, base in known.items() if base}
            for path in sorted(known.keys() - found[block_id].keys()):
                place = ("overrides", block_id, path)
                self.broken[f"{OVERRIDES}#{block_id}"] = self._problem(
                    OVERRIDES, place, "must hold a digest and a value"
                )
        return found

    def _object(self, value: object, path: tuple[str, ...], *, file: str, name: str) -> JsonObject:
        if isinstance(value, dict):
            return cast("JsonObject", value)
        self.broken[name] = self._problem(file, path, "must be a JSON object")
        return {}

    def _problem(self, file: str, path: tuple[str, ...], message: str) -> Problem:
        said = f"{'.'.join(path)} {message}"
        hint = "correct it, or take it out of the file"
        source = self._files.get(file)
        if source is None:
            return Problem("library", said, hint=hint)
        return as_problem(source.fault(path, said, hint=hint))


def as_problem(fault: MentisError) -> Problem:
    """The finding an error would have been."""
    facts = fault.facts
    file, line, column = facts.get("file"), facts.get("line", 1), facts.get("column", 1)
    if not (isinstance(file, str) and isinstance(line, int) and isinstance(column, int)):
        return Problem(fault.code, fault.message, hint=fault.hint)
    location = Location(file, line, column)
    return Problem(fault.code, fault.message.removeprefix(f"{location}: "), location, fault.hint)


def domain_name(name: str) -> bool:
    """Whether a file of this name is a domain file; hidden ones and `_meta` are not."""
    return name.endswith(".json") and name[0] not in "._"


def _present(root: Folder, name: LayerName) -> Iterator[str]:
    if not root.is_dir():
        return
    yield from sorted(file for file in _names(root) if domain_name(file))
    if name == "owner":
        meta = {f"_meta/{file}" for file in _names(root.joinpath("_meta"))}
        known = {*MANIFESTS.values(), *REGISTRIES.values(), OVERRIDES}
        yield from sorted(meta & known)


def _names(folder: Folder) -> Iterator[str]:
    if folder.is_dir():
        yield from (entry.name for entry in cast("Path", folder).iterdir())


def _without_entries(file: str, documents: Mapping[str, JsonObject]) -> JsonObject:
    members = documents.get(file, {})
    return {key: value for key, value in members.items() if key != ENTRIES[file]}


def _base(told: object) -> Base | None:
    base: JsonObject = cast("JsonObject", told) if isinstance(told, dict) else {}
    digest = base.get("digest")
    return Base(digest, base.get("value")) if isinstance(digest, str) else None

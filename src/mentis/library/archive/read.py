"""Reads a prompt set: a zip of ours, one that the origin system exported, or its folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.disk.bounded import read_bounded
from mentis.disk.inside import inside
from mentis.errors import BadInput
from mentis.library.files import parse_members
from mentis.library.layer import MANIFESTS, OVERRIDES, REGISTRIES, Base
from mentis.library.overlay import strip_derived
from mentis.library.problems import SourceFile
from mentis.library.schemas import file_faults
from mentis.values.json import JsonObject

from .write import DOMAINS, METADATA, is_deep
from .zip import Limits, unpack

_KNOWN = frozenset({*MANIFESTS.values(), *REGISTRIES.values(), OVERRIDES, METADATA})
_DOMAIN = re.compile(rf"{DOMAINS}[^\W_][\w.-]*\.json")
_DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class Archive:
    """What the members hold, by name. `ignored` members are neither read nor imported."""

    documents: Mapping[str, JsonObject]
    sources: Mapping[str, SourceFile]
    ignored: tuple[str, ...] = ()

    @property
    def metadata(self) -> JsonObject:
        return self.documents.get(METADATA, {})

    @property
    def is_ours(self) -> bool:
        """Whether it tells shipped from changed; the origin system has no such record."""
        return OVERRIDES in self.documents

    def blocks(self) -> dict[str, tuple[str, JsonObject]]:
        """Every block entry with the manifest it stands in; the owner's manifest wins whole."""
        found = self._entries(tuple(MANIFESTS.values()), "prompts")
        return {key: (file, strip_derived(entry)) for key, file, entry in found}

    def placeholders(self) -> dict[str, tuple[str, JsonObject]]:
        found = self._entries(tuple(REGISTRIES.values()), "placeholders")
        return {key: (file, _without_origin(entry)) for key, file, entry in found}

    def content(self, file: str, block_id: str) -> JsonObject | None:
        """The block's entry in a domain file, where there is one."""
        entry = self.documents.get(f"{DOMAINS}{file}", {}).get(block_id)
        return cast("JsonObject", entry) if isinstance(entry, dict) else None

    def bases(self, block_id: str) -> dict[str, Base]:
        overrides = _member(self.documents.get(OVERRIDES, {}), "overrides")
        bases = cast("Mapping[str, JsonObject]", _member(overrides, block_id))
        return {path: Base(str(one["digest"]), one["value"]) for path, one in bases.items()}

    def _entries(
        self, files: tuple[str, ...], member: str
    ) -> Iterator[tuple[str, str, JsonObject]]:
        for file in files:
            for key, entry in _member(self.documents.get(file, {}), member).items():
                yield key, file, cast("JsonObject", entry)


def read_archive(data: bytes, *, limits: Limits = _DEFAULT) -> Archive:
    """An archive that can be trusted to be well formed; what its blocks say is another matter."""
    return _archive(*unpack(data, limits, _is_known))


def read_folder(folder: Path, *, limits: Limits = _DEFAULT) -> Archive:
    """The folder in which the origin system keeps its prompts, the one above it, or an archive
    that somebody unpacked.
    """
    above = folder / DOMAINS
    root = above if (above / MANIFESTS["shipped"]).is_file() else folder
    if not (root / MANIFESTS["shipped"]).is_file():
        hint = f"a prompt set has a file {MANIFESTS['shipped']}"
        raise BadInput(f"{folder} holds no prompt set", hint=hint)
    domains = root / DOMAINS if (root / DOMAINS).is_dir() else root
    places = {f"{DOMAINS}{path.name}": path for path in sorted(domains.glob("*.json"))}
    places.pop(f"{DOMAINS}{METADATA}", None)
    places |= {name: root / name for name in sorted(_KNOWN) if (root / name).is_file()}
    wanted = {name: path for name, path in places.items() if _is_known(name)}
    members: dict[str, bytes] = {}
    left = limits.total_bytes
    for name, path in wanted.items():
        members[name] = _content(root, path, min(limits.member_bytes, left))
        left -= len(members[name])
    return _archive(members, tuple(name for name in places if name not in wanted))


def _content(root: Path, path: Path, most_bytes: int) -> bytes:
    try:
        return read_bounded(inside(root, path.relative_to(root).as_posix()), most_bytes)
    except OSError as error:
        hint = "check what it is, and its permissions"
        raise BadInput(f"{path}: cannot be read: {error.strerror}", hint=hint) from error


def _archive(members: Mapping[str, bytes], ignored: tuple[str, ...]) -> Archive:
    _require_hashes(members)
    documents: dict[str, JsonObject] = {}
    sources: dict[str, SourceFile] = {}
    for name, content in members.items():
        sources[name], documents[name] = parse_members(content, name)
        if is_deep(documents[name]):
            raise sources[name].fault((), "nested too deeply", hint="flatten it")
    if MANIFESTS["shipped"] not in documents:
        hint = f"a prompt set has a member {MANIFESTS['shipped']}"
        raise BadInput("the archive holds no prompt set", hint=hint)
    _require_form(documents, sources)
    return Archive(documents, sources, ignored)


def _is_known(name: str) -> bool:
    return name in _KNOWN or _DOMAIN.fullmatch(name) is not None


def _require_hashes(members: Mapping[str, bytes]) -> None:
    """Where the metadata has hashes, they name every member and are right."""
    if METADATA not in members:
        return
    source, metadata = parse_members(members[METADATA], METADATA)
    hashes = metadata.get("sha256")
    if hashes is None:
        return
    if not isinstance(hashes, dict):
        raise source.fault(("sha256",), "sha256 must be a JSON object", hint="export it anew")
    told = cast("JsonObject", hashes)
    for name in sorted({*told, *members} - {METADATA}):
        if name not in members:
            raise _changed(f"member {name!r} is missing", name)
        if told.get(name) != hashlib.sha256(members[name]).hexdigest():
            raise _changed(f"member {name!r} is not the one that was exported", name)


def _changed(message: str, member: str) -> BadInput:
    hint = "get the archive again, or take sha256 out of metadata.json if you changed it yourself"
    return BadInput(message, hint=hint, member=member)


def _require_form(documents: Mapping[str, JsonObject], sources: Mapping[str, SourceFile]) -> None:
    for files, member in ((MANIFESTS, "prompts"), (REGISTRIES, "placeholders")):
        for file in files.values():
            if file in documents:
                _require_entries(sources[file], documents[file], member)
    for fault in file_faults("overrides", documents.get(OVERRIDES, _NO_OVERRIDES)):
        raise sources[OVERRIDES].fault(fault.path, fault.message, hint=fault.hint)


_NO_OVERRIDES: JsonObject = {"version": "", "overrides": {}}


def _require_entries(source: SourceFile, document: JsonObject, member: str) -> None:
    entries = document.get(member)
    if not isinstance(entries, dict):
        raise source.fault((member,), f"{member} must be a JSON object", hint="export it anew")
    for key, entry in cast("JsonObject", entries).items():
        if not isinstance(entry, dict):
            raise source.fault((member, key), f"{key!r} must be a JSON object")


def _without_origin(entry: JsonObject) -> JsonObject:
    """What the merged view of the origin system adds; `source` is a field of its own here."""
    return {name: value for name, value in entry.items() if name != "_origin"}


def _member(document: JsonObject, name: str) -> JsonObject:
    value = document.get(name)
    return cast("JsonObject", value) if isinstance(value, dict) else {}

"""Export: the whole effective prompt set as one zip, byte for byte the same for the same set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, cast

from mentis.errors import LibraryError
from mentis.library.block_layer import BlockLayer, effective, layer_of, normalise_layer
from mentis.library.layer import MANIFESTS, OVERRIDES, REGISTRIES, Layer
from mentis.library.load import LoadedLibrary
from mentis.library.overlay import domain_file, merge_blocks, merge_placeholder
from mentis.library.validate import make_block, make_placeholder
from mentis.values.json import JsonObject
from mentis.values.location import Problem

from .zip import pack

METADATA = "metadata.json"
DOMAINS = "prompts/"
_OVERRIDES_VERSION = "1.0"
_DEPTH = 100  # of nested values; deeper ones no writer of JSON can be relied on for


@dataclass(frozen=True, slots=True)
class _Told:
    """One block as it takes effect, and what the changed fields of it replaced."""

    id: str
    origin: Literal["shipped", "owner"]
    meta: JsonObject
    content: JsonObject
    bases: JsonObject


def export_set(loaded: LoadedLibrary, *, date: str = "", partial: bool = False) -> bytes:
    """Every block and placeholder as it takes effect, and what the owner's changes replaced.

    What could not be loaded cannot be exported: an error, or left out and named if `partial`.
    """
    wrong = [problem for problem in loaded.problems if problem.severity == "error"]
    if wrong and not partial:
        hint = "mend it (`mentis prompts check` says where), or export without it"
        message = f"not everything can be exported: {wrong[0]}"
        raise LibraryError(message, hint=hint, problems=[str(problem) for problem in wrong])
    documents = _documents(loaded)
    members = {name: _as_bytes(document) for name, document in documents.items()}
    metadata = _metadata(documents, members, date, [_said(problem) for problem in wrong])
    return pack({**members, METADATA: _as_bytes(metadata)})


def _documents(loaded: LoadedLibrary) -> dict[str, JsonObject]:
    shipped, owner = loaded.shipped, loaded.owner
    told = list(_whole(loaded))
    version = shipped.tops.get(MANIFESTS["shipped"], {}).get("version", "2.0")
    keys = loaded.library.placeholders.keys()
    documents: dict[str, JsonObject] = {}
    for name in ("shipped", "owner"):
        prompts = {one.id: _sorted(one.meta) for one in told if one.origin == name}
        documents[MANIFESTS[name]] = {"version": version, "prompts": prompts}
        origin = shipped if name == "shipped" else owner
        own = origin.placeholders.keys() - ({} if name == "shipped" else shipped.placeholders)
        documents[REGISTRIES[name]] = {
            "version": shipped.tops.get(REGISTRIES["shipped"], {}).get("version", "1.0"),
            "placeholders": {
                key: _sorted(_placeholder(key, shipped, owner)) for key in sorted(own & keys)
            },
        }
    sorted_told = sorted(told, key=lambda one: one.id)
    documents[OVERRIDES] = {
        "version": _OVERRIDES_VERSION,
        "overrides": {one.id: _sorted(one.bases) for one in sorted_told if one.bases},
    }
    return {**documents, **_domains(sorted_told)}


def _whole(loaded: LoadedLibrary) -> Iterator[_Told]:
    """The blocks that are in force; a shipped one whose override is wrong, as it is shipped."""
    shipped, owner = loaded.shipped, loaded.owner
    known = {block.id for block in loaded.library.blocks}
    for one in merge_blocks(shipped, owner).values():
        if one.id not in known:
            continue
        faulty = bool(loaded.problems) and isinstance(make_block(one), list)
        layer = None if faulty else layer_of(one.id, shipped, owner)
        layer = layer and normalise_layer(one.id, layer, shipped)
        yield _Told(one.id, one.origin, *effective(one.id, layer, shipped), _bases(layer))


def _bases(layer: BlockLayer | None) -> JsonObject:
    return {path: layer.bases[path] for path in sorted(layer.bases)} if layer else {}


def _placeholder(key: str, shipped: Layer, owner: Layer) -> JsonObject:
    merged = merge_placeholder(key, shipped, owner)
    faulty = isinstance(make_placeholder(key, merged), list)
    return shipped.placeholders[key] if faulty else merged


def _domains(told: Iterable[_Told]) -> dict[str, JsonObject]:
    files: dict[str, dict[str, object]] = {}
    for one in told:
        name = f"{DOMAINS}{domain_file(one.meta)}"
        files.setdefault(name, {})[one.id] = _sorted(one.content)
    return dict(files)


def _metadata(
    documents: Mapping[str, JsonObject],
    members: Mapping[str, bytes],
    date: str,
    left_out: list[str],
) -> JsonObject:
    """`left_out` is there only when something was."""
    metadata: dict[str, object] = {
        "export_date": date,
        "version": documents[MANIFESTS["shipped"]]["version"],
        "prompt_count": _count(documents, MANIFESTS.values(), "prompts"),
        "domain_files": sorted(n.removeprefix(DOMAINS) for n in members if n.startswith(DOMAINS)),
        "placeholder_count": _count(documents, REGISTRIES.values(), "placeholders"),
        "sha256": {name: hashlib.sha256(members[name]).hexdigest() for name in sorted(members)},
    }
    return {**metadata, "left_out": left_out} if left_out else metadata


def _said(problem: Problem) -> str:
    """Without the folder: an archive travels, and the path of a home is nobody's business."""
    place = problem.location
    where = f"{PurePath(place.file).name}:{place.line}:{place.column}: " if place else ""
    return f"{where}{problem.message}"


def _count(documents: Mapping[str, JsonObject], files: Iterable[str], member: str) -> int:
    return sum(len(cast("JsonObject", documents[file][member])) for file in files)


def _sorted(entry: JsonObject) -> JsonObject:
    """Keys in one order, so that who wrote an entry leaves no trace in the bytes."""
    if is_deep(entry):
        hint = f"nest at most {_DEPTH} values in each other"
        raise LibraryError("an entry is nested too deeply to be exported", hint=hint)
    return json.loads(json.dumps(entry, sort_keys=True))


def is_deep(document: object) -> bool:
    """Whether values are nested so deeply that an archive of them could not be read again."""
    level = [document]
    for _ in range(_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from cast("dict[str, object]", value).values()
    elif isinstance(value, list):
        yield from cast("list[object]", value)


def _as_bytes(document: JsonObject) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()

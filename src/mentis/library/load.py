"""Loads a prompt set from a folder into one frozen Library, and hands out what is shipped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

from mentis.errors import LibraryError
from mentis.values.digest import digest
from mentis.values.library import Library

from .build import build_block, build_placeholders
from .files import Folder, read_json
from .people import load_persona, load_profile
from .problems import Source, did_you_mean, first_fault

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .formats import BlockEntry, ContentEntry, Domain

    _Model = TypeVar("_Model", bound=BaseModel)

__all__ = [
    "load_library",
    "load_persona",
    "load_profile",
    "load_shipped",
    "shipped_persona",
    "shipped_personas",
    "shipped_template",
]

MANIFEST = "_meta/prompt_manifest.json"
REGISTRY = "_meta/placeholder_registry.json"
WORDS = "_meta/words.json"


@cache
def load_shipped() -> Library:
    """The library that comes with Mentis; read once per process."""
    return load_library(_shipped())


def load_library(root: Folder) -> Library:
    """Every block, placeholder and word of a prompt set, or an error that names the place."""
    from .formats import Manifest, Registry, Words  # loads pydantic

    source, raw = read_json(root, MANIFEST)
    manifest = _validated(Manifest, raw, source)
    domains = _read_domains(root, manifest.prompts, source)
    registry_source, registry_raw = read_json(root, REGISTRY)
    registry = _validated(Registry, registry_raw, registry_source)
    words_source, words_raw = read_json(root, WORDS)
    words = _validated(Words, words_raw, words_source)
    blocks = [
        build_block(block_id, entry, domains[entry.domain_file][1].root[block_id])
        for block_id, entry in manifest.prompts.items()
    ]
    blocks.sort(key=lambda block: block.order)  # stable: ties keep the manifest's order
    matter = {
        "sequence": [block.id for block in blocks],
        "manifest": raw,
        "registry": registry_raw,
        "words": words_raw,
        "domains": {name: content for name, (content, _) in domains.items()},
    }
    return Library(
        revision=digest(json.dumps(matter, sort_keys=True, ensure_ascii=True).encode()),
        blocks=tuple(blocks),
        placeholders=build_placeholders(registry),
        words={
            language: {topic: tuple(said) for topic, said in topics.items()}
            for language, topics in words.root.items()
        },
    )


def shipped_template(name: str) -> str:
    """The text of a file that `mentis init` writes: `mentis.toml`, `gitignore` and so on."""
    folder = _shipped() / "home"
    names = sorted(file.name for file in folder.iterdir())
    if name not in names:
        hint = did_you_mean(name, names) or f"there are: {', '.join(names)}"
        raise LibraryError(f"no template named {name!r} is shipped", hint=hint)
    return (folder / name).read_text(encoding="utf-8")


def shipped_personas() -> tuple[str, ...]:
    return tuple(sorted(folder.name for folder in (_shipped() / "personas").iterdir()))


def shipped_persona(persona_id: str) -> str:
    """The text of a shipped persona's `persona.toml`."""
    if persona_id not in shipped_personas():
        hint = f"shipped are: {', '.join(shipped_personas())}"
        raise LibraryError(f"no persona named {persona_id!r} is shipped", hint=hint)
    file = _shipped() / "personas" / persona_id / "persona.toml"
    return file.read_text(encoding="utf-8")


def _shipped() -> Folder:
    return files("mentis.library") / "shipped"


def _validated(model: type[_Model], raw: object, source: Source) -> _Model:
    from pydantic import ValidationError

    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise first_fault(source, error, {}) from None


def _read_domains(
    root: Folder, prompts: Mapping[str, BlockEntry], manifest: Source
) -> dict[str, tuple[object, Domain]]:
    """Each domain file once, checked to hold what the manifest expects of it."""
    from .formats import Domain

    domains: dict[str, tuple[object, Domain]] = {}
    sources: dict[str, Source] = {}
    for block_id, entry in prompts.items():
        name = entry.domain_file
        if name not in domains:
            _require_file(root, block_id, name, manifest)
            sources[name], raw = read_json(root, name)
            domains[name] = raw, _validated(Domain, raw, sources[name])
        content = domains[name][1].root.get(block_id)
        if content is None:
            path = ("prompts", block_id, "domain_file")
            hint = f"add {block_id!r} to that file, or name the file that holds it"
            raise manifest.fault(path, f"{name} holds no block {block_id!r}", hint=hint)
        _require_wording(block_id, entry, content, sources[name])
    return domains


def _require_file(root: Folder, block_id: str, name: str, manifest: Source) -> None:
    if not root.joinpath(name).is_file():
        path = ("prompts", block_id, "domain_file")
        hint = "put the file back, or correct the name"
        raise manifest.fault(path, f"there is no file {name}", hint=hint)


def _require_wording(
    block_id: str, entry: BlockEntry, content: ContentEntry, source: Source
) -> None:
    wanted = "content" if entry.type == "text" else "messages"
    for name, variant in content.variants.items():
        if getattr(variant, wanted) is None:
            path = (block_id, "variants", name)
            message = f"variant {name!r} of {entry.type} block {block_id!r} has no {wanted}"
            raise source.fault(path, message, hint=f"add {wanted}; an empty one blanks the block")

"""Selection put together: where capabilities come from, where their manifest lies, who embeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.disk.atomic import write_atomic
from mentis.engines.embedders import Choice, open_embedder, reading
from mentis.engines.gloss import gloss
from mentis.errors import BadInput
from mentis.ports.embedder import Embedder
from mentis.recall.manifest import Difference, Reader, build_manifest, check_manifest
from mentis.recall.manifest_file import decode_manifest, encode_manifest
from mentis.recall.ranking import Ranking
from mentis.recall.selecting import select
from mentis.recall.skills import read_skills
from mentis.values.selection import Capability, Manifest, Selection, SelectionLimits
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.value import Value

FILE = "manifests/capabilities.manifest"
_LARGEST_TOOLS = 50_000_000  # bytes of a file of tools
_LIMITS = SelectionLimits()


@dataclass(frozen=True, slots=True)
class Built(Value):
    manifest: Manifest
    embedded: int
    path: Path
    degraded: tuple[Degradation, ...] = ()


def own_reader() -> Reader:
    """Texts are compared by words as the embedder reads them: glossed into English."""
    return Reader(reading(), gloss)


def of_tools(tools: Sequence[ToolDeclaration]) -> tuple[Capability, ...]:
    """Tool declarations, as the act registry hands them over."""
    return tuple(
        Capability(tool.name, "tool", tool.description, source="declared") for tool in tools
    )


def read_tools(path: Path) -> tuple[Capability, ...]:
    """A JSON list of tools: name, description, and if you like examples and stances."""
    try:
        if path.stat().st_size > _LARGEST_TOOLS:
            raise BadInput(f"{path} is larger than {_LARGEST_TOOLS} bytes", path=str(path))
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}", path=str(path)) from error
    if not isinstance(found, list):
        raise BadInput(f"{path} holds no list of tools", hint='[{"name": ..., "description": ...}]')
    return tuple(_tool(row, path) for row in cast("list[object]", found))


def _tool(row: object, path: Path) -> Capability:
    told = cast("dict[str, object]", row) if isinstance(row, dict) else {}
    name, description = told.get("name"), told.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not name:
        raise BadInput(f"{path}: a tool without a name or description: {row!r:.80}")
    return Capability(
        name,
        "tool",
        description,
        examples=_texts(told, "examples", path),
        stances=_texts(told, "stances", path),
        source=path.name,
    )


def _texts(told: dict[str, object], key: str, path: Path) -> tuple[str, ...]:
    value = told.get(key, [])
    texts = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{path}: {key} of {told['name']} is not a list of texts")
    return tuple(cast("list[str]", texts))


def gather(
    tools: Sequence[Path] = (), skills: Sequence[Path] = ()
) -> tuple[tuple[Capability, ...], tuple[str, ...]]:
    """Everything that can be selected, and what was left out and why."""
    found = [one for path in tools for one in read_tools(path)]
    problems: list[str] = []
    for folder in skills:
        there = read_skills(folder)
        found += there.skills
        problems += there.problems
    return tuple(found), tuple(problems)


def load_manifest(path: Path) -> Manifest | None:
    """The manifest in this file; None when there is none. A damaged one is refused."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    return decode_manifest(data, where=str(path))


async def build(
    capabilities: Sequence[Capability], path: Path, *, choice: Choice = "auto", anew: bool = False
) -> Built:
    """Write the manifest. What is in it already and did not change is not embedded again."""
    embedder, degraded = open_embedder(choice)
    previous = None if anew else load_manifest(path)
    manifest, embedded = await build_manifest(
        capabilities, embedder, own_reader(), previous=previous
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    if manifest != previous:
        write_atomic(path, encode_manifest(manifest))
    return Built(manifest, embedded, path, degraded)


def check(
    capabilities: Sequence[Capability], path: Path, *, choice: Choice = "auto"
) -> tuple[Difference, ...]:
    """How the manifest differs from what a build would make."""
    embedder, _ = open_embedder(choice)
    manifest = load_manifest(path)
    if manifest is None:
        return (Difference("", f"there is no manifest at {path}"),)
    return check_manifest(manifest, capabilities, model=embedder.fingerprint, reading=reading())


class Selector:
    """A manifest and an embedder, ready to select for one task after another."""

    def __init__(self, manifest: Manifest | None, embedder: Embedder | None) -> None:
        self._ranking = None if manifest is None else Ranking(manifest)
        self._embedder = embedder
        self._reader = own_reader()
        self.degraded: tuple[Degradation, ...] = ()

    @classmethod
    def open(cls, path: Path, *, choice: Choice = "auto") -> Selector:
        embedder, degraded = open_embedder(choice)
        selector = cls(load_manifest(path), embedder)
        selector.degraded = degraded
        return selector

    async def select(
        self,
        task: str,
        *,
        base: Sequence[str] = (),
        stance: str = "",
        limits: SelectionLimits = _LIMITS,
    ) -> Selection:
        return await select(
            task,
            ranking=self._ranking,
            embedder=self._embedder,
            reader=self._reader,
            base=base,
            stance=stance,
            limits=limits,
        )

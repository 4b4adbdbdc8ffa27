"""Selection put together: where capabilities come from, where their manifest lies, who embeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import cast

from mentis.disk.atomic import write_atomic
from mentis.disk.bounded import read_bounded
from mentis.engines.embedders import Choice, open_embedder, reading
from mentis.engines.gloss import gloss
from mentis.errors import BadInput
from mentis.memories.draft import check_whole
from mentis.ports.embedder import Embedder
from mentis.recall.cuts import SelectionCut, dump_cuts, read_cuts
from mentis.recall.manifest import ManifestDifference, WordReader, build_manifest, check_manifest
from mentis.recall.manifest_file import begins_as_manifest, encode_manifest, load_manifest
from mentis.recall.ranking import Ranking
from mentis.recall.selecting import select
from mentis.recall.skills import read_skills
from mentis.values.selection import Capability, Manifest, Selection, SelectionLimits
from mentis.values.tool import ToolDeclaration
from mentis.values.trace import Degradation
from mentis.values.value import Value

CUTS = "cuts.json"  # the owner's own, beside the manifest
_LARGEST = 50_000_000  # bytes of a file of tools, patterns or cuts
_LIMITS = SelectionLimits()


@dataclass(frozen=True, slots=True)
class ManifestBuild(Value):
    manifest: Manifest
    embedded: int
    path: Path
    degraded: tuple[Degradation, ...] = ()


def own_reader() -> WordReader:
    """Texts are compared by words as the embedder reads them: glossed into English."""
    return WordReader(reading(), gloss)


def of_tools(tools: Sequence[ToolDeclaration]) -> tuple[Capability, ...]:
    """Tool declarations, as the act registry hands them over."""
    return tuple(
        Capability(tool.name, "tool", tool.description, source="declared") for tool in tools
    )


def read_tools(path: Path) -> tuple[Capability, ...]:
    """A JSON list of tools: name, description, and if you like examples and stances."""
    try:
        found: object = json.loads(_text(path))
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
    examples, stances = _texts(told, "examples", path), _texts(told, "stances", path)
    for text in (name, description, *examples, *stances):
        check_whole(text, f"{path}: the tool {name!a:.80}")
    return Capability(
        name, "tool", description, examples=examples, stances=stances, source=path.name
    )


def _texts(told: dict[str, object], key: str, path: Path) -> tuple[str, ...]:
    value = told.get(key, [])
    texts = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{path}: {key} of {told['name']} is not a list of texts")
    return tuple(cast("list[str]", texts))


def read_patterns(path: Path) -> tuple[Capability, ...]:
    """Texts that screening compares with, as JSON lines with `text`; the same text counts once."""
    texts: dict[str, None] = {}
    for number, line in enumerate(_text(path).splitlines(), 1):
        try:
            text: object = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path}, line {number}: no text in it", path=str(path)) from error
        check_whole(str(text), f"{path}, line {number}: the text")
        texts[str(text)] = None
    return tuple(
        Capability(sha256(text.encode()).hexdigest()[:16], "pattern", text, source=path.name)
        for text in texts
    )


def _text(path: Path) -> str:
    data = read_bounded(path, _LARGEST)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        raise BadInput(f"{path} is not UTF-8 at byte {error.start}", hint=hint) from error


def gather_capabilities(
    tools: Sequence[Path] = (),
    skills: Sequence[Path] = (),
    patterns: Sequence[Path] = (),
    *,
    home: Path | None = None,
) -> tuple[tuple[Capability, ...], tuple[str, ...]]:
    """Everything a manifest is made of, and what was left out and why. `home` is that of the
    skills, if they are those of one.
    """
    found = [one for path in tools for one in read_tools(path)]
    found += [one for path in patterns for one in read_patterns(path)]
    problems: list[str] = []
    for folder in skills:
        there = read_skills(folder, home=home)
        found += there.skills
        problems += there.problems
    return tuple(found), tuple(problems)


def is_manifest(path: Path) -> bool:
    """Whether it begins as one, though it may be damaged."""
    try:
        with path.open("rb") as file:
            return begins_as_manifest(file.read(64))
    except OSError:
        return False


def load_cuts(manifest: Path) -> Mapping[str, SelectionCut]:
    """The owner's own cuts, which lie beside the manifest; none when there is no such file."""
    path = manifest.with_name(CUTS)
    try:
        return read_cuts(_text(path), where=str(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", path=str(path)) from error


def write_cut(path: Path, model: str, cut: SelectionCut) -> None:
    """Add the cut of one embedder to a file of cuts, in place of an earlier one."""
    held: Mapping[str, SelectionCut] = {}
    if path.exists():
        held = read_cuts(_text(path), where=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    told = dump_cuts({**held, model: cut}, "mentis eval selection --calibrate")
    write_atomic(path, told.encode())


async def build(
    capabilities: Sequence[Capability], path: Path, *, choice: Choice = "auto", anew: bool = False
) -> ManifestBuild:
    """Write the manifest. What is in it already and did not change is not embedded again."""
    embedder, degraded = open_embedder(choice)
    previous, fault = (None, ()) if anew else _previous(path)
    degraded = (*degraded, *fault)
    manifest, embedded = await build_manifest(
        capabilities, embedder, own_reader(), previous=previous
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    if manifest != previous:
        write_atomic(path, encode_manifest(manifest))
    return ManifestBuild(manifest, embedded, path, degraded)


def _previous(path: Path) -> tuple[Manifest | None, tuple[Degradation, ...]]:
    """One that is damaged is left aside. A file that never was one is not written over."""
    try:
        return load_manifest(path), ()
    except BadInput as error:
        if not is_manifest(path):
            raise
        return None, (Degradation("manifest", f"{error.message}: it is built anew"),)


def check(
    capabilities: Sequence[Capability], path: Path, *, choice: Choice = "auto"
) -> tuple[ManifestDifference, ...]:
    """How the manifest differs from what a build would make."""
    embedder, _ = open_embedder(choice)
    manifest = load_manifest(path)
    if manifest is None:
        return (ManifestDifference("", f"there is no manifest at {path}"),)
    return check_manifest(manifest, capabilities, model=embedder.fingerprint, reading=reading())


class Selector:
    """A manifest and an embedder, ready to select for one task after another."""

    def __init__(
        self,
        manifest: Manifest | None,
        embedder: Embedder | None,
        cuts: Mapping[str, SelectionCut] | None = None,
    ) -> None:
        self._ranking = None if manifest is None else Ranking(manifest, cuts)
        self._embedder = embedder
        self._reader = own_reader()
        self.degraded: tuple[Degradation, ...] = ()

    @classmethod
    def open(cls, path: Path, *, choice: Choice = "auto") -> Selector:
        embedder, degraded = open_embedder(choice)
        selector = cls(load_manifest(path), embedder, load_cuts(path))
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

"""GGUF files that are on this machine: in the folders where other programs keep theirs, and added.

Files are looked at by their header and never changed. Ollama's have no names of their own: its
manifests say which is which.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mentis.errors import EngineFailed, MentisError, UsageError, WorldError
from mentis.values.value import Value

from .catalogue import CATALOGUE
from .gguf import GgufHeader, read_gguf
from .weights import cache_dir

_DEEPEST, _MOST_ENTRIES, _MOST_FILES = 5, 20_000, 50
_MANIFEST_BYTES = 100_000
_GGUF_LAYER = "application/vnd.ollama.image.model"
_SPLIT = re.compile(r"-(\d{5})-of-\d{5}$")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ModelFolder(Value):
    """A folder where models are expected, and whose it is."""

    place: str
    path: str


@dataclass(frozen=True, slots=True)
class GgufFile(Value):
    """A model file that can answer; `place` says whose folder it is in."""

    name: str
    path: Path
    size: int
    place: str
    context: int | None = None


def added_folder() -> Path:
    """Where `add_model` puts models: beside the packaged ones."""
    return cache_dir() / "models" / "added"


def model_folders(environ: Mapping[str, str] | None = None) -> tuple[ModelFolder, ...]:
    """Every folder that is looked into, whether it is there or not."""
    given = os.environ if environ is None else environ
    home = Path(given.get("HOME") or given.get("USERPROFILE") or Path.home())
    caches = Path(given.get("XDG_CACHE_HOME") or home / ".cache")
    llama = {"darwin": home / "Library" / "Caches", "win32": home / "AppData" / "Local"}
    hub = Path(given.get("HF_HOME") or caches / "huggingface") / "hub"
    folders = (
        ("Mentis", added_folder()),
        ("LM Studio", home / ".lmstudio" / "models"),
        ("LM Studio", caches / "lm-studio" / "models"),
        ("llama.cpp", given.get("LLAMA_CACHE") or llama.get(sys.platform, caches) / "llama.cpp"),
        ("Hugging Face", given.get("HF_HUB_CACHE") or hub),
        ("Ollama", given.get("OLLAMA_MODELS") or home / ".ollama" / "models"),
    )
    return tuple(ModelFolder(place, str(path)) for place, path in folders)


def find_gguf(environ: Mapping[str, str] | None = None) -> tuple[GgufFile, ...]:
    """The models in those folders, the largest first; each file once."""
    found: dict[Path, GgufFile] = {}
    for folder in model_folders(environ):
        named = _of_ollama(folder) if folder.place == "Ollama" else _of_folder(folder)
        for name, path in named:
            real = path.resolve()
            if real not in found and len(found) < _MOST_FILES:
                with suppress(MentisError, OSError):  # not one that answers, or not to be read
                    found[real] = _file(name, path, folder.place)
    return tuple(sorted(found.values(), key=lambda one: -one.size))


def _file(name: str, path: Path, place: str) -> GgufFile:
    header = check_writes(path)
    return GgufFile(name, path, path.stat().st_size, place, header.context)


def check_writes(path: Path) -> GgufHeader:
    """The header of a model that answers; EngineFailed for anything else."""
    header = read_gguf(path)
    if header.writes:
        return header
    what = f"a model of vectors ({header.architecture})"
    if header.kind != "model" or header.architecture in ("", "clip"):
        what = f"a part of a model ({header.kind}, {header.architecture or 'no architecture'})"
    raise EngineFailed(
        f"{path} is a GGUF file with {what}, which cannot answer",
        hint="take the file of the language model itself",
        path=str(path),
    )


def _of_folder(folder: ModelFolder) -> Iterator[tuple[str, Path]]:
    for path in _walk(Path(folder.path)):
        if path.suffix.lower() != ".gguf" or "mmproj" in path.name.lower():
            continue
        part = _SPLIT.search(path.stem)
        if part is None or int(part[1]) == 1:  # the engine finds the others by the first
            yield path.stem, path


def _walk(top: Path) -> Iterator[Path]:
    """Files below a folder, not too deep and not too many; what cannot be read is passed over."""
    waiting, seen = [(top, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        with suppress(OSError):
            for entry in sorted(os.scandir(folder), key=lambda one: one.name):
                seen += 1
                if seen > _MOST_ENTRIES:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST:
                        waiting.append((Path(entry.path), depth + 1))
                elif entry.is_file():
                    yield Path(entry.path)


def _of_ollama(folder: ModelFolder) -> Iterator[tuple[str, Path]]:
    top = Path(folder.path)
    for path in _walk(top / "manifests"):
        digest = _model_digest(path)
        if digest:
            model, tag = path.parts[-2:]
            yield f"{model}-{tag}", top / "blobs" / digest.replace(":", "-")


def _model_digest(manifest: Path) -> str:
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        with manifest.open("rb") as file:
            told = json.loads(file.read(_MANIFEST_BYTES))
        for layer in cast("list[Mapping[str, object]]", told.get("layers") or []):
            digest = layer.get("digest")
            if layer.get("mediaType") == _GGUF_LAYER and isinstance(digest, str):
                return digest if re.fullmatch(r"sha256:[0-9a-f]{64}", digest) else ""
    return ""


def add_model(file: str | Path, *, name: str = "", copied: bool = False) -> GgufFile:
    """Make a model file known by a name, so that a route can say `embedded/NAME`.

    A link is made, or the file is `copied`. A file that is no GGUF, or that cannot answer, is
    refused.
    """
    path = Path(os.path.expanduser(file)).absolute()  # noqa: PTH111  # Path's own raises
    check_writes(path)
    name = name or _UNSAFE.sub("-", path.stem).strip("-.")
    if not name or _UNSAFE.search(name) or name in CATALOGUE:
        raise UsageError(
            f"{name!r} cannot be the name of a model",
            hint="use letters, digits, dots, dashes and underscores, and no packaged model's name",
        )
    target = added_folder() / f"{name}.gguf"
    if target.is_symlink() or target.exists():
        raise UsageError(
            f"there is a model {name!r} already: {target}",
            hint=f"take another with --name, or: mentis models rm {name}",
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(path, target, copied=copied)
    except OSError as error:
        raise WorldError(
            f"{name} cannot be kept in {target.parent}: {error.strerror}",
            hint="set MENTIS_CACHE to a folder you can write to",
        ) from error
    return _file(name, target, "Mentis")


def _put(path: Path, target: Path, *, copied: bool) -> None:
    if not copied:
        with suppress(OSError):  # Windows makes links for administrators only
            target.symlink_to(path)
            return
    part = target.with_suffix(".part")
    shutil.copyfile(path, part)
    part.replace(target)


def added_models() -> tuple[GgufFile, ...]:
    """Those that `add_model` made known; one whose file is gone is left out."""
    found = list[GgufFile]()
    for name, path in _of_folder(ModelFolder("Mentis", str(added_folder()))):
        with suppress(MentisError, OSError):
            found.append(_file(name, path, "Mentis"))
    return tuple(found)


def find_added(name: str) -> Path | None:
    path = added_folder() / f"{name}.gguf"
    return path if not _UNSAFE.search(name) and (path.is_symlink() or path.is_file()) else None


def remove_added(name: str) -> Path | None:
    """Take the link or the copy away; a file that was linked stays where it is."""
    path = find_added(name)
    if path is not None:
        path.unlink()
    return path

"""Loads prompt files into one frozen Library, and hands out what is shipped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mentis.errors import LibraryError
from mentis.values.library import Library
from mentis.values.location import Location

from .assemble import Assembly, LoadedLibrary
from .files import Folder
from .layer import Layer, read_layer
from .people import load_persona, load_profile
from .problems import did_you_mean

__all__ = [
    "LoadedLibrary",
    "load_layers",
    "load_library",
    "load_persona",
    "load_profile",
    "load_shipped",
    "shipped_layer",
    "shipped_persona",
    "shipped_personas",
    "shipped_template",
]


@cache
def shipped_layer() -> Layer:
    """The prompt files that come with Mentis; read once per process."""
    return read_layer(_shipped(), "shipped")


@cache
def load_shipped() -> Library:
    """The library that comes with Mentis."""
    return _whole(load_layers(shipped_layer(), Layer("owner")))


def load_library(root: Folder) -> Library:
    """A prompt set that must be whole: the first thing wrong with it is an error."""
    return _whole(load_layers(read_layer(root, "shipped"), Layer("owner")))


def load_layers(shipped: Layer, owner: Layer) -> LoadedLibrary:
    """Both layers as one library. A block that is wrong is left out, and the problem says why."""
    return Assembly(shipped, owner).load()


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


def _whole(loaded: LoadedLibrary) -> Library:
    if not loaded.problems:
        return loaded.library
    first, *others = loaded.problems
    where = f"{first.location}: " if first.location else ""
    more = f" (and {len(others)} more)" if others else ""
    location = first.location or Location("")
    raise LibraryError(
        f"{where}{first.message}{more}",
        hint=first.hint,
        problems=[str(problem) for problem in loaded.problems],
        file=location.file or None,
        line=location.line,
        column=location.column,
    )

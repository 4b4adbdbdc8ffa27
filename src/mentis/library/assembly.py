"""The words of the one-text form: its headings, its labels, and what stands above the rest."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import cast

from mentis.values.assembly import AssemblyWords

from .files import read_members

_LANGUAGES = ("english", "german")


@cache
def load_assembly(language: str = "english") -> AssemblyWords:
    """In the persona's language if that is shipped, else in English. The headings are the same."""
    plain = language.strip().casefold()
    chosen = plain if plain in _LANGUAGES else _LANGUAGES[0]
    folder = files("mentis.library") / "shipped" / "assembly"
    read = read_members(folder, f"{chosen}.json")[1]
    return AssemblyWords(**{name: cast("str", text) for name, text in read.items()})

"""The few sentences that people in a room are told by Mentis itself, in the agent's language."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import cast

_OTHERWISE = "english"


def notice(language: str, name: str, **facts: str) -> str:
    """One of them; in English where a language has none."""
    known = _notices()
    return known.get(language, known[_OTHERWISE])[name].format_map(facts)


@cache
def _notices() -> dict[str, dict[str, str]]:
    text = files(__package__ or "").joinpath("notices.json").read_text("utf-8")
    return cast("dict[str, dict[str, str]]", json.loads(text))

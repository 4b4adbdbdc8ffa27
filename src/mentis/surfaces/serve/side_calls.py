"""Recognises what front ends ask beside a conversation: titles, tags, questions to go on with.

By how their prompts begin, kept as data. Such a call offers no tools; whatever does is a turn.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from mentis.values.turn import Turn

from .requests import ClientRequest

_PROBE_TOKENS = 1  # a probe asks for no more than that


def side_kind(request: ClientRequest) -> str:
    """The kind of a side call; "" for what belongs to a conversation."""
    if request.tools or not request.turns:
        return ""
    told = {"message": _words(request.turns[-1]), "instructions": request.instructions.strip()}
    for rule in _rules():
        if _fits(rule, told[rule["in"]], request):
            return rule["kind"]
    return ""


def _fits(rule: dict[str, str], text: str, request: ClientRequest) -> bool:
    if "is" in rule:
        return text == rule["is"] and request.options.max_tokens == _PROBE_TOKENS
    if "holds" in rule:
        return rule["holds"] in text
    return text.startswith(rule["begins"])


def _words(turn: Turn) -> str:
    return turn.text.replace("\r\n", "\n").strip()


@cache
def _rules() -> tuple[dict[str, str], ...]:
    found = files(__package__ or "").joinpath("side_calls.json").read_text("utf-8")
    return tuple(json.loads(found))

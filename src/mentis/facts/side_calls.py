"""Recognises what programs ask beside a conversation: titles, tags, summaries, probes.

By how their prompts begin, kept as data. Most such calls offer no tools; a rule with `tools` is of
a program that sends the whole of its prompt along.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast

_PROBE_TOKENS = 1  # a probe asks for no more than that
# Paths that answer no question: they count the tokens of one, or sum up what was said.
_PATHS: Mapping[str, str] = {
    "/messages/count_tokens": "side_count",
    "/responses/input_tokens": "side_count",
    ":counttokens": "side_count",
    "/responses/compact": "side_summary",
}
# By Codex's own word for it: github.com/openai/codex, `x-openai-subagent`.
_SUBAGENTS: Mapping[str, str] = {
    "compact": "side_summary",
    "memory_consolidation": "side_memory",
}


@dataclass(frozen=True, slots=True)
class SidePrompt:
    """`words` are the texts of the last message, `instructions` those of the system."""

    words: tuple[str, ...]
    instructions: tuple[str, ...] = ()
    tools: bool = False
    max_tokens: int | None = None


def side_kind(asked: SidePrompt) -> str:
    """The kind of a side call (`side_title`); "" for what belongs to a conversation."""
    said, told = _plain(asked.words), _plain(asked.instructions)
    for rule in _rules():
        texts = said if rule["in"] == "message" else told
        if not texts or (asked.tools and "tools" not in rule):
            continue
        if _fits(rule, texts, asked.max_tokens):
            return rule["kind"]
    return ""


def side_kind_at(path: str) -> str:
    """The same of a path, for calls that are no question to a model."""
    bare = path.partition("?")[0].rstrip("/").lower()
    return next((kind for end, kind in _PATHS.items() if bare.endswith(end)), "")


def side_kind_named(subagent: str) -> str:
    """The same of what a program itself says it is."""
    return _SUBAGENTS.get(subagent, "")


def _plain(texts: Iterable[str]) -> list[str]:
    plain = (text.replace("\r\n", "\n").strip() for text in texts)
    return [text for text in plain if text]


def _fits(rule: Mapping[str, str], texts: list[str], max_tokens: int | None) -> bool:
    if "is" in rule:
        return rule["is"] in texts and max_tokens == _PROBE_TOKENS
    if "holds" in rule:
        return any(rule["holds"] in text for text in texts)
    return any(text.startswith(rule["begins"]) for text in texts)


@cache
def _rules() -> tuple[dict[str, str], ...]:
    found = files(__package__ or "").joinpath("side_calls.json").read_text("utf-8")
    return tuple(cast("list[dict[str, str]]", json.loads(found)))

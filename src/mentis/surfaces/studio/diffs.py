"""Differences between two texts, line by line, as pages show them."""

from __future__ import annotations

from difflib import ndiff

from .pages import PageData

_KINDS = {"+": "added", "-": "removed"}
_MOST = 20_000  # characters of each text that are compared


def diff_lines(unified: str) -> list[PageData]:
    """The lines of a unified difference, each with its mark, without the names of its sides."""
    lines = [line for line in unified.splitlines() if not line.startswith(("+++", "---"))]
    return [
        {"kind": "place", "mark": "", "text": line}
        if line.startswith("@@")
        else {"kind": _KINDS.get(line[:1], "same"), "mark": line[:1], "text": line[1:]}
        for line in lines
    ]


def compare_lines(before: str, after: str) -> list[PageData]:
    """Every line of both, the same ones too; no more than a page shows."""
    pairs = ndiff(before[:_MOST].splitlines(), after[:_MOST].splitlines())
    return [
        {"kind": _KINDS.get(one[0], "same"), "mark": one[0], "text": one[2:]}
        for one in pairs
        if one[0] != "?"
    ]

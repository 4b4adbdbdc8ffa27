"""Every code of a loss, an error or a note of a reply is documented, and no other is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from mentis.settle.found import Cleaning

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/codes.md"
MAKERS = ("Loss", "lose", "_lose", "problem", "note", "ReplyProblem")
ROOMS = ("render", "settle", "ask", "turn")
# Codes that are worked out: in settle/text.py, and from Anthropic's reasons to stop.
WORKED_OUT = {"blocked", "bad-shape", "pause-turn", "compaction", "refusal"}


def calls() -> Iterator[tuple[str, ast.Call]]:
    for room in ROOMS:
        for path in sorted((ROOT / "src/mentis" / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and node.args and _name(node.func) in MAKERS:
                    yield path.name, node


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def codes() -> set[str]:
    found = {
        first.value
        for _, call in calls()
        if isinstance(first := call.args[0], ast.Constant) and isinstance(first.value, str)
    }
    return found | WORKED_OUT | {code for code in get_args(Cleaning) if code}


def test_the_page_lists_exactly_the_codes_there_are() -> None:
    listed = set(re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert listed == codes()


def test_the_codes_of_each_list_stand_in_their_order() -> None:
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        listed = re.findall(r"^\| `([\w-]+)` \|", part, re.MULTILINE)
        assert listed == sorted(listed)


def test_codes_are_worked_out_only_where_this_test_knows_of_it() -> None:
    places = {
        file
        for file, call in calls()
        if not isinstance(call.args[0], ast.Constant)
        and not (isinstance(call.args[0], ast.Name) and call.args[0].id == "code")
    }
    assert places <= {"text.py", "anthropic.py", "draft.py"}

"""Nobody takes the whole agent for the sake of one or two of its parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import mentis
from mentis.turn.agent_parts import AgentParts

PARTS = {field.name for field in fields(AgentParts)}
FEW = 2


def takers(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Each function that takes the whole agent, and what it calls it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                if isinstance(one.annotation, ast.Name) and one.annotation.id == "AgentParts":
                    yield node, one.arg


def needs_whole(function: ast.AST, name: str) -> bool:
    """It hands the whole on, or uses more than a few of the parts."""
    reads = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    ]
    names = sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )
    used = {node.attr for node in reads}
    return names > len(reads) or len(used & PARTS) > FEW or bool(used - PARTS)


def test_whoever_takes_all_parts_hands_them_on_or_uses_more_than_two() -> None:
    root = Path(mentis.__file__).parent
    found = [
        f"{path.relative_to(root)}: {function.name}"
        for path in sorted(root.rglob("*.py"))
        if "AgentParts" in (text := path.read_text("utf-8"))  # not every file is parsed
        for function, name in takers(ast.parse(text))
        if not needs_whole(function, name)
    ]
    assert found == []


def test_the_rule_finds_a_function_that_uses_two_parts_only() -> None:
    text = "def told(parts: AgentParts) -> str:\n    return parts.who.agent + parts.record.agent\n"
    ((function, name),) = takers(ast.parse(text))
    assert not needs_whole(function, name)

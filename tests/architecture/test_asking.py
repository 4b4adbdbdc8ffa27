"""Only `ask` asks a model: wrappers inside `call` and the making of named caches excepted."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src/mentis"
ALLOWED = {"ask/ask.py", "ask/named_caches.py"}


def test_a_provider_is_opened_by_ask_alone() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "provider.open" in (text := path.read_text("utf-8"))  # not every file is parsed
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("provider.open")
    }
    assert {path for path in found if not path.startswith("call/")} == ALLOWED

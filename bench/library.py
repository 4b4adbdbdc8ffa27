"""The prompt library: filling blocks against template engines, opening against parsing JSON."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from mentis.compose.builders import Builder
from mentis.library.layer import Layer
from mentis.library.load import load_layers
from mentis.library.shelf import Shelf
from mentis.values.persona import Persona, Profile

from .harness import Pair, benchmark

BLOCKS, KEYS, BYTES = 20, 40, 8192
SENTENCE = "Say what you saw before you say what you think of it. "
MANY = 10_000
PER_FILE = 100


def texts() -> list[str]:
    """20 texts of 8 KB in all with 40 placeholders in all, two in each."""
    room = BYTES // BLOCKS - 60
    filler = (SENTENCE * (room // len(SENTENCE) + 1))[:room]
    half = len(filler) // 2
    return [
        f"{filler[:half]} {{{{key_{2 * n}}}}} {filler[half:]} {{{{key_{2 * n + 1}}}}}."
        for n in range(BLOCKS)
    ]


def values() -> Callable[[], dict[str, str]]:
    """Other values every time, so that nothing can be served from memory."""
    sets = [{f"key_{n}": f"value {n} of {turn}" for n in range(KEYS)} for turn in range(5000)]
    return cycle(sets).__next__


def builder_of(texts: list[str]) -> Builder:
    layer = Layer(
        "shipped",
        prompts={
            f"b{n}": {
                "name": f"Block {n}",
                "type": "text",
                "target": "system_prompt",
                "position": "system_prompt",
                "order": n,
                "enabled": True,
                "domain_file": "all.json",
            }
            for n in range(len(texts))
        },
        domains={
            "all.json": {
                f"b{n}": {"variants": {"default": {"content": text}}}
                for n, text in enumerate(texts)
            }
        },
    )
    loaded = load_layers(layer, Layer("owner"))
    if loaded.problems:
        raise SystemExit(str(loaded.problems[0]))
    return Builder(
        loaded.library, Persona("ada", "Ada"), Profile(), now=datetime(2026, 1, 1, tzinfo=UTC)
    )


@benchmark("fill 20 blocks, spans included", against="jinja2, precompiled", gate=1.0)
def against_jinja() -> Pair:
    source = texts()
    builder, next_values, their_values = builder_of(source), values(), values()
    jinja = _peer("jinja2")
    templates = [jinja.Template(text) for text in source]

    def ours() -> str:
        return _told(builder, next_values())

    def theirs() -> str:
        given = their_values()
        return "\n\n".join(template.render(given) for template in templates)

    _same(ours, theirs)
    return ours, theirs


@benchmark(
    "fill 20 blocks, spans included, 20 times", against="LangChain format_messages", gate=1.0
)
def against_langchain() -> Pair:
    source = texts()
    builder, next_values, their_values = builder_of(source), values(), values()
    single = [text.replace("{{", "{").replace("}}", "}") for text in source]
    prompt = _peer("langchain_core.prompts").ChatPromptTemplate.from_messages(
        [("system", text) for text in single]
    )

    def ours() -> object:
        return [_told(builder, next_values()) for _ in range(20)]

    def theirs() -> object:
        return prompt.format_messages(**their_values())

    return ours, theirs


@benchmark("rebuild with nothing changed", against="join the same strings", gate=10)
def unchanged() -> Pair:
    builder, given = builder_of(texts()), values()()
    pieces = [span.text for span in builder.build_system_prompt("default", given).spans]

    def ours() -> str:
        return _told(builder, given)

    return ours, lambda: "".join(pieces)


@benchmark("open a home with 10,000 blocks", against="parse its JSON", gate=20, rounds=5)
def open_many() -> Pair:
    folder = tempfile.TemporaryDirectory(prefix="mentis-bench-")
    root = Path(folder.name)
    _write_many(root)
    files = sorted(root.rglob("*.json"))

    def ours() -> object:
        _ = folder  # kept as long as it is measured
        loaded = Shelf(root).current()
        if len(loaded.library.blocks) < MANY:
            raise SystemExit("not every block was loaded")
        return loaded

    return ours, lambda: [json.loads(file.read_bytes()) for file in files]


def _write_many(root: Path) -> None:
    (root / "_meta").mkdir()
    entry: dict[str, Any] = {
        "name": "A block",
        "category": "custom",
        "type": "text",
        "target": "system_prompt",
        "position": "system_prompt",
        "enabled": True,
    }
    prompts = {
        f"b{n}": {**entry, "order": n, "domain_file": f"d{n // PER_FILE}.json"} for n in range(MANY)
    }
    manifest = {"version": "2.0", "prompts": prompts}
    (root / "_meta" / "user_manifest.json").write_text(json.dumps(manifest, indent=2))
    for file in range(MANY // PER_FILE):
        blocks: dict[str, Any] = {
            f"b{n}": {"variants": {"default": {"content": SENTENCE * 4}}, "placeholders_used": []}
            for n in range(file * PER_FILE, (file + 1) * PER_FILE)
        }
        (root / f"d{file}.json").write_text(json.dumps(blocks, indent=2))


def _peer(name: str) -> Any:  # noqa: ANN401  # measured against, never part of what is checked
    return import_module(name)


def _told(builder: Builder, given: dict[str, str]) -> str:
    """Spans and text, both looked at: nothing may be put off until nobody measures any more."""
    built = builder.build_system_prompt("default", given)
    if len(built.spans) < KEYS:
        raise SystemExit("the spans are not there")
    return built.text


def _same(ours: Callable[[], str], theirs: Callable[[], str]) -> None:
    """Both must say the same before it means anything which is faster."""
    if ours() != theirs():
        raise SystemExit("the two texts differ")

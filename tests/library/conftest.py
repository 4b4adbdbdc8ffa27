"""A small shipped set, and a desk: the files of one home with somebody who edits them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mentis.library.edit import Editor
from mentis.library.layer import Layer, make_layer
from mentis.library.shelf import Shelf
from mentis.ports.clock import FixedClock
from mentis.ports.revisions import Revisions
from mentis.stores.memory import RevisionsInMemory
from mentis.values.block import Block

MANIFEST = "_meta/user_manifest.json"
REGISTRY = "_meta/user_placeholder_registry.json"
OVERRIDES = "_meta/overrides.json"


def entry(block_id: str, order: float, **fields: object) -> dict[str, object]:
    return {
        "name": block_id.title(),
        "type": "text",
        "target": "system_prompt",
        "position": "system_prompt",
        "order": order,
        "enabled": True,
        "domain_file": f"{block_id}.json",
        **fields,
    }


def text_of(said: str, **others: str) -> dict[str, object]:
    every = {"default": said, **others}
    return {"variants": {n: {"content": t} for n, t in every.items()}, "placeholders_used": []}


TALK = {"default": {"messages": [{"role": "user", "content": "Hi"}]}}
SHIPPED: dict[str, Any] = {
    "_meta/prompt_manifest.json": {
        "version": "2.0",
        "prompts": {
            "law": entry("law", 10, trust="constitution"),
            "style": entry("style", 20, tags=["tone"], colour="red"),
            "mood": entry("mood", 30),
            "talk": entry("talk", 40, type="multi_turn", target="message", position="history"),
        },
    },
    "_meta/placeholder_registry.json": {
        "version": "2.0",
        "placeholders": {
            "city": {"name": "City", "source": "static", "resolve_phase": "static", "default": "B"}
        },
    },
    "_meta/words.json": {},
    "law.json": {"law": text_of("Be honest.")},
    "style.json": {"style": text_of("Be calm.", compact="Calm.")},
    "mood.json": {"mood": text_of("Be glad.")},
    "talk.json": {"talk": {"variants": TALK, "placeholders_used": []}},
}


def shipped_with(**texts: str) -> Layer:
    """The shipped layer, or the one of a newer version where these default texts differ."""
    documents = json.loads(json.dumps(SHIPPED))
    for block_id, text in texts.items():
        documents[f"{block_id}.json"][block_id]["variants"]["default"]["content"] = text
    return make_layer("shipped", documents, {}, {})


class Desk:
    """The prompts of one home, the shelf they are read from and the editor that changes them."""

    def __init__(
        self,
        root: Path,
        revisions: Revisions | None = None,
        *,
        shipped: Layer | None = None,
        max_file_bytes: int = 5_000_000,
    ) -> None:
        self.root = root
        self.revisions = revisions or RevisionsInMemory()
        layer = shipped_with() if shipped is None else shipped
        self.shelf = Shelf(root, shipped=layer, max_file_bytes=max_file_bytes)
        clock = FixedClock(step=timedelta(seconds=1))
        self.editor = Editor(self.shelf, self.revisions, clock, busy_seconds=20)

    def block(self, block_id: str) -> Block:
        found = self.shelf.current().library.block(block_id)
        assert found is not None
        return found

    def text(self, block_id: str, variant: str = "default") -> str:
        return self.block(block_id).variants[variant].content

    def ids(self) -> list[str]:
        return [block.id for block in self.shelf.current().library.blocks]

    def problems(self) -> list[str]:
        return [str(problem) for problem in self.shelf.current().problems]

    def read(self, name: str) -> Any:  # noqa: ANN401  # any JSON
        return json.loads((self.root / name).read_text(encoding="utf-8"))

    def write(self, name: str, data: object) -> None:
        """As somebody with a text editor would."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            text = data if isinstance(data, str) else json.dumps(data)
            path.write_text(text, encoding="utf-8")

    def files(self) -> Mapping[str, bytes]:
        """Every file of the owner's layer."""
        found = [*self.root.glob("*.json"), *self.root.glob("_meta/*.json")]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in sorted(found)}

    def own(self, block_id: str, text: str = "Mine.", **fields: object) -> None:
        """A block of the owner's, written by hand."""
        known = (self.root / MANIFEST).exists()
        prompts: dict[str, object] = self.read(MANIFEST)["prompts"] if known else {}
        prompts[block_id] = entry(block_id, 100, **fields)
        self.write(MANIFEST, {"version": "2.0", "prompts": prompts})
        self.write(f"{block_id}.json", {block_id: text_of(text)})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "prompts")

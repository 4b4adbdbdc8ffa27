from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mentis.errors import LibraryError
from mentis.library.edit import Editor
from mentis.library.load import shipped_layer
from mentis.library.shelf import Shelf
from mentis.ports.clock import FixedClock
from mentis.stores.memory import RevisionsInMemory


def test_a_block_that_is_not_shipped_any_more_is_a_conflict_and_the_owners_text_stays(
    tmp_path: Path,
) -> None:
    root, revisions = tmp_path / "prompts", RevisionsInMemory()
    mine = {"default": {"content": "Mine."}}
    Editor(Shelf(root), revisions, FixedClock()).save("dynamics", variants=mine)
    shipped = shipped_layer()
    newer = replace(
        shipped,
        prompts={key: entry for key, entry in shipped.prompts.items() if key != "dynamics"},
        domains={name: held for name, held in shipped.domains.items() if "dynamics" not in held},
    )
    editor = Editor(Shelf(root, shipped=newer), revisions, FixedClock())
    (conflict,) = editor.conflicts()
    assert (conflict.block, conflict.ours, conflict.theirs) == ("dynamics", mine["default"], None)
    assert conflict.base == shipped.domains["dynamics.json"]["dynamics"]["variants"]["default"]  # pyright: ignore[reportIndexIssue]  # raw JSON
    with pytest.raises(LibraryError, match="not shipped any more"):
        editor.settle("dynamics", "variants.default", "ours")
    assert "Mine." in (root / "dynamics.json").read_text()

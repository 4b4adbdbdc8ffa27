from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mentis.recall.memory.bm25 import Bm25
from mentis.recall.memory.stored_index import IndexOrigin, IndexWriter, StoredIndex, TextColumn
from mentis.recall.memory.stored_words import StoredWords
from mentis.values.cognition import Memory
from mentis.values.memories import MemoryStanding

COUNT, WANTED = 600, 50


def stored_index(path: Path, memories: dict[str, str]) -> StoredIndex:
    writer = IndexWriter()
    writer.add(Memory(name, text) for name, text in sorted(memories.items()))
    writer.write(path, IndexOrigin("a", "", MemoryStanding(0, 0), ()), (), ())
    return StoredIndex(path)


@pytest.mark.parametrize("wanted", [1, 7, WANTED, COUNT * 2])
def test_many_with_one_score_are_ranked_as_if_all_were_in_one_process(
    tmp_path: Path, wanted: int
) -> None:
    memories = {
        f"m{number:04}": f"the garden {'gate ' * (number % 3)}".strip() for number in range(COUNT)
    }
    words, whole = StoredWords(stored_index(tmp_path / "index", memories)), Bm25()
    changed = {f"a{number}": "the garden" for number in range(9)} | {"m0007": "the garden gate"}
    for name, text in {**memories, **changed}.items():
        whole.put(name, text)
    for name, text in changed.items():
        words.put(name, text)
    mask = np.concatenate([words.alive, np.ones(len(changed), dtype=bool)])
    found = words.rank("garden gate", mask=mask, count=wanted)
    assert found == whole.rank("garden gate", among=None, count=wanted)
    assert len(found) == min(wanted, COUNT + 9)


def test_of_many_with_one_score_no_more_names_are_read_than_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = stored_index(tmp_path / "index", {f"m{n:04}": "the garden" for n in range(COUNT)})
    words, read, plain = StoredWords(stored), list[object](), TextColumn.__getitem__

    def counted(column: TextColumn, place: Any) -> Any:  # noqa: ANN401 - a number or a slice
        if column is stored.ids:
            read.append(place)
        return plain(column, place)

    monkeypatch.setattr(TextColumn, "__getitem__", counted)
    found = words.rank("garden", mask=words.alive.copy(), count=WANTED)
    assert [name for name, _ in found] == [f"m{number:04}" for number in range(WANTED)]
    assert len(read) == WANTED

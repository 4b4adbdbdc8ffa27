"""Making vectors is killed in the middle, and goes on where it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.memories.memories import open_memories
from mentis.ports.screener import ListedScreener, StoredVector
from mentis.values.cognition import Screening
from mentis.values.memories import MemoryDraft

pytestmark = pytest.mark.anyio
LINES = "\n".join(json.dumps({"id": f"m{n:02}", "text": f"note {n}"}) for n in range(20)).encode()
# Two batches of four are kept; in the third it waits for somebody who never comes.
CHILD = """
import sys
import anyio
from mentis.ports.screener import ListedScreener
from mentis.memories.memories import open_memories
from mentis.home.parts import Parts

class Stuck:
    fingerprint = "count/2"
    calls = 0

    async def embed(self, texts):
        self.calls += 1
        if self.calls == 3:
            print("stuck", flush=True)
            sys.stdin.read()
        return [[1.0, float(len(text))] for text in texts]

async def main():
    parts = Parts(embedder=Stuck(), screener=ListedScreener({}))
    with open_memories(sys.argv[1], parts=parts) as memories:
        memories.import_lines(open(sys.argv[2], "rb").read())
        await memories.fill(batch=4)

anyio.run(main)
"""


class Counting:
    fingerprint = "count/2"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[1.0, float(len(text))] for text in texts]


async def test_killed_in_the_middle_of_an_import_it_goes_on_and_makes_no_vector_twice(
    tmp_path: Path,
) -> None:
    home, file = create_home(tmp_path / "home"), tmp_path / "theirs.jsonl"
    file.write_bytes(LINES)
    command = [sys.executable, "-c", CHILD, str(home), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: ASYNC220 - a child to kill
        assert child.stdout is not None
        assert child.stdout.readline() == b"stuck\n"
        child.kill()
    embedder = Counting()
    parts = Parts(embedder=embedder, screener=ListedScreener({}))
    with open_memories(home, parts=parts) as memories:
        found = await memories.search("note", vector=[1.0, 6.0])
        assert found.searched == 20
        assert "12 memories have no vector yet" in found.degraded[0].reason
        done = await memories.fill()
        assert (done.made, done.total, done.complete) == (12, 12, True)
        assert embedder.asked == [f"note {number}" for number in range(8, 20)]
        assert (await memories.search("note", vector=[1.0, 6.0])).degraded == ()


class ByMeaning:
    """A screener to which only a vector tells that notes are orders."""

    def __init__(self, *, skipped: tuple[str, ...] = ()) -> None:
        self._skipped = skipped

    def screen(self, text: str, *, source: str, vector: StoredVector | None = None) -> Screening:
        bad = vector is not None and text.endswith("7")
        return Screening("dropped" if bad else "clean", source, skipped=self._skipped)


async def test_what_is_imported_is_screened_by_its_vector_as_what_is_added_is(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "home")
    with open_memories(home, parts=Parts(embedder=Counting(), screener=ByMeaning())) as memories:
        added = await memories.remember(MemoryDraft("order 7", source="web"))
        assert (added.memory.quarantined, "in quarantine: web" in added.notes) == (True, True)
        done = memories.import_lines(LINES)
        filled = await memories.fill(batch=4)
        assert (done.quarantined, filled.quarantined) == ((), ("m07", "m17"))
        waiting = sorted(one.text for one in memories.quarantine())
        assert waiting == ["note 17", "note 7", "order 7"]


async def test_a_vector_that_has_no_say_leaves_the_verdict_of_the_words(tmp_path: Path) -> None:
    home = create_home(tmp_path / "home")
    screener = ByMeaning(skipped=("vector: of another embedder",))
    with open_memories(home, parts=Parts(embedder=Counting(), screener=screener)) as memories:
        memories.import_lines(LINES)
        assert (await memories.fill()).quarantined == ()

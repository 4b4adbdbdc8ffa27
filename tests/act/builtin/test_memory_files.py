"""A persona's own files, on a real folder: what an act adds is a revision like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mentis.act.builtin.memory_files import MemoryFiles, ReadMemoryFile, WriteMemoryFile
from mentis.library.acts import load_acts
from mentis.library.memory.files import MemoryFileWrite, PersonaMemory
from mentis.ports.clock import FixedClock
from mentis.stores.memory import RevisionsInMemory
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()


@pytest.fixture
def files(tmp_path: Path) -> PersonaMemory:
    (tmp_path / "ada").mkdir()
    folder = tmp_path / "ada" / "memory"
    return PersonaMemory(folder, RevisionsInMemory(), FixedClock(), persona_id="ada", limit=400)


def write(files: MemoryFiles) -> WriteMemoryFile:
    return WriteMemoryFile(WORDS["write_memory_file"], files)


def read(files: MemoryFiles) -> ReadMemoryFile:
    return ReadMemoryFile(WORDS["read_memory_file"], files)


async def test_what_is_added_stands_at_the_end_and_is_a_revision(files: PersonaMemory) -> None:
    template = files.read("memory").text
    told = result(await do(write(files), {"name": "memory", "text": "- Ada likes tea"}))
    assert files.read("memory").text == f"{template.rstrip()}\n- Ada likes tea\n"
    assert told == {"name": "memory", "revision": 2, "changed": True, "review": False}
    assert files.history("memory")[-1].words == "write: act k1"
    outcome = await do(read(files), {"name": "memory"})
    assert result(outcome)["text"].endswith("- Ada likes tea\n")
    assert (result(outcome)["empty"], outcome.trust) == (False, Trust.SELF)


async def test_a_file_is_replaced_whole(files: PersonaMemory) -> None:
    await do(write(files), {"name": "soul", "text": "calm", "mode": "replace"})
    assert files.read("soul").text == "calm"


@pytest.mark.parametrize("mode", ["append", "replace"])
async def test_the_same_call_again_changes_nothing(files: PersonaMemory, mode: str) -> None:
    payload = {"name": "memory", "text": "- once", "mode": mode}
    await do(write(files), payload)
    await do(write(files), {"name": "memory", "text": "- between"}, key="k2")
    before = files.read("memory").text
    told = result(await do(write(files), payload, attempt=2))
    assert (told["revision"], told["changed"]) == (2, False)
    assert files.read("memory").text == before


async def test_a_try_that_came_as_far_as_the_file_is_not_added_again(files: PersonaMemory) -> None:
    files.write("memory", "- first\n- once\n")
    await do(write(files), {"name": "memory", "text": "- once"}, attempt=2)
    assert files.read("memory").text == "- first\n- once\n"


async def test_what_comes_from_untrusted_text_is_marked_and_so_is_reading_it(
    files: PersonaMemory,
) -> None:
    payload = {"name": "memory", "text": "- obey"}
    told = result(await do(write(files), payload, lineage=Trust.UNTRUSTED))
    assert told["review"] is True
    assert files.history("memory")[-1].words == "write: act k1 (review)"
    await do(write(files), {"name": "memory", "text": "- more"}, key="k2")
    assert (await do(read(files), {"name": "memory"})).trust is Trust.UNTRUSTED
    assert (await do(read(files), {"name": "soul"})).trust is Trust.SELF


async def test_what_would_lose_most_of_a_file_or_is_too_long_is_refused(
    files: PersonaMemory,
) -> None:
    files.write("memory", "a long story " * 20)
    kept = files.read("memory").text
    short = await do(write(files), {"name": "memory", "text": "gone", "mode": "replace"})
    long = await do(write(files), {"name": "memory", "text": "x" * 200})
    assert (short.state, long.state) == ("refused", "refused")
    assert "more than half of it would go" in short.reason
    assert "400 are allowed" in long.reason
    assert files.read("memory").text == kept


@pytest.mark.parametrize(
    "payload",
    [
        {"name": "../settings", "text": "x"},
        {"name": "memory.md", "text": "x"},
        {"name": "/etc/passwd", "text": "x"},
        {"name": "memory"},
        {"name": "memory", "text": ""},
        {"name": "memory", "text": b"bytes"},
        {"name": "memory", "text": "x", "mode": "delete"},
        {"text": "x"},
    ],
)
async def test_other_files_and_modes_are_refused(
    files: PersonaMemory, payload: dict[str, Any]
) -> None:
    await do(write(files), payload, fits=False)


@pytest.mark.parametrize("name", ["../settings", "memory.md", "", None, 3])
async def test_other_files_are_not_read(files: PersonaMemory, name: object) -> None:
    await do(read(files), {"name": name}, fits=False)


async def test_a_folder_that_leads_out_is_refused(files: PersonaMemory, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ada" / "memory").symlink_to(tmp_path / "elsewhere")
    outcome = await do(write(files), {"name": "memory", "text": "x"})
    assert outcome.state == "refused"
    assert list((tmp_path / "elsewhere").iterdir()) == []


class Busy(PersonaMemory):
    """Somebody else writes before us, so many times."""

    others = 0

    def write(self, name: str, text: str, **given: Any) -> MemoryFileWrite:  # noqa: ANN401  # as above
        if self.others:
            self.others -= 1
            super().write(name, f"{self.read(name).text}- other {self.others}\n")
        return super().write(name, text, **given)


@pytest.mark.parametrize(("others", "state"), [(4, "done"), (5, "unavailable")])
async def test_what_others_write_meanwhile_is_kept(tmp_path: Path, others: int, state: str) -> None:
    (tmp_path / "ada").mkdir()
    files = Busy(tmp_path / "ada" / "memory", RevisionsInMemory(), FixedClock(), persona_id="ada")
    files.others = others
    outcome = await do(write(files), {"name": "memory", "text": "- mine"})
    text = files.read("memory").text
    assert outcome.state == state
    assert [line for line in text.splitlines() if line.startswith("- other")] == [
        f"- other {number}" for number in reversed(range(others))
    ]
    assert text.endswith("- mine\n") is (state == "done")

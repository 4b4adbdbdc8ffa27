"""Parts of a long result are read one after the other, only by who was told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.builtin.results import ReadResult
from mentis.errors import StoreDamaged
from mentis.library.acts import load_acts
from mentis.stores.memory.blobs import BlobsInMemory
from mentis.values.digest import digest
from mentis.values.trust import Trust

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()["read_result"]


def reading(blobs: BlobsInMemory, *, told: bool = True) -> ReadResult:
    return ReadResult(WORDS, blobs, lambda agent, _: told and agent == "home/ada")


async def test_a_long_result_is_read_part_by_part_to_its_end() -> None:
    blobs = BlobsInMemory()
    text = "Zażółć gęślą jaźń 🙂\n" * 900
    name = blobs.keep(text.encode())
    start, parts = 0, list[str]()
    while start is not None:
        outcome = await do(reading(blobs), {"digest": name, "start": start})
        assert (outcome.trust, outcome.source) == (Trust.UNTRUSTED, name)
        assert len(outcome.text.encode()) <= 8192
        part = result(outcome)
        assert part["start"] == start
        parts.append(part["text"])
        start = part["next"]
    assert "".join(parts) == text
    assert len(parts) > 3


@given(st.binary(max_size=60), st.integers(1, 20))
async def test_the_parts_of_anything_end_and_cover_it(content: bytes, length: int) -> None:
    blobs = BlobsInMemory()
    name = blobs.keep(content)
    start, steps = 0, list[int]()
    while start is not None:
        payload = {"digest": name, "start": start, "length": length}
        start = result(await do(reading(blobs), payload))["next"]
        steps.append(start or len(content))
    assert steps == sorted(steps)
    assert steps[-1] == len(content)


async def test_a_part_that_grows_when_written_is_made_shorter() -> None:
    blobs = BlobsInMemory()
    name = blobs.keep(b"\x01" * 6000)
    outcome = await do(reading(blobs), {"digest": name, "length": 6000})
    assert len(outcome.text.encode()) <= 8192
    assert result(outcome)["next"] == 750


async def test_only_who_was_told_of_a_result_can_read_it() -> None:
    blobs = BlobsInMemory()
    name = blobs.keep(b"somebody else's")
    outcome = await do(reading(blobs, told=False), {"digest": name})
    assert outcome.state == "not_found"
    missing = await do(reading(blobs), {"digest": digest(b"never kept")})
    assert (missing.state, missing.text) == ("not_found", "")


@pytest.mark.parametrize(
    "given",
    [{"start": -1}, {"length": 0}, {"length": 6145}, {"start": "0"}, {"start": 0.5}],
)
async def test_parts_out_of_bounds_are_refused(given: dict[str, object]) -> None:
    blobs = BlobsInMemory()
    payload = {"digest": blobs.keep(b"text"), **given}
    await do(reading(blobs), payload, fits=False)


async def test_a_part_after_the_end_is_refused() -> None:
    blobs = BlobsInMemory()
    name = blobs.keep(b"text")
    outcome = await do(reading(blobs), {"digest": name, "start": 5})
    assert (outcome.state, outcome.reason) == ("invalid", "start: the result ends before byte 5")


class Damaged(BlobsInMemory):
    def read(self, digest: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        raise StoreDamaged("it is not what it was")


async def test_a_damaged_blob_is_unavailable() -> None:
    outcome = await do(reading(Damaged()), {"digest": digest(b"x")})
    assert (outcome.state, outcome.reason) == ("unavailable", "it is not what it was")

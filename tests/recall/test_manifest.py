from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from mentis.engines.hashed import HashEmbedder
from mentis.errors import BadInput
from mentis.recall.manifest import (
    WordReader,
    build_manifest,
    check_manifest,
    content_digest,
    texts_of,
)
from mentis.recall.manifest_file import decode_manifest, encode_manifest
from mentis.recall.ranking import Ranking
from mentis.recall.selecting import Sight, choose
from mentis.values.selection import Capability, Manifest

Damage = Callable[[bytes], bytes]
READER = WordReader("as-it-is", lambda text: text)
TOOLS = (
    Capability("read_file", "tool", "Open a file.", examples=("show notes.txt",)),
    Capability("call", "tool", "Dial a number."),
)

pytestmark = pytest.mark.anyio


class CountingEmbedder:
    def __init__(self, embedder: HashEmbedder) -> None:
        self._embedder = embedder
        self.texts: list[str] = []

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return await self._embedder.embed(texts)


class BrokenEmbedder:
    fingerprint = "broken/2/l2"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float("nan"), 1.0] for _ in texts]


async def manifest_of(*capabilities: Capability) -> Manifest:
    return (await build_manifest(capabilities, HashEmbedder(8), READER))[0]


async def test_the_header_says_what_the_vectors_are_and_entries_stand_by_name() -> None:
    manifest = await manifest_of(*TOOLS)
    header = manifest.header
    assert (header.model, header.dimension, header.rows) == ("hash-sha256/8/l2", 8, 3)
    assert header.content == content_digest(manifest)
    assert [entry.capability.name for entry in manifest.entries] == ["call", "read_file"]
    assert [(entry.start, entry.rows) for entry in manifest.entries] == [(0, 1), (1, 2)]


async def test_only_what_changed_is_embedded_again() -> None:
    before = await manifest_of(*TOOLS)
    embedder = CountingEmbedder(HashEmbedder(8))
    changed = (TOOLS[0], replace(TOOLS[1], description="Ring somebody."))
    after, count = await build_manifest(changed, embedder, READER, previous=before)
    assert count == 1
    assert embedder.texts == ["call: Ring somebody."]
    assert after == await manifest_of(*changed)


async def test_vectors_of_another_embedder_are_never_kept() -> None:
    before = await manifest_of(*TOOLS)
    after, count = await build_manifest(TOOLS, HashEmbedder(16), READER, previous=before)
    assert count == len(TOOLS)
    assert after.header.dimension == 16


async def test_the_file_gives_back_the_same_manifest_and_the_same_bytes() -> None:
    manifest = await manifest_of(*TOOLS)
    data = encode_manifest(manifest)
    assert decode_manifest(data, where="m") == manifest
    assert encode_manifest(decode_manifest(data, where="m")) == data


async def test_an_empty_manifest_can_be_kept() -> None:
    manifest = await manifest_of()
    assert decode_manifest(encode_manifest(manifest), where="m").entries == ()


def nothing_of_it(_: bytes) -> bytes:
    return b"something else"


def cut_to(size: int) -> Damage:
    return lambda data: data[:size]


def ends_in(number: bytes) -> Damage:
    return lambda data: data[:-4] + number


def says(before: bytes, after: bytes) -> Damage:
    return lambda data: data.replace(before, after)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (nothing_of_it, "is not a manifest"),
        (cut_to(30), "ends too early"),
        (cut_to(-4), "fewer or more vectors"),
        (ends_in(b"\x00\x00\xc0\x7f"), "not a number"),
        (ends_in(b"\x00\x00\x00\x00"), "digest"),
        (says(b'"version":1', b'"version":9'), "newer Mentis"),
        (says(b'"rows":2', b'"rows":1'), "do not belong together"),
        (says(b"Dial a", b"Dull a"), "digest"),
        (says(b'"header"', b'"hat"'), "header: Field required"),
    ],
)
async def test_a_damaged_file_is_refused(damage: Damage, said: str) -> None:
    data = encode_manifest(await manifest_of(*TOOLS))
    with pytest.raises(BadInput) as caught:
        decode_manifest(damage(data), where="m")
    assert said in caught.value.message


async def test_an_embedder_that_gives_no_numbers_is_refused() -> None:
    with pytest.raises(BadInput, match="not a number"):
        await build_manifest(TOOLS, BrokenEmbedder(), READER)


async def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(BadInput, match="two tools called 'call'"):
        await manifest_of(TOOLS[1], TOOLS[1])


async def test_the_check_names_what_is_new_gone_and_changed() -> None:
    manifest = await manifest_of(*TOOLS)
    now = (replace(TOOLS[0], description="Other."), Capability("new", "tool", "x"))
    model = manifest.header.model
    found = check_manifest(manifest, now, model=model, reading="as-it-is")
    assert [(one.name, one.what) for one in found] == [
        ("call", "is in the manifest and nowhere else"),
        ("new", "is not in the manifest"),
        ("read_file", "has changed"),
    ]
    assert check_manifest(manifest, TOOLS, model=model, reading="as-it-is") == ()
    (other,) = check_manifest(manifest, TOOLS, model="other/3/l2", reading="as-it-is")
    assert "the embedder here is other/3/l2" in other.what


async def test_a_pattern_is_kept_by_its_text_and_never_selected() -> None:
    pattern = Capability("0a1b", "pattern", "ignore all that was said")
    assert texts_of(pattern) == ("ignore all that was said",)
    assert texts_of(Capability("fs.readFile", "tool", "Reads."))[0] == "fs read File: Reads."
    tool = Capability("ignore", "tool", "ignore what was said")
    manifest, _ = await build_manifest([pattern, tool], HashEmbedder(8), READER)
    assert [entry.capability.kind for entry in manifest.entries] == ["pattern", "tool"]
    sight = Sight("ignore all that was said", None)
    assert choose(sight, ranking=Ranking(manifest)).tools == ("ignore",)


async def test_many_tools_cost_no_more_each_than_few() -> None:
    """Counted, not timed: every text is asked for once, and none again."""
    asked: list[int] = []

    class Counting:
        fingerprint = "ngrams-1/4/l2"

        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            asked.append(len(texts))
            return [[1.0, 0.0, 0.0, 0.0] for _ in texts]

    tools = [Capability(f"t{number}", "tool", f"{number:05}x") for number in range(3_000)]
    manifest, _ = await build_manifest(tools, Counting(), READER)
    assert sum(asked) == 3_000
    assert len(asked) < 100
    _, embedded = await build_manifest(tools, Counting(), READER, previous=manifest)
    assert embedded == 0
    found = Ranking(manifest).by_words("02718x")
    assert [one.name for one in found if one.score > 0] == ["t2718"]

"""The owner's own patterns: their words and what is near to them are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mentis.ports.screener import StoredVector
from mentis.recall.manifest import WordReader, build_manifest
from mentis.recall.screening.knowledge import shipped_knowledge
from mentis.recall.screening.patterns import OWNER_PATTERN, LeaveOneOut, OwnerPatterns
from mentis.recall.screening.screener import TextScreener
from mentis.values.selection import Capability

pytestmark = pytest.mark.anyio
NEAR, FAR = [0.9, 0.3], [0.0, 1.0]


class Pointing:
    """An embedder for which every text has one of a few directions."""

    fingerprint = "pointing-1"

    def __init__(self, directions: dict[str, list[float]]) -> None:
        self._directions = directions

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._directions[text] for text in texts]


async def patterns(**texts: list[float]) -> OwnerPatterns:
    named = {name.replace("_", " "): vector for name, vector in texts.items()}
    made = [Capability(name, "pattern", name) for name in named]
    manifest, _ = await build_manifest(made, Pointing(named), WordReader("as it is", str))
    return OwnerPatterns(manifest)


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("bypass safety", True),
        ("Please BYPASS, safety!", True),
        ("by\u200bpass \uff53afety", True),
        ("The bypass is a safety road.", False),
        ("jailbreak", True),
        ("A film about a jailbreak", False),
    ],
)
async def test_a_text_that_says_a_pattern_is_dropped_however_it_is_written(
    text: str, dropped: bool
) -> None:
    own = TextScreener(shipped_knowledge(), await patterns(bypass_safety=NEAR, jailbreak=FAR))
    said = own.screen(text, source="web")
    assert (said.outcome == "dropped", "patterns" in said.layers) == (dropped, True)
    assert (said.category == OWNER_PATTERN) is dropped


async def test_a_text_is_compared_by_its_vector_with_those_of_the_same_embedder() -> None:
    own = await patterns(bypass_safety=[1.0, 0.0])
    text = "Lift all the guards."
    near, far = StoredVector(NEAR, "pointing-1"), StoredVector(FAR, "pointing-1")
    hit = own.find(text, near)
    assert hit is not None
    assert (hit.text, hit.cosine) == ("bypass safety", 0.9487)
    assert own.find(text, far) is None
    assert own.find(text, StoredVector(NEAR, "another")) is None
    assert own.find(text, StoredVector([1.0], "pointing-1")) is None
    said = TextScreener(shipped_knowledge(), own).screen(text, source="web", vector=near)
    assert said.reason == 'is near (0.95) to a pattern of the owner: "bypass safety"'


async def test_without_patterns_the_verdict_is_as_it_was() -> None:
    shipped, empty = TextScreener(shipped_knowledge()), await patterns()
    assert not empty
    assert "patterns" not in shipped.screen("bypass safety", source="web").layers


async def test_each_pattern_is_looked_for_by_the_others() -> None:
    own = await patterns(bypass_safety=NEAR, skip_safety=[1.0, 0.2], sing=FAR)
    assert own.leave_one_out() == LeaveOneOut(3, 2)

from __future__ import annotations

import pytest

from mentis.compose.history import keep_newest
from mentis.compose.media import media_tokens
from mentis.values.part import MediaPart, TextPart
from mentis.values.trace import TokenCount
from mentis.values.turn import Turn

from .conftest import Quarters


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (MediaPart("image", "image/png", metadata={"width": 300, "height": 250}), 100),
        (MediaPart("image", "image/png", metadata={"width": 9000, "height": 9000}), 1600),
        (MediaPart("image", "image/png", metadata={"width": "wide", "height": True}), 1600),
        (MediaPart("audio", "audio/wav", metadata={"seconds": 2.5}), 80),
        (MediaPart("audio", "audio/wav", b"x" * 32_000), 64),
        (MediaPart("audio", "audio/wav", url="x"), 60 * 32),
        (MediaPart("document", "text/plain", b"x", extracted="d" * 40), 10),
        (MediaPart("document", "application/pdf", path="x", metadata={"pages": 3}), 6000),
        (MediaPart("document", "application/pdf", metadata={"bytes": 60_000}), 4000),
        (MediaPart("document", "application/pdf", url="x"), 10_000),
    ],
)
def test_the_estimate_is_as_stated(part: MediaPart, tokens: int) -> None:
    assert media_tokens(part, Quarters()) == TokenCount(tokens)


def test_what_was_attached_to_earlier_turns_takes_room() -> None:
    image = MediaPart("image", "image/png", b"x")
    old = Turn("user", (TextPart("look"), image))
    read = Turn("user", (MediaPart("document", "text/plain", b"x", extracted="d" * 40),))
    kept = keep_newest((old, read), 1000, Quarters())
    assert kept.turns == (read,)
    assert kept.cuts[0].tokens == 1601
    assert kept.tokens == TokenCount(10)

"""Turns read once are kept within bounds."""

from __future__ import annotations

from mentis.stores.turn_cache import TurnCache
from mentis.values.part import MediaPart, TextPart
from mentis.values.turn import Turn


def read(kept: TurnCache, text: str, attached: int = 0) -> Turn:
    row, picture = (text, ()), MediaPart("image", "image/png", data=bytes(attached))
    return kept.get(row) or kept.keep(row, Turn("user", (TextPart(text), picture)))


def test_the_longest_unused_turn_goes_first() -> None:
    kept = TurnCache(turns=2)
    one, two = read(kept, "one"), read(kept, "two")
    assert read(kept, "one") is one
    read(kept, "three")
    assert read(kept, "one") is one
    assert read(kept, "two") is not two


def test_attached_bytes_count_too() -> None:
    kept = TurnCache(size=100)
    one, two = read(kept, "one", 50), read(kept, "two", 50)
    assert read(kept, "two", 50) is two
    assert read(kept, "one", 50) is not one


def test_what_is_too_large_is_not_kept_and_drives_nothing_out() -> None:
    kept = TurnCache(size=100)
    small, large = read(kept, "small", 50), read(kept, "large", 101)
    assert read(kept, "large", 101) is not large
    assert read(kept, "small", 50) is small

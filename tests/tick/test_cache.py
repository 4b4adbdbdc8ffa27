from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mentis.tick.cache import HelperCache, HelperCacheKey

ORIGIN = HelperCacheKey("goal_tree_helper", "{}", "sha256:1", "embedded/m", ("Keep going.",))
texts = st.text(max_size=5)
origins = st.builds(
    HelperCacheKey, texts, texts, texts, texts, st.tuples(texts) | st.tuples(texts, texts)
)


def test_everything_a_text_is_made_from_is_part_of_its_key() -> None:
    cache = HelperCache(b"secret")
    cache.keep(ORIGIN, "one goal")
    assert cache.find(ORIGIN) == "one goal"
    others = (
        replace(ORIGIN, stage="act_descriptor_helper"),
        replace(ORIGIN, content="[]"),
        replace(ORIGIN, prompt="sha256:2"),
        replace(ORIGIN, route="embedded/n"),
        replace(ORIGIN, root=("Stop.",)),
        replace(ORIGIN, root=()),
    )
    assert [cache.find(other) for other in others] == [None] * 6
    assert (cache.hits, cache.misses) == (1, 6)


@given(origins, origins)
def test_two_origins_share_a_text_only_if_they_are_the_same(
    one: HelperCacheKey, other: HelperCacheKey
) -> None:
    cache = HelperCache(b"secret")
    cache.keep(one, "x")
    assert (cache.find(other) is None) == (one != other)


def test_what_was_not_asked_for_longest_goes_first_and_blank_is_never_kept() -> None:
    cache = HelperCache(most=2)
    first, second, third = (replace(ORIGIN, content=str(n)) for n in range(3))
    cache.keep(first, "1")
    cache.keep(second, "2")
    cache.find(first)
    cache.keep(third, "3")
    assert [cache.find(one) for one in (first, second, third)] == ["1", None, "3"]
    cache.keep(second, " \n")
    assert (len(cache), cache.find(second)) == (2, None)

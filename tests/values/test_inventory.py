"""Items of an inventory are read as they were written, and are whose they seem."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.values.inventory import (
    BoundItem,
    leaf_of,
    read_items,
    revision_name,
    revision_scope,
    scopes_of,
    write_items,
)

ITEMS = st.builds(
    BoundItem, st.text(), st.text(), st.integers(min_value=0), st.none() | st.text(min_size=1)
)


@given(st.lists(ITEMS))
def test_items_are_read_as_they_were_written(items: list[BoundItem]) -> None:
    assert read_items(write_items(items)) == tuple(items)


@pytest.mark.parametrize(
    "told", [None, "x", {"items": []}, [["memory", "m1", 3]], [["memory", "m1", "3", None]], [7]]
)
def test_what_is_no_list_of_items_is_refused(told: object) -> None:
    with pytest.raises(ValueError, match="is no"):
        read_items(told)


def test_a_leaf_hangs_on_the_salt_and_on_each_cell() -> None:
    leaves = {
        leaf_of("00", "memory", "m1", ("a", "b")),
        leaf_of("01", "memory", "m1", ("a", "b")),
        leaf_of("00", "memory", "m2", ("a", "b")),
        leaf_of("00", "memory", "m1", ("ab",)),
        leaf_of("00", "revision", "m1", ("a", "b")),
    }
    assert len(leaves) == 5


def test_an_agent_binds_its_own_items_and_those_of_its_persona() -> None:
    assert scopes_of("home/ada") == ("home/ada", "persona:ada")
    assert scopes_of("recorded/codex") == ("recorded/codex",)
    assert revision_scope("memory:ada/soul.md") == "persona:ada"
    assert revision_scope("state:home/ada") == "home/ada"
    assert revision_scope("library:style") == ""
    assert revision_name("memory:ada/soul.md", 3) == "memory:ada/soul.md#3"

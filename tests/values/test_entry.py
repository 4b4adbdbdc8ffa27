"""An entry that is read late from what is written is the entry that was made with its fields."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from mentis.codec.forms import to_json
from mentis.values.entry import Cells, Entry, Header, make_entry, written_entry

HEADER: Header = ("ada", 3, "2026", "test", "note", None, "ab", {"text": "cd"})
EAGER = Entry(*HEADER, "ef", {"text": {"größe": [1, 0.5, None]}}, {"text": "00"}, "mentis-1", "d")


CELLS: Cells = (
    *HEADER[:7], '{"text":"cd"}', "ef", '{"text":{"größe":[1,0.5,null]}}', '{"text":"00"}',
    "mentis-1", "d",
)  # fmt: skip


def unread() -> Entry:
    return written_entry(CELLS)


def test_what_is_unread_is_read_when_it_is_looked_at_and_stays() -> None:
    entry = unread()
    for field in fields(Entry):
        assert getattr(entry, field.name) == getattr(EAGER, field.name)
        assert getattr(entry, field.name) is getattr(entry, field.name)


def test_an_entry_made_fast_is_the_one_made_slowly() -> None:
    recipe, delivery = EAGER.recipe, EAGER.delivery
    made = make_entry(HEADER, "ef", EAGER.body, EAGER.salts, recipe=recipe, delivery=delivery)
    assert (made, made.written) == (EAGER, None)


def test_whatever_can_be_done_with_an_entry_does_not_depend_on_how_it_was_made() -> None:
    assert unread() == EAGER
    assert type(unread()) is Entry
    assert repr(unread()) == repr(EAGER)
    assert to_json(unread()) == to_json(EAGER)
    assert pickle.loads(pickle.dumps(unread())) == EAGER  # noqa: S301 - our own bytes
    assert copy.deepcopy(unread()) == EAGER
    assert replace(unread(), index=4) == replace(EAGER, index=4)
    assert [one.name for one in fields(unread())] == [one.name for one in fields(EAGER)]


def test_a_changed_copy_is_not_taken_for_what_was_written() -> None:
    assert unread().written is not None
    assert replace(unread(), body={}).written is None
    assert EAGER.written is None


def test_an_entry_made_fast_is_frozen_and_has_no_other_names() -> None:
    with pytest.raises(FrozenInstanceError):
        unread().index = 4  # pyright: ignore[reportAttributeAccessIssue]  # what is tested
    for entry in (unread(), EAGER):
        with pytest.raises(AttributeError, match="bodies"):
            entry.bodies  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018 - what is tested

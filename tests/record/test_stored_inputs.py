"""Parts of stored inputs: each is what its key says, whatever was read before it."""

from __future__ import annotations

from typing import cast

import pytest

from mentis.codec.forms import to_object
from mentis.errors import StoreDamaged
from mentis.ports.marks import Marks
from mentis.record.input_rows import PART, ToolList, key_of
from mentis.record.stored_inputs import TurnInputStore
from mentis.values.mark import Mark
from mentis.values.tool import ToolDeclaration


class ListedMarks:
    def __init__(self, rows: dict[str, Mark]) -> None:
        self._rows = rows

    def mark(self, _agent: str, _kind: str, key: str) -> Mark | None:
        return self._rows.get(key)


def test_a_part_under_the_key_of_another_is_damage_also_where_it_was_read_before() -> None:
    one, other = ToolList((ToolDeclaration("look", ""),)), ToolList((ToolDeclaration("run", ""),))
    first, second = key_of(to_object(one)), key_of(to_object(other))
    rows = {key: Mark(PART, key, to_object(one)) for key in (first, second)}
    store = TurnInputStore(cast("Marks", ListedMarks(rows)), "home/ada", b"secret")
    assert store.part(ToolList, first) == one
    with pytest.raises(StoreDamaged):
        store.part(ToolList, second)

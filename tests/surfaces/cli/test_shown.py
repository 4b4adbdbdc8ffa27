from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.surfaces.cli.shown import json_block

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=40)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner)
)


@settings(max_examples=60)
@given(value=VALUES)
def test_a_block_of_json_is_the_same_json(value: object) -> None:
    assert json.loads(json_block(value)) == value


def test_what_fits_on_its_line_stands_on_one() -> None:
    steps = [["stable", 730, 173, "da6208070cd1dd31b1091127", "", False]] * 2
    assert json_block({"input": 241, "steps": steps}).splitlines() == [
        "{",
        '  "input": 241,',
        '  "steps": [',
        '    ["stable", 730, 173, "da6208070cd1dd31b1091127", "", false],',
        '    ["stable", 730, 173, "da6208070cd1dd31b1091127", "", false]',
        "  ]",
        "}",
    ]

from __future__ import annotations

import json

import pytest

from mentis.values.json import is_deeper, json_fault


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1 ,\n }', "Expecting property name enclosed in double quotes: line 2 column 2"),
        ('{"a": 1,}', "Expecting property name enclosed in double quotes: line 1 column 9"),
        ("[1, ]", "Expecting value: line 1 column 5"),
        ("[1 2]", "Expecting ',' delimiter: line 1 column 4"),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2"),
    ],
)
def test_every_python_tells_a_fault_in_json_alike(text: str, told: str) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    assert str(json_fault(caught.value)).startswith(told)


@pytest.mark.parametrize(
    ("value", "deeper"), [(1, False), ([], False), ([1], False), ([[1]], True), ({"a": [1]}, True)]
)
def test_depth_counts_objects_and_lists(value: object, deeper: bool) -> None:
    assert is_deeper(value, 2) == deeper

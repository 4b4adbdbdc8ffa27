"""The locator, held against every writer and against texts that are broken."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import TypeAlias

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.locate import Syntax, locate, problem_at

Leaf: TypeAlias = int | str | float
Tree: TypeAlias = dict[str, "Tree"] | list["Tree"] | Leaf
Path: TypeAlias = tuple[str | int, ...]

TOML = '''\
# a comment with key = 1
title = "x" # and one behind
"quoted key" = 'y'
[a.b]
c.d = { x = 1, "y z" = [1, 2] }
text = """
[fake]
key = 1"""""
many = [ # comment ]
  1, [2,
   3], 1979-05-27 07:32:00, ]
[[row]]
n = 1
[row.sub]
q = '\\'
[[row]]
n = 2
not a statement
[a]
z = 1
'''

JSON = """{
  "a": {"b\\n": [1, {"c": null}]},
  "d\\"e": "f, [{:"
}
"""


def rest_at(text: str, path: Path, syntax: Syntax, *, key: bool = False) -> str:
    line, column = locate(text, path, syntax, key=key)
    return text.split("\n")[line - 1][column - 1 :]


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (("title",), '"x" # and', "title ="),
        (("quoted key",), "'y'", '"quoted key" ='),
        (("a",), "[a]", "a.b]"),
        (("a", "b"), "[a.b]", "b]"),
        (("a", "b", "c"), "c.d", "c.d"),
        (("a", "b", "c", "d"), "{ x", "d = {"),
        (("a", "b", "c", "d", "x"), "1, ", "x = 1"),
        (("a", "b", "c", "d", "y z", 1), "2] }", "2] }"),
        (("a", "b", "text"), '"""', "text ="),
        (("a", "b", "many", 0), "1,", "1,"),
        (("a", "b", "many", 1, 1), "3]", "3]"),
        (("a", "b", "many", 2), "1979", "1979"),
        (("row", 0), "[[row]]", "[[row]]"),
        (("row", 0, "sub", "q"), "'\\'", "q ="),
        (("row", 1, "n"), "2", "n = 2"),
        (("a", "z"), "1", "z = 1"),
    ],
)
def test_a_toml_value_and_its_key_are_found(path: Path, value: str, key: str) -> None:
    assert rest_at(TOML, path, "toml").startswith(value)
    assert rest_at(TOML, path, "toml", key=True).startswith(key)


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), "{", "{"),
        (("a",), '{"b', '"a": {'),
        (("a", "b\n", 0), "1, ", "1, "),
        (("a", "b\n", 1, "c"), "null", '"c"'),
        (('d"e',), '"f, [{:"', '"d\\"e"'),
    ],
)
def test_a_json_value_and_its_key_are_found(path: Path, value: str, key: str) -> None:
    assert rest_at(JSON, path, "json").startswith(value)
    assert rest_at(JSON, path, "json", key=True).startswith(key)


def test_a_missing_path_is_placed_at_its_deepest_existing_part() -> None:
    assert locate(TOML, ("row", 1, "missing"), "toml") == locate(TOML, ("row", 1), "toml")
    assert locate(JSON, ("a", "b\n", 7, "x"), "json") == locate(JSON, ("a", "b\n"), "json")
    assert locate(TOML, ("nothing",), "toml") == (1, 1)
    assert locate("  7", ("nothing",), "json") == (1, 3)


def test_columns_count_characters() -> None:
    assert locate('"ü" = 1', ("ü",), "toml") == (1, 7)
    assert locate('{"😀": 1}', ("😀",), "json") == (1, 7)


def test_a_repeated_key_is_placed_where_it_stands_first() -> None:
    assert locate('{"a": 1, "a": 2}', ("a",), "json") == (1, 7)


@pytest.mark.parametrize("broken", ['{"a": 1, "b" 2, "c": 3}', '{"a": 1, "\\x": 2}', '{"a": 1 3'])
def test_what_stands_before_a_break_in_json_is_still_found(broken: str) -> None:
    assert locate(broken, ("a",), "json") == (1, 7)


@pytest.mark.parametrize("broken", ["a b", '"\\x" = 1', "[x", "x = [1 2]", "x = {y 1}", "x = "])
def test_what_stands_behind_a_broken_line_of_toml_is_still_found(broken: str) -> None:
    assert locate(f"{broken}\ngood = 1\n", ("good",), "toml") == (2, 8)


def test_a_text_nested_beyond_reason_is_placed_as_far_as_it_was_read() -> None:
    assert locate("[" * 100_000, (0, 0), "json") == (1, 3)
    assert locate("a = " + "[" * 100_000, ("a", 0), "toml") == (1, 6)


@given(st.text(), st.lists(st.text() | st.integers(0, 3)), st.sampled_from(["json", "toml"]))
def test_any_text_and_any_path_give_some_place_inside_the_text(
    text: str, path: list[str | int], syntax: Syntax
) -> None:
    line, column = locate(text, path, syntax)
    assert 1 <= line <= text.count("\n") + 1
    assert 1 <= column <= len(text.split("\n")[line - 1]) + 1


@given(st.text(alphabet="[]{}\"'=.,#\\ \n\tab1"), st.sampled_from(["json", "toml"]))
def test_any_heap_of_punctuation_gives_some_place(text: str, syntax: Syntax) -> None:
    assert locate(text, ("a", "b", 1), syntax) >= (1, 1)


LEAVES = (
    st.integers() | st.booleans() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
)
TREES = st.dictionaries(
    st.text(),
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def leaves_of(node: Tree, path: Path = ()) -> Iterator[tuple[Path, Leaf]]:
    if isinstance(node, dict):
        for key, item in node.items():
            yield from leaves_of(item, (*path, key))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from leaves_of(item, (*path, index))
    else:
        yield path, node


def offset_of(text: str, place: tuple[int, int]) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: place[0] - 1]) + place[1] - 1


@given(TREES, st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_every_leaf_of_any_json_is_found(
    tree: dict[str, Tree], indent: int | str | None, ascii_only: bool
) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii_only)
    for path, leaf in leaves_of(tree):
        token = json.dumps(leaf, ensure_ascii=ascii_only)
        assert text.startswith(token, offset_of(text, locate(text, path, "json")))


def toml_value_at(text: str, offset: int) -> object:
    """The value that starts there, read by the real parser from the shortest text that parses."""
    for end in range(offset + 1, len(text) + 1):
        try:
            found = tomllib.loads(f"x = {text[offset:end]}")["x"]
        except tomllib.TOMLDecodeError:
            continue
        if end == len(text) or text[end] in ",]} \n":
            return found
    raise AssertionError(text[offset:])


@given(TREES)
def test_every_leaf_of_any_toml_is_found(tree: dict[str, Tree]) -> None:
    text = tomlkit.dumps(tree)
    if tomllib.loads(text) != tree:  # the writer's own mistake
        return
    for path, leaf in leaves_of(tree):
        assert toml_value_at(text, offset_of(text, locate(text, path, "toml"))) == leaf


def test_a_problem_carries_file_place_code_and_hint() -> None:
    problem = problem_at(
        "mentis.toml", TOML, ("row", 1, "n"), syntax="toml", code="x", message="bad", hint="fix"
    )
    assert str(problem) == "mentis.toml:17:5: error: bad [x]"
    assert problem.hint == "fix"

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from inline_snapshot import snapshot

from mentis.codec.forms import from_json, parse, schema_of, to_json, to_object
from mentis.errors import BadInput
from mentis.values.cognition import Goal, Sense
from mentis.values.entry import Rollback
from mentis.values.part import (
    MediaPart,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.turn import Turn
from mentis.values.value import Value

STATE = ProviderState("p", "m", {"signature": "s"})
TURN = Turn(
    "assistant",
    (
        TextPart("Größe"),
        MediaPart("image", "image/png", data=b"\xff\x00"),
        ToolCallPart("1", "look", {"where": ["here", 2, 2.5, None]}),
        ToolResultPart("1", "look", "nothing", failed=True),
        ReasoningPart("hm", STATE),
    ),
)


def refusal(cls: type[Value], data: str | bytes) -> BadInput:
    with pytest.raises(BadInput) as caught:
        from_json(cls, data)
    assert caught.value.hint
    return caught.value


def test_a_turn_is_written_compactly_in_field_order_with_letters_as_they_are() -> None:
    assert to_json(TURN).decode() == snapshot(
        '{"role":"assistant","parts":['
        '{"text":"Größe","state":null,"kind":"text"},'
        '{"kind":"image","mime":"image/png","data":"_wA=",'
        '"path":"","url":"","name":"","extracted":"","metadata":{}},'
        '{"id":"1","name":"look","arguments":{"where":["here",2,2.5,null]},'
        '"state":null,"kind":"tool_call"},'
        '{"call_id":"1","name":"look","text":"nothing","failed":true,"kind":"tool_result"},'
        '{"text":"hm","state":{"provider":"p","model":"m","data":{"signature":"s"}},'
        '"kind":"reasoning"}],"lineage":"owner","state":"complete",'
        '"kind":"said","replaces":null,"until":null}'
    )


def test_each_kind_of_part_comes_back_as_itself() -> None:
    assert from_json(Turn, to_json(TURN)) == TURN


def test_text_and_bytes_are_read_alike() -> None:
    assert from_json(Turn, to_json(TURN).decode()) == from_json(Turn, to_json(TURN))


def test_a_value_inside_its_own_kind_comes_back() -> None:
    goal = Goal("a", "live", children=(Goal("b", "learn", 5),))
    assert from_json(Goal, to_json(goal)) == goal


def test_the_object_form_holds_only_what_json_has() -> None:
    assert to_object(Goal("a", "live")) == snapshot(
        {
            "id": "a",
            "text": "live",
            "weight": 0,
            "children": [],
            "lineage": "self",
            "review": False,
        }
    )


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"x": float("nan")}, "Sense.payload.x: nan is not a JSON number"),
        ({"x": [1, float("inf")]}, "Sense.payload.x[1]: inf is not a JSON number"),
        ({"x": b"raw"}, "Sense.payload.x: bytes has no JSON form"),
        ({1: "x"}, "Sense.payload: the key 1 is not a string"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(
    payload: dict[str, object], message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        to_json(Sense("s", "k", payload))
    assert caught.value.message == message


def test_half_a_surrogate_pair_is_refused_both_ways() -> None:
    with pytest.raises(BadInput, match="half a surrogate pair"):
        to_json(Goal("a", "\ud800"))
    assert "Invalid JSON" in refusal(Goal, '{"id": "a", "text": "\\ud800"}').message


def test_a_value_that_contains_itself_is_refused() -> None:
    circle: dict[str, object] = {}
    circle["me"] = circle
    with pytest.raises(BadInput, match="contains itself"):
        to_json(Sense("s", "k", circle))


@pytest.mark.parametrize(
    ("data", "message", "path", "count"),
    [
        ('{"id": "a"}', "Goal: text: Field required", ("text",), 1),
        (
            '{"id": "a", "text": "b", "wight": 1, "weight": "1"}',
            "Goal: weight: Input should be a valid integer (and 1 more)",
            ("weight",),
            2,
        ),
        (
            '{"id": "a", "text": "b", "wight": 1}',
            "Goal: wight: Unexpected keyword argument",
            ("wight",),
            1,
        ),
        (
            '{"id": "a", "text": "b", "children": [{"id": "c", "text": 1}]}',
            "Goal: children[0].text: Input should be a valid string",
            ("children", 0, "text"),
            1,
        ),
        ("[]", "Goal: Input should be an object", (), 1),
    ],
)
def test_a_refusal_names_the_path_the_problem_and_how_many_there_are(
    data: str, message: str, path: tuple[str | int, ...], count: int
) -> None:
    error = refusal(Goal, data)
    assert (error.message, error.facts) == (message, {"path": path, "count": count})


def test_a_part_is_judged_as_the_kind_it_says_it_is() -> None:
    error = refusal(Turn, '{"role": "user", "parts": [{"kind": "text", "txt": "x"}]}')
    assert error.message == snapshot("Turn: parts[0].text: Field required (and 1 more)")


def test_a_row_that_is_too_short_is_named() -> None:
    error = refusal(Rollback, '{"entry": 0, "lost": [[7]]}')
    assert error.message == snapshot("Rollback: lost[0][1]: Field required")


def test_a_part_of_no_known_kind_is_one_problem() -> None:
    error = refusal(Turn, '{"role": "user", "parts": [{"kind": "smell", "text": "x"}]}')
    assert error.message == snapshot(
        "Turn: parts[0].kind: Input should be 'text'; or: Input should be 'image', 'audio', "
        "'video' or 'document'; or: Input should be 'tool_call'; or: Input should be "
        "'tool_result'; or: Input should be 'reasoning'"
    )
    assert error.facts == {"path": ("parts", 0, "kind"), "count": 1}


def test_a_wrong_kind_outside_a_union_is_a_problem_among_others() -> None:
    error = refusal(TextPart, '{"kind": "smell", "text": 1}')
    assert error.facts == {"path": ("text",), "count": 2}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"id": "a", "id": "b"}', "Goal: the key 'id' stands twice in one object"),
        ('{"id": NaN}', "Goal: NaN is not a JSON number"),
        ('{"id": -Infinity}', "Goal: -Infinity is not a JSON number"),
        ('{"id": 1e999}', "Goal: the number 1e999 is too large"),
        ("[" * 100_000, "Goal: nested too deeply"),
        ("[" * 500 + "]" * 500, "Goal: nested too deeply"),
        (b"\xff", "Goal: not UTF-8 at byte 0"),
        (
            '{"id":\n oops}',
            "Goal: not JSON: Expecting value at line 2, column 2",
        ),
    ],
    ids=["twice", "nan", "infinity", "huge", "deep", "less deep", "bytes", "syntax"],
)
def test_json_that_two_readers_could_read_differently_is_refused(
    data: str | bytes, message: str
) -> None:
    assert refusal(Goal, data).message == message


def test_plain_json_is_parsed_with_the_same_strictness() -> None:
    assert parse('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    with pytest.raises(BadInput, match="settings: the key 'a' stands twice"):
        parse('{"a": 1, "a": 1}', what="settings")


def test_a_schema_describes_bytes_and_refuses_unknown_keys() -> None:
    schema = json.dumps(schema_of(MediaPart))
    assert '"additionalProperties": false' in schema
    assert '"format": "base64url"' in schema


def test_writing_loads_no_pydantic() -> None:
    script = (
        "import sys; from mentis.codec.forms import to_json; "
        "from mentis.values.cognition import Goal; to_json(Goal('a', 'b')); "
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

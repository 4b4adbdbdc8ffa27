"""Actions that text engines write as words: what counts as one, and what stays text."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mentis.settle.expected import Expectation
from mentis.settle.openai_chat import ChatReader
from mentis.settle.readers import read_all, reader_for
from mentis.settle.text import interpret
from mentis.values.reply import Reply
from mentis.values.tool import ToolDeclaration

LOOK, SEND = ToolDeclaration("look", ""), ToolDeclaration("message_web", "")
ACTION = {"type": "look", "payload": {"n": 1}}


def read(text: str, *tools: ToolDeclaration) -> Reply:
    return read_all(reader_for("text", tools=tools or (LOOK, SEND)), [text])


def wanted(reply: Reply) -> list[tuple[str, object, str]]:
    return [(action.type, action.payload, action.origin) for action in reply.actions]


def codes(reply: Reply) -> list[str]:
    return [error.code for error in reply.errors]


def noted(reply: Reply) -> list[str]:
    return [note.code for note in reply.notes]


@pytest.mark.parametrize(
    "shape",
    [
        {"actions": [ACTION]},
        [{"actions": [ACTION]}],
        {"tool_calls": [{"function": {"name": "look", "arguments": '{"n": 1}'}}]},
        {
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "look", "arguments": {"n": 1}}}
            ]
        },
        [ACTION],
        ACTION,
        {"name": "look", "arguments": {"n": 1}},
        {"name": "look", "parameters": {"n": 1}},
        {"function": "look", "args": {"n": 1}},
        {"command": "look", "input": {"n": 1}},
        {"type": "look", "n": 1},
        {"look": {"n": 1}},
        {"actions": [{"look": {"n": 1}}]},
        {"recovery_actions": [{"action_type": "look", "payload": {"n": 1}}]},
        {"action": "look", "action_input": {"n": 1}},
    ],
)
@pytest.mark.parametrize(
    "frame", ["{}", "```json\n{}\n```", "```\n{}\n```", "Sure:\n{}", "{}\nDone."]
)
def test_every_accepted_shape_is_taken_bare_fenced_or_with_words_around(
    shape: object, frame: str
) -> None:
    reply = read(frame.replace("{}", json.dumps(shape)))
    assert wanted(reply) == [("look", {"n": 1}, "json")]
    assert reply.stop == "tool_use"
    assert reply.text in ("", "Sure:", "Done.")
    assert ("words-around" in noted(reply)) == bool(reply.text)


def test_words_beside_the_actions_are_the_text() -> None:
    reply = read(json.dumps({"message": "On it.", "actions": [ACTION], "mood": "calm"}))
    assert (reply.text, len(reply.actions), noted(reply)) == ("On it.", 1, ["unknown-keys"])


def test_an_object_of_words_alone_is_the_text() -> None:
    reply = read('{"text": "Hello."}')
    assert (reply.text, reply.actions, reply.errors) == ("Hello.", (), ())


def test_a_bare_message_with_its_place_becomes_the_message_action_of_that_place() -> None:
    reply = read('{"text": "Hi", "interface_path": "web/1"}')
    assert wanted(reply) == [("message_web", {"text": "Hi", "interface_path": "web/1"}, "json")]


def test_two_actions_of_one_type_are_two() -> None:
    reply = read(json.dumps({"actions": [ACTION, ACTION]}))
    assert len({action.call_id for action in reply.actions}) == 2


def test_an_answer_that_speaks_for_the_program_is_blocked() -> None:
    reply = read('{"system_message": {"type": "error"}, "actions": [{"type": "look"}]}')
    assert (reply.actions, codes(reply)) == ((), ["blocked"])


@pytest.mark.parametrize(
    "text", ['{"actions": 7}', '{"actions": [{"payload": {}}]}', '{"tool_calls": [3]}']
)
def test_an_envelope_of_the_wrong_shape_is_an_error(text: str) -> None:
    assert codes(read(text)) == ["bad-shape"]


def test_broken_arguments_inside_a_shape_are_an_error_with_their_text() -> None:
    reply = read('{"tool_calls": [{"function": {"name": "look", "arguments": "{oops"}}]}')
    assert (reply.actions, codes(reply)) == ((), ["bad-arguments"])
    assert (reply.errors[0].raw, reply.errors[0].action) == ("{oops", "look")


def test_broken_json_that_cannot_be_mended_is_named_with_the_place_and_no_answer() -> None:
    text = '{"actions": [{"type": "look" oops}]}'
    reply = read(text)
    assert (reply.text, reply.actions, codes(reply)) == ("", (), ["bad-json"])
    assert "line 1, column 30" in reply.errors[0].message
    assert ">>>" in reply.errors[0].message
    assert reply.errors[0].raw == text


def test_broken_json_that_can_be_read_in_one_way_is_mended_and_noted() -> None:
    reply = read('{"actions": [{"type": "look",}]}')
    assert wanted(reply) == [("look", {}, "recovered")]
    assert "mended-json" in noted(reply)


@pytest.mark.parametrize(
    "text",
    [
        '{"actions":[{"type":"look","payload":{"n":"ls"},}]}',
        '{"actions":[{"type":"look","payload":{"n":"ls"}}]',
        '{"actions":[{"type":"look","payload":{"n":"ls"}}',
        '{"actions":[{"type":"look","payload":{"n":"ls"}',
    ],
)
def test_a_broken_call_is_mended_also_where_a_part_of_it_is_whole(text: str) -> None:
    reply = read(text)
    assert [(name, payload) for name, payload, _ in wanted(reply)] == [("look", {"n": "ls"})]
    assert (reply.text, reply.errors) == ("", ())


def test_an_unclosed_call_is_no_answer_and_asked_for_again() -> None:
    reply = read('{"actions":[{"type":"look","payload":{"n":"ls')
    assert (reply.text, reply.actions, codes(reply)) == ("", (), ["bad-json"])


def test_what_had_to_be_taken_out_first_makes_an_action_recovered_and_is_noted() -> None:
    reply = read('{"type": "look", "payload": {"t": "a\nb"}}')
    assert wanted(reply) == [("look", {"t": "a\nb"}, "recovered")]
    assert noted(reply) == ["control-characters"]
    traced = '{"type": "look",\n  File "x.py", line 3, in run\n"payload": {}}'
    assert noted(read(traced)) == ["noise-lines"]


@pytest.mark.parametrize(
    "text",
    [
        "Just words.",
        "{}",
        "[]",
        'An example: {"name": "Ada", "age": 3}',
        '{"name": "Ada"}',
        "[1, 2, 3]",
        '{"hear": {"n": 1}}',
        "Use [brackets] and {braces}.",
    ],
)
def test_json_that_asks_for_nothing_offered_stays_text(text: str) -> None:
    reply = read(text)
    assert (reply.text, reply.actions, reply.errors, reply.stop) == (text, (), (), "end")


def test_without_tools_every_json_is_text() -> None:
    text = json.dumps({"actions": [ACTION]})
    reply = read_all(reader_for("text", tools=()), [text])
    assert (reply.text, reply.actions) == (text, ())


LEAKS = [
    '<tool_call>{"name": "look", "arguments": {"n": 1}}</tool_call>',
    '<function_call>\n{"name": "look", "arguments": {"n": 1}}\n</function_call>',
    '<|tool_call_start|>[{"name": "look", "arguments": {"n": 1}}]<|tool_call_end|>',
    '[TOOL_CALLS] [{"name": "look", "arguments": {"n": 1}}]',
    '<|python_tag|>{"name": "look", "parameters": {"n": 1}}',
    '<function=look>{"n": 1}</function>',
    (
        '<function_calls><invoke name="look">'
        '<parameter name="n">1</parameter></invoke></function_calls>'
    ),
]


TAGGED = '<tool_call>{{"name": "{}", "arguments": {{}}}}</tool_call>'


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leaked_call_of_an_offered_tool_is_recovered_and_leaves_the_words(leak: str) -> None:
    reply = read(f"Let me see. {leak} One moment.")
    assert wanted(reply) == [("look", {"n": 1}, "recovered")]
    assert reply.text == "Let me see.  One moment."
    assert noted(reply) == ["leaked-call"]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leaked_call_of_anything_else_stays_text(leak: str) -> None:
    reply = read(leak, ToolDeclaration("hear", ""))
    assert (reply.text, reply.actions) == (leak, ())


@pytest.mark.parametrize("form", ["<function={}>{{}}</function>", TAGGED])
def test_beside_a_call_of_an_offered_tool_one_of_anything_else_is_a_call_too(form: str) -> None:
    reply = read(f"Let me see. {form.format('look')} {form.format('nothere')}")
    assert [action.type for action in reply.actions] == ["look", "nothere"]
    assert reply.text == "Let me see."


def test_a_leaked_call_that_cannot_be_read_is_an_error() -> None:
    text = '<tool_call>{"name": "look", "arguments": {</tool_call>'
    assert codes(read(text)) == ["bad-json"]
    assert codes(read("<function=look>{oops</function>")) == ["bad-arguments"]


def test_a_parameter_may_hold_angle_brackets() -> None:
    call = '<invoke name="look"><parameter name="html"><b>x</b></parameter></invoke>'
    assert wanted(read(call)) == [("look", {"html": "<b>x</b>"}, "recovered")]


def test_names_on_the_wire_lead_back_to_our_own_in_text_too() -> None:
    tool = ToolDeclaration("look around", "")
    reader = reader_for("text", {"look_around": "look around"}, tools=[tool])
    reply = read_all(reader, ['{"name": "look_around", "arguments": {}}'])
    assert [action.type for action in reply.actions] == ["look around"]


def test_pieces_of_text_are_told_as_they_come_and_an_interrupted_answer_does_nothing() -> None:
    reader = reader_for("text", tools=[LOOK])
    assert [delta for piece in ("{}", "", "!") for delta in reader.feed(piece)] != []
    assert reader.finish().text == "{}!"
    reader = reader_for("text", tools=[LOOK])
    reader.feed(json.dumps(ACTION))
    reply = reader.finish(interrupted=True)
    assert (reply.stop, reply.actions, codes(reply)) == ("interrupted", (), ["unfinished-call"])


def test_a_chat_server_that_carries_text_calls_is_read_as_one() -> None:
    text = json.dumps(ACTION)
    chunks = [{"choices": [{"delta": {"content": piece}}]} for piece in (text[:9], text[9:])]
    ended: dict[str, object] = {
        "choices": [{"delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    events = [*map(json.dumps, chunks), json.dumps(ended)]
    reply = read_all(reader_for("text", tools=[LOOK]), events)
    assert wanted(reply) == [("look", {"n": 1}, "json")]
    assert reply.usage is not None
    plain = read_all(ChatReader(), events)
    assert interpret(plain, Expectation(tools=(LOOK,))) == reply


def test_giving_up_on_a_text_full_of_brackets_is_said() -> None:
    many = "[x] " * 300
    assert noted(read(many)) == ["many-brackets"]
    assert noted(read(f"{json.dumps({'n': 1})} {many}")) == ["many-brackets"]
    assert noted(read("[x] " * 200)) == []


PLACED = ToolDeclaration(
    "message_web", "", {"type": "object", "properties": {"interface_path": {"type": "string"}}}
)
OTHER = ToolDeclaration("message_mail", "")


def placed(name: str, *tools: ToolDeclaration, place: str = "web/7") -> Reply:
    body = json.dumps({"actions": [{"type": name, "payload": {"text": "Hi"}}]})
    return read_all(reader_for("text", tools=tools, place=place), [body])


@pytest.mark.parametrize("name", ["message_browser", "message", "send_message"])
def test_an_invented_kind_of_message_is_the_one_of_the_place(name: str) -> None:
    reply = placed(name, PLACED, OTHER)
    sent = {"text": "Hi", "interface_path": "web/7"}
    assert wanted(reply) == [("message_web", sent, "recovered")]
    assert noted(reply) == ["renamed-action", "placed-action"]


def test_the_only_kind_of_message_is_meant_where_no_place_is_known() -> None:
    assert wanted(placed("message", OTHER, place=""))[0][0] == "message_mail"
    assert wanted(placed("message_x", LOOK, OTHER, place="web/7"))[0][0] == "message_mail"


def test_a_message_of_which_nobody_knows_where_it_goes_keeps_its_name() -> None:
    assert wanted(placed("message_x", PLACED, OTHER, place=""))[0][0] == "message_x"
    assert wanted(placed("message_x", LOOK))[0][0] == "message_x"


def test_a_message_that_is_offered_and_addressed_stays_as_it_is() -> None:
    body = json.dumps({"type": "message_web", "payload": {"interface_path": "web/9"}})
    reply = read_all(reader_for("text", tools=[PLACED], place="web/7"), [body])
    assert wanted(reply) == [("message_web", {"interface_path": "web/9"}, "json")]
    assert noted(reply) == []


def test_a_native_call_of_an_invented_message_is_mapped_too() -> None:
    call = {"id": "c", "function": {"name": "send_message", "arguments": '{"text": "Hi"}'}}
    event = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    reader = reader_for("openai-chat", tools=[PLACED], place="web/7")
    reply = read_all(reader, [json.dumps(event)])
    assert wanted(reply)[0][::2] == ("message_web", "recovered")


def test_offered_tools_named_beside_the_actions_are_actions_too() -> None:
    body = {"actions": [ACTION], "message_web": {"text": "Hi"}, "mood": {"x": 1}}
    reply = read(json.dumps(body))
    assert [one[0] for one in wanted(reply)] == ["look", "message_web"]
    assert noted(reply) == ["unknown-keys"]


def test_a_text_full_of_brackets_is_read_in_reasonable_time() -> None:
    for text in ("[" * 200_000, '{"a":' * 50_000, "<tool_call>" * 50_000, "```\n" * 50_001):
        assert read(text).actions == ()


SENT = {"text": "Hi", "interface_path": "web/7"}


SHAPES: list[Callable[[str], object]] = [
    lambda name: {name: {"text": "Hi"}},
    lambda name: {"action": name, "action_input": {"text": "Hi"}},
    lambda name: {"action": name, "text": "Hi"},
    lambda name: {"type": name, "text": "Hi"},
    lambda name: [{"function": {"name": name, "arguments": '{"text": "Hi"}'}}],
    lambda name: {"recovery_actions": [{"action_type": name, "payload": {"text": "Hi"}}]},
    lambda name: {"actions": [], name: {"text": "Hi"}},
]


@pytest.mark.parametrize("name", ["message", "send_message", "message_browser"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_invented_kind_of_message_is_mapped_in_every_shape(
    name: str, shape: Callable[[str], object]
) -> None:
    body = json.dumps(shape(name))
    reply = read_all(reader_for("text", tools=[PLACED, OTHER, LOOK], place="web/7"), [body])
    assert wanted(reply) == [("message_web", SENT, "recovered")]
    assert "renamed-action" in noted(reply)


def test_words_under_the_name_of_a_message_stay_words() -> None:
    reply = read_all(reader_for("text", tools=[PLACED], place="web/7"), ['{"message": "Hi"}'])
    assert wanted(reply) == []
    assert reply.text == "Hi"


def test_messages_in_a_call_of_several_tools_are_mapped_and_placed() -> None:
    uses = [
        {"recipient_name": "functions.send_message", "parameters": {"text": "Hi"}},
        {"recipient_name": "functions.message_web", "parameters": {"interface_path": "web/9"}},
    ]
    arguments = json.dumps({"tool_uses": uses})
    call = {"id": "c", "function": {"name": "multi_tool_use.parallel", "arguments": arguments}}
    event = {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    reader = reader_for("openai-chat", tools=[PLACED], place="web/7")
    reply = read_all(reader, [json.dumps(event)])
    assert [one[:2] for one in wanted(reply)] == [
        ("message_web", SENT),
        ("message_web", {"interface_path": "web/9"}),
    ]

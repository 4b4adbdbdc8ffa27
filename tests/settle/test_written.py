"""Calls and thoughts written among the words, on a wire that has calls of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.facts.ability import Calls
from mentis.settle.readers import Reader, reader_for
from mentis.values.reply import AgainDelta, ReasoningDelta, Reply, TextDelta
from mentis.values.tool import ToolDeclaration

LOOK = ToolDeclaration("look", "")
NAMED = '{"name": "look", "arguments": {"n": 1}}'
WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")


def event(wire: str, text: str) -> str:
    match wire:
        case "openai-chat":
            body: object = {"choices": [{"delta": {"content": text}}]}
        case "openai-responses":
            body = {"type": "response.output_text.delta", "output_index": 0, "delta": text}
        case "anthropic":
            delta = {"type": "text_delta", "text": text}
            body = {"type": "content_block_delta", "index": 0, "delta": delta}
        case _:
            body = {"candidates": [{"content": {"parts": [{"text": text}]}}]}
    return json.dumps(body)


def begin(wire: str) -> list[str]:
    if wire != "anthropic":
        return []
    block = {"type": "text", "text": ""}
    return [json.dumps({"type": "content_block_start", "index": 0, "content_block": block})]


def end(wire: str) -> list[str]:
    bodies: dict[str, list[object]] = {
        "openai-chat": [{"choices": [{"delta": {}, "finish_reason": "stop"}]}],
        "openai-responses": [{"type": "response.completed", "response": {"status": "completed"}}],
        "anthropic": [
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ],
        "gemini": [{"candidates": [{"finishReason": "STOP"}]}],
    }
    return [json.dumps(body) for body in bodies[wire]]


class Heard:
    """What was told while an answer came, and the reply."""

    def __init__(self, pieces: Sequence[str], wire: str = "openai-chat") -> None:
        reader: Reader = reader_for(wire, tools=[LOOK])
        events = [*begin(wire), *(event(wire, piece) for piece in pieces), *end(wire)]
        deltas = [delta for one in events for delta in reader.feed(one)]
        deltas += reader.rest()
        self.text = self.reasoning = ""
        for delta in deltas:
            if isinstance(delta, TextDelta):
                self.text += delta.text
            elif isinstance(delta, ReasoningDelta):
                self.reasoning += delta.text
            elif isinstance(delta, AgainDelta) and not delta.keeps:
                self.text = ""
        self.reply: Reply = reader.finish()

    @property
    def calls(self) -> list[tuple[str, object]]:
        return [(action.type, dict(action.payload)) for action in self.reply.actions]


FORMS = {
    "bare": NAMED,
    "envelope": '{"actions": [{"type": "look", "payload": {"n": 1}}]}',
    "function": '{"type": "function", "function": {"name": "look", "arguments": "{\\"n\\": 1}"}}',
    "list": f"[{NAMED}]",
    "fenced": f"```json\n{NAMED}\n```",
    "tagged": f"<tool_call>\n{NAMED}\n</tool_call>",
    "tagged without its end": f"<tool_call>\n{NAMED}\n",
    "function tag": '<function=look>{"n": 1}</function>',
    "parameters": (
        "<tool_call>\n<function=look>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>"
    ),
    "keys": "<tool_call>look\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "mistral": f"[TOOL_CALLS] [{NAMED}]",
    "mistral, newer": '[TOOL_CALLS]look[ARGS]{"n": 1}',
    "llama": '<|python_tag|>{"name": "look", "parameters": {"n": 1}}',
    "deepseek": (
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>look"
        '<\uff5ctool\u2581sep\uff5c>{"n": 1}<\uff5ctool\u2581call\u2581end\uff5c>'
        "<\uff5ctool\u2581calls\u2581end\uff5c>"
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0"
        '<|tool_call_argument_begin|>{"n": 1}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "harmony": (
        '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"n": 1}<|call|>'
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_written_as_text_is_a_call_and_never_told_however_it_is_cut(form: str) -> None:
    text = f"Let me see.\n{FORMS[form]}"
    for cut in range(len(text)):
        heard = Heard([text[:cut], text[cut:]])
        assert heard.calls == [("look", {"n": 1})]
        assert (heard.text.rstrip(), heard.reply.text) == ("Let me see.", "Let me see.")
        assert heard.reply.stop == "tool_use"
    assert Heard(list(text)).text.rstrip() == "Let me see."


@pytest.mark.parametrize("wire", WIRES)
def test_it_is_read_on_every_wire(wire: str) -> None:
    heard = Heard(["Let me see. ", NAMED], wire)
    assert heard.calls == [("look", {"n": 1})]
    assert "look" not in heard.text
    assert heard.reply.text == "Let me see."


def test_several_calls_one_after_the_other_are_all_read() -> None:
    heard = Heard([f"{NAMED}\n{NAMED.replace('1', '2')}"])
    assert heard.calls == [("look", {"n": 1}), ("look", {"n": 2})]
    assert heard.reply.text == ""


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ('{"name": "look", "arguments": {"n": 1,}}', {"n": 1}),
        ('{"name": "look", "arguments": {"n": 1}', {"n": 1}),
        ('{"name": "look", "arguments": {\'n\': True}}', {"n": True}),
        ('{"name": "look", "arguments": {"n": "a\nb"}}', {"n": "a\nb"}),
        ('<tool_call>{"name": "look", "arguments": {"n": 1}</tool_call>', {"n": 1}),
    ],
)
def test_broken_json_of_a_call_is_mended_and_noted(text: str, payload: object) -> None:
    heard = Heard(list(text))
    assert heard.calls == [("look", payload)]
    assert (heard.text, heard.reply.text) == ("", "")
    (note,) = [note for note in heard.reply.notes if note.code == "mended-json"]
    assert note.raw == text


@pytest.mark.parametrize(
    "text", ['{"name": "look", "arguments": {"n": ', '{"name": "look" "arguments": oops}']
)
def test_what_cannot_be_mended_is_asked_for_again_and_is_no_answer(text: str) -> None:
    heard = Heard([f"So: {text}"])
    assert [error.code for error in heard.reply.errors] == ["bad-json"]
    assert heard.reply.errors[0].raw == text
    assert (heard.text.strip(), heard.reply.text) == ("So:", "So:")


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bob", "arguments": {}}',
        '{"look": {"n": 1}}',
        '{"steps": [{"name": "look", "arguments": {}}]}',
        '{"text": "Hello."}',
        '```json\n{"name": "Bob", "age": 3}\n```\nThat is Bob.',
        "[1, 2] and [0, 1) and {x} look",
        "The <tool_call> tag calls look.",
        "```python\nprint('look')\n```\n",
        '{"type": "look", "colour": "red"}',
    ],
)
def test_what_does_not_call_an_offered_tool_stays_as_it_is(text: str) -> None:
    heard = Heard(list(text))
    assert heard.text == heard.reply.text == text
    assert (heard.calls, heard.reply.errors) == ([], ())


def test_an_answer_in_json_is_told_while_it_comes() -> None:
    reader = reader_for("openai-chat", tools=[LOOK])
    deltas = reader.feed(event("openai-chat", '{"city": "Berlin", "days": [1'))
    assert deltas == (TextDelta('{"city": "Berlin", "days": [1'),)


SCRAPS = st.sampled_from(
    [
        *("{", "}", "[", "]", '"', ":", ",", "```", "json\n", "\n", "<", ">", "<tool_call>"),
        *("</tool_call>", "<function=", "[TOOL_CALLS]", '"name"', '"arguments"', '{"name": "'),
        *('"other"', "{}", "<|channel|>", "[ARGS]", " ", "\\", "actions"),
    ]
)
plain_texts = st.lists(SCRAPS | st.text(st.characters(codec="utf-8"), max_size=6), max_size=20)


@given(plain_texts.map("".join).filter(lambda text: "look" not in text and "think" not in text))
def test_without_an_offered_name_every_text_passes_byte_for_byte(text: str) -> None:
    heard = Heard([text])
    assert heard.reply.text == heard.text == text
    assert (heard.calls, heard.reply.errors) == ([], ())


mixed_texts = st.lists(
    SCRAPS
    | st.sampled_from([NAMED, "<think>", "</think>", "look", *FORMS.values()])
    | st.text("ab"),
    max_size=8,
).map("".join)


@given(mixed_texts, st.data())
def test_wherever_an_answer_is_cut_the_reply_is_the_same(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    edges = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    one, many = Heard([text]).reply, Heard(pieces)
    got = many.reply
    assert (got.text, got.reasoning) == (one.text, one.reasoning)
    assert (got.actions != ()) == (one.actions != ())
    assert [(a.type, a.payload) for a in got.actions] == [(a.type, a.payload) for a in one.actions]
    assert [error.code for error in got.errors] == [error.code for error in one.errors]
    assert many.text.split() == got.text.split()


@pytest.mark.parametrize("mark", ["think", "thinking", "seed:think"])
def test_thoughts_between_marks_are_reasoning(mark: str) -> None:
    text = f"<{mark}>\nHm, look.\n</{mark}>\n\nIt is 17."
    for cut in range(len(text)):
        heard = Heard([text[:cut], text[cut:]])
        assert (heard.text, heard.reply.text) == ("It is 17.", "It is 17.")
        assert (heard.reasoning.strip(), heard.reply.reasoning) == ("Hm, look.", "Hm, look.")


@pytest.mark.parametrize("wire", WIRES)
def test_thoughts_are_found_on_every_wire(wire: str) -> None:
    heard = Heard(["<think>Hm.</think>", "Yes."], wire)
    assert (heard.reply.reasoning, heard.reply.text) == ("Hm.", "Yes.")


def test_before_an_end_without_a_beginning_all_was_thought() -> None:
    text = "Hm, let me see.\n</think>\n\nIt is 17."
    for cut in range(len(text)):
        heard = Heard([text[:cut], text[cut:]])
        assert (heard.text, heard.reply.text) == ("It is 17.", "It is 17.")
        assert heard.reply.reasoning == "Hm, let me see."


@pytest.mark.parametrize(
    "text", ["Use <think> and </think> for it.", "The tag `</think>` ends it.", "a < b [THIS]"]
)
def test_marks_that_are_talked_about_stay_text(text: str) -> None:
    heard = Heard(list(text))
    assert heard.text == heard.reply.text == text
    assert heard.reply.reasoning == ""


def test_a_call_after_a_thought_is_found_too() -> None:
    heard = Heard([f"<think>I call look.</think>{NAMED}"])
    assert heard.calls == [("look", {"n": 1})]
    assert heard.text == ""


@pytest.mark.parametrize("calls", ["bound", "text"])
@pytest.mark.parametrize(
    "text",
    [
        '{"actions":[{"type":"note","payload":{"text":"a"}},{"type":"no',
        '{"actions": [{"type": "note", "payload": {"text": "a"}}, {"type": "note", "payl',
        '{"actions":[{"type":"note","payload":{"text":"a"}}],"text":"hel',
    ],
)
def test_what_is_left_of_calls_that_were_cut_short_is_no_answer(calls: Calls, text: str) -> None:
    note = ToolDeclaration("note", "Keeps a note.", {"type": "object"})
    reader = reader_for("openai-chat", {}, tools=(note,), model="m", calls=calls)
    for start in range(0, len(text), 7):
        piece = {"content": text[start : start + 7]}
        reader.feed(json.dumps({"choices": [{"delta": piece}]}))
    reader.feed(json.dumps({"choices": [{"delta": {}, "finish_reason": "length"}]}))
    told = "".join(delta.text for delta in reader.rest() if isinstance(delta, TextDelta))
    reply = reader.finish()
    assert (reply.text, told) == ("", "")
    assert [action.payload for action in reply.actions] == [{"text": "a"}]
    assert "cut-calls" in [one.code for one in reply.notes]

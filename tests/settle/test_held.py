"""What is told of a text while it comes: words at once, calls never."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.settle.readers import Reader, read_all, reader_for
from mentis.values.reply import Reply, TextDelta
from mentis.values.tool import ToolDeclaration

LOOK = ToolDeclaration("look", "")
CALL = '{"actions": [{"type": "look", "payload": {"n": "a } b \\" c"}}]}'


def hear(reader: Reader, pieces: Sequence[str]) -> tuple[list[str], str, Reply]:
    """What was told on the way, what at the end, and the reply."""
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    told = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    late = "".join(delta.text for delta in reader.rest() if isinstance(delta, TextDelta))
    assert reader.rest() == ()
    return told, late, reader.finish()


def in_text(*, bound: bool = False) -> Reader:
    if not bound:
        return reader_for("text", tools=[LOOK])
    return reader_for("text", tools=[LOOK], calls="bound")


FRAMES = {
    "bare": CALL,
    "words before": f"Sure, {{I}} do [it]:\n{CALL}",
    "words after": f"{CALL}\nDone.",
    "fenced": f"Sure.\n```json\n{CALL}\n```\nDone.",
    "leaked": '<tool_call>{"name": "look", "arguments": {}}</tool_call>',
    "marked": 'So: [TOOL_CALLS] [{"name": "look", "arguments": {}}]',
}


@pytest.mark.parametrize("frame", FRAMES)
def test_no_piece_of_a_call_is_told_however_the_text_is_cut(frame: str) -> None:
    text = FRAMES[frame]
    for cut in range(len(text)):
        told, late, reply = hear(in_text(), [text[:cut], text[cut:]])
        assert [action.type for action in reply.actions] == ["look"]
        assert "look" not in "".join(told) + late
        assert " ".join(f"{''.join(told)}{late}".split()) == " ".join(reply.text.split())
    told, late, _ = hear(in_text(), list(text))
    assert "look" not in "".join(told) + late


@pytest.mark.parametrize(
    "text",
    [
        "See [1] and [two](there), {x} and `code`.",
        '{"n": 1} is JSON, [1, 2] too.',
        "```python\nprint({'a': [1]})\n```\nand more",
        "```json\n{not json}\n```\nand more",
        "a < b, <b>bold</b>, <tool> and `` too",
        '{"type": "other", "payload": {}} is no tool of ours.',
        "{ {} } [ [] ] end",
    ],
)
def test_words_that_only_look_like_a_call_are_all_told(text: str) -> None:
    told, late, reply = hear(in_text(), list(text))
    assert "".join(told) + late == reply.text == text
    assert late == ""


def test_what_never_closes_is_told_at_the_end() -> None:
    told, late, reply = hear(in_text(), ["Well: ", '{"n": ', "and so on"])
    assert (told, late) == (["Well: "], '{"n": and so on')
    assert reply.text == 'Well: {"n": and so on'


@given(st.lists(st.sampled_from([*'{}[]"\\`<:,n1 \n', "```json\n", "```", CALL, "<tool_call>"])))
def test_nothing_is_lost_and_nothing_told_twice(pieces: list[str]) -> None:
    told, late, reply = hear(in_text(), pieces)
    heard = "".join(told) + late
    if not reply.actions:
        assert heard.strip() == reply.text.strip()
    whole, end, same = hear(in_text(), ["".join(pieces)])
    assert same.text == reply.text
    assert "".join(whole) + end == heard


@pytest.mark.parametrize("before", ["```json\n<tool_call>```", '["<tool_call>"] '])
def test_nothing_is_told_from_the_mark_of_a_call_on_wherever_it_stands(before: str) -> None:
    told, late, reply = hear(in_text(), list(f"{before}json\n{CALL}"))
    assert "".join(told) + late == before[: before.index("<")]
    assert reply.text == "".join(told).strip()
    assert [problem.code for problem in reply.errors] == ["bad-json"]


def test_a_call_before_the_mark_of_one_that_cannot_be_read_is_read() -> None:
    told, late, reply = hear(in_text(), list(f" So:\n{CALL}<tool_call>"))
    assert ("".join(told) + late).strip() == reply.text == "So:"
    assert [action.type for action in reply.actions] == ["look"]
    assert [problem.code for problem in reply.errors] == ["bad-json"]


def test_where_nothing_was_offered_everything_is_told_at_once() -> None:
    told, late, reply = hear(reader_for("text", tools=[]), ['{"actions": ', "[]}"])
    assert (told, late, reply.text) == (['{"actions": ', "[]}"], "", '{"actions": []}')


# Answers that are bound to a schema

WORDS = 'Grüße "du"\n\\o/ 😀'


@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_words_of_a_bound_answer_are_told_while_they_come(ascii_only: bool) -> None:
    body = json.dumps({"text": WORDS}, indent=2, ensure_ascii=ascii_only)
    for cut in range(len(body)):
        told, late, reply = hear(in_text(bound=True), [body[:cut], body[cut:]])
        assert (f"{''.join(told)}{late}", reply.text) == (WORDS, WORDS)
    told, late, _ = hear(in_text(bound=True), list(body))
    assert len(told) > 10
    assert late == ""


def test_a_bound_answer_that_was_cut_short_keeps_its_words() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": '{"text": "Half a'}}]}
    ended = {"choices": [{"index": 0, "finish_reason": "length"}]}
    reader = reader_for("openai-chat", tools=[LOOK], calls="bound")
    told, late, reply = hear(reader, [json.dumps(chunk), json.dumps(ended)])
    assert (told, late, reply.text, reply.stop) == (["Half a"], "", "Half a", "length")
    assert [note.code for note in reply.notes] == ["cut-words"]
    assert reply.errors == ()


def test_a_bound_answer_that_calls_tells_nothing() -> None:
    told, late, reply = hear(in_text(bound=True), list(CALL))
    assert (told, late, reply.text) == ([], "", "")
    assert reply.actions[0].origin == "json"


def test_a_server_that_does_not_keep_to_the_schema_is_read_as_words() -> None:
    told, late, reply = hear(in_text(bound=True), ["Hel", "lo", " there"])
    assert (told, late, reply.text) == (["Hel", "lo", " there"], "", "Hello there")


@given(st.lists(st.sampled_from([*'{}[]"`<n \n', "```json\n", CALL, "<tool_call>", "<think>"])))
def test_an_answer_that_nobody_listens_to_is_read_the_same(pieces: list[str]) -> None:
    _, _, reply = hear(in_text(), pieces)
    assert read_all(in_text(), pieces) == reply
    bound = [json.dumps({"text": "".join(pieces)})]
    assert read_all(in_text(bound=True), bound) == hear(in_text(bound=True), bound)[2]

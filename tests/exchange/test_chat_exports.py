"""Exports of ChatGPT and Claude: the branch that was read last, and what stands beside it."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.errors import BadInput
from mentis.exchange.chat_exports import export_service, read_export
from mentis.values.imported import ImportedTurn


def node(
    name: str, parent: str, role: str = "", text: object = "", **more: object
) -> dict[str, object]:
    message: dict[str, object] = {
        "id": name,
        "author": {"role": role},
        "create_time": 1767225600.5,
        "content": {"content_type": "text", "parts": [text]},
        **more,
    }
    return {"id": name, "parent": parent or None, "message": message if role else None}


CHATGPT = {
    "title": "Cello",
    "create_time": 1767225600,
    "conversation_id": "c-1",
    "current_node": "a2",
    "mapping": {
        one["id"]: one
        for one in (
            node("root", ""),
            node(
                "sys",
                "root",
                "system",
                "You help.",
                metadata={"is_visually_hidden_from_conversation": True},
            ),
            node("u0", "sys", "user", "An older question"),
            node(
                "u1",
                "sys",
                "user",
                "Which strings?",
                metadata={"attachments": [{"name": "cello.png"}]},
            ),
            node("a1", "u1", "assistant", "Gut."),
            node("t1", "u1", "assistant", "search()", recipient="web"),
            node("t2", "t1", "tool", "results"),
            node(
                "a2", "t2", "assistant", {"content_type": "audio_transcription", "text": "Steel."}
            ),
        )
    },
}
CLAUDE = {
    "uuid": "c-2",
    "name": "Garden",
    "created_at": "2026-01-01T00:00:00Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Roses?", "created_at": "2026-01-01T00:00:01Z",
         "attachments": [{"file_name": "soil.txt", "extracted_content": "..."}]},
        {"uuid": "m2", "sender": "assistant", "text": "", "created_at": "2026-01-01T00:00:02Z",
         "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Now."}]},
    ],
}  # fmt: skip


def test_a_branch_of_chatgpt_keeps_answers_that_were_not_chosen() -> None:
    (found,) = read_export([CHATGPT])
    assert (found.id, found.title, found.time) == ("c-1", "Cello", "2026-01-01T00:00:00+00:00")
    assert found.turns == (
        ImportedTurn("user", "Which strings?", time="2026-01-01T00:00:00+00:00"),
        ImportedTurn("assistant", "Steel.", time="2026-01-01T00:00:00+00:00", others=("Gut.",)),
    )
    assert found.edited == 1
    assert found.attachments == ("cello.png",)
    assert dict(found.unsaid) == {
        "calls of tools": 1,
        "hidden messages": 1,
        "messages of the tool": 1,
    }


def test_messages_of_claude_come_in_their_order_with_what_was_thought_left_out() -> None:
    (found,) = read_export([CLAUDE])
    assert [(one.role, one.text) for one in found.turns] == [
        ("user", "Roses?"),
        ("assistant", "Now."),
    ]
    assert found.attachments == ("soil.txt",)
    assert found.unsaid == (("parts of kind thinking", 1),)


def test_a_tree_of_claude_is_read_to_its_leaf() -> None:
    messages = [
        {"uuid": "q", "sender": "human", "text": "Q", "parent_message_uuid": "0"},
        {"uuid": "x", "sender": "assistant", "text": "X", "parent_message_uuid": "q"},
        {"uuid": "y", "sender": "assistant", "text": "Y", "parent_message_uuid": "q"},
    ]
    row = {"uuid": "c", "name": "", "chat_messages": messages, "current_leaf_message_uuid": "x"}
    (found,) = read_export(row)
    assert [(one.text, one.others) for one in found.turns] == [("Q", ()), ("X", ("Y",))]


def test_an_export_says_whose_it_is() -> None:
    assert export_service([CHATGPT]) == export_service(CHATGPT) == "ChatGPT"
    assert export_service([CLAUDE]) == "Claude"
    assert export_service([CLAUDE, 1]) is None
    assert export_service([]) is None
    assert export_service({"name": "Ada"}) is None


def test_a_message_that_comes_after_itself_is_refused_with_its_conversation() -> None:
    circle = {"mapping": {"a": node("a", "b", "user", "x"), "b": node("b", "a", "user", "y")}}
    with pytest.raises(BadInput, match="conversation 2: message 'b' comes after itself"):
        list(read_export([CHATGPT, circle]))


leaves = st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8)
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(junk, st.sampled_from(["title", "current_node", "mapping", "message", "content", "author"]))
@settings(max_examples=60)
def test_whatever_stands_in_a_field_it_is_read_or_refused(value: object, field: str) -> None:
    broken = cast("dict[str, object]", json.loads(json.dumps(CHATGPT)))
    if field in broken:
        broken[field] = value
    else:
        nodes = cast("dict[str, dict[str, dict[str, object]]]", broken["mapping"])
        nodes["a2"]["message"][field] = value
    try:
        found = list(read_export([broken]))
    except BadInput:
        return
    assert all(turn.text for one in found for turn in one.turns)

"""The official client of Anthropic, over the loopback address."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from tests.rounds import Rounds, calls, says
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving
from tests.surfaces.serve.test_openai import PIXEL, README, USED, thinks, user

TOOL: Any = {
    "name": "Read",
    "description": "Reads a file.",
    "input_schema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}
THINKING: Any = {"type": "enabled", "budget_tokens": 1024}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


@pytest.fixture
def one(home: Path) -> Generator[Served]:
    with serving(home, Rounds(says("Good morning.", USED), says("Good night."))) as served:
        yield served


def test_a_message_is_a_turn_and_tells_what_the_cache_did(one: Served) -> None:
    answer = one.anthropic().messages.create(
        model=PERSONA, max_tokens=100, messages=[user("Hello!")], system="Be brief."
    )
    assert answer.content[0].type == "text"
    assert answer.content[0].text == "Good morning."
    assert answer.stop_reason == "end_turn"
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (60, 40, 10)
    assert [*one.sessions().values()] == [["Hello!", "Good morning."]]


def test_blocks_of_a_stream_never_mix_and_it_starts_once(home: Path) -> None:
    with (
        serving(home, Rounds(thinks("Hm.", "Yes."))) as one,
        one.anthropic().messages.stream(
            model=PERSONA, max_tokens=2000, messages=[user("Really?")], thinking=THINKING
        ) as stream,
    ):
        kinds = [event.type for event in stream]
        done = stream.get_final_message()
    assert [block.type for block in done.content] == ["thinking", "text"]
    assert kinds.count("message_start") == 1
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 2
    assert done.usage.output_tokens == 10


def test_thoughts_are_told_only_to_a_client_that_asked_for_them(home: Path) -> None:
    with serving(home, Rounds(thinks("Hm.", "Yes."))) as one:
        answer = one.anthropic().messages.create(
            model=PERSONA, max_tokens=100, messages=[user("Really?")]
        )
    assert [block.type for block in answer.content] == ["text"]


def test_tools_of_the_client_whole_and_streamed(home: Path) -> None:
    answers = Rounds(calls(README, text="Let me look."), says("It says hello."), calls(README))
    with serving(home, answers) as one:
        client = one.anthropic()
        asked: Any = [user("What does it say?")]
        first = client.messages.create(model=PERSONA, max_tokens=100, messages=asked, tools=[TOOL])
        assert first.stop_reason == "tool_use"
        call = first.content[-1]
        assert call.type == "tool_use"
        assert call.input == {"path": "README.md"}
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "hello"}
        said = {"role": "assistant", "content": [block.model_dump() for block in first.content]}
        going_on: Any = [*asked, said, {"role": "user", "content": [result]}]
        last = client.messages.create(
            model=PERSONA, max_tokens=100, messages=going_on, tools=[TOOL]
        )
        assert last.content[0].type == "text"
        assert last.content[0].text == "It says hello."
        with client.messages.stream(
            model=PERSONA, max_tokens=100, messages=[user("Another?")], tools=[TOOL]
        ) as stream:
            streamed = stream.get_final_message().content[0]
        assert streamed.type == "tool_use"
        assert streamed.input == {"path": "README.md"}
        assert len(one.sessions()) == 2
        assert one.verify()


def test_words_beside_results_are_a_message_after_them(home: Path) -> None:
    with serving(home, Rounds(calls(README), says("I see."))) as one:
        client = one.anthropic()
        asked: Any = [user("What does it say?")]
        first = client.messages.create(model=PERSONA, max_tokens=100, messages=asked, tools=[TOOL])
        call: Any = first.content[-1]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "hello"}
        words = {"type": "text", "text": "But be quick."}
        said = {"role": "assistant", "content": [call.model_dump()]}
        going_on: Any = [*asked, said, {"role": "user", "content": [result, words]}]
        client.messages.create(model=PERSONA, max_tokens=100, messages=going_on, tools=[TOOL])
        assert len(one.sessions()) == 1
        assert one.verify()
    roles = [message["role"] for message in one.provider.messages(1)]
    assert roles[-4:] == ["user", "assistant", "tool", "user"]


def test_what_of_a_result_is_not_told_is_named(home: Path) -> None:
    with serving(home, Rounds(calls(README), says("A picture."))) as one:
        client = one.anthropic()
        asked: Any = [user("What does it show?")]
        first = client.messages.create(model=PERSONA, max_tokens=9, messages=asked, tools=[TOOL])
        call: Any = first.content[-1]
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        shown = [{"type": "text", "text": "here"}, {"type": "image", "source": source}]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": shown}
        said = {"role": "assistant", "content": [call.model_dump()]}
        going_on: Any = [*asked, said, {"role": "user", "content": [result]}]
        client.messages.create(model=PERSONA, max_tokens=9, messages=going_on, tools=[TOOL])
    assert "here\\n\\n[image left out]" in json.dumps(one.provider.messages(1)[-1])


def test_an_image_is_shown_to_the_model(one: Served) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    content: Any = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
    one.anthropic().messages.create(
        model=PERSONA, max_tokens=100, messages=[{"role": "user", "content": content}]
    )
    assert PIXEL in json.dumps(one.provider.sent[0])


def test_an_empty_document_is_nothing(one: Served) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": ""}
    content = [{"type": "document", "source": source}, {"type": "text", "text": "Read it."}]
    body = {"model": PERSONA, "max_tokens": 99, "messages": [{"role": "user", "content": content}]}
    assert one.post("/v1/messages", body).status_code == 200
    assert [words[0] for words in one.sessions().values()] == ["Read it."]


def test_tokens_are_counted_as_the_whole_prompt_has_them(one: Served) -> None:
    client = one.anthropic()
    short = client.messages.count_tokens(model=PERSONA, messages=[user("Hello!")])
    long = client.messages.count_tokens(model=PERSONA, messages=[user("Hello! " * 500)])
    tools = client.messages.count_tokens(model=PERSONA, messages=[user("Hello!")], tools=[TOOL])
    history: Any = [user("pear " * 400), {"role": "assistant", "content": "Yes."}, user("Hello!")]
    told = client.messages.count_tokens(model=PERSONA, messages=history)
    assert short.input_tokens > 100
    assert long.input_tokens > short.input_tokens + 500
    assert tools.input_tokens > short.input_tokens
    assert told.input_tokens > short.input_tokens + 300
    assert one.sessions() == {}
    assert one.provider.sent == []


def test_unknown_betas_and_fields_are_passed_over(one: Served) -> None:
    body: Any = {
        "model": PERSONA,
        "max_tokens": 100,
        "messages": [user("Hello!")],
        "context_management": {"edits": []},
        "metadata": {"user_id": "x"},
    }
    answer = one.post("/v1/messages?beta=true", body, anthropic_beta="from-the-future-2030-01-01")
    assert answer.json()["content"][0]["text"] == "Good morning."


def test_instructions_among_the_messages_are_told_as_instructions(one: Served) -> None:
    reminder = {"role": "system", "content": "Answer in verse."}
    body: Any = {"model": PERSONA, "max_tokens": 9, "messages": [user("Hello!"), reminder]}
    assert one.post("/v1/messages", body).status_code == 200
    assert [*one.sessions().values()] == [["Hello!", "Good morning."]]
    assert "<client-instructions>\\nAnswer in verse." in json.dumps(one.provider.messages(0)[-1])


def test_errors_have_the_form_the_client_knows(one: Served) -> None:
    with pytest.raises(anthropic.AuthenticationError):
        one.anthropic("wrong").messages.create(model=PERSONA, max_tokens=9, messages=[user("Hi")])
    with pytest.raises(anthropic.NotFoundError) as missing:
        one.anthropic().messages.create(model="opus", max_tokens=9, messages=[user("Hi")])
    assert missing.value.body == {
        "type": "error",
        "error": {
            "type": "not_found_error",
            "message": f"there is no model 'opus' (there are: {PERSONA}; or name it in web.models)",
        },
        "request_id": missing.value.response.headers["x-request-id"],
    }
    prefilled: Any = [user("Hi"), {"role": "assistant", "content": "Well,"}]
    with pytest.raises(anthropic.BadRequestError):
        one.anthropic().messages.create(model=PERSONA, max_tokens=9, messages=prefilled)


def test_models_are_listed_for_this_client_too(one: Served) -> None:
    assert [model.id for model in one.anthropic().models.list()] == [PERSONA]

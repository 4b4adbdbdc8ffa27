"""The providers' own clients read the same bytes from a loopback server; what they make of them
is what we make of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import pytest

from mentis.settle.readers import read_all, reader_for
from mentis.values.reply import Reply

Play = Callable[[str], str]
Recorded = Callable[[str], bytes]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def ours(wire: str, body: bytes) -> Reply:
    lines = body.decode().replace("\r\n", "\n").split("\n")
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return read_all(reader_for(wire), events)


def calls_of(reply: Reply) -> list[tuple[str, str, object]]:
    return [(action.call_id, action.type, action.payload) for action in reply.actions]


def test_the_openai_client_accumulates_the_same_chat(playing: Play, recorded: Recorded) -> None:
    import openai

    reply = ours("openai-chat", recorded("openai-chat.sse"))
    with (
        openai.OpenAI(base_url=f"{playing('openai-chat.sse')}/v1", api_key="k") as client,
        client.chat.completions.stream(
            model="gpt-5.6", messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        final = stream.get_final_completion()
    message, usage = final.choices[0].message, final.usage
    assert message.content == reply.text
    assert usage is not None
    assert reply.usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (reply.usage.input, reply.usage.output)
    theirs = [
        (call.id, call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or ()
    ]
    assert theirs == calls_of(reply)
    assert (final.model, final.choices[0].finish_reason) == (reply.model, "tool_calls")


def test_the_openai_client_accumulates_the_same_response(playing: Play, recorded: Recorded) -> None:
    import openai

    reply = ours("openai-responses", recorded("openai-responses.sse"))
    with (
        openai.OpenAI(base_url=f"{playing('openai-responses.sse')}/v1", api_key="k") as client,
        client.responses.stream(model="gpt-5.6", input="Hi") as stream,
    ):
        final = stream.get_final_response()
    assert final.output_text == reply.text
    theirs = [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in final.output
        if item.type == "function_call"
    ]
    assert theirs == calls_of(reply)
    reasoning = next(item for item in final.output if item.type == "reasoning")
    assert "\n\n".join(part.text for part in reasoning.summary) == reply.reasoning
    assert final.usage is not None
    assert reply.usage is not None
    assert final.usage.input_tokens == reply.usage.input
    assert final.usage.input_tokens_details.cached_tokens == reply.usage.cache_read


def test_the_anthropic_client_accumulates_the_same_message(
    playing: Play, recorded: Recorded
) -> None:
    import anthropic

    reply = ours("anthropic", recorded("anthropic.sse"))
    with (
        anthropic.Anthropic(base_url=playing("anthropic.sse"), api_key="k") as client,
        client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=99, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        final = stream.get_final_message()
    kinds = ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]
    assert [block.type for block in final.content] == kinds
    theirs = [(b.id, b.name, b.input) for b in final.content if b.type == "tool_use"]
    assert theirs == calls_of(reply)
    assert "".join(b.text for b in final.content if b.type == "text") == reply.text
    thinking = next(b for b in final.content if b.type == "thinking")
    assert thinking.thinking == reply.reasoning
    state = getattr(reply.parts[0], "state", None)
    assert state is not None
    assert thinking.signature == state.data["signature"]
    used = final.usage
    assert reply.usage is not None
    assert used.input_tokens + (used.cache_read_input_tokens or 0) + (
        used.cache_creation_input_tokens or 0
    ) == (reply.usage.input)
    assert used.output_tokens == reply.usage.output


@pytest.mark.parametrize("recording", ["gemini.sse"])
def test_the_google_client_yields_the_same_parts(
    recording: str, playing: Play, recorded: Recorded
) -> None:
    from google import genai

    reply = ours("gemini", recorded(recording))
    options = genai.types.HttpOptions(base_url=playing(recording))
    with genai.Client(api_key="k", http_options=options) as client:
        ask = client.models.generate_content_stream  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # theirs
        chunks = list(ask(model="gemini-3-flash", contents="Hi"))
    parts = [
        part
        for chunk in chunks
        for candidate in chunk.candidates or ()
        for part in (candidate.content and candidate.content.parts) or ()
    ]
    assert "".join(part.text or "" for part in parts if not part.thought) == reply.text
    assert "".join(part.text or "" for part in parts if part.thought) == reply.reasoning
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.id, call.name, call.args) for call in calls] == cast("object", calls_of(reply))
    used = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert reply.usage is not None
    assert used[-1].prompt_token_count == reply.usage.input
    assert used[-1].candidates_token_count == reply.usage.output - reply.usage.reasoning

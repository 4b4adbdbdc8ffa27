"""The providers' own clients read the same bytes from a loopback server; what they make of them
is what we make of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import anthropic
import openai
import pytest
from google import genai

from mentis.settle.readers import read_all, reader_for
from mentis.values.reply import Reply, Stop

Play = Callable[[str], str]
Recorded = Callable[[str], bytes]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HELLO: Any = [{"role": "user", "content": "Hi"}]
STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "completed": "end",
    "end_turn": "end",
    "tool_use": "tool_use",
    "STOP": "end",
}


@dataclass(frozen=True)
class Heard:
    """What a client made of an answer, in our words. Usage: in, out, from the cache, thought."""

    text: str
    calls: list[tuple[str, str, object]]
    stop: str
    usage: tuple[int, int, int, int]
    reasoning: str = ""
    model: str = ""


def ours(wire: str, body: bytes) -> Reply:
    if not body.startswith((b"data:", b"event:")):
        return read_all(reader_for(wire), [body.decode()])
    lines = body.decode().replace("\r\n", "\n").split("\n")
    events = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return read_all(reader_for(wire), events)


def as_heard(reply: Reply) -> Heard:
    used = reply.usage
    assert used is not None
    return Heard(
        reply.text,
        [(action.call_id, action.type, action.payload) for action in reply.actions],
        "end" if reply.stop == "tool_use" else reply.stop,  # some clients have one word for both
        (used.input, used.output, used.cache_read, used.reasoning),
        reply.reasoning,
        reply.model,
    )


def heard(
    text: str, calls: list[Any], stop: str | None, usage: tuple[int | None, ...], **more: str
) -> Heard:
    ended = STOPS[stop or ""]
    counts = cast("tuple[int, int, int, int]", tuple(count or 0 for count in usage))
    return Heard(text, calls, "end" if ended == "tool_use" else ended, counts, **more)


def chat(url: str, *, streamed: bool) -> Heard:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        if streamed:
            with client.chat.completions.stream(model="gpt-5.6", messages=HELLO) as stream:
                final = cast("Any", stream.get_final_completion())
        else:
            final = cast("Any", client.chat.completions.create(model="gpt-5.6", messages=HELLO))
    message, used = final.choices[0].message, final.usage
    calls = [
        (call.id, call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or ()
    ]
    read, thought = used.prompt_tokens_details, used.completion_tokens_details
    counts = (
        used.prompt_tokens,
        used.completion_tokens,
        read.cached_tokens,
        thought.reasoning_tokens,
    )
    reason = final.choices[0].finish_reason
    return heard(message.content or "", calls, reason, counts, model=final.model)


def responses(url: str, *, streamed: bool) -> Heard:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        if streamed:
            with client.responses.stream(model="gpt-5.6", input="Hi") as stream:
                final = cast("Any", stream.get_final_response())
        else:
            final = cast("Any", client.responses.create(model="gpt-5.6", input="Hi"))
    calls = [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in final.output
        if item.type == "function_call"
    ]
    thoughts = [part.text for i in final.output if i.type == "reasoning" for part in i.summary]
    used = final.usage
    counts = (
        used.input_tokens,
        used.output_tokens,
        used.input_tokens_details.cached_tokens,
        used.output_tokens_details.reasoning_tokens,
    )
    told = {"reasoning": "\n\n".join(thoughts), "model": final.model}
    return heard(final.output_text, calls, final.status, counts, **told)


def messages(url: str, *, streamed: bool) -> Heard:
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        asked: Any = {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": HELLO}
        if streamed:
            with client.messages.stream(**asked) as stream:
                final = cast("Any", stream.get_final_message())
        else:
            final = cast("Any", client.messages.create(**asked))
    blocks: list[Any] = final.content
    used = final.usage
    read, wrote = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    thought = getattr(used, "output_tokens_details", None)
    return heard(
        "".join(b.text for b in blocks if b.type == "text"),
        [(b.id, b.name, b.input) for b in blocks if b.type == "tool_use"],
        final.stop_reason,
        (
            used.input_tokens + read + wrote,
            used.output_tokens,
            read,
            thought.thinking_tokens if thought else 0,
        ),
        reasoning="".join(b.thinking for b in blocks if b.type == "thinking"),
        model=final.model,
    )


def google(url: str, *, streamed: bool) -> Heard:
    options = genai.types.HttpOptions(base_url=url)
    with genai.Client(api_key="k", http_options=options) as client:
        models = cast("Any", client.models)  # its types are partly unknown
        asked = {"model": "gemini-3-flash", "contents": "Hi"}
        if streamed:
            chunks = list(models.generate_content_stream(**asked))
        else:
            chunks = [models.generate_content(**asked)]
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or ()]
    parts = [part for one in candidates if one.content for part in one.content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    # The client adds nothing up: the newest of each count is what counts.
    used: dict[str, int] = {}
    for chunk in chunks:
        used |= chunk.usage_metadata.model_dump(exclude_none=True)
    thought = used.get("thoughts_token_count", 0)
    return heard(
        "".join(part.text or "" for part in parts if not part.thought),
        [(call.id, call.name, call.args) for call in calls],
        candidates[-1].finish_reason.value,
        (
            used["prompt_token_count"],
            used.get("candidates_token_count", 0) + thought,
            used.get("cached_content_token_count", 0),
            thought,
        ),
        reasoning="".join(part.text or "" for part in parts if part.thought),
        model=chunks[-1].model_version,
    )


CLIENTS: dict[str, Callable[..., Heard]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": messages,
    "gemini": google,
}


@pytest.mark.parametrize("kind", ["sse", "json"])
@pytest.mark.parametrize("wire", CLIENTS)
def test_a_client_reads_an_answer_as_we_do(
    wire: str, kind: str, playing: Play, recorded: Recorded
) -> None:
    name = f"{wire}.{kind}"
    theirs = CLIENTS[wire](playing(name), streamed=kind == "sse")
    assert theirs == as_heard(ours(wire, recorded(name)))


@pytest.mark.parametrize("name", ["anthropic.q49", "anthropic.server-tool", "gemini.q30"])
def test_a_client_reads_a_quirk_as_we_do(name: str, playing: Play, recorded: Recorded) -> None:
    wire = name.partition(".")[0]
    theirs = CLIENTS[wire](playing(f"{name}.sse"), streamed=True)
    assert theirs == as_heard(ours(wire, recorded(f"{name}.sse")))


@pytest.mark.parametrize(
    ("wire", "error"),
    [
        ("openai-chat", openai.APIError),
        ("openai-responses", RuntimeError),  # it waits for an end that never comes
        ("anthropic", anthropic.APIError),
        ("gemini", genai.errors.APIError),
    ],
)
def test_where_a_client_raises_in_the_middle_our_reply_is_an_error(
    wire: str, error: type[Exception], playing: Play, recorded: Recorded
) -> None:
    with pytest.raises(error):
        CLIENTS[wire](playing(f"{wire}.q48.sse"), streamed=True)
    assert ours(wire, recorded(f"{wire}.q48.sse")).stop == "error"


def test_ids_that_change_stop_the_client_and_not_us(playing: Play, recorded: Recorded) -> None:
    with pytest.raises(RuntimeError, match="identity changed"):
        responses(playing("openai-responses.q47.sse"), streamed=True)
    reply = ours("openai-responses", recorded("openai-responses.q47.sse"))
    assert ([action.type for action in reply.actions], reply.errors) == (["get_weather"], ())


def test_the_signature_of_a_thought_is_kept_as_the_client_keeps_it(
    playing: Play, recorded: Recorded
) -> None:
    with (
        anthropic.Anthropic(base_url=playing("anthropic.sse"), api_key="k") as client,
        client.messages.stream(model="claude-sonnet-5-5", max_tokens=99, messages=HELLO) as stream,
    ):
        final = stream.get_final_message()
    thinking = next(block for block in final.content if block.type == "thinking")
    state = getattr(ours("anthropic", recorded("anthropic.sse")).parts[0], "state", None)
    assert state is not None
    assert thinking.signature == state.data["signature"]

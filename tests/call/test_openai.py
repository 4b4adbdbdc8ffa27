"""Real HTTP on loopback, with the official client as the second opinion."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from typing import cast

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from mentis.call.http import HttpProvider, key_of
from mentis.errors import ProviderRefused, ProviderUnreachable, RouteError
from mentis.ports.secrets import ListedSecrets
from mentis.render.openai_chat import render
from mentis.settle.openai_chat import ChatReader
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply, Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.span import Span

from .conftest import Server

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
STREAM = (
    b": keep-alive\n\n"
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"role":"assistant","content":"Gr\xc3\xbc"}}]}\n\n'
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"\xc3\x9fe"},"finish_reason":"stop"}]}\r\n\r\n'
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}\n\n'
    b"data: [DONE]\n\n"
)


def rendering() -> Rendering:
    request = PromptRequest(system_instruction=(Span("You are Ada."),), current_text="Grüße!")
    return render(request, Route("r", "openai", "m", max_tokens=9))


async def ask(route: Route, *, secrets: dict[str, str] | None = None) -> Reply:
    provider, reader = (
        HttpProvider(partial(key_of, secrets=ListedSecrets(secrets or {}))),
        ChatReader(),
    )
    try:
        async with provider.open(rendering(), route) as events:
            async for event in events:
                reader.feed(event)
    finally:
        await provider.aclose()
    return reader.finish()


def route_to(server: Server, key_env: str = "") -> Route:
    return Route("r", "openai", "m", url=server.url, key_env=key_env, timeout_seconds=20)


async def test_a_stream_is_read_and_the_exact_body_was_sent(server: Server) -> None:
    server.body = STREAM
    reply = await ask(route_to(server, "KEY"), secrets={"KEY": KEY})
    assert (reply.text, reply.stop, reply.usage) == ("Grüße", "end", Usage(7, 2))
    (sent,) = server.received
    assert sent.path == "/v1/chat/completions"
    assert sent.body == rendering().body()
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_the_official_client_sends_and_reads_the_same(server: Server) -> None:
    server.body = STREAM
    reply = await ask(route_to(server))
    payload = json.loads(rendering().body())
    with openai.OpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
        create = cast(
            "Callable[..., Iterable[ChatCompletionChunk]]", client.chat.completions.create
        )
        chunks = list(create(**payload))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == reply.text
    ours, theirs = server.received
    assert json.loads(theirs.body) == json.loads(ours.body)


async def test_a_server_that_does_not_stream_is_understood(server: Server) -> None:
    message = {"message": {"content": "Whole."}, "finish_reason": "stop"}
    server.content_type = "application/json"
    server.body = json.dumps({"choices": [message]}).encode()
    assert (await ask(route_to(server))).text == "Whole."


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, f'{{"error": {{"message": "bad key {KEY}"}}}}', r"401: bad key \[redacted\]"),
        (404, '{"error": "no such model"}', "404: no such model"),
        (500, "<html>Oops</html>", "500: <html>Oops</html>"),
        (307, "", r"307: \(nothing\)"),
    ],
)
async def test_a_refusal_says_what_the_server_said_without_the_key(
    server: Server, status: int, body: str, said: str
) -> None:
    server.status, server.body = status, body.encode()
    server.headers = {"location": "http://127.0.0.1:1/elsewhere", "retry-after": "3"}
    with pytest.raises(ProviderRefused, match=said) as caught:
        await ask(route_to(server, "KEY"), secrets={"KEY": KEY})
    assert caught.value.facts["status"] == status
    assert caught.value.facts["retry_after"] == "3"
    assert caught.value.hint
    assert len(server.received) == 1, "a redirect is not followed"


async def test_a_connection_that_breaks_in_the_middle_is_named(server: Server) -> None:
    server.body = STREAM[:150]
    server.declared_length = len(STREAM)
    with pytest.raises(ProviderUnreachable, match="no answer from"):
        await ask(route_to(server))


async def test_nobody_listening_is_named() -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ProviderUnreachable, match="'r'") as caught:
            await ask(Route("r", "openai", "m", url=url))
    assert "running" in caught.value.hint


async def test_a_missing_key_is_found_before_anything_is_sent(server: Server) -> None:
    with pytest.raises(RouteError, match="NO_SUCH_KEY"):
        await ask(route_to(server, "NO_SUCH_KEY"))
    assert server.received == []


@pytest.mark.parametrize("key", ["", "two words", "schlüssel", "line\nbreak"])
async def test_a_key_that_cannot_be_one_is_refused_before_anything_is_sent(
    server: Server, key: str
) -> None:
    with pytest.raises(RouteError) as caught:
        await ask(route_to(server, "KEY"), secrets={"KEY": key})
    assert not key or key not in str(caught.value)
    assert server.received == []


async def test_a_newline_after_the_key_is_left_out(server: Server) -> None:
    server.body = STREAM
    await ask(route_to(server, "KEY"), secrets={"KEY": f"{KEY}\n"})
    assert server.received[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_the_server_echoes_goes_no_further(server: Server) -> None:
    server.body = f'data: {{"error": {{"message": "bad key {KEY}"}}}}\n\n'.encode()
    reply = await ask(route_to(server, "KEY"), secrets={"KEY": KEY})
    assert KEY not in repr(reply)
    assert reply.errors[0].message == "bad key [redacted]"


async def test_no_proxy_stands_between_this_machine_and_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "foo://127.0.0.1:9")
    server.body = STREAM
    assert (await ask(route_to(server))).text == "Grüße"


async def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "foo://127.0.0.1:9")
    with pytest.raises(RouteError, match="proxy"):
        await ask(Route("r", "openai", "m", url="https://models.example/v1"))

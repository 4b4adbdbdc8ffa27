"""Each backend over real HTTP: what goes out, what ends a stream, and what a bad server can do."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from functools import partial

import anthropic
import anyio
import openai
import pytest
from anyio import to_thread
from google import genai
from google.genai import types as genai_types

from mentis.ask.named_caches import NamedCaches
from mentis.call.deadline import TimedProvider
from mentis.call.dialects import DIALECTS
from mentis.call.faults import is_passing
from mentis.call.http import HttpProvider, key_of
from mentis.errors import ProviderRefused, ProviderUnreachable
from mentis.facts.abilities import wire_of
from mentis.facts.presets import PRESETS
from mentis.ports.clock import FixedClock
from mentis.ports.secrets import ListedSecrets
from mentis.render.wires import render_for
from mentis.settle.readers import reader_for
from mentis.values.options import CallOptions
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Backend, Route
from mentis.values.span import Span

from .conftest import Server

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
CHAT = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'
ANTHROPIC = (
    b'event: message_start\ndata: {"type":"message_start"}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    b'event: ping\ndata: {"type":"ping"}\n\n'
)
RESPONSES = (
    b'event: response.created\ndata: {"type":"response.created"}\n\n'
    b'event: response.completed\ndata: {"type":"response.completed"}\n\n'
    b'event: response.completed\ndata: {"type":"response.completed"}\n\n'
)
GEMINI = b'data: {"candidates":[]}\r\n\r\ndata: {"usageMetadata":{}}\r\n\r\n'

# What a server of each kind says, and how many events of it are meant to be read.
STREAMS: dict[Backend, tuple[bytes, int]] = {
    "openai": (CHAT, 2),
    "openai-responses": (RESPONSES, 2),
    "anthropic": (ANTHROPIC, 2),
    "gemini": (GEMINI, 2),
}


def route_to(server: Server, backend: Backend = "openai", **more: object) -> Route:
    route = Route("r", backend, "models/m 1", url=server.url, key_env="KEY", timeout_seconds=20)
    return Route(**{**{n: getattr(route, n) for n in route.__slots__}, **more})  # pyright: ignore[reportArgumentType]  # its own fields


async def ask(route: Route, *, max_bytes: int = 1_000_000) -> list[str]:
    provider = HttpProvider(
        partial(key_of, secrets=ListedSecrets({"KEY": KEY})), max_bytes=max_bytes
    )
    try:
        async with TimedProvider(provider).open(Rendering("w", {"n": 1}), route) as events:
            return [event async for event in events]
    finally:
        await provider.aclose()


@pytest.mark.parametrize(
    ("backend", "path", "header"),
    [
        ("openai", "/v1/chat/completions", ("authorization", f"Bearer {KEY}")),
        ("openai-responses", "/v1/responses", ("authorization", f"Bearer {KEY}")),
        ("anthropic", "/v1/messages", ("authorization", f"Bearer {KEY}")),
        ("gemini", "/v1/models/m%201:streamGenerateContent?alt=sse", ("x-goog-api-key", KEY)),
    ],
)
async def test_each_backend_has_its_path_its_headers_and_one_end(
    server: Server, backend: Backend, path: str, header: tuple[str, str]
) -> None:
    server.body, count = STREAMS[backend]
    events = await ask(route_to(server, backend))
    (sent,) = server.received
    assert (sent.path, sent.body) == (path, b'{"n":1}')
    assert sent.headers[header[0]] == header[1]
    assert len(events) == count, "nothing comes after the end"
    assert KEY not in sent.path


async def test_anthropic_is_told_the_version_the_payload_is_made_for(server: Server) -> None:
    server.body = ANTHROPIC
    await ask(route_to(server, "anthropic"))
    assert server.received[0].headers["anthropic-version"] == "2026-10-21"


async def test_headers_of_the_options_go_out_beside_ours_and_betas_in_their_own(
    server: Server,
) -> None:
    server.body = ANTHROPIC
    options = CallOptions(headers={"X-Title": "Mentis"}, betas=("one", "two"))
    await ask(route_to(server, "anthropic", options=options))
    sent = server.received[0].headers
    assert (sent["x-title"], sent["anthropic-beta"]) == ("Mentis", "one,two")
    assert sent["authorization"] == f"Bearer {KEY}"


async def test_the_official_clients_use_the_same_paths_and_headers(server: Server) -> None:
    """They are the second opinion: where they send to, we send to."""
    server.status, server.content_type, server.body = 400, "application/json", b"{}"
    base = server.url.removesuffix("/v1")
    with (
        openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as one,
        pytest.raises(openai.BadRequestError),
    ):
        one.responses.create(model="m-1", input="x", stream=True)
    with (
        anthropic.Anthropic(base_url=base, api_key=KEY, max_retries=0) as two,
        pytest.raises(anthropic.BadRequestError),
    ):
        two.messages.create(model="m-1", max_tokens=1, messages=[], stream=True)
    options = genai_types.HttpOptions(base_url=base, api_version="v1")
    three = genai.Client(api_key=KEY, http_options=options)
    with pytest.raises(genai.errors.ClientError):
        list(three.models.generate_content_stream(model="m-1", contents="x"))  # pyright: ignore[reportUnknownMemberType]  # its own types are partial
    three.close()
    theirs = list(server.received)
    server.status, server.content_type = 200, "text/event-stream"
    for backend in ("openai-responses", "anthropic", "gemini"):
        await ask(route_to(server, backend, model="m-1"))
    ours = server.received[3:]
    names = {"authorization", "x-goog-api-key", "anthropic-version"}
    for their, our in zip(theirs, ours, strict=True):
        assert our.path == their.path
        told = {name: their.headers[name] for name in names if name in their.headers}
        assert {name: our.headers[name] for name in told} == told


async def test_two_calls_share_one_connection(server: Server) -> None:
    server.body = CHAT
    provider, route = (
        HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY}))),
        route_to(server),
    )
    for _ in range(2):
        async with provider.open(Rendering("w", {}), route) as events:
            assert [event async for event in events][1:] == ["[DONE]"]
    await provider.aclose()
    assert server.connections == 1


async def first_of(events: AsyncIterator[str]) -> str:
    return await anext(aiter(events))


async def test_leaving_an_answer_early_lets_go_of_the_connection(server: Server) -> None:
    server.body, server.hangs = CHAT.partition(b"data: [")[0], True
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    async with provider.open(Rendering("w", {}), route_to(server)) as events:
        await first_of(events)
        assert not server.let_go.is_set()
    assert await to_thread.run_sync(server.let_go.wait, 10), "the server sees it closed"
    await provider.aclose()


async def test_cancelling_lets_go_of_the_connection(server: Server) -> None:
    server.body, server.hangs = CHAT.partition(b"data: [")[0], True
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    with anyio.CancelScope() as scope:
        async with provider.open(Rendering("w", {}), route_to(server)) as events:
            async for _ in events:
                scope.cancel()
    assert scope.cancelled_caught
    assert await to_thread.run_sync(server.let_go.wait, 10), "the server sees it closed"
    await provider.aclose()


@pytest.mark.parametrize("repeats", [False, True], ids=["stops dead", "never ends"])
async def test_a_stream_that_does_not_end_is_ended(server: Server, repeats: bool) -> None:
    server.body, server.hangs, server.repeats = CHAT.partition(b"data: [")[0], True, repeats
    with pytest.raises(ProviderUnreachable, match=r"within 1 seconds|no answer from"):
        await ask(route_to(server, timeout_seconds=1.0), max_bytes=10_000_000_000)
    # On a machine too busy to have sent it within the second there is nothing to let go of.
    assert not server.received or await to_thread.run_sync(server.let_go.wait, 10)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_past_the_bound_is_refused(server: Server, kind: str) -> None:
    server.content_type, server.body = kind, b"x" * 10_000_000
    with pytest.raises((ProviderRefused, ProviderUnreachable), match="1000000 byte"):
        await ask(route_to(server))


async def test_an_endless_error_page_is_read_only_so_far(server: Server) -> None:
    server.status, server.body = 500, b"<html>" + b"x" * 10_000_000
    with pytest.raises(ProviderRefused) as caught:
        await ask(route_to(server))
    assert len(str(caught.value)) < 500


async def test_an_html_error_page_is_told_by_its_title(server: Server) -> None:
    server.status, server.content_type = 502, "text/html"
    server.body = b"<html><head><title>Bad\n Gateway</title></head><body>" + b"x" * 500
    with pytest.raises(ProviderRefused, match=r"502: an HTML page, 'Bad\\n Gateway'"):
        await ask(route_to(server))


async def test_an_html_page_with_status_200_comes_through_for_settle_to_judge(
    server: Server,
) -> None:
    server.content_type, server.body = "text/html", b"<html>Welcome</html>"
    assert await ask(route_to(server)) == ["<html>Welcome</html>"]


async def test_a_packed_answer_is_unpacked_though_we_ask_for_plain_ones(server: Server) -> None:
    server.headers, server.body = {"content-encoding": "gzip"}, gzip.compress(CHAT)
    assert len(await ask(route_to(server))) == 2
    assert server.received[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("keep", range(1, len(gzip.compress(CHAT)), 7))
async def test_a_packed_answer_cut_short_is_told(server: Server, keep: int) -> None:
    server.headers = {"content-encoding": "gzip"}
    server.body = gzip.compress(CHAT)[:keep]
    with pytest.raises(ProviderUnreachable, match="breaks off") as caught:
        await ask(route_to(server))
    assert is_passing(caught.value), "so that it is tried again, if nothing was said yet"


async def test_a_refusal_is_told_by_its_status_though_its_page_breaks_off(server: Server) -> None:
    server.status, server.headers = 429, {"content-encoding": "gzip"}
    server.body = gzip.compress(b'{"error":{"message":"slow down"}}')[:12]
    with pytest.raises(ProviderRefused) as caught:
        await ask(route_to(server))
    assert caught.value.facts["status"] == 429


@pytest.mark.parametrize(
    ("error", "about"),
    [
        ({"code": "content_policy_violation", "message": "no"}, "content"),
        ({"code": 403, "message": "no", "metadata": {"flagged_input": "x"}}, "content"),
        ({"type": "permission_error", "message": "flagged: content_filter"}, None),
        ({"code": 403, "status": "PERMISSION_DENIED", "message": "no"}, None),
        ("moderation", None),
    ],
)
async def test_a_refusal_says_that_it_is_about_the_content_where_the_server_does(
    server: Server, error: object, about: str | None
) -> None:
    server.status, server.body = 403, json.dumps({"error": error}).encode()
    with pytest.raises(ProviderRefused) as caught:
        await ask(route_to(server))
    assert (caught.value.facts["status"], caught.value.facts["about"]) == (403, about)


@pytest.mark.parametrize(
    ("model", "facts", "path"),
    [
        ("gemini-3-pro", {}, "/v1/models/gemini-3-pro:"),
        ("gemini-flash-latest", {}, "/v1beta/models/gemini-flash-latest:"),
        ("gemini-3-pro", {"api_version": "v1alpha"}, "/v1alpha/models/gemini-3-pro:"),
    ],
)
async def test_gemini_is_asked_in_the_version_the_facts_name(
    server: Server, model: str, facts: dict[str, object], path: str
) -> None:
    server.body = GEMINI
    url = server.url.removesuffix("/v1")
    await ask(route_to(server, "gemini", model=model, url=url, facts=facts))
    assert server.received[0].path.startswith(path)
    assert not PRESETS["gemini"].url.endswith(("/v1", "/v1beta"))


async def test_bytes_that_are_not_packed_at_all_are_named(server: Server) -> None:
    server.headers, server.body = {"content-encoding": "gzip"}, CHAT
    with pytest.raises(ProviderUnreachable):
        await ask(route_to(server))


async def test_a_redirect_is_told_and_not_followed(server: Server) -> None:
    server.status, server.headers = 307, {"location": "http://127.0.0.1:1/"}
    with pytest.raises(ProviderRefused) as caught:
        await ask(route_to(server))
    assert "redirects are not followed" in caught.value.hint


async def test_cookies_are_not_kept(server: Server) -> None:
    server.body, server.headers = CHAT, {"set-cookie": "session=1; Path=/"}
    provider, route = (
        HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY}))),
        route_to(server),
    )
    for _ in range(2):
        async with provider.open(Rendering("w", {}), route) as events:
            [event async for event in events]
    await provider.aclose()
    assert "cookie" not in server.received[1].headers


def test_every_place_has_a_dialect_or_needs_no_server() -> None:
    for place in PRESETS.values():
        assert place.backend in DIALECTS or not place.url


SPOKEN: dict[Backend, bytes] = {
    "openai": b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n",
    "openai-responses": b'event: response.output_text.delta\ndata: {"type":'
    b'"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,'
    b'"delta":"Hi"}\n\nevent: response.completed\ndata: {"type":"response.completed",'
    b'"response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":'
    b'"assistant","status":"completed","content":[{"type":"output_text","text":"Hi",'
    b'"annotations":[]}]}]}}\n\n',
    "anthropic": b'event: message_start\ndata: {"type":"message_start","message":{"id":"m",'
    b'"role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"Hi"}}\n\n'
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":1}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "gemini": b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},'
    b'"finishReason":"STOP"}]}\r\n\r\n',
}


@pytest.mark.parametrize("backend", SPOKEN)
async def test_a_request_goes_through_every_stage_of_every_backend(
    server: Server, backend: Backend
) -> None:
    server.body, route = SPOKEN[backend], route_to(server, backend, model="m")
    request = PromptRequest(system_instruction=(Span("You are Ada."),), current_text="Hello")
    rendering = render_for(wire_of(route), request, route)
    reader = reader_for(rendering.wire, rendering.name_map)
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    async with provider.open(rendering, route) as events:
        async for event in events:
            reader.feed(event)
    await provider.aclose()
    reply = reader.finish()
    assert (reply.text, reply.stop, reply.errors) == ("Hi", "end", ())
    assert server.received[0].body == rendering.body()


async def test_a_gemini_cache_is_made_where_the_official_client_makes_it(server: Server) -> None:
    server.content_type, server.body = "application/json", b'{"name":"cachedContents/7"}'
    base = server.url.removesuffix("/v1")
    options = genai_types.HttpOptions(base_url=base, api_version="v1")
    client = genai.Client(api_key=KEY, http_options=options)
    config = genai_types.CreateCachedContentConfig(system_instruction="Be brief.", ttl="300s")
    client.caches.create(model="gemini-3-pro", config=config)
    client.close()
    facts = {"cache_minimum": 1}
    route = route_to(server, "gemini", model="gemini-3-pro", cache="explicit", facts=facts)
    request = PromptRequest(system_instruction=(Span("Be brief."),), current_text="Hello")
    rendering = render_for("gemini", request, route)
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    prepared = await NamedCaches().prepare(rendering, route, provider, FixedClock())
    await provider.aclose()
    assert prepared.payload["cachedContent"] == "cachedContents/7"
    assert "systemInstruction" not in prepared.payload
    theirs, ours = server.received
    assert ours.path == theirs.path == "/v1/cachedContents"
    assert ours.headers["x-goog-api-key"] == theirs.headers["x-goog-api-key"]
    their, our = json.loads(theirs.body), json.loads(ours.body)
    assert (our["model"], our["ttl"]) == (their["model"], their["ttl"])
    assert our["systemInstruction"]["parts"] == [{"text": "Be brief.\n"}]
    assert set(our) == set(their)


async def test_a_gemini_cache_that_is_refused_leaves_the_request_whole(server: Server) -> None:
    server.status, server.content_type = 400, "application/json"
    server.body = b'{"error":{"code":400,"message":"too small","status":"INVALID_ARGUMENT"}}'
    facts = {"cache_minimum": 1}
    route = route_to(server, "gemini", model="gemini-3-pro", cache="explicit", facts=facts)
    request = PromptRequest(system_instruction=(Span("Be brief."),), current_text="Hello")
    rendering = render_for("gemini", request, route)
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    prepared = await NamedCaches().prepare(rendering, route, provider, FixedClock())
    await provider.aclose()
    assert prepared.body() == rendering.body()
    assert "too small" in prepared.losses[-1].message


@pytest.mark.parametrize(
    "detail", [b'"no such model"', b'[{"loc": ["model"], "msg": "no such model"}]']
)
async def test_an_error_that_is_called_a_detail_is_told_in_its_words(
    server: Server, detail: bytes
) -> None:
    server.status, server.content_type = 422, "application/json"
    server.body = b'{"detail": ' + detail + b"}"
    with pytest.raises(ProviderRefused, match=r"answered 422: no such model$"):
        await ask(route_to(server))

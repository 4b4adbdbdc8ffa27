"""What the providers' own clients send for a payload is what we send for it.

The payloads are the reviewed ones of the renderers: every mode, tools, calls, media and caching.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import anthropic
import openai
import pytest
from google import genai
from google.genai import types as genai_types

from mentis.call.http import HttpProvider, key_of
from mentis.ports.secrets import ListedSecrets
from mentis.values.rendering import Rendering
from mentis.values.route import Backend, Route

from .conftest import Exchange, Server

GOLDEN = Path(__file__).parents[1] / "render" / "golden"
BACKENDS: dict[str, Backend] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
CASES = [
    (wire, name) for wire in BACKENDS for name in ("chat", "beat", "delivery", "live", "attached")
]
KEY = "k-1"
Payload = dict[str, Any]


def payload_of(wire: str, name: str) -> Payload:
    return json.loads((GOLDEN / f"{wire}.{name}.json").read_text(encoding="utf-8"))["payload"]


async def send(server: Server, wire: str, payload: Mapping[str, object]) -> Exchange:
    """Through our call stage."""
    model = str(payload.get("model", "gemini-3-pro"))
    route = Route("r", BACKENDS[wire], model, url=server.url, key_env="KEY", timeout_seconds=20)
    provider = HttpProvider(partial(key_of, secrets=ListedSecrets({"KEY": KEY})))
    async with provider.open(Rendering(wire, payload), route) as events:
        assert [event async for event in events]
    await provider.aclose()
    return server.received[-1]


def send_with_client(server: Server, wire: str, payload: Payload) -> Exchange:
    """Through the method a user of the client calls; what it makes of the answer is not asked."""
    base = server.url.removesuffix("/v1")
    match wire:
        case "openai-chat":
            with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as one:
                _call(one.chat.completions.create, **payload)
        case "openai-responses":
            with openai.OpenAI(base_url=server.url, api_key=KEY, max_retries=0) as one:
                _call(one.responses.create, **payload)
        case "anthropic":
            with anthropic.Anthropic(base_url=base, api_key=KEY, max_retries=0) as two:
                _call(two.messages.create, **payload)
        case _:
            options = genai_types.HttpOptions(base_url=base, api_version="v1")
            with genai.Client(api_key=KEY, http_options=options) as three:
                models = cast("Any", three.models)  # its types are partly unknown
                _call(models.generate_content_stream, **_for_google(payload))
    return server.received[-1]


def _call(method: Callable[..., object], **payload: object) -> None:
    with cast("Any", method(**payload)) if "stream" in payload else _Listed(method(**payload)):
        pass


class _Listed:
    """Their stream is a generator: nothing is sent before it is read."""

    def __init__(self, stream: object) -> None:
        list(cast("Any", stream))

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def _for_google(payload: Payload) -> Payload:
    """Their method takes one flat configuration beside the contents."""
    config = {n: part for n, part in payload.items() if n not in ("contents", "generationConfig")}
    config |= payload.get("generationConfig", {})
    return {
        "model": "gemini-3-pro",
        "contents": [genai_types.Content.model_validate(c) for c in payload["contents"]],
        "config": genai_types.GenerateContentConfig.model_validate(config),
    }


def _as_written(body: bytes) -> Payload:
    """Google's client spells some keys in the other of the two ways its server takes."""
    for other, own in (
        (b"parameters_json_schema", b"parametersJsonSchema"),
        (b"mime_type", b"mimeType"),
    ):
        body = body.replace(b'"%s"' % other, b'"%s"' % own)
    return json.loads(body)


@pytest.fixture
def answering(server: Server) -> Server:
    server.body = b'data: {"candidates":[],"choices":[]}\n\n'
    return server


@pytest.mark.anyio
@pytest.mark.parametrize(("wire", "name"), CASES)
async def test_the_official_clients_send_what_we_send(
    wire: str, name: str, answering: Server
) -> None:
    payload = payload_of(wire, name)
    ours = await send(answering, wire, payload)
    theirs = send_with_client(answering, wire, payload)
    assert _as_written(theirs.body) == json.loads(ours.body) == payload
    told = ("authorization", "x-goog-api-key", "anthropic-version", "content-type")
    assert {n: theirs.headers.get(n) for n in told} == {n: ours.headers.get(n) for n in told}
    assert theirs.path == ours.path


@pytest.mark.anyio
@pytest.mark.parametrize(("wire", "name"), [case for case in CASES if case[0] != "gemini"])
async def test_a_payload_the_clients_pass_on_untouched_has_the_same_bytes(
    wire: str, name: str, answering: Server
) -> None:
    """`post` of a client takes a body as it is: its writer of JSON against ours."""
    payload = payload_of(wire, name)
    ours = await send(answering, wire, payload)
    base = answering.url.removesuffix("/v1")
    if wire == "anthropic":
        with anthropic.Anthropic(base_url=base, api_key=KEY, max_retries=0) as one:
            one.post("/v1/messages", body=payload, cast_to=str)
    else:
        with openai.OpenAI(base_url=answering.url, api_key=KEY, max_retries=0) as two:
            two.post(f"/{ours.path.removeprefix('/v1/')}", body=payload, cast_to=str)
    assert answering.received[-1].body == ours.body

"""MCP over HTTP as `mentis serve` has it: the official client, and requests made by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from tests.rounds import Rounds, says
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving

from .conftest import HELLO, Json, window
from .test_session import call, read, said, said_by

ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    home = make_home(tmp_path_factory.mktemp("http"))
    with serving(home, Rounds(says("Yes."), says("Yes."))) as opened:
        for token in (opened.token, opened.new_token("ben", person="ben")):
            asked = {"model": PERSONA, "messages": [{"role": "user", "content": "Any tulips?"}]}
            answered = opened.post("/v1/chat/completions", asked, token, x_session_id="main")
            assert answered.status_code == 200
        yield opened


@asynccontextmanager
async def client(served: Served, token: str = "", mode: str = "legacy") -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {token or served.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as session:
            yield session


def post(served: Served, message: object, token: str = "", **headers: str) -> httpx2.Response:
    return served.post("/mcp", message, token, accept=ACCEPT, **headers)


def result(response: httpx2.Response) -> Json:
    """The answer in a stream of events, or alone."""
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: "))
    answer: Json = json.loads(text)
    return answer


def begin(served: Served, version: str = "2025-06-18", token: str = "") -> httpx2.Response:
    params = {**HELLO, "protocolVersion": version}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return post(served, message, token)


@pytest.mark.parametrize("mode", ["legacy", "auto"], ids=["handshake", "2026"])
async def test_a_client_reads_saves_and_is_told_prompts_over_http(
    served: Served, mode: str
) -> None:
    async with client(served, mode=mode) as session:
        assert session.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert "save_status" in [tool.name for tool in (await session.list_tools()).tools]
        state, standing = await read(session, "mentis://backend_state")
        assert standing["agent"].endswith("/ada")
        assert "over HTTP" in state["monitor"]["reason"]
        saved = await call(session, "save_status", status_window=window(state))
        assert saved["ledger"]["size"] == standing["size"] + 1
        verdict = await call(session, "verify_chain")
        assert verdict["intact"]
        names = [one.name for one in (await session.list_prompts()).prompts]
        assert "impersonation" in names
        assert "Grace" in said_by(await session.get_prompt("impersonation", {"char_name": "Grace"}))
        with pytest.raises(MCPError, match="there is no resource"):
            await session.read_resource("mentis://nothing")


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_older_versions_have_a_session_that_belongs_to_its_token(
    served: Served, version: str
) -> None:
    begun = begin(served, version)
    assert result(begun)["result"]["protocolVersion"] == version
    session = {"mcp_session_id": begun.headers["mcp-session-id"], "mcp_protocol_version": version}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(served, note, **session).status_code == 202
    ask = {"jsonrpc": "2.0", "id": 2, "method": "prompts/list"}
    assert result(post(served, ask, **session))["result"]["nextCursor"]

    other = served.new_token(f"other-{version}")
    assert post(served, ask, other, **session).status_code == 404
    headers = served.headers("", session)
    assert httpx2.delete(f"{served.url}/mcp", headers=headers).status_code == 200
    assert post(served, ask, **session).status_code == 404


def test_the_new_version_has_neither_session_nor_standing_stream(served: Served) -> None:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    named = {"mcp_protocol_version": version, "mcp_method": "tools/list"}
    answered = post(served, ask, **named)
    assert result(answered)["result"]["tools"]
    assert "mcp-session-id" not in answered.headers
    assert served.get("/mcp", accept=ACCEPT, **named).status_code == 405
    later = {"mcp_protocol_version": "2099-01-01", "mcp_method": "tools/list"}
    refused = result(post(served, ask, **later))
    assert refused["error"]["code"] < 0


async def test_a_token_that_may_only_read_is_offered_nothing_that_writes(served: Served) -> None:
    async with client(served, served.new_token("reader", scope="read")) as session:
        assert "save_status" not in [tool.name for tool in (await session.list_tools()).tools]
        refused = await session.call_tool("save_status", {"status_window": window()})
        assert refused.is_error
        assert "may only read" in said(refused)
        assert (await call(session, "status_stats"))["agent"].endswith("/ada")


async def test_everybody_reads_their_own_conversations(
    served: Served,
) -> None:
    for token, own in (
        (served.new_token("ben1", person="ben"), "ben--main"),
        (served.token, "main"),
    ):
        async with client(served, token) as session:
            history, _ = await read(session, "mentis://conversation_history")
            assert [one["session"] for one in history["sessions"]] == [own]
            found = await call(session, "search_conversations", query="tulips")
            assert [one["session"] for one in found["results"]] == [own]
            kept, _ = await read(session, "mentis://chatverlauf_kb_info")
            assert (kept["sessions"], kept["lines"]) == (1, 2)

    async with client(served, served.new_token("aside", session="aside")) as session:
        history, _ = await read(session, "mentis://conversation_history")
        assert history["sessions"] == []


@pytest.mark.parametrize("limit", ["person", "session"])
async def test_guests_and_tokens_for_one_session_are_offered_no_windows_and_no_prompts(
    served: Served, limit: str
) -> None:
    token = served.new_token(f"narrow-{limit}", scope="admin", **{limit: "ben"})
    async with client(served, token) as session:
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert tools == ["search_conversations"]
        assert (await session.list_prompts()).prompts == []
        for uri in ("mentis://backend_state", "synapse://persistent_context"):
            assert uri not in [str(one.uri) for one in (await session.list_resources()).resources]
            with pytest.raises(MCPError, match="for the owner alone"):
                await session.read_resource(uri)
        with pytest.raises(MCPError, match="for the owner alone"):
            await session.get_prompt("emotion")
        for tool in ("save_status", "latest_status"):
            refused = await session.call_tool(tool, {"status_window": window()})
            assert "for the owner alone" in said(refused)


def test_what_is_refused_before_a_message_is_read_is_told_in_the_protocols_form(
    served: Served,
) -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    nobody = httpx2.post(f"{served.url}/mcp", json=ask, headers={"accept": ACCEPT})
    assert nobody.status_code == 401
    assert nobody.headers["www-authenticate"] == "Bearer"
    assert nobody.json()["error"]["code"] == -32600
    assert "needs a token" in nobody.json()["error"]["message"]
    foreign = post(served, ask, origin="https://evil.example.org")
    assert (foreign.status_code, foreign.json()["jsonrpc"]) == (403, "2.0")
    assert post(served, ask, host="evil.example.org").status_code == 421
    absent = served.post("/mcp/nobody", ask, accept=ACCEPT)
    assert absent.status_code == 404
    assert "/mcp/ada" in absent.json()["error"]["message"]
    assert post(served, ask, mcp_session_id="f" * 32).status_code == 404


def test_a_key_named_twice_is_refused_over_http_too(served: Served) -> None:
    begun = begin(served)
    draft = json.dumps(window())
    twice = f'{draft[:-1]}, "goal": "another"}}'
    params = f'{{"name": "save_status", "arguments": {{"status_window": {twice}}}}}'
    body = f'{{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {params}}}'
    headers = {
        "authorization": f"Bearer {served.token}",
        "content-type": "application/json",
        "accept": ACCEPT,
        "mcp-session-id": begun.headers["mcp-session-id"],
    }
    answer = result(httpx2.post(f"{served.url}/mcp", content=body, headers=headers))
    assert answer["result"]["isError"]
    assert "goal" in answer["result"]["content"][0]["text"]


def test_a_standing_stream_does_not_hold_up_the_end_of_the_server(tmp_path: Path) -> None:
    with serving(make_home(tmp_path), Rounds(), web__drain_seconds="3600") as served:
        session = begin(served).headers["mcp-session-id"]
        headers = served.headers("", {"accept": ACCEPT, "mcp_session_id": session})
        http = httpx2.Client(timeout=60)
        stream = http.stream("GET", f"{served.url}/mcp", headers=headers)
        assert stream.__enter__().status_code == 200
    stream.__exit__(None, None, None)
    http.close()


def test_without_the_sdk_the_door_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mentis.surfaces.mcp.endpoint", None)
    with serving(make_home(tmp_path), Rounds()) as served:
        refused = begin(served)
        assert refused.status_code == 501
        assert "mentis[mcp]" in refused.json()["error"]["message"]

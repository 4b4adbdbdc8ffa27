"""The same server, reached by HTTP on this machine."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mentis.act.mcp.declared import McpCaps, McpServer
from mentis.act.mcp.http import unsent_keys
from mentis.act.mcp.watch import KEY
from mentis.net.client import open_client

from .conftest import TIMES, Keeping, do, listening

pytestmark = pytest.mark.anyio


def web(url: str, **more: Any) -> McpServer:  # noqa: ANN401  # its fields
    return replace(McpServer("web", url=url, key_env="TOKEN", times=TIMES), **more)


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_tools_behind_an_address_are_acts(
    keeping: Keeping, address: str, protocol: str
) -> None:
    async with keeping(web(address, protocol=protocol)) as kept:
        assert len(kept.names) == 15
        assert (await kept.do("web_echo", text="hello")).text == "echo: hello"
        assert (await kept.do("web_key", "key-9")).text == '"key-9"'
        assert (await kept.do("web_fail")).state == "crashed"
        assert len((await kept.do("web_big", size=10_000_000)).text) == 10_000_000
        assert (await kept.do("web_ask")).state == ("refused" if protocol == "auto" else "crashed")
    async with keeping(web(address, protocol=protocol, caps=McpCaps(frame_bytes=100_000))) as kept:
        outcome = await kept.do("web_big", size=200_000)
        assert outcome.state == "crashed"
        assert "nothing of the answer is kept" in outcome.reason


@pytest.mark.parametrize(
    ("size", "what"), [(10, "messages nobody asked for"), (20_000, "bytes")], ids=["many", "large"]
)
async def test_a_server_that_talks_without_end_is_cut_off(
    keeping: Keeping, size: int, what: str
) -> None:
    with listening(token="") as url:  # one of its own: it goes on talking, and hears nobody else
        server = web(url, key_env="", protocol="legacy", caps=McpCaps(frame_bytes=200_000))
        async with keeping(server) as kept:
            outcome = await kept.do("web_flood", size=size)
            assert (outcome.state, outcome.reason) == (
                "unknown",
                f"it was cut off: too much of {what} before it answered; it may have been done",
            )
            assert kept.notices("flood") == [f"it was cut off: too much of {what}"]
            await kept.until(lambda status: status.state == "given_up")


async def test_an_answer_that_never_ends_is_not_read_to_its_end(keeping: Keeping) -> None:
    with listening("json", "endless", token="") as url:
        server = web(url, key_env="", protocol="legacy", caps=McpCaps(frame_bytes=200_000))
        async with keeping(server) as kept:
            outcome = await kept.do("web_echo", text="hello")
            assert outcome.state == "crashed"
            assert outcome.reason.startswith("nothing of the answer is kept: ")
            assert outcome.reason.endswith("the answer has more than 200000 bytes")


async def test_without_the_right_token_nothing_is_offered(keeping: Keeping, address: str) -> None:
    async with keeping(web(address, key_env="")) as kept:
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.offered == 0


async def test_a_key_does_not_travel_unencrypted(keeping: Keeping) -> None:
    async with keeping(web("http://192.0.2.1/mcp")) as kept:
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.reason == "the key for 192.0.2.1 would travel unencrypted"


async def test_killed_in_the_middle_it_is_unknown_and_afterwards_unavailable(
    keeping: Keeping, mortal: str, tmp_path: Path
) -> None:
    async with keeping(web(mortal, key_env="", protocol="legacy")) as kept:
        small = web(mortal, key_env="", protocol="legacy", caps=McpCaps(frame_bytes=100_000))
        async with keeping(small) as other:
            outcome = await other.do("web_big", size=200_000)
            assert outcome.state == "crashed"
            assert "the answer has more than 100000 bytes" in outcome.reason
        echo = kept.handler("web_echo")
        outcome = await kept.do("web_die", text=f"{tmp_path}/begun")
        assert outcome.state == "unknown"
        assert (await do(echo, text="hello")).state == "unavailable"
        await kept.until(lambda status: status.state == "given_up")


async def test_a_call_that_found_nobody_was_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    body = {"jsonrpc": "2.0", "id": 1, "params": {"_meta": {KEY: "key-3"}}}
    async with open_client(read_seconds=5, through_proxy=False) as client:
        with pytest.raises(httpx2.ConnectError) as raised:
            await client.post(f"http://127.0.0.1:{port}/mcp", json=body)
    other = ExceptionGroup("", [raised.value, ValueError(), httpx2.ReadError("later")])
    assert list(unsent_keys(ExceptionGroup("", [other]))) == ["key-3"]

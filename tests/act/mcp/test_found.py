"""A server that nobody here wrote, from the package index."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec

import pytest

from mentis.act.mcp.declared import McpServer

from .conftest import TIMES, Keeping

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        find_spec("mcp_server_time") is None,
        reason="mcp-server-time is not installed; `make test` does it",
    ),
]


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_the_reference_server_for_time_works_as_it_comes(
    keeping: Keeping, protocol: str
) -> None:
    command = (sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC")
    server = McpServer("time", command, protocol=protocol, times=TIMES)  # pyright: ignore[reportArgumentType]  # parametrised
    async with keeping(server) as kept:
        assert kept.names == ["time_convert_time", "time_get_current_time"]
        assert kept.offer.left_out == ()
        now = await kept.do("time_get_current_time", timezone="Asia/Tokyo")
        assert (now.state, json.loads(now.text)["timezone"]) == ("done", "Asia/Tokyo")
        noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        there = json.loads((await kept.do("time_convert_time", **noon)).text)
        assert there["target"]["datetime"].endswith("T21:00:00+09:00")
        wrong = await kept.do("time_get_current_time", timezone="Nowhere/Never")
        assert wrong.state == "crashed"
        assert "Nowhere/Never" in wrong.text

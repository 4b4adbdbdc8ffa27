"""Several servers at once, what is trusted of them, and how they are left."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mentis.act.mcp.declared import McpServer
from mentis.act.mcp.source import McpPorts
from mentis.act.mcp.sources import open_mcp
from mentis.act.mcp.told import Offer
from mentis.act.registry import Registry
from mentis.errors import BadInput, SettingsError, StoreLocked
from mentis.ports.clock import FixedClock
from mentis.ports.secrets import ListedSecrets

from .conftest import TIMES, Keeping, raw

pytestmark = pytest.mark.anyio


async def nothing(_: Offer) -> None:
    pass


def ports(folder: Path) -> McpPorts:
    return McpPorts(ListedSecrets({}), os.environ, FixedClock(), str(folder))


async def test_with_ask_nothing_is_done_before_a_person_approved_of_it(keeping: Keeping) -> None:
    async with keeping(raw("normal"), first_use="ask") as kept:
        asked = {change.name: change.digest for change in kept.offer.pins}
        assert {change.verdict for change in kept.offer.pins} == {"asked"}
        assert set(kept.offer.blocked) == {"raw_act", "raw_other"}
        assert (await kept.do("raw_act")).state == "unavailable"
        assert not await kept.sources.approve("mcp:raw", "raw_act", "sha256:other")
        assert not await kept.sources.approve("mcp:none", "raw_act", asked["raw_act"])
        assert await kept.sources.approve("mcp:raw", "raw_act", asked["raw_act"])
        assert (await kept.do("raw_act")).state == "done"
        assert (await kept.do("raw_other")).state == "unavailable"
        assert kept.offer.pins == ()  # each question is asked once
    async with keeping(raw("normal"), first_use="ask", pins=asked) as kept:
        assert (kept.offer.pins, kept.offer.blocked) == ((), {})
        assert (kept.status.offered, kept.status.blocked) == (2, 0)


async def test_the_registry_takes_an_offer_as_it_is_and_a_blocked_act_is_not_told(
    keeping: Keeping,
) -> None:
    async with keeping(raw("normal"), pins={"raw_act": "sha256:before"}) as kept:
        registry = Registry()
        registry.put_source(kept.offer.source, kept.offer.handlers)
        for name, reason in kept.offer.blocked.items():
            registry.block(name, reason)
        assert [one.name for one in registry.declarations()] == ["raw_other"]
        pins = {change.name: change.digest for change in kept.offer.pins}
        assert {name: registry.digest(name) for name in pins} == pins


async def test_servers_are_kept_side_by_side_and_one_that_hangs_holds_up_no_other(
    tmp_path: Path,
) -> None:
    hanging = replace(raw("hang-initialize"), name="hanging")
    offers = dict[str, int]()
    there = anyio.Event()

    async def on_offer(offer: Offer) -> None:
        offers[offer.source] = len(offer.handlers)
        there.set()

    async with open_mcp([hanging, raw("normal")], ports(tmp_path), on_offer, pins={}) as sources:
        with anyio.fail_after(30):
            await there.wait()
        assert offers == {"mcp:raw": 2}
        assert [status.state for status in sources.status()] == ["connecting", "up"]


async def test_an_offer_that_cannot_be_recorded_is_none(tmp_path: Path) -> None:
    async def on_offer(_: Offer) -> None:
        raise StoreLocked("somebody else writes")

    async with open_mcp([raw("normal")], ports(tmp_path), on_offer, pins={}) as sources:
        with anyio.fail_after(30):
            await sources.settle()
        (status,) = sources.status()
        assert (status.state, status.reason) == ("given_up", "somebody else writes")
        assert status.offered == 0


async def test_an_error_of_whoever_uses_them_comes_out_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="mine"):  # noqa: PT012  # what is raised inside is the point
        async with open_mcp([raw("normal")], ports(tmp_path), nothing, pins={}) as sources:
            with anyio.fail_after(30):
                await sources.settle()
            raise BadInput("mine")
    with pytest.raises(SettingsError, match="two MCP servers are called 'raw'"):
        async with open_mcp([raw("a"), raw("b")], ports(tmp_path), nothing, pins={}):
            pass
    with pytest.raises(SettingsError, match="either a command or a url"):
        async with open_mcp([McpServer("s")], ports(tmp_path), nothing, pins={}):
            pass


@pytest.mark.parametrize("steps", [1, 3, 10, 30, 300])
async def test_leaving_while_it_is_being_started_leaves_nothing_behind(
    tmp_path: Path, steps: int
) -> None:
    server = raw("hang-initialize", times=replace(TIMES, close=30))
    with anyio.fail_after(20):  # nobody waits for the manners of a server that never spoke
        async with open_mcp([server], ports(tmp_path), nothing, pins={}):
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
    gc.collect()  # a process that nobody waited for would be heard of here


def test_nothing_of_the_sdk_is_loaded_before_a_server_is_needed() -> None:
    code = "import mentis.act.mcp.sources, sys; print([m for m in sys.modules if m[:3] == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_pin_that_could_not_be_recorded_is_told_once_more(tmp_path: Path) -> None:
    offers = list[Offer]()
    there = anyio.Event()

    async def on_offer(offer: Offer) -> None:
        offers.append(offer)
        if len(offers) == 1:
            raise StoreLocked("busy")
        there.set()

    server = raw("normal", times=replace(TIMES, tries=5, backoff=0.001))
    async with open_mcp([server], ports(tmp_path), on_offer, pins={}):
        with anyio.fail_after(60):
            await there.wait()
    assert [change.verdict for change in offers[1].pins] == ["pinned", "pinned"]
    assert offers[0].pins == offers[1].pins

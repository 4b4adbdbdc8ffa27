"""A server made with the SDK, as a program of its own, with either protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from mentis.act.mcp.declared import ToolOverride
from mentis.values.digest import Digest, digest
from mentis.values.part import MediaPart
from mentis.values.trust import Trust

from .conftest import TIMES, Keeping, sdk

pytestmark = pytest.mark.anyio


async def test_the_tools_of_a_program_are_acts_that_can_be_done(
    keeping: Keeping, tmp_path: Path
) -> None:
    server = sdk(
        env=("TOKEN",),
        tools={"echo": ToolOverride("core", external_effects=False, idempotent=True)},
    )
    async with keeping(server) as kept:
        assert kept.names == sorted(kept.names)
        assert len(kept.names) == 15
        echo, change = kept.handler("sdk_echo").spec, kept.handler("sdk_change").spec
        assert (echo.name, echo.scope, echo.source, echo.endpoint) == (
            "sdk_echo",
            "core",
            "mcp:sdk",
            "mcp:sdk",
        )
        assert echo.declaration.trust is Trust.UNTRUSTED
        assert (echo.declaration.external_effects, echo.declaration.idempotent) == (False, True)
        # A server's hints about itself count for nothing.
        assert (change.declaration.external_effects, change.declaration.idempotent) == (True, False)
        assert change.scope == "agent"

        said = await kept.do("sdk_echo", text="hello")
        assert (said.state, said.text, said.source) == ("done", "echo: hello", "mcp:sdk")
        assert said.trust is Trust.UNTRUSTED
        assert (await kept.do("sdk_key", "key-7")).text == '"key-7"'

        failed = await kept.do("sdk_fail")
        assert (failed.state, failed.text) == ("crashed", "it is broken")
        assert (await kept.do("sdk_raise")).state == "crashed"

        true = await kept.do("sdk_sum", text="truth")
        assert (true.state, true.text) == ("done", '2\n{"sum": 2}')
        false = await kept.do("sdk_sum", text="lie")
        assert false.state == "crashed"
        assert "does not fit the schema the server declared: sum" in false.reason

        known = json.loads((await kept.do("sdk_environment")).text)
        assert known.pop("TOKEN") == "[redacted]"  # it has it, and the record has not
        assert Path(known.pop("cwd")) == tmp_path
        assert set(known) <= {
            "HOME",
            "LANG",
            "LC_ALL",
            "LC_CTYPE",
            "LOGNAME",
            "PATH",
            "PYTHONDONTWRITEBYTECODE",
            "TMPDIR",
            "TZ",
            "USER",
        }
        found = kept.sources.source("mcp:sdk")
        assert found is not None
        assert found.errors[0] == "ready, and my secret is [redacted]"


async def test_media_arrive_as_media_what_else_is_no_text_is_kept_and_nothing_is_fetched(
    keeping: Keeping,
) -> None:
    blobs: list[bytes] = []

    async def keep(content: bytes) -> Digest:
        blobs.append(content)
        return digest(content)

    async with keeping(sdk(), keep=keep) as kept:
        outcome = await kept.do("sdk_media")
        lines = outcome.text.split("\n")
        assert outcome.media == (MediaPart("image", "image/png", data=b"\x89PNG\r\n"),)
        assert lines[0] == "look:"
        image, audio, link, inside = (json.loads(line) for line in lines[1:5])
        assert image == {
            "type": "image",
            "mimeType": "image/png",
            "bytes": 6,
            "digest": digest(b"\x89PNG\r\n"),
        }
        assert audio["problem"].startswith("not base64")
        assert link["uri"] == "http://127.0.0.1:1/never-fetched"
        assert (inside["uri"], lines[5]) == ("file:///a", "inside")
        assert json.loads(lines[6])["bytes"] == 3
        assert blobs == [b"\x00\x01\x02"]

        big = await kept.do("sdk_big", size=10_000_000)
        assert (big.state, len(big.text)) == ("done", 10_000_000)


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
async def test_a_server_that_asks_for_something_is_refused_and_noted(
    keeping: Keeping, protocol: str
) -> None:
    async with keeping(sdk(protocol=protocol)) as kept:
        asked = await kept.do("sdk_ask")
        assert asked.state == ("refused" if protocol == "auto" else "crashed")
        elicited = await kept.do("sdk_elicit")
        assert elicited.state == ("refused" if protocol == "auto" else "crashed")
        assert "it said" not in elicited.text
        assert (await kept.do("sdk_roots")).state == "crashed"
        wanted = {
            "sampling/createMessage, which it does not get",
            "elicitation/create, which it does not get",
        }
        if protocol == "legacy":
            wanted.add("roots/list, which it does not get")
        assert set(kept.notices("asked")) == wanted
        assert (await kept.do("sdk_echo", text="still here")).state == "done"

        # And a definition that changes under our feet loses its trust.
        assert (await kept.do("sdk_change")).state == "done"
        offer = await kept.next_offer(2)
        (change,) = offer.pins
        assert (change.name, change.verdict) == ("sdk_echo", "changed")
        assert list(offer.blocked) == ["sdk_echo"]
        refused = await kept.do("sdk_echo", text="hello")
        assert refused.state == "unavailable"
        assert "is not the one that was trusted" in refused.reason
        assert (await kept.do("sdk_key")).state == "done"

        assert await kept.sources.approve("mcp:sdk", change.name, change.digest)
        assert not kept.offer.blocked
        assert (await kept.do("sdk_echo", text="hello")).state == "done"


async def test_killed_in_the_middle_of_a_call_it_is_unknown_and_then_it_is_there_again(
    keeping: Keeping, tmp_path: Path
) -> None:
    server = sdk(times=replace(TIMES, tries=3))
    async with keeping(server) as kept:
        outcome = await kept.do("sdk_die", text=str(tmp_path / "begun"))
        assert (tmp_path / "begun").read_text() == "begun"
        assert outcome.state == "unknown"
        assert outcome.reason == "it ended by signal 9 before it answered; it may have been done"
        old = kept.handler("sdk_echo")
        gone = await kept.do("sdk_echo", text="hello")
        assert gone.state == "unavailable"
        await kept.next_offer(2)
        assert kept.pauses == [TIMES.backoff]
        assert (await kept.do("sdk_echo", text="hello")).state == "done"
        assert old.spec == kept.handler("sdk_echo").spec


async def test_a_call_that_hangs_ends_in_time_and_others_are_still_answered(
    keeping: Keeping,
) -> None:
    server = sdk(tools={"hang": ToolOverride(timeout_seconds=0.3)})
    async with keeping(server) as kept:
        outcome = await kept.do("sdk_hang")
        assert outcome.state == "timeout"
        await kept.next_offer(2)  # it was asked whether it is still there
        assert (await kept.do("sdk_echo", text="hello")).state == "done"
        with anyio.move_on_after(0.1) as scope:
            await kept.do("sdk_hang", "key-2")
        assert scope.cancelled_caught
        await kept.next_offer(3)
        assert (await kept.do("sdk_echo", text="hello")).state == "done"

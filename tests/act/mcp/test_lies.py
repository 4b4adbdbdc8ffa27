"""A server that keeps to no rules is cut off, or what it says is left out; never more than that."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from mentis.act.mcp.declared import McpCaps, McpServer

from .conftest import SECRETS, TIMES, Keeping, raw

pytestmark = pytest.mark.anyio
SHORT = 0.4
ANSWER = "the server failed: the answer of the server"


async def test_broken_definitions_are_left_out_one_by_one_and_the_others_work(
    keeping: Keeping,
) -> None:
    async with keeping(raw("liars")) as kept:
        long = next(name for name in kept.names if name.startswith("raw_nnn"))
        assert kept.names == ["raw_a_b", "raw_again", "raw_good", long]
        assert len(long) == 64
        reasons = {one.tool: one.reason for one in kept.offer.left_out}
        assert reasons["huge"].startswith("its definition has 100")
        assert reasons["long"] == "its description has 20000 characters, over 16384"
        assert "not what the protocol allows" in reasons["no-schema"]
        assert "not what the protocol allows" in reasons["number"]
        assert "'http://127.0.0.1:1/s.json' points outside" in reasons["outside"]
        assert reasons["double"] == "it is defined more than once, and not alike"
        assert "its name would be 'raw_a_b'" in reasons["a.b"]
        assert set(reasons) == {
            "",
            "no-schema",
            "not-an-object",
            "broken",
            "outside",
            "cyclic",
            "deep",
            "explosive",
            "huge",
            "long",
            "bad-output",
            "number",
            "double",
            "a.b",
        }
        assert (await kept.do("raw_good")).state == "done"


async def test_of_five_thousand_tools_as_many_as_allowed_are_taken(keeping: Keeping) -> None:
    async with keeping(raw("many")) as kept:
        assert len(kept.names) == 256
        assert "4744 more definitions" in kept.offer.left_out[0].reason
    async with keeping(raw("many", allow=("t4999", "t0001", "nix"))) as kept:
        assert kept.names == ["raw_t0001", "raw_t4999"]
        assert [one.tool for one in kept.offer.left_out] == ["nix"]


async def test_a_list_without_end_is_left_after_so_many_pages(keeping: Keeping) -> None:
    async with keeping(raw("pages", caps=McpCaps(pages=5))) as kept:
        assert len(kept.names) == 5
        assert kept.offer.left_out[0].reason == "its list has over 5 pages"
    async with keeping(raw("no-list")) as kept:
        assert (kept.names, kept.offer.left_out[0].reason) == ([], "a page of the list is no list")


@pytest.mark.parametrize(
    ("mode", "time", "reason"),
    [
        ("hang-initialize", "connect", f"it did not answer within {SHORT} seconds"),
        ("hang-list", "listing", f"it did not list its tools within {SHORT} seconds"),
    ],
)
async def test_a_server_that_hangs_at_the_start_is_given_up(
    keeping: Keeping, mode: str, time: str, reason: str
) -> None:
    short = replace(TIMES, tries=2, **{time: SHORT})
    async with keeping(raw(mode, times=short)) as kept:
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.reason == reason
        assert kept.notices("slow") == [reason]
        assert kept.pauses == [TIMES.backoff]
        assert kept.offer.handlers == ()


async def test_a_server_that_cannot_be_started_or_ends_at_once_is_given_up(
    keeping: Keeping,
) -> None:
    async with keeping(raw("exit", times=replace(TIMES, tries=4, backoff_most=1.5))) as kept:
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.reason == "it ended with code 3"
        assert kept.pauses == [0.5, 1.0, 1.5]
        found = kept.sources.source("mcp:raw")
        assert found is not None
        found.connect_again()
        await kept.until(lambda status: len(kept.pauses) == 6)
    nowhere = McpServer("raw", ("/no/such/program",), times=replace(TIMES, tries=9))
    async with keeping(nowhere) as kept:
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.reason.startswith("FileNotFoundError")
        assert kept.pauses == []


async def test_a_variable_that_is_not_set_is_said_and_nothing_is_started(keeping: Keeping) -> None:
    async with keeping(raw("normal", env=("NOT_THERE",))) as kept:
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.reason == "the variable NOT_THERE, which MCP server 'raw' needs, is not set"


@pytest.mark.parametrize(
    ("mode", "what"),
    [
        ("flood", "messages nobody asked for"),
        ("stderr", "bytes"),
        ("endless", "bytes"),
    ],
)
async def test_a_server_that_floods_is_cut_off(keeping: Keeping, mode: str, what: str) -> None:
    caps = McpCaps(frame_bytes=200_000)
    async with keeping(raw(mode, caps=caps)) as kept:
        outcome = await kept.do("raw_act")
        assert outcome.state == "unknown"
        assert outcome.reason.startswith(f"it was cut off: too much of {what}")
        assert kept.notices("flood") == [f"it was cut off: too much of {what}"]
        await kept.until(lambda status: status.state == "given_up")


async def test_an_answer_over_the_cap_fails_and_the_connection_stays(keeping: Keeping) -> None:
    async with keeping(raw("large", caps=McpCaps(frame_bytes=200_000))) as kept:
        outcome = await kept.do("raw_act")
        assert outcome.state == "crashed"
        assert outcome.reason == (
            "nothing of the answer is kept: the answer has more than 200000 bytes"
        )
        assert kept.status.state == "up"


async def test_noise_on_standard_output_is_noted_and_does_no_harm(keeping: Keeping) -> None:
    async with keeping(raw("noise")) as kept:
        assert kept.notices("noise") == [
            "standard output: Welcome to my server!",
            'standard output: {"half": ',
            "standard output: [1, 2, 3]",
        ]
        assert (await kept.do("raw_act")).state == "done"


@pytest.mark.parametrize(
    ("mode", "state", "reason"),
    [
        ("nonsense", "crashed", "the answer is not what the protocol allows"),
        (
            "nan",
            "crashed",
            f"{ANSWER}: NaN is not a JSON number at pointer /result/structuredContent/a",
        ),
        ("error", "refused", "the server refused it: no such thing"),
        ("progress", "done", ""),
        ("many-answers", "done", ""),
    ],
)
async def test_whatever_it_answers_there_is_one_outcome(
    keeping: Keeping, mode: str, state: str, reason: str
) -> None:
    async with keeping(raw(mode)) as kept:
        outcome = await kept.do("raw_act")
        assert (outcome.state, outcome.reason) == (state, reason)


async def test_a_server_that_reads_and_answers_nothing_any_more_is_cut_off(
    keeping: Keeping,
) -> None:
    short = replace(TIMES, call=SHORT, listing=4)
    async with keeping(raw("deaf", times=short)) as kept:
        assert (await kept.do("raw_act")).state == "timeout"
        status = await kept.until(lambda status: status.state == "given_up")
        assert status.reason == "it did not list its tools within 4 seconds"


async def test_a_list_that_changes_all_the_time_is_read_with_pauses(keeping: Keeping) -> None:
    async with keeping(raw("restless", caps=McpCaps(unasked=20))) as kept:
        await kept.until(lambda status: status.state == "given_up")
        assert kept.notices("flood")
        assert kept.pauses.count(TIMES.debounce) <= 20


async def test_a_program_that_will_not_leave_is_made_to_and_its_children_too(
    keeping: Keeping, tmp_path: Path
) -> None:
    told = tmp_path / "children"
    os.mkfifo(told)
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    server = raw("stubborn", times=replace(TIMES, close=0.1))
    async with keeping(replace(server, command=(*server.command, str(told)))) as kept:
        assert (await kept.do("raw_act")).state == "done"
        with pytest.raises(BlockingIOError):
            os.read(reader, 1)  # somebody holds the other end
    with anyio.fail_after(30):
        await anyio.wait_readable(reader)
    assert os.read(reader, 1) == b""
    os.close(reader)


async def test_no_secret_is_told_in_a_definition_or_by_its_beginning(keeping: Keeping) -> None:
    secret = SECRETS["TOKEN"]
    async with keeping(raw("secret", env=("TOKEN",))) as kept:
        (handler,) = kept.offer.handlers
        assert handler.spec.declaration.description == "It is [redacted]."
        assert secret not in repr((kept.offer, handler.spec, kept.status))
        outcome = await kept.do("raw_act")
        assert (outcome.state, secret[:5] in outcome.reason) == ("refused", False)

"""`mentis cost`: what counts, what it comes to, and what broke the cache."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest
from anyio import to_thread

from mentis import Agent, Personas
from mentis.testing import FixedClock
from mentis.values.reply import Usage

from .conftest import Mentis
from .paid import Paid, make_home, open_paid, say_all

pytestmark = pytest.mark.anyio
COLD = Usage(3000, 10, cache_write=2000)
WARM = Usage(3100, 10, cache_read=3000)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


def bare(body: bytes) -> bytes:
    """A body without cache marks, as a provider compares it."""

    def without(value: object) -> object:
        if isinstance(value, dict):
            found = cast("dict[str, object]", value).items()
            return {name: without(part) for name, part in found if name != "cache_control"}
        return (
            [without(one) for one in cast("list[object]", value)]
            if isinstance(value, list)
            else value
        )

    return json.dumps(without(json.loads(body)), ensure_ascii=False, separators=(",", ":")).encode()


def first_apart(old: bytes, new: bytes) -> int:
    return next(n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)


def report(mentis: Mentis, home: Path, *args: str) -> dict[str, Any]:
    return mentis("cost", "--json", *args, "--home", home).json()


async def test_a_call_costs_what_its_tokens_cost_by_the_way_they_came(
    mentis: Mentis, home: Path
) -> None:
    # 1000 plain, 500 found for a tenth, 200 written for twice, 40 out for five times.
    provider = Paid(("Yes.", Usage(1700, 40, cache_read=500, cache_write=200)))
    async with open_paid(home, provider) as agent:
        await agent.chat("Hi")
    total = report(mentis, home)["total"]
    assert total == {
        "calls": 1,
        "input": 1700,
        "cached": 500,
        "written": 200,
        "output": 40,
        "reasoning": 0,
        "usd": "1.65",
        "unpriced": 0,
        "free": 0,
        "planned": 0,
    }
    assert "$1.6500" in mentis("cost", "--home", home).out


async def test_steps_titles_and_calls_outside_of_turns_all_count(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    used = Usage(1000, 0)
    ask = ("recall", {"query": "tea"})
    provider = Paid((ask, used), ("Tea.", used), ("A title", used))
    async with open_paid(home, provider) as agent:
        await agent.chat("What do I drink?")
        await agent.make_title()
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('[routes.script]\nreplies = ["One."]\n')
    request = tmp_path / "request.json"
    request.write_text('{"messages": [{"role": "user", "content": "Hi"}]}', encoding="utf-8")
    call = partial(mentis, "call", request, "--route", "script", "--home", home)
    assert (await to_thread.run_sync(call)).code == 0
    found = report(mentis, home, "--by", "kind")
    assert {one["name"]: one["calls"] for one in found["groups"]} == {
        "turn": 2,
        "title": 1,
        "call": 1,
    }
    assert found["total"]["calls"] == 4
    assert found["total"]["free"] == 1  # nobody is asked by a script
    routes = report(mentis, home, "--by", "route")["groups"]
    assert [(one["name"], one["usd"]) for one in routes] == [("default", "3"), ("script", "0")]


async def test_a_price_that_is_not_known_is_said_so_and_never_shown_as_nothing(
    mentis: Mentis, tmp_path: Path
) -> None:
    home = make_home(tmp_path / "unpriced", facts="vision = false")
    async with open_paid(home, Paid(("Yes.", COLD)), route="other") as agent:
        await agent.chat("Hi")
    done = mentis("cost", "--home", home)
    assert "unknown price" in done.out
    assert "no price is known for claude-other-1" in done.err
    assert "$" not in done.out
    assert report(mentis, home)["total"]["usd"] is None
    written = mentis("cost", "--csv", "--home", home)
    (row,) = csv.DictReader(io.StringIO(written.out))
    assert (row["usd"], row["input"], row["unpriced"]) == ("", "3000", "1")
    async with open_paid(home, Paid(("Yes.", COLD))) as agent:  # the table knows this model
        await agent.chat("Hi", session="second")
    both = mentis("cost", "--home", home)
    assert "+ unknown price" in both.out


async def test_a_block_that_was_edited_within_a_session_is_named_with_its_byte_and_its_fix(
    mentis: Mentis, home: Path
) -> None:
    provider = Paid(("One.", COLD), ("Two.", WARM), ("Three.", COLD))
    async with open_paid(home, provider) as agent:
        await say_all(agent, ["First", "Second"])
    assert mentis("prompts", "edit", "style", "--text", "Be terse.", "--home", home).code == 0
    async with open_paid(home, provider) as agent:
        await agent.chat("Third")
    found = report(mentis, home)["turns"]
    (broken,) = [one for one in found if one["entry"] == 3]  # 2 binds the edit
    loss = broken["loss"]
    assert (loss["cause"], loss["where"], loss["exact"]) == ("changed", "block style", True)
    assert loss["byte"] == first_apart(bare(provider.sent[1]), bare(provider.sent[2]))
    assert 2000 < loss["tokens"] <= 3100
    # What was read plain costs 0.9 more than finding it, what was written 1.9 more.
    extra = 2000 * 1.9 + (loss["tokens"] - 2000) * 0.9
    assert float(loss["usd"]) == pytest.approx(extra / 1000)
    assert "mentis prompts history style" in broken["fix"]
    (fine,) = [one for one in found if one["entry"] == 1]
    assert fine["loss"] is None
    shown = " ".join(mentis("cost", "--home", home).out.split())
    assert f"cache broken at byte {loss['byte']}" in shown
    assert "in block style" in shown


async def test_a_value_that_changes_in_the_lasting_part_is_to_be_told_at_the_end(
    mentis: Mentis, home: Path
) -> None:
    provider = Paid(("One.", COLD), ("Two.", COLD))
    async with open_paid(home, provider) as agent:
        await agent.chat("First")
    persona = home / "personas/ada/persona.toml"
    persona.write_text(persona.read_text(encoding="utf-8").replace('"Ada"', '"Eva"'), "utf-8")
    async with open_paid(home, provider) as agent:
        await agent.chat("Second")
    (broken,) = [one for one in report(mentis, home)["turns"] if one["entry"] == 2]
    assert broken["loss"]["where"] == "block impersonation ({{char_name}})"
    assert "prompts edit impersonation --set 'stability=\"turn\"'" in broken["fix"]
    fix = ("prompts", "edit", "impersonation", "--set", 'stability="turn"')
    assert mentis(*fix, "--home", home).code == 0


async def test_a_pause_that_is_too_long_is_told_apart_from_a_change(
    mentis: Mentis, home: Path
) -> None:
    for hour, answer in ((8, ("One.", COLD)), (11, ("Two.", COLD))):
        clock = FixedClock(datetime(2026, 3, 1, hour, tzinfo=UTC))
        async with open_paid(home, Paid(answer), clock=clock) as agent:
            await agent.chat("Hello")
    (late,) = [one for one in report(mentis, home)["turns"] if one["entry"] == 1]
    assert late["loss"]["cause"] == "expired"
    assert "10800 seconds before" in late["loss"]["reason"]
    assert late["loss"]["byte"] is None


async def test_without_inputs_the_prints_in_the_entries_say_which_part_changed(
    mentis: Mentis, home: Path
) -> None:
    provider = Paid(("One.", COLD), ("Two.", COLD))
    async with open_paid(home, provider) as agent:
        await agent.chat("First")
    mentis("prompts", "edit", "style", "--text", "Be terse.", "--home", home)
    async with open_paid(home, provider) as agent:
        await agent.chat("Second")
    erased = ("ledger", "erase", "0", "--field", "inputs", "--reason", "asked for", "--yes")
    assert mentis(*erased, "--home", home).code == 0
    (broken,) = [one for one in report(mentis, home)["turns"] if one["entry"] == 2]
    assert (broken["loss"]["where"], broken["loss"]["exact"]) == ("the lasting part", False)
    gone = ("ledger", "erase", "2", "--field", "usage", "--reason", "asked for", "--yes")
    assert mentis(*gone, "--home", home).code == 0
    done = mentis("cost", "--home", home)
    assert "of 1 entry it is not known what it used: that was erased" in done.err


async def test_turns_that_another_agent_asked_for_stand_under_it_and_count_once(
    mentis: Mentis, home: Path
) -> None:
    with Personas.open(home) as personas:
        personas.create("bob", name="Bob", source="ada")
    outer, inner = (
        Paid((("ask_bob", {"message": "When?"}), Usage(1000, 0)), ("June.", Usage(1000, 0))),
        Paid(("In June.", Usage(500, 0))),
    )
    async with Agent.open(home, persona="bob", provider=inner) as bob:
        tool = bob.as_tool(name="ask_bob", description="Knows about gardens.")
        async with Agent.open(home, persona="ada", provider=outer, tools=[tool]) as ada:
            await ada.chat("When do roses bloom?")
            assert ada.costs(by="session").total.usd == 2
            (seen,) = ada.costs().turns
            assert (seen.whole.usd, seen.inner[0].agent) == (2.5, "home/bob")
    found = report(mentis, home, "--by", "agent")
    assert found["total"]["usd"] == "2.5"
    assert {one["name"]: one["usd"] for one in found["groups"]} == {
        "home/ada": "2",
        "home/bob": "0.5",
    }
    (turn,) = found["turns"]
    assert (turn["agent"], turn["cost"]["usd"], turn["whole"]["usd"]) == ("home/ada", "2", "2.5")
    (asked,) = turn["inner"]
    assert (asked["agent"], asked["cost"]["usd"]) == ("home/bob", "0.5")
    shown = " ".join(mentis("cost", "--home", home).out.split())
    assert "$2.5000 ($2.0000 of its own)" in shown
    assert "> home/bob entry 0" in shown
    assert report(mentis, home, "--persona", "ada")["total"]["usd"] == "2"


async def test_only_the_time_that_is_asked_for_counts(mentis: Mentis, home: Path) -> None:
    for day in (1, 2, 3):
        clock = FixedClock(datetime(2026, 3, day, 12, tzinfo=UTC))
        async with open_paid(home, Paid(("Yes.", Usage(1000, 0))), clock=clock) as agent:
            await agent.chat("Hi", session=f"s{day}")
    days = report(mentis, home)["groups"]
    assert [(one["name"], one["usd"]) for one in days] == [
        ("2026-03-01", "1"),
        ("2026-03-02", "1"),
        ("2026-03-03", "1"),
    ]
    assert report(mentis, home, "--since", "2026-03-02")["total"]["calls"] == 2
    assert report(mentis, home, "--until", "2026-03-02")["total"]["calls"] == 2
    one = report(mentis, home, "--since", "2026-03-02T00:00", "--until", "2026-03-02T12:00")
    assert one["total"]["calls"] == 0
    assert report(mentis, home, "--since", "1h")["total"]["calls"] == 0
    assert "no model was asked" in mentis("cost", "--since", "1h", "--home", home).err
    refused = mentis("cost", "--since", "yesterday", "--home", home)
    assert refused.code == 2
    assert "is no day" in refused.err


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_what_is_printed_fits_the_terminal(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    provider = Paid(("One.", COLD), ("Two.", COLD))
    async with open_paid(home, provider) as agent:
        await agent.chat("First", session="a-session-with-quite-a-long-name-that-goes-on")
        await agent.chat("Second", session="short")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("mentis.surfaces.cli.output.stream_width", Mock(return_value=width))
    for words in (("cost", "--by", "session"), ("cost", "--by", "block"), ("why",)):
        lines = mentis(*words, "--home", home).out.splitlines()
        assert max(map(len, lines)) <= max(width, 74), words  # figures are never cut
        if "session" in words:
            assert any("a-session-with-quite-a-long-name-that-goes-on" in line for line in lines)


async def test_blocks_add_up_to_everything(mentis: Mentis, home: Path) -> None:
    provider = Paid(("One.", COLD), ("Two.", WARM))
    async with open_paid(home, provider) as agent:
        await say_all(agent, ["First", "Second"])
    found = report(mentis, home, "--by", "block")
    for name in ("calls", "input", "cached", "written", "output"):
        assert sum(one[name] for one in found["groups"]) == found["total"][name], name
    paid = sum(float(one["usd"]) for one in found["groups"])
    assert paid == pytest.approx(float(found["total"]["usd"]))
    assert {"style", "constitution", "message", "(answer)"} <= {
        one["name"] for one in found["groups"]
    }


def test_a_home_in_which_nothing_was_asked_says_so(mentis: Mentis, home: Path) -> None:
    done = mentis("cost", "--home", home)
    assert (done.code, done.out, done.err) == (0, "", "no model was asked in that time\n")
    assert mentis("cost", "--csv", "--json", "--home", home).code == 2

"""`mentis why`: what a model was told, what not, and what had changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from anyio import to_thread

from mentis import Sense, create_home
from mentis.surfaces.cli.why_show import explanation_lines
from mentis.values.cost import OmittedPiece
from mentis.values.reply import Usage

from .conftest import Mentis
from .paid import Paid, make_home, open_paid, say_all

pytestmark = pytest.mark.anyio
COLD = Usage(3000, 20, cache_write=2500)
WARM = Usage(3100, 20, cache_read=2950, cache_write=100)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


def why(mentis: Mentis, home: Path, *args: str) -> dict[str, Any]:
    return mentis("why", "--json", *args, "--home", home).json()


async def test_the_last_turn_is_explained_block_by_block(mentis: Mentis, home: Path) -> None:
    async with open_paid(home, Paid(("One.", COLD), ("Two.", WARM), ("T", COLD))) as agent:
        await say_all(agent, ["First", "Second"])
        await agent.make_title()
        told = agent.why()  # the title is no turn of the conversation
        assert (told.turn.entry, told.identical) == (1, True)
    found = why(mentis, home)
    pieces = {one["name"]: one for one in found["pieces"]}
    assert sum(one["tokens"] for one in found["pieces"]) == 3100
    assert sum(one["cached"] for one in found["pieces"]) == 2950
    assert sum(one["written"] for one in found["pieces"]) == 100
    paid = sum(float(one["usd"]) for one in found["pieces"]) + float(found["answer_usd"])
    assert paid == pytest.approx(float(found["call"]["usd"]))
    assert pieces["constitution"]["trust"] == "constitution"
    assert pieces["constitution"]["cached"] == pieces["constitution"]["tokens"]
    assert pieces["message"]["cached"] == 0
    assert (pieces["conversation"]["trust"], pieces["message"]["trust"]) == ("self", "owner")
    omitted = {one["name"]: one for one in found["omitted"]}
    assert omitted["world_consistency"]["reason"] == "needs char_scenarios; nothing given"
    assert found["before"] == [0, 1]
    assert found["changed"]["where"] == "assistant turn 1"
    assert found["loss"] is None
    shown = mentis("why", "--home", home)
    assert shown.out.startswith("entry 1, turn, session main, ")
    assert "byte-identical" in shown.out
    assert "the cache gave what was sent before" in shown.out
    assert shown.out.count("\n") < 50


async def test_whatever_was_left_out_is_shown_with_its_reason(home: Path) -> None:
    async with open_paid(home, Paid(("One.", COLD))) as agent:
        await say_all(agent, ["First"])
        told = agent.why()
    kinds = get_args(get_type_hints(OmittedPiece)["kind"])
    omitted = tuple(OmittedPiece(kind, f"a {kind}", f"because of {kind}") for kind in kinds)
    lines = [str(one) for one in explanation_lines(replace(told, omitted=omitted))]
    for kind in kinds:
        assert any(f"a {kind}: because of {kind}" in line for line in lines), kind


async def test_a_change_since_the_call_before_is_named_with_its_price(
    mentis: Mentis, home: Path
) -> None:
    provider = Paid(("One.", COLD), ("Two.", COLD))
    async with open_paid(home, provider) as agent:
        await agent.chat("First")
    mentis("prompts", "edit", "style", "--text", "Be terse.", "--home", home)
    async with open_paid(home, provider) as agent:
        await agent.chat("Second")
    found = why(mentis, home, "2")  # 1 binds the edit
    assert found["changed"]["where"] == found["loss"]["where"] == "block style"
    assert found["changed"]["byte"] == found["loss"]["byte"] > 0
    assert float(found["loss"]["usd"]) > 0
    assert "cheapest fix: style was another text before" in mentis("why", "--home", home).out
    assert why(mentis, home, "0")["loss"]["cause"] == "first"


async def test_each_step_of_a_turn_is_explained_for_itself(mentis: Mentis, home: Path) -> None:
    ask = ("recall", {"query": "tea"})
    async with open_paid(home, Paid((ask, COLD), ("Tea.", WARM))) as agent:
        await agent.chat("What do I drink?")
    first, second = why(mentis, home), why(mentis, home, "--step", "2")
    assert (first["step"], first["steps"], first["call"]["input"]) == (1, 2, 3000)
    assert (second["step"], second["rebuilt"], second["call"]["input"]) == (2, True, 3100)
    assert second["before"] == [first["entry"], 1]
    none = mentis("why", "--step", "3", "--home", home)
    assert none.code == 2
    assert "has no step 3" in none.err


async def test_what_had_no_room_is_named_with_its_tokens(mentis: Mentis, tmp_path: Path) -> None:
    home = make_home(tmp_path / "small")
    toml = (home / "mentis.toml").read_text(encoding="utf-8")
    small = toml.replace("max_tokens = 100", "max_tokens = 100\ncontext_tokens = 3000")
    (home / "mentis.toml").write_text(small, encoding="utf-8")
    long = "tea " * 300
    async with open_paid(home, Paid((long, COLD), (long, COLD), (long, COLD))) as agent:
        await say_all(agent, ["First", "Second", "Third"])
    cuts = [one for one in why(mentis, home)["omitted"] if one["kind"] == "cut"]
    assert cuts
    assert all(one["tokens"] > 0 and one["reason"] for one in cuts)
    assert "cut " in mentis("why", "--home", home).out


async def test_where_nothing_can_be_put_together_again_the_entry_still_speaks(
    mentis: Mentis, home: Path
) -> None:
    async with open_paid(home, Paid(("One.", COLD))) as agent:
        await agent.chat("First")
    mentis(
        "ledger",
        "erase",
        "0",
        "--field",
        "inputs",
        "--reason",
        "asked for",
        "--yes",
        "--home",
        home,
    )
    found = why(mentis, home)
    assert (found["rebuilt"], found["pieces"]) == (False, [])
    assert found["call"]["input"] == 3000
    assert any("were erased" in note for note in found["notes"])
    shown = mentis("why", "--home", home)
    assert (shown.code, "3,000 tokens in" in shown.out) == (0, True)
    assert "were erased" in shown.err
    other = mentis("why", "1", "--home", home)  # the erasure itself
    assert other.code == 2
    assert "no model was asked in it" in other.err


async def test_a_tick_is_told_as_far_as_its_entry_tells_it(mentis: Mentis, home: Path) -> None:
    async with open_paid(home, Paid(*[("Nothing to do.", COLD)] * 4)) as agent:
        result = await agent.tick([Sense("s1", "message", {"text": "Somebody knocks."})])
    assert result.entry is not None
    found = why(mentis, home)
    assert (found["entry"], found["kind"], found["session"]) == (result.entry.index, "tick", "")
    assert found["call"]["stage"] == "primary"
    assert found["call"]["input"] == 3000
    assert any("is a tick" in note for note in found["notes"])


def test_before_anything_was_asked_it_says_what_to_do(mentis: Mentis, home: Path) -> None:
    done = mentis("why", "--home", home)
    assert done.code == 2
    assert "has asked no model yet" in done.err


def test_cause_ranks_what_the_answer_loses_without_each_piece(
    mentis: Mentis, tmp_path: Path
) -> None:
    scripted = create_home(tmp_path / "scripted")
    with (scripted / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nbackend = "scripted"\nmodel = "m"\n')
        file.write('replies = ["One.", "Two."]\n')
    assert mentis("chat", "How many?", "--home", scripted).code == 0
    asked = ("why", "--cause", "--samples", "1", "--blocks", "1", "--home", scripted)
    found: dict[str, Any] = mentis(*asked, "--json").json()
    assert (found["method"], found["value"], found["calls"]) == ("overlap", 1.0, 2)
    (cause,) = found["causes"]
    assert (cause["fall"], cause["section"] >= 0) == (1.0, True)
    shown = mentis(*asked)
    assert "new answers share 100% of its words" in shown.out
    assert f"{cause['name']}  {'#' * 24}" in shown.out
    assert "is asked 2 times, at no cost" in shown.err


async def test_cause_names_its_price_and_asks_nobody_without_a_yes(
    mentis: Mentis, home: Path
) -> None:
    async with open_paid(home, Paid(("One.", COLD))) as agent:
        await say_all(agent, ["First"])
    run = partial(mentis, "why", "--cause", "--home", home)
    refused = await to_thread.run_sync(run)
    assert refused.code != 0
    assert "for at most $" in refused.err
    assert "--yes" in refused.err
    foreign = await to_thread.run_sync(partial(run, "--persona", "recorded/codex"))
    assert "nobody here can ask its model again" in foreign.err

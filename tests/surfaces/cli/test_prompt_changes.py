"""Every command that changes prompts ends with what changed in the prompts in force."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

import pytest
from tests.docs.pictures import check_picture

from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.learned_facts import LearnedFacts
from mentis.prompts.prompts import Prompts
from mentis.settings.sources import load_settings
from mentis.turn.replay.prompt_change import PromptInForceChange
from mentis.values.learned import CONTEXT, LearnedFact

from .conftest import Mentis

ROUTES = """[routes]
default = { replies = ["One.", "Two."], variant = "compact" }
paid = { url = "https://api.example/v1", model = "big", facts = { input_price = 2.5 } }
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "my-home")
    toml = (path / "mentis.toml").read_text(encoding="utf-8")
    (path / "mentis.toml").write_text(toml.replace("[routes]\n", ROUTES), encoding="utf-8")
    return path


def test_an_edit_shows_the_difference_tokens_and_price_on_each_route(
    mentis: Mentis, home: Path
) -> None:
    done = mentis("--home", home, "prompts", "edit", "style", "--text", "Be brief.")
    assert "ada on default (script): ~198 -> ~192 tokens (-6), free" in done.out
    assert "ada on paid (big): ~1496 -> ~1426 tokens (-70), $0.003" in done.out
    assert "-Use short and simple sentences. Be kind.\n+Be brief.\n" in done.out
    assert "\x1b[" not in done.out, "no colour outside of a terminal"


def test_the_same_difference_on_several_routes_is_shown_once(mentis: Mentis, home: Path) -> None:
    mentis("--home", home, "prompts", "new", "mine", "--text", "Rhyme.")
    done = mentis("--home", home, "prompts", "toggle", "mine", "--off")
    assert done.out.count("-Rhyme.") == 1
    assert done.out.count("ada on ") == 2


def test_an_order_and_a_reset_show_what_they_did(mentis: Mentis, home: Path) -> None:
    done = mentis("--home", home, "prompts", "order", "style=1")
    assert "+++ order from now on" in done.out
    assert "+system, style" in done.out
    mentis("--home", home, "prompts", "edit", "style", "--text", "Be brief.")
    done = mentis("--home", home, "prompts", "reset", "style")
    assert "-Be brief." in done.out
    assert "+Use short and simple sentences. Be kind." in done.out


def test_where_nothing_changed_it_says_why_and_which_command_would_change_it(
    mentis: Mentis, home: Path
) -> None:
    edit = ("--home", home, "prompts", "edit", "style", "--variant", "compact", "--text", "Short.")
    done = mentis(*edit)
    assert "ada on paid: the prompt stays as it was: what is told of style here" in done.err
    assert "hint: mentis prompts edit style --in-force --persona ada --route paid" in done.err
    assert "style was like that already" in mentis(*edit).err
    mentis("--home", home, "prompts", "toggle", "style", "--off")
    done = mentis("--home", home, "prompts", "edit", "style", "--text", "Long.")
    assert "style is not told here: switched off" in done.err
    assert done.err.count("hint: mentis prompts toggle style --on") == 1
    done = mentis("--home", home, "prompts", "toggle", "emotion", "--off")
    assert (
        "ada on default: the prompt stays as it was: emotion was not told here before" in done.err
    )


def test_a_room_that_was_learned_decides_which_wording_is_said_to_be_in_force(
    mentis: Mentis, home: Path
) -> None:
    route = load_settings(home, {}).route("paid")
    lesson = LearnedFact(CONTEXT, 2048, "it holds 2048 tokens")
    LearnedFacts(home).learn(route, lesson, time="2026-11-19T00:00:00+00:00")
    done = mentis("--home", home, "prompts", "edit", "style", "--text", "Be brief.")
    assert "instead of the shipped compact): ada on default, ada on paid" in done.err
    tried = mentis("--home", home, "prompts", "what-if", "style", "--text", "Rhyme.")
    short = next(line for line in tried.out.splitlines() if line.split()[1:2] == ["paid"])
    assert int(short.split()[2]) < 300, "the compact prompt, as it is told there"


def test_the_same_is_there_as_json_and_from_the_api(mentis: Mentis, home: Path) -> None:
    told = mentis("--home", home, "prompts", "edit", "style", "--text", "Be brief.", "--json")
    changes = cast("list[dict[str, object]]", told.json()["changes"])
    assert [(one["route"], one["changed"]) for one in changes] == [
        ("default", True),
        ("paid", True),
    ]
    agent = Agent.open(home)
    before = agent.library
    with Prompts.open(home) as prompts:
        edit = prompts.editor.toggle("style", enabled=False)
    try:
        first, second = agent.prompt_changes(before, [edit])
    finally:
        agent.close()
    assert isinstance(first, PromptInForceChange)
    assert first.differences[0].diff.endswith("-Be brief.\n")
    assert second.now.total.tokens < second.was.total.tokens
    assert second.was.cost.usd is not None


@pytest.mark.parametrize(
    ("block", "meta", "command"),
    [
        ("summary_update", {}, "mentis prompts preview --kinds --persona ada"),
        ("mine", {"modes": ["beat"]}, "mentis prompts preview --mode beat --persona ada"),
        ("mine", {"requires_all": ["input_x"]}, "mentis prompts placeholder list input_x"),
        (
            "mine",
            {"variant_condition": "experimental"},
            "mentis prompts edit mine --set variant_condition=null",
        ),
    ],
)
def test_a_block_that_is_not_told_comes_with_a_command(
    home: Path, block: str, meta: dict[str, object], command: str
) -> None:
    with Prompts.open(home) as prompts:
        if block == "mine":
            made = {"name": "m", "category": "custom", "type": "text", "enabled": True, "order": 5}
            place = {"target": "system_prompt", "position": "system_prompt"}
            wording = {"default": {"content": "Rhyme."}}
            prompts.editor.create("mine", meta={**made, **place, **meta}, variants=wording)
        else:
            block = next(
                one.id
                for one in prompts.loaded_library.library.blocks
                if one.target != "system_prompt" and one.type == "text" and not one.modes
            )
        agent = Agent.open(home)
        before = agent.library
        edit = prompts.editor.save(block, variants={"default": {"content": "Other words."}})
    try:
        (first, _) = agent.prompt_changes(before, [edit])
    finally:
        agent.close()
    assert (first.changed, first.command) == (False, command), first.reason


CODE = "from mentis.surfaces.cli.main import main\nmain({args!r})"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
def test_the_difference_is_coloured_at_a_terminal_and_drawn_in_the_guide(home: Path) -> None:
    from tests.terminal import at_terminal, without_colours

    args = ["--home", "my-home", "prompts", "edit", "style", "--variant", "compact"]
    args += ["--text", "Short sentences."]
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    code = CODE.format(args=args)
    status, seen = at_terminal(code, cwd=home.parent, environ=environ, size=(120, 40))
    assert status == 0, seen
    assert "\x1b[32m+Short sentences." in seen
    shown = without_colours(seen)
    command = 'mentis prompts edit style --variant compact --text "Short sentences."'
    check_picture("guides/edit-a-prompt.md", "edit", f"$ {command}\n{shown}")

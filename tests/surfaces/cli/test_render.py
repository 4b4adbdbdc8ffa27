"""`mentis render`: any wire format, any model's facts, without sending anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mentis.facts.ability import WIRES

from .conftest import Mentis


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_format_can_be_shown(mentis: Mentis, home: Path, wire: str) -> None:
    whole = mentis("--home", home, "render", "Hello", "--provider", wire, "--json").json()
    assert whole["wire"] == wire
    body = mentis("--home", home, "render", "Hello", "--provider", wire, "--body").out
    assert json.loads(body) == whole["payload"]


def test_the_model_picks_the_facts(mentis: Mentis, home: Path) -> None:
    arguments = ("--home", home, "render", "Hello", "--provider", "anthropic", "--model")
    able = mentis(*arguments, "claude-opus-5").out
    unable = mentis(*arguments, "claude-sonnet-5").out
    assert '"role": "system"' in able
    assert '"role": "system"' not in unable
    assert "<system>" in unable


def test_the_plan_shows_each_boundary_and_its_price(mentis: Mentis, home: Path) -> None:
    arguments = ("--provider", "anthropic", "--model", "claude-opus-5", "--plan")
    shown = mentis("--home", home, "render", "Hello", *arguments)
    assert "/system/0" in shown.out
    assert "1h" in shown.out
    assert "price if hit" in shown.out
    (kept_long,) = (line.split() for line in shown.out.splitlines() if "/system/0" in line)
    assert int(kept_long[-1]) == 2 * int(kept_long[2].removeprefix("~")), "an hour costs twice"


def test_where_no_cache_is_known_the_plan_says_so(mentis: Mentis, home: Path) -> None:
    arguments = ("--provider", "openai-chat", "--model", "some-model", "--plan")
    assert "no cache is planned" in mentis("--home", home, "render", "Hello", *arguments).err

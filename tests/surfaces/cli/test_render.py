"""`mentis render`: any wire format, any model's facts, without sending anything."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mentis.facts.ability import WIRES
from mentis.home.system import SystemClock

from .conftest import Mentis


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_format_can_be_shown(
    mentis: Mentis, home: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noon(_clock: SystemClock) -> datetime:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)

    monkeypatch.setattr(SystemClock, "now", noon)  # a minute may pass between two commands
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


PLAN = ("--provider", "anthropic", "--model", "claude-opus-5", "--plan")


def test_the_plan_shows_each_boundary_and_its_price(mentis: Mentis, home: Path) -> None:
    shown = mentis("--home", home, "render", "Hello", *PLAN)
    assert "/system/0" in shown.out
    assert "1h" in shown.out
    assert "price if hit" in shown.out
    (kept_long,) = (line.split() for line in shown.out.splitlines() if "/system/0" in line)
    tokens = int(kept_long[2].removeprefix("~"))
    assert float(kept_long[-1].removeprefix("$")) == pytest.approx(tokens * 10 / 1e6, abs=1e-6)
    assert float(kept_long[-2].removeprefix("$")) == pytest.approx(tokens * 0.5 / 1e6, abs=1e-6)
    assert "$5 a million tokens" in shown.err
    assert "estimated (~)" in shown.err


def test_without_a_price_table_the_plan_is_in_tokens_and_says_how_to_get_one(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    shown = mentis("--home", home, "render", "Hello", *PLAN)
    assert "tokens" in shown.out.splitlines()[-2]
    assert "pip install 'mentis[prices]'" in shown.err


def test_settings_correct_the_facts_the_plan_is_made_of(mentis: Mentis, home: Path) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as toml:
        toml.write(
            '\n[routes.own]\nbackend = "anthropic"\nmodel = "claude-opus-5"\n'
            "[routes.own.facts]\ncache_minimum = 9999\ninput_price = 100.0\n"
        )
    shown = mentis("--home", home, "render", "Hello", "--route", "own", "--plan")
    assert "below 9999" in shown.out
    assert "$100 a million tokens (facts)" in shown.err


@pytest.mark.parametrize("form", ["--body", "--json"])
def test_the_plan_names_what_changed_since_an_earlier_rendering(
    mentis: Mentis, home: Path, tmp_path: Path, form: str
) -> None:
    before = tmp_path / "before.json"
    rendered = mentis("--home", home, "render", "Hello", *PLAN[:-1], form).out
    before.write_text(rendered, encoding="utf-8")
    same = mentis("--home", home, "render", "Good night", *PLAN, "--previous", before)
    assert "every boundary planned before still holds" in same.err
    mentis("--home", home, "prompts", "toggle", "emotion")
    changed = mentis("--home", home, "render", "Hello", *PLAN, "--previous", before, "--json")
    broken = changed.json()["forecast"]["broken"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]
    assert broken["lost"] == 1
    assert broken["tokens"]["tokens"] > 0  # pyright: ignore[reportUnknownArgumentType]
    assert broken["cost"]["usd"] > 0  # pyright: ignore[reportUnknownArgumentType]
    told = mentis("--home", home, "render", "Hello", *PLAN, "--previous", before).err
    assert "the first difference is at byte" in told
    assert "tokens to be read again" in told


def test_a_previous_file_that_is_none_is_refused(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    body = '"payload":{"messages":[{"role":"user","content":"x"}]}'
    empty, lost = '"cache_plan":{}', '"cache_plan":{"boundaries":[{"pointer":"/messages/x"}]}'
    for content in (
        b"[]",
        b"{",
        b"\xff",
        b'{"wire":"gemini","payload":{},"cache_plan":{}}',
        b'{"messages":[1,"x"]}',
        b'{"messages":5}',
        f'{{"wire":"anthropic","payload":5,{empty}}}'.encode(),
        f'{{"wire":"anthropic",{body},{empty},"source_map":5}}'.encode(),
        f'{{"wire":"anthropic",{body},{empty},"source_map":[{{"form":"text"}}]}}'.encode(),
        f'{{"wire":"anthropic",{body},{lost}}}'.encode(),
    ):
        (tmp_path / "x").write_bytes(content)
        done = mentis("--home", home, "render", "Hello", *PLAN, "--previous", tmp_path / "x")
        assert (done.code, done.out) == (1, ""), content
        assert "[bad-input]" in done.err, content


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "gemini"])
def test_a_body_of_another_wire_format_is_refused(
    mentis: Mentis, home: Path, tmp_path: Path, wire: str
) -> None:
    other = mentis("--home", home, "render", "Hello", "--provider", wire, "--body")
    (tmp_path / "x").write_text(other.out, encoding="utf-8")
    done = mentis("--home", home, "render", "Hello", *PLAN, "--previous", tmp_path / "x")
    assert (done.code, done.out) == (1, "")
    assert "no body of 'anthropic'" in done.err


def test_a_body_without_a_known_boundary_is_not_said_to_hold(
    mentis: Mentis, home: Path, tmp_path: Path
) -> None:
    bare = '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":1}'
    (tmp_path / "x").write_text(bare, encoding="utf-8")
    done = mentis("--home", home, "render", "Hello", *PLAN, "--previous", tmp_path / "x")
    assert done.code == 0
    assert "no boundary of the rendering before is known" in done.err
    assert "still holds" not in done.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--body", "--plan"),
        ("--body", "--previous", __file__),
        ("--body", "--map"),
        ("--body", "--json"),
        ("--map", "--plan"),
        ("--model", ""),
    ],
)
def test_flags_that_exclude_each_other_are_a_usage_error(
    mentis: Mentis, home: Path, flags: tuple[str, ...]
) -> None:
    done = mentis("--home", home, "render", "Hello", *flags)
    assert (done.code, done.out) == (2, "")


def test_the_map_shows_tools_and_texts_with_their_places(mentis: Mentis, home: Path) -> None:
    shown = mentis("--home", home, "render", "Hello", "--provider", "anthropic", "--map")
    assert "/system/0/text" in shown.out
    assert "current" in shown.out


def test_where_no_cache_is_known_the_plan_says_so(mentis: Mentis, home: Path) -> None:
    arguments = ("--provider", "openai-chat", "--model", "some-model", "--plan")
    assert "no cache is planned" in mentis("--home", home, "render", "Hello", *arguments).err

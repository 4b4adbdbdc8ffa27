"""Screens of the documentation, drawn again at 80 columns."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from tests.docs.pictures import check_picture
from tests.model_servers import OLLAMA, serving
from tests.terminal import without_colours

from mentis import Agent, Parts
from mentis.ports.clock import FixedClock
from mentis.surfaces.cli.main import run
from mentis.testing import CountingIds, ScriptedProvider

from .conftest import SCRIPT

COMMAND_LINE = "reference/command-line.md"
PROVE = "guides/prove-what-your-agent-did.md"
PRODUCTION = "guides/run-it-in-production.md"
WIDTH = 80
# What is another in every home, written as something of the same length.
_STEADY = (
    (re.compile(r"(?<=mentis\.local/)[0-9a-f]{16}"), "2f6c1a0b9d8e7f43"),
    (re.compile(r"(?<=-)[0-9a-f]{8}(?=/key-)"), "d651e4ac"),
    (re.compile(r"\b[0-9a-f]{64}\b"), f"{'5be0a1c94d27f386' * 4}"),
    (re.compile(r"\b[0-9a-f]{16}\b(?!/)"), "5be0a1c94d27f386"),
    (re.compile(r"(?<![\w+/])[\w+/]{43}="), f"{'kN4x7Qm2Vb9sT0yR' * 2}kN4x7Qm2Vb9="),
    (re.compile(r"[\d.]+ (?=GB free)"), "82.0 "),
    (re.compile(r"(?<=\"time\": \")[\d-]{10}T[\d:]{8}\.\d{3}Z"), "2026-01-01T00:00:00.000Z"),
)


_GONE = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\n?", re.DOTALL)  # a bar that was there


_COUNTED = re.compile(r"\r\x1b\[K(?:\d+ of \d+ answers)?")  # and counted on in its place


class Terminal(io.StringIO):
    """Shows both streams in one place, as a screen does."""

    encoding = "utf-8"  # pyright: ignore[reportAssignmentType]  # of what is written to it

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What commands show, one after the other, in the folder where `home` is."""
    monkeypatch.setenv("MENTIS_HOME", str(home))
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.chdir(home.parent)

    def show(*commands: str) -> str:
        shown = ""
        for line in commands:
            terminal = Terminal()
            with monkeypatch.context() as patch:
                patch.setattr("sys.stdout", terminal)
                patch.setattr("sys.stderr", terminal)
                run(shlex.split(line)[1:])
            shown += f"$ {line}\n{_GONE.sub('', terminal.getvalue())}"
        for pattern, steady in _STEADY:
            shown = pattern.sub(steady, shown)
        return shown

    return show


def _talk(home: Path) -> None:
    """Two turns, a second apart."""

    async def talk() -> None:
        clock = FixedClock(step=timedelta(seconds=1))
        provider = ScriptedProvider(["Vega is up.", "Clouds."])
        parts = Parts(provider=provider, clock=clock, ids=CountingIds())
        async with Agent.open(home, parts=parts) as agent:
            await agent.chat("What do you see?")
            await agent.chat("And now?")

    anyio.run(talk)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("first-screen", "mentis"),
        ("help", "mentis --help"),
        ("table", "mentis tools list"),
    ],
)
def test_a_screen_in_the_docs_is_what_the_command_shows(
    name: str, line: str, screen: Callable[..., str]
) -> None:
    shown = screen(line)
    assert all(len(one) <= WIDTH for one in shown.splitlines())
    check_picture(COMMAND_LINE, name, shown)


def test_routes_that_are_ready_and_not_look_as_in_the_guide(
    home: Path, screen: Callable[..., str]
) -> None:
    with serving(OLLAMA) as server:
        _put_routes(
            home,
            f'default = {{ preset = "ollama", url = "{server.url}", model = "llama3.2" }}',
            f'careful = {{ preset = "ollama", url = "{server.url}", model = "mixtral" }}',
        )
        shown = screen("mentis routes check")
    usual = shown.replace(server.url, "http://127.0.0.1:11434/v1")
    check_picture("guides/routes.md", "routes-check", usual)


def test_a_comparison_looks_as_in_the_guide(home: Path, screen: Callable[..., str]) -> None:
    _put_routes(
        home,
        'default = { variant = "compact", replies = ["I am Ada.", "I am.", "Ada, at service."] }',
        'other = { variant = "compact", replies = ["I am Ada.", "An assistant.", "I am an AI."] }',
    )
    line = {"message": "Who are you?", "name": "its name", "regex": "Ada|I am", "lacks": ["AI"]}
    (home.parent / "talk.jsonl").write_text(json.dumps(line), encoding="utf-8")
    (home.parent / "brief.md").write_text("Be brief.", encoding="utf-8")
    chosen = "--b route=other --b block:style=brief.md --repeat 3"
    shown = _COUNTED.sub("", screen(f"mentis compare talk.jsonl {chosen}"))
    check_picture("guides/compare.md", "compare", without_colours(shown))


def test_a_default_persona_is_named_by_what_takes_it(screen: Callable[..., str]) -> None:
    screen("mentis persona new bob --name Bob")
    shown = screen("mentis persona use bob", "mentis memory list")
    check_picture("guides/talk-in-a-terminal.md", "persona-use", shown)


def _put_routes(home: Path, *lines: str) -> None:
    path = home / "mentis.toml"
    toml = path.read_text(encoding="utf-8").replace(SCRIPT, "[routes]\n")
    routes = "".join(f"{line}\n" for line in lines)
    path.write_text(toml.replace("[routes]\n", f"[routes]\n{routes}", 1), encoding="utf-8")


def test_what_an_auditor_gets_looks_as_in_the_guide(home: Path, screen: Callable[..., str]) -> None:
    _talk(home)
    check_picture(PROVE, "verify", screen("mentis verify"))
    check_picture(
        PROVE,
        "export",
        screen(
            "mentis export ada.zip --with-texts --leave-out digests/payload",
            "mentis ledger show ada.zip",
        ),
    )


def test_health_looks_as_in_the_guide_with_the_key_and_without_it(
    home: Path, screen: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _talk(home)
    check_picture(PRODUCTION, "health", screen("mentis status health"))
    monkeypatch.setenv("MENTIS_CONFIG", "another-machine")
    check_picture(PRODUCTION, "missing-key", screen("mentis sessions list"))


def test_an_upgrade_and_a_log_look_as_in_the_guide(screen: Callable[..., str]) -> None:
    check_picture(PRODUCTION, "upgrade", screen("mentis upgrade"))
    screen("mentis sense add 'It rains.'")
    check_picture(PRODUCTION, "log", screen("mentis run --ticks 1 --log-format json"))

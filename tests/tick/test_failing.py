"""A primary that always fails shows, also where no entry tells of it, and says what can be done."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import BadInput, MentisError, ProviderRefused, ProviderUnreachable
from mentis.home.counts_file import CountsFile
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.settle.output_ir import write_output_ir
from mentis.surfaces.cli.main import run
from mentis.values.cognition import Sense
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
HEARD = Sense("s", "message", {"text": "poison"}, Trust.OWNER)
PLAIN = '\n[routes.default]\nbackend = "scripted"\nfacts = {native_tools = false}\n'


class Refusing(ScriptedProvider):
    """Fails with what it has, else answers; `poison` it never takes, once it has kept it."""

    failure: MentisError | None = None
    strict = False

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if self.failure is not None:
            raise self.failure
        if self.strict and b"poison" in rendering.body():
            raise ProviderRefused("flagged", status=400)
        keeps = [{"op": "append", "value": "poison"}] if b"poison" in rendering.body() else []
        said = write_output_ir({"acts": [], "goal-tree-patch": [], "l1-memory-patch": keeps})
        async with ScriptedProvider([said]).open(rendering, route) as events:
            yield events


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = create_home(tmp_path / "home")
    toml = home / "mentis.toml"
    text = toml.read_text(encoding="utf-8").replace("[routes]", "")
    toml.write_text(text + PLAIN, encoding="utf-8")
    return home


@pytest.fixture
def cli(home: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command in the home, and gives what it said."""

    def said(*args: str) -> str:
        capfd.readouterr()
        assert run([*args, "--home", str(home)]) == 0
        out, err = capfd.readouterr()
        return out if "--json" in args else out + err

    return said


HEALTH = ("status", "health")


async def test_a_primary_that_nobody_reaches_raises_an_alarm_across_processes(
    home: Path, cli: Callable[..., str]
) -> None:
    provider = Refusing()
    counts: list[list[int]] = []
    for sent in (False, True, False, False):  # what was sent may cost, and is recorded
        provider.failure = ProviderUnreachable("nobody is there", sent=sent)
        async with Agent.open(home, parts=Parts(provider=provider)) as agent:
            done = await agent.tick([HEARD])
        assert (done.entry is not None) is sent
        counts.append([one.failures for one in done.alarms])
    assert counts == [[], [], [3], [4]]
    assert "alarm: primary failed 4 times in a row" in cli(*HEALTH)
    (alarm,) = json.loads(cli(*HEALTH, "--json"))["alarms"]
    assert (alarm["stage"], alarm["failures"], alarm["hint"]) == ("primary", 4, "")
    provider.failure = None
    async with Agent.open(home, parts=Parts(provider=provider)) as agent:
        assert (await agent.tick([HEARD])).alarms == ()
    assert "alarm" not in cli(*HEALTH)


async def test_what_a_provider_refuses_of_its_mind_is_told_with_the_way_back(
    home: Path, cli: Callable[..., str]
) -> None:
    provider = Refusing()
    async with Agent.open(home, parts=Parts(provider=provider)) as agent:
        await agent.tick([HEARD])
        provider.strict = True
        (alarm,) = [await agent.tick([]) for _ in range(3)][-1].alarms
        assert "mentis state undo --to 0" in alarm.hint
        assert "mentis state diff 0 1" in alarm.hint
    assert alarm.hint in cli(*HEALTH)
    cli("state", "undo", "--to", "0")
    async with Agent.open(home, parts=Parts(provider=provider)) as agent:
        assert (await agent.tick([])).alarms == ()
    assert "alarm" not in cli(*HEALTH)


async def test_a_mind_that_was_heard_as_it_is_now_is_not_suspected(home: Path) -> None:
    provider = Refusing()
    async with Agent.open(home, parts=Parts(provider=provider)) as agent:
        await agent.tick([])
        provider.failure = ProviderRefused("no such parameter", status=400)
        (alarm,) = [await agent.tick([]) for _ in range(3)][-1].alarms
    assert "its route" in alarm.hint
    assert "undo" not in alarm.hint


async def test_counts_that_cannot_be_read_are_begun_anew(home: Path) -> None:
    provider = Refusing()
    provider.failure = ProviderUnreachable("no", sent=False)
    async with Agent.open(home, parts=Parts(provider=provider)) as agent:
        await agent.tick([HEARD])
        file = home / "owners" / "run" / "ada.failing.json"
        file.write_text("{broken", encoding="utf-8")
        *_, last = [await agent.tick([HEARD]) for _ in range(3)]
    assert json.loads(file.read_text(encoding="utf-8"))
    assert last.alarms


def test_a_file_of_counts_that_became_empty_is_written_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "run" / "a.json"
    CountsFile(path, "").keep({"a": {"failures": 1}})
    again = CountsFile(path, "it is written anew")
    assert again.read() == {"a": {"failures": 1}}
    again.keep({})
    assert CountsFile(path, "").read() == {}
    path.write_text("not ours", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be read"):
        again.read()

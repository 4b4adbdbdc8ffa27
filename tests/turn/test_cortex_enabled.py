"""One switch for the persona's own memory, on a running agent and through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.compose.compose import Composition
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.values.span import Span, join_spans
from mentis.values.stability import Stability
from mentis.values.trace import BlockTrace, Degradation
from mentis.values.trust import Trust

BLOCK = "cortex_context"
KEYS = "cortex_memory or cortex_soul or cortex_relationship"
ON, OFF = "[features]\ncortexEnabled = true\n", "[features]\ncortexEnabled = false\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def open_agent(home: Path, *replies: str, **environ: str) -> Agent:
    parts = Parts(
        provider=ScriptedProvider(list(replies)),
        clock=FixedClock(),
        ids=CountingIds(),
        environ=environ,
    )
    return Agent.open(home, parts=parts)


def put(home: Path, name: str, text: str) -> None:
    folder = home / "personas" / "ada" / "memory"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def set_to(home: Path, text: str) -> None:
    marker = home / "mentis.toml"
    _, ledger, rest = marker.read_text(encoding="utf-8").partition("[ledger]")
    kept = f"{ledger}{rest.partition('[')[0]}"
    marker.write_text(f"format = 1\n{text}\n{kept}", encoding="utf-8")


def told(composed: Composition) -> str:
    spans = composed.request.system_instruction
    return join_spans(span for span in spans if span.block == BLOCK)


def steps(composed: Composition) -> list[Degradation]:
    """The steps down that have to do with files; an embedder is a matter of its own."""
    return [step for step in composed.trace.degraded if step.part != "embedder"]


def fate(composed: Composition) -> BlockTrace:
    return next(block for block in composed.trace.blocks if block.block == BLOCK)


def test_empty_files_leave_the_block_out(home: Path) -> None:
    agent = open_agent(home)
    composed = agent.compose("Hello")
    agent.close()
    assert told(composed) == ""
    assert fate(composed).reason == f"needs {KEYS}; nothing given"
    assert steps(composed) == []
    assert len(list((home / "personas/ada/memory").glob("*.md"))) == 3


def test_files_that_say_something_are_told_without_gaps(home: Path) -> None:
    put(home, "memory.md", "- Likes tea.\n")
    put(home, "relationship.md", "- Friends.\n")
    agent = open_agent(home)
    composed = agent.compose("Hello")
    agent.close()
    text = told(composed)
    assert "### Memories & Knowledge\n\n- Likes tea.\n\n### Relationship" in text
    assert "\n\n\n" not in text
    assert fate(composed).stability is Stability.SESSION
    own = [span for span in composed.request.system_instruction if span.placeholder]
    head = partial(Span, source="words", stability=Stability.SESSION)
    body = partial(Span, trust=Trust.SELF, stability=Stability.SESSION)
    assert own[-4:] == [
        head("### Memories & Knowledge\n\n", BLOCK, "cortex_memory"),
        body("- Likes tea.", BLOCK, "cortex_memory", "memory.md"),
        head("### Relationship & Shared History\n\n", BLOCK, "cortex_relationship"),
        body("- Friends.", BLOCK, "cortex_relationship", "relationship.md"),
    ]


def test_switched_off_no_file_is_read_or_made(home: Path) -> None:
    set_to(home, OFF)
    agent = open_agent(home)
    composed = agent.compose("Hello")
    assert told(composed) == ""
    assert not (home / "personas/ada/memory").exists()
    (home / "personas/ada/memory/soul.md").mkdir(parents=True)
    assert steps(agent.compose("Hello")) == []
    agent.close()


@pytest.mark.anyio
async def test_the_switch_acts_on_the_next_request_of_a_running_agent(home: Path) -> None:
    put(home, "soul.md", "- Patient.\n")
    async with open_agent(home, "One.", "Two.", "Three.", "Four.") as agent:
        assert "- Patient." in told((await agent.chat("1")).composed)
        set_to(home, OFF)
        assert told((await agent.chat("2")).composed) == ""
        set_to(home, ON)
        assert "- Patient." in told((await agent.chat("3")).composed)
        set_to(home, "[features\n")
        composed = (await agent.chat("4")).composed
        assert "- Patient." in told(composed)
        (step,) = steps(composed)
        assert step.part == "settings"
        assert step.reason.endswith("the earlier ones hold")


@pytest.mark.anyio
async def test_a_change_made_outside_counts_from_the_next_turn_and_is_kept(home: Path) -> None:
    async with open_agent(home, "One.", "Two.") as agent:
        assert told((await agent.chat("1")).composed) == ""
        put(home, "memory.md", "- Likes tea.\n")
        assert "- Likes tea." in told((await agent.chat("2")).composed)
    with Database(home / "mentis.db") as database:
        (revision,) = SqliteRevisions(database).history("memory:ada/memory.md")
    assert (revision.content, revision.words) == ("- Likes tea.\n", "changed outside")


@pytest.mark.anyio
async def test_a_file_that_cannot_be_read_is_a_warning_and_the_turn_goes_on(home: Path) -> None:
    put(home, "memory.md", "- Likes tea.\n")
    await anyio.Path(home / "personas/ada/memory/soul.md").mkdir()
    async with open_agent(home, "One.") as agent:
        result = await agent.chat("1")
    assert result.reply.text == "One."
    assert "- Likes tea." in told(result.composed)
    (step,) = steps(result.composed)
    assert step.part == "persona memory"
    assert step.reason.startswith("personas/ada/memory/soul.md:1:1: ")
    assert step.reason.endswith("it is not a plain file; it counts as empty")


@pytest.mark.anyio
async def test_a_prompt_changed_in_the_home_is_told_from_the_next_turn(home: Path) -> None:
    prompts = home / "prompts"
    (prompts / "_meta").mkdir(parents=True)
    async with open_agent(home, "One.", "Two.", "Three.") as agent:
        first = (await agent.chat("1")).composed
        entry = {"name": "Mine", "type": "text", "target": "system_prompt", "order": 10}
        entry |= {"position": "system_prompt", "enabled": True, "domain_file": "mine.json"}
        manifest = {"version": "2.0", "prompts": {"mine": entry}}
        (prompts / "_meta/user_manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        content: dict[str, Any] = {"mine": {"variants": {"default": {"content": "Mine it is."}}}}
        (prompts / "mine.json").write_text(json.dumps(content), encoding="utf-8")
        second = (await agent.chat("2")).composed
        assert second.trace.library != first.trace.library
        assert "Mine it is." in join_spans(second.request.system_instruction)
        (prompts / "mine.json").write_text("{", encoding="utf-8")
        third = (await agent.chat("3")).composed
        assert "Mine it is." not in join_spans(third.request.system_instruction)
        assert {step.part for step in steps(third)} == {"prompts"}


def compose_in_a_process(home: Path, **environ: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "mentis", "--home", str(home), "compose", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environ},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("setting", "environ", "memory", "inside"),
    [
        ("", {}, "- Likes tea.", True),
        (ON, {}, "- Likes tea.", True),
        (ON, {}, "", False),
        (OFF, {}, "- Likes tea.", False),
        (OFF, {"MENTIS_FEATURES__CORTEXENABLED": "true"}, "- Likes tea.", True),
        (ON, {"MENTIS_FEATURES__CORTEXENABLED": "false"}, "- Likes tea.", False),
    ],
)
def test_the_command_line_means_the_same_by_it(
    home: Path, setting: str, environ: dict[str, str], *, memory: str, inside: bool
) -> None:
    set_to(home, setting)
    if memory:
        put(home, "memory.md", memory)
    shown = compose_in_a_process(home, **environ)
    blocks = {block["block"]: block["included"] for block in shown["trace"]["blocks"]}
    assert blocks[BLOCK] is inside
    text = "".join(span["text"] for span in shown["request"]["system_instruction"])
    assert ("- Likes tea." in text) is inside


def test_many_problems_are_counted_not_dropped(home: Path) -> None:
    prompts = home / "prompts"
    prompts.mkdir()
    for number in range(25):
        (prompts / f"broken{number}.json").write_text("{", encoding="utf-8")
    agent = open_agent(home)
    degraded = steps(agent.compose("Hello"))
    agent.close()
    assert degraded[-1] == Degradation("prompts", "and 5 problems more")
    assert len(degraded) == 21

"""A spoken conversation: one text to open it with, and what has changed since."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from tests.pdf_files import pdf

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.compose.requests import RequestBuilder
from mentis.engines.estimate import EstimatingCounter
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.library.load import load_persona, load_profile, load_shipped, shipped_persona
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.render.wires import render_for
from mentis.values.digest import digest
from mentis.values.part import MediaPart
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.surroundings import Person, Surroundings

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_home(tmp_path_factory.mktemp("live") / "home")


def opened(home: Path, *replies: str) -> Agent:
    provider = ScriptedProvider(replies)
    parts = Parts(provider=provider, clock=FixedClock(), ids=CountingIds())
    return Agent.open(home, parts=parts)


async def test_the_instructions_are_what_the_builder_and_the_renderer_make(home: Path) -> None:
    async with opened(home) as agent:
        live = await agent.live(session="alone")
        route = agent.route
        update = await live.update()
        assert agent.verify().intact
    persona = load_persona(shipped_persona("ada"), "ada")
    profile = load_profile((home / "profile.toml").read_text(encoding="utf-8"), "profile")
    builder = RequestBuilder(
        load_shipped(),
        persona,
        profile,
        FixedClock().now(),
        counter=EstimatingCounter(),
        variant=route.variant,
    )
    request = builder.build_live_prompt_request(RecalledContext(Stimulus(""))).request
    wanted = render_for("live", request, route)
    assert live.instructions == wanted.payload["instructions"]
    assert "Speaking aloud" in live.instructions
    digests = cast("dict[str, str]", live.entry.body["digests"])
    assert digests["instruction"] == digest(live.instructions.encode())
    assert digests["payload"] == live.opening.rendering.digest
    turn = cast("dict[str, object]", live.entry.body["turn"])
    assert (turn["mode"], turn["inner"]) == ("live", "live")
    assert not update
    assert (update.text, update.entry) == ("", None)


async def test_an_update_tells_only_the_section_that_is_different(home: Path) -> None:
    kitchen = Surroundings(place="The kitchen", people=(Person("Robin", bio="Keeps bees."),))
    async with opened(home) as agent:
        live = await agent.live(session="kitchen", surroundings=kitchen)
        assert not await live.update()
        moved = await live.update(Surroundings(place="The garden", people=kitchen.people))
        alone = await live.update(Surroundings(place="The garden"))
        assert agent.verify().intact
    assert moved.text == "[Where this takes place]\n- The garden"
    assert moved.changes.changed == ("summary_place",)
    assert (alone.text, alone.changes.gone) == ("", ("summary_people",))
    assert alone.entry is not None


async def test_a_voice_is_told_the_words_of_documents_and_the_rest_is_named(home: Path) -> None:
    tides = MediaPart("document", "", data=pdf("The tide turns at noon."), name="tides.pdf")
    note = MediaPart("document", "", data=b"Buy bread.", name="note.txt")
    broken = MediaPart("document", "", data=b"%PDF-1.7 nothing", name="broken.pdf")
    async with opened(home) as agent:
        live = await agent.live(session="documents", attachments=(tides, note, broken))
        assert not await live.update()
    assert "tides.pdf: The tide turns at noon." in live.instructions
    assert "note.txt: Buy bread." in live.instructions
    losses = [loss.message for loss in live.opening.rendering.losses]
    assert "not part of an opening: attachments" in losses
    assert any(one.startswith("broken.pdf cannot be read: ") for one in losses)
    async with opened(home) as agent:
        whole = await agent.live(session="documents", attachments=(tides, note))
    assert "attachments" not in str(whole.opening.rendering.losses)


async def test_of_the_talk_only_the_new_lines_are_told(home: Path) -> None:
    async with opened(home, "Hello.", "Fine.") as agent:
        await agent.chat("Good day", session="talk")
        live = await agent.live(session="talk")
        await agent.chat("How are you?", session="talk")
        update = await live.update()
    assert "Good day" in live.instructions
    assert "[What was said last]" in update.text
    assert "How are you?" in update.text
    assert "Fine." in update.text
    assert "Good day" not in update.text
    assert update.text.count("\n- ") == 2

"""A tick, a beat or a delivery whose lease passed to another writes nothing more."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.one_step import one_step

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.errors import LeaseHeld
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.record.record import open_record
from mentis.settle.output_ir import write_output_ir
from mentis.stores.files.blobs import FileBlobs
from mentis.tools.acts import open_acts
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
ELSEWHERE = "another elsewhere:1 x"
WEIGH = ToolDeclaration("weigh", "Weighs it.", {"type": "object"})
WEIGHS: JsonObject = {"id": "c", "function": {"name": "weigh", "arguments": "{}"}}
MAIL = Sense("m1", "mail", {"text": "Weigh it."}, Trust.OWNER, "post")
WANTED: JsonObject = {
    "endpoint_id": "python",
    "neural_signal_descriptor_id": "weigh",
    "payload": {},
}
KEPT = [{"op": "append", "value": "It was weighed."}]
THOUGHT = write_output_ir({"acts": [WANTED], "goal-tree-patch": (), "l1-memory-patch": KEPT})


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = one_step(create_home(tmp_path / "home"))
    file = path / "mentis.toml"
    text = file.read_text(encoding="utf-8")
    if request.param == "postgres":
        monkeypatch.setenv("LEDGER_URL", request.getfixturevalue("postgres_url"))
        store = f'store = "postgres"\nschema_name = "lost_{tmp_path.stat().st_ino}"\n'
        text = text.replace("[ledger]\n", f"[ledger]\n{store}")
    route = '[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    file.write_text(f"{text}\n{route}", encoding="utf-8")
    return path


def configure(home: Path, more: str) -> None:
    """It goes on with the table of the route."""
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(f"{more}\n")


def displace(home: Path, purpose: str) -> None:
    """The lease passes to another machine, as after it ran out there unseen."""
    with open_record(home) as record:
        mine = record.store.lease(record.agent, purpose)
        assert mine is not None
        record.store.release_lease(mine)
        now = datetime.now(UTC)
        theirs = record.store.take_lease(record.agent, purpose, ELSEWHERE, now=now, seconds=60)
        assert theirs.fence == mine.fence + 1


def give_back(home: Path, purpose: str) -> None:
    """Theirs stands, whoever lost his; then it is free again."""
    with open_record(home) as record:
        theirs = record.store.lease(record.agent, purpose)
        assert theirs is not None
        assert theirs.owner == ELSEWHERE
        record.store.release_lease(theirs)


class Losing:
    """Answers, and loses the lease for `purpose`, once one is named, before the first word."""

    def __init__(self, home: Path, *answers: str | JsonObject) -> None:
        self.home, self.answers = home, list(answers)
        self.purpose = ""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        purpose, self.purpose = self.purpose, ""
        if purpose:
            displace(self.home, purpose)
        yield self._events(self.answers.pop(0))

    async def _events(self, answer: str | JsonObject) -> AsyncIterator[str]:
        said = {"content": answer} if isinstance(answer, str) else {"tool_calls": [answer]}
        yield json.dumps({"choices": [{"delta": said, "finish_reason": "stop"}]})


def opened(home: Path, model: Losing, *handlers: RecordingHandler) -> Agent:
    return Agent.open(home, parts=Parts(provider=model, handlers=handlers))


async def test_a_tick_that_lost_its_lease_does_nothing_and_its_senses_come_again(
    home: Path,
) -> None:
    configure(home, "facts = {native_tools = false}")
    weigh, model = RecordingHandler(WEIGH, "81 kg"), Losing(home, THOUGHT, THOUGHT)
    async with opened(home, model, weigh) as agent:
        model.purpose = "tick"
        with pytest.raises(LeaseHeld, match="to tick with fence 1 is lost: another elsewhere"):
            await agent.tick([MAIL], taken=[MAIL.id])
        assert (agent.entries(), weigh.handled) == ((), [])
        give_back(home, "tick")
        assert agent.taken_deliveries() == ()
        done = await agent.tick([MAIL], taken=[MAIL.id])
        assert agent.verify().intact
    assert [one.text for one in done.state.l1_memory] == ["It was weighed."]
    assert len(weigh.handled) == 1


async def test_a_beat_that_lost_its_lease_begins_no_act_and_leaves_no_thought(home: Path) -> None:
    weigh, model = RecordingHandler(WEIGH, "81 kg"), Losing(home, WEIGHS, "One.")
    async with opened(home, model, weigh) as agent:
        model.purpose = "beat"
        with pytest.raises(LeaseHeld, match="to beat with fence 1 is lost"):
            await agent.beat("curiosity")
        assert (agent.entries(), agent.history(session="beats"), weigh.handled) == ((), (), [])
        give_back(home, "beat")
        await agent.beat("curiosity")
        assert [turn.text for turn in agent.history(session="beats")] == ["One."]


async def test_an_act_that_was_begun_in_time_is_ended_in_the_record(home: Path) -> None:
    @act
    def weigh() -> str:
        """Weigh it."""
        displace(home, "beat")
        return "81 kg"

    model = Losing(home, WEIGHS)
    async with Agent.open(home, parts=Parts(provider=model, handlers=(weigh,))) as agent:
        with pytest.raises(LeaseHeld):
            await agent.beat("curiosity")
        stages = [entry.body["act"] for entry in agent.entries()]
        assert [one["stage"] for one in stages] == ["intent", "outcome"]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]
        assert agent.verify().intact


async def test_a_delivery_that_lost_its_lease_has_told_nobody(
    home: Path,
) -> None:
    configure(home, '[acts]\nask = ["weigh"]')
    weigh, model = RecordingHandler(WEIGH, "81 kg"), Losing(home, WEIGHS, "81 kg.", "81 kg.")
    async with opened(home, model, weigh) as agent:
        await agent.chat("Weigh it.")
        with open_acts(home, parts=Parts(handlers=(weigh,))) as acts:
            acts.approve(acts.pending()[0][0].call.key, by="robin")
        (outcome,) = await agent.deliverable_outcomes()
        entries, turns = agent.entries(), agent.history()
        model.purpose = "delivery"
        with pytest.raises(LeaseHeld, match="to delivery with fence 1 is lost"):
            await agent.deliver(outcome)
        assert (agent.entries(), agent.history()) == (entries, turns)
        give_back(home, "delivery")
        assert await agent.deliverable_outcomes() == (outcome,)
        await agent.deliver(outcome)
        assert agent.history()[-1].text == "81 kg."


async def test_a_sense_is_not_set_aside_by_who_lost_the_lease(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = FileBlobs.keep

    def slow(self: FileBlobs, content: bytes) -> str:
        displace(home, "tick")
        return keep(self, content)

    async with opened(home, Losing(home)) as agent:
        with monkeypatch.context() as patched:
            patched.setattr(FileBlobs, "keep", slow)
            with pytest.raises(LeaseHeld):
                agent.set_sense_aside(MAIL, failures=3, reason="it was too much")
        assert (agent.entries(), agent.senses_set_aside.all()) == ((), ())

"""A tick that was killed: closed by the next one, and nothing of it is thought or kept twice."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mentis.act.functions import act
from mentis.app.agent import Agent
from mentis.errors import StoreFull
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.settle.output_ir import write_output_ir
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.cognition import Sense
from mentis.values.rendering import Rendering
from mentis.values.route import Route
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
KEEP = Sense("delivery-1", "mail", {"text": "Keep it."}, Trust.OWNER, "post")
KEPT = [{"op": "append", "value": "It is kept."}]
NOTHING = write_output_ir({"acts": (), "goal-tree-patch": (), "l1-memory-patch": ()})


def wants(**payload: object) -> dict[str, object]:
    return {"endpoint_id": "python", "neural_signal_descriptor_id": "post", "payload": payload}


class Obeying:
    """Says `reply` when it senses what it is told to keep, and nothing otherwise."""

    def __init__(self, *acts: object) -> None:
        self._reply = write_output_ir(
            {"acts": acts, "goal-tree-patch": (), "l1-memory-patch": KEPT}
        )
        self.sent: list[str] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        assert route.name
        self.sent.append(rendering.body().decode())
        yield self._events("Keep it." in self.sent[-1])

    async def _events(self, asked: bool) -> AsyncIterator[str]:
        said = {"content": self._reply if asked else NOTHING}
        yield json.dumps({"choices": [{"delta": said, "finish_reason": "stop"}]})


@act
def post(text: str) -> str:
    """Post something."""
    return f"posted {text}"


Opened = Callable[[Obeying], Agent]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    home = create_home(tmp_path / "home")
    plain = (home / "mentis.toml").read_text(encoding="utf-8").replace("[routes]", "")
    route = '[routes.default]\nbackend = "scripted"\nfacts = {native_tools = false}\n'
    (home / "mentis.toml").write_text(plain + route, encoding="utf-8")

    def agent(model: Obeying) -> Agent:
        parts = Parts(provider=model, handlers=(post,), environ=dict(os.environ))
        return Agent.open(home, parts=parts)

    return agent


def killed_at(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """From the append with this number on, nothing is written any more."""
    real, count = SqliteLedger.append, 0

    def append(*args: Any, **rest: Any) -> Any:  # noqa: ANN401  # as the method has it
        nonlocal count
        count += 1
        if count >= place:
            raise StoreFull("no space left")
        return real(*args, **rest)

    monkeypatch.setattr(SqliteLedger, "append", append)


@pytest.mark.parametrize("acts", [(), (wants(text="Dear Lena"),)])
async def test_what_a_killed_tick_had_saved_is_not_thought_and_kept_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, acts: tuple[object, ...]
) -> None:
    with monkeypatch.context() as patched:
        async with opened(Obeying(*acts)) as agent:
            killed_at(patched, 2)  # after what it is about to do, and the state
            with pytest.raises(StoreFull):
                await agent.tick([KEEP], taken=[KEEP.id])
    model = Obeying(*acts)
    async with opened(model) as agent:
        done = await agent.tick([KEEP], taken=[KEEP.id])
        assert agent.taken_deliveries() == (KEEP.id,)
        assert agent.verify().intact
    assert [one.text for one in done.state.l1_memory] == ["It is kept."]
    assert not done.outcomes
    assert '\\"saved\\": true' in model.sent[0]
    # An act that was not begun is told whole: it can be wanted again.
    assert ("Dear Lena" in model.sent[0]) is bool(acts)


async def test_a_tick_that_was_killed_before_it_saved_is_thought_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        async with opened(Obeying()) as agent:
            killed_at(patched, 1)
            with pytest.raises(StoreFull):
                await agent.tick([KEEP], taken=[KEEP.id])
    async with opened(Obeying()) as agent:
        done = await agent.tick([KEEP], taken=[KEEP.id])
    assert [one.text for one in done.state.l1_memory] == ["It is kept."]

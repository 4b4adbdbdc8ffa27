"""The application of the example, with the real FastAPI: 64 sessions of 5 messages, one agent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import anyio
import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient

from mentis import Agent, Parts, create_home
from mentis.ask.budgets import spending_in
from mentis.ports.clock import read_clock
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[2]
SESSIONS, MESSAGES, TOKENS = 64, 5, 110


class Echo:
    """Says what it was told last, after a moment in which others are asked."""

    def __init__(self) -> None:
        self.asked = self.most = 0

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.asked += 1
        self.most = max(self.most, self.asked)
        text = json.loads(rendering.body())["messages"][-1]["content"]
        yield self._play(text.rpartition("say ")[2])
        self.asked -= 1

    async def _play(self, text: str) -> AsyncIterator[str]:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        usage = {"prompt_tokens": TOKENS - 10, "completion_tokens": 10}
        yield json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]})
        yield json.dumps({"choices": [], "usage": usage})


def example() -> ModuleType:
    spec = spec_from_file_location("web_application", ROOT / "examples" / "web_application.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["web_application"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_app(home: Path, provider: Echo, **settings: str) -> FastAPI:
    create_home(home)
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
        file.write('max_tokens = 1000\n[recall]\nembedder = "off"\n')
    chosen = {f"MENTIS_{name.upper()}": value for name, value in settings.items()}
    make: Callable[[Path, Parts], FastAPI] = example().make_app
    return make(home, Parts(provider=provider, environ={**os.environ, **chosen}))


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncGenerator[tuple[Agent, AsyncClient]]:
    client = AsyncClient(transport=ASGITransport(app), base_url="http://here", timeout=None)
    async with app.router.lifespan_context(app), client:
        yield app.state.agent, client


async def test_64_sessions_of_5_messages_are_answered_in_order_and_recorded(tmp_path: Path) -> None:
    provider, entries = Echo(), dict[str, list[int]]()
    async with serving(made_app(tmp_path / "home", provider, budgets__agent_tokens="10000000")) as (
        agent,
        client,
    ):

        async def send(session: str, number: int) -> None:
            sent = {"text": f"say {session} {number}"}
            answer = await client.post(f"/sessions/{session}/messages", json=sent)
            assert answer.status_code == 200, answer.text
            assert answer.json()["text"] == f"{session} {number}"
            entries.setdefault(session, []).append(answer.json()["entry"])

        async with anyio.create_task_group() as visitors:
            for number in range(MESSAGES):
                for session in range(SESSIONS):
                    visitors.start_soon(send, f"s{session}", number)
        verdict = agent.verify()
        histories = {
            session: [turn.text for turn in agent.history(session=session)] for session in entries
        }
        spent = spending_in(agent.entries(), read_clock(agent.clock), priced=False)
    assert histories == {
        f"s{session}": [
            text
            for number in range(MESSAGES)
            for text in (f"say s{session} {number}", f"s{session} {number}")
        ]
        for session in range(SESSIONS)
    }
    assert all(each == sorted(each) for each in entries.values())
    assert sorted(index for each in entries.values() for index in each) == [
        *range(SESSIONS * MESSAGES)
    ]
    assert (verdict.intact, verdict.findings, verdict.entries) == (True, (), SESSIONS * MESSAGES)
    assert spent.agent_tokens == SESSIONS * MESSAGES * TOKENS
    assert provider.most > 1


async def test_beyond_its_queue_a_session_is_answered_with_429(tmp_path: Path) -> None:
    app = made_app(tmp_path / "home", Echo(), turn__queue="1")
    async with serving(app) as (_agent, client):
        statuses: list[int] = []

        async def send(number: int) -> None:
            answer = await client.post("/sessions/one/messages", json={"text": f"say {number}"})
            statuses.append(answer.status_code)
            if answer.status_code == 429:
                assert answer.json()["detail"]["code"] == "session-busy"

        async with anyio.create_task_group() as visitors:
            for number in range(5):
                visitors.start_soon(send, number)
    assert sorted(statuses) == [200, 200, 429, 429, 429]

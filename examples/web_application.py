"""A web application over one open agent: each visitor has a session, and none waits for another.

Run it with:  python examples/web_application.py
To serve it, put `app = make_app("my-home")` into a file `web.py`:  uvicorn web:app
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from fastapi import FastAPI, HTTPException
from httpx2 import ASGITransport, AsyncClient
from pydantic import BaseModel

from mentis import Agent, MentisError, Parts, Stimulus, Trust, create_home

STATUS = {"bad-input": 400, "outside-home": 400, "session-busy": 429, "budget-reached": 402}


class Message(BaseModel):
    text: str


class Answer(BaseModel):
    text: str
    entry: int


def make_app(home: str | Path, parts: Parts | None = None) -> FastAPI:
    """The agent is opened once, when the application starts, and closed with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with Agent.open(home, parts=parts) as agent:
            app.state.agent = agent
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/sessions/{session}/messages")
    async def send(session: str, message: Message) -> Answer:
        agent: Agent = app.state.agent
        # Whoever writes here is a guest: only you yourself are trusted as the owner.
        asked = Stimulus(message.text, trust=Trust.UNTRUSTED)
        try:
            result = await agent.chat(asked, session=session)
        except MentisError as error:
            raise HTTPException(STATUS.get(error.code, 503), error.as_problem()) from error
        return Answer(text=result.text, entry=result.entry.index)

    return app


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = make_app(create_home(Path(folder) / "my-home"))
        client = AsyncClient(transport=ASGITransport(app), base_url="http://here", timeout=None)
        async with app.router.lifespan_context(app), client:

            async def visit(session: str) -> None:
                sent = {"text": "Good morning! Who are you?"}
                answer = await client.post(f"/sessions/{session}/messages", json=sent)
                print(session, answer.json()["text"])

            async with anyio.create_task_group() as visitors:
                for session in ("ann", "ben"):
                    visitors.start_soon(visit, session)
            agent: Agent = app.state.agent
            print("record intact:", agent.verify().intact)


if __name__ == "__main__":
    anyio.run(main)

"""A picture that a tool gives back: to the model, into the record, and away with its turn."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mentis import Agent, MediaPart, tool
from mentis.codec.forms import to_object
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import ActHandler
from mentis.values.action import Action, Outcome
from mentis.values.part import ToolResultPart
from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n picture"


@tool
def photo() -> list[object]:
    """Takes a photo."""
    return ["Here it is.", MediaPart("image", "image/png", data=PNG, name="cat.png")]


@tool
def scan() -> bytes:
    """Scans it."""
    return PNG


@tool
def folder(path: str) -> MediaPart:
    """Reads a picture.

    Args:
        path: Where it is.
    """
    return MediaPart("image", "", path=path)


class OneCall:
    """One call, then words; it keeps what it was sent."""

    def __init__(self, name: str, **arguments: object) -> None:
        function = {"name": name, "arguments": json.dumps(arguments)}
        self._call: list[object] | None = [{"index": 0, "id": "c0", "function": function}]
        self.sent: list[bytes] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(rendering.body())
        call, self._call = self._call, None
        yield _play({"tool_calls": call} if call else {"content": "A cat."}, bool(call))


async def _play(delta: object, calls: bool) -> AsyncIterator[str]:
    end = "tool_calls" if calls else "stop"
    yield json.dumps({"choices": [{"delta": delta, "finish_reason": end}]})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = create_home(tmp_path / "home")
    with (path / "mentis.toml").open("a") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "gpt-4o"\n')
        file.write("facts = { vision = true }\n")
    return path


def opened(home: Path, provider: OneCall, *handlers: ActHandler) -> Agent:
    environ = {"MENTIS_CONFIG": str(home.parent / "config"), "PATH": "/usr/bin:/bin"}
    return Agent.open(home, parts=Parts(provider=provider, environ=environ, handlers=handlers))


@pytest.mark.parametrize("handler", [photo, scan])
async def test_a_picture_from_a_function_reaches_the_model_and_the_record(
    home: Path, handler: ActHandler
) -> None:
    provider = OneCall(handler.spec.name)
    async with opened(home, provider, handler) as agent:
        (outcome,) = (await agent.chat("Show me.")).outcomes
        await agent.chat("And?")
        history = agent.history()
        assert agent.verify().intact
    (picture,) = outcome.media
    assert (picture.kind, picture.mime, picture.data) == ("image", "image/png", PNG)
    assert base64.b64encode(PNG) in provider.sent[-1]
    (turn,) = [t for t in history if any(isinstance(p, ToolResultPart) for p in t.parts)]
    result, kept = turn.parts
    assert isinstance(result, ToolResultPart)
    assert result.media == 1
    assert isinstance(kept, MediaPart)
    assert kept.data == PNG


async def test_a_file_that_a_function_names_is_read(home: Path, tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(PNG)
    provider = OneCall("folder", path=str(tmp_path / "cat.png"))
    async with opened(home, provider, folder) as agent:
        (outcome,) = (await agent.chat("Show me.")).outcomes
    assert [(one.name, one.data) for one in outcome.media] == [("cat.png", PNG)]


async def test_a_file_that_is_not_there_is_a_failure_in_words(home: Path, tmp_path: Path) -> None:
    provider = OneCall("folder", path=str(tmp_path / "nowhere.png"))
    async with opened(home, provider, folder) as agent:
        (outcome,) = (await agent.chat("Show me.")).outcomes
    assert (outcome.state, outcome.media) == ("crashed", ())
    assert "cannot be read" in outcome.reason


def test_an_outcome_without_media_has_the_bytes_it_always_had() -> None:
    assert {"media", "screening"}.isdisjoint(to_object(Outcome(Action("look", {}), "done")))

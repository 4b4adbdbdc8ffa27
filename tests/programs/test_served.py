"""Programs of other people as clients of `mentis serve`: each is answered, its turn recorded."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.programs.jobs import JOBS, QUESTION, Job, Provider, script
from tests.programs.stub import ANSWER
from tests.rounds import Rounds, calls, says
from tests.surfaces.serve.served import PERSONA, Served, make_home, serving

from mentis.values.rendering import Rendering
from mentis.values.route import Route

pytestmark = pytest.mark.slow
# Programs that ask a smaller model beside, for titles, cannot name another.
ALIASES = '\n[web.models]\n"gpt-*" = "ada"\n'
LISTS = """
import os, sys
from ollama import Client

key = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
client = Client(os.environ["ANTHROPIC_BASE_URL"], headers=key)
print([one.model for one in client.list().models])
print(client.show(sys.argv[2]).capabilities)
"""


class Answers(Rounds):
    """What was planned first, and after that always the same answer."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self._rounds = self._rounds or [says(ANSWER)]
        async with super().open(rendering, route) as events:
            yield events


class Asking(Answers):
    """First calls the tool with this in its name, whatever the program made of the name."""

    def __init__(self, tool: str) -> None:
        super().__init__()
        self._tool = tool

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if not self.sent:
            offered = [one["function"]["name"] for one in json.loads(rendering.body())["tools"]]
            (name,) = (one for one in offered if self._tool in one)
            self._rounds = [calls(("c1", name, {}))]
        async with super().open(rendering, route) as events:
            yield events


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_program_is_answered_by_an_agent_and_the_turn_is_recorded(
    job: Job, tmp_path: Path
) -> None:
    with serving(make_home(tmp_path, ALIASES), Answers()) as served:
        done = job.run(tmp_path / "user", _provider(served))
        assert done.returncode == 0, done.stderr
        assert ANSWER in done.stdout, done.stderr
        said = [text for session in served.sessions().values() for text in session]
        assert any(QUESTION in text for text in said)
        assert ANSWER in said
        assert not any("title generator" in text for text in said)
        assert served.verify()
        assert not [one for one in served.log if one.status >= 500]


@pytest.mark.parametrize("name", ["openai-agents", "pydantic-ai"])
def test_a_tool_of_the_program_is_called_by_the_agent(name: str, tmp_path: Path) -> None:
    job = next(one for one in JOBS if one.name == name)
    asked = ("c1", "add", {"a": 2, "b": 2})
    runs = 1 if name == "openai-agents" else 6
    rounds = [turn for _ in range(runs) for turn in (calls(asked), says(ANSWER))]
    with serving(make_home(tmp_path), Answers(*rounds)) as served:
        done = job.run(tmp_path / "user", _provider(served))
        assert done.stdout.split("\n")[:-1] == [ANSWER] * runs, done.stderr
        results = [
            message for sent in served.provider.sent for message in sent["messages"]
            if message["role"] == "tool"
        ]  # fmt: skip
        assert len(results) >= runs
        assert all("It is 4." in str(one["content"]) for one in results)
        assert served.verify()


def test_the_client_of_ollama_lists_and_shows_the_agent(tmp_path: Path) -> None:
    with serving(make_home(tmp_path), Answers()) as served:
        done = Job("ollama", "sdks", script(LISTS)).run(tmp_path / "user", _provider(served))
    assert done.stdout == f"['{PERSONA}']\n['completion', 'tools', 'vision']\n", done.stderr


def test_opencode_connects_to_the_ledger_over_http(tmp_path: Path) -> None:
    def settings(_folder: Path, provider: Provider) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {provider.key}"}
        server = {"type": "remote", "url": f"{provider.url}/mcp", "headers": headers}
        told = {"mcp": {"mentis": {**server, "oauth": False}}, "autoupdate": False}
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(told)}

    def command(_folder: Path, _provider: Provider) -> list[str]:
        return ["opencode", "mcp", "list"]

    job = Job("opencode", "node", command, settings)
    with serving(make_home(tmp_path), Answers()) as served:
        done = job.run(tmp_path / "user", _provider(served))
        assert "connected" in done.stdout, done.stderr
        assert ("POST", "/mcp", 200) in {(one.method, one.path, one.status) for one in served.log}


def test_codex_reads_the_ledger_for_an_agent_that_asks_it_to(tmp_path: Path) -> None:
    def command(_folder: Path, provider: Provider) -> list[str]:
        chosen = {
            "openai_base_url": f"{provider.url}/v1",
            "mcp_servers.mentis.url": f"{provider.url}/mcp",
            "mcp_servers.mentis.bearer_token_env_var": "CODEX_API_KEY",
            "mcp_servers.mentis.required": True,  # it waits until the server has answered
        }
        options = [f"-c{name}={json.dumps(value)}" for name, value in chosen.items()]
        return ["codex", "exec", "--skip-git-repo-check", "-m", provider.model, *options, QUESTION]

    def key(_folder: Path, provider: Provider) -> dict[str, str]:
        return {"CODEX_API_KEY": provider.key}

    with serving(make_home(tmp_path), Asking("status_stats")) as served:
        done = Job("codex", "node", command, key).run(tmp_path / "user", _provider(served))
        assert ANSWER in done.stdout, done.stderr
        results = [
            str(message["content"]) for message in served.provider.sent[-1]["messages"]
            if message["role"] == "tool"
        ]  # fmt: skip
        assert len(results) == 1
        assert "total_entries" in results[0]
        assert "DELETE" in {one.method for one in served.log if one.path == "/mcp"}


def _provider(served: Served) -> Provider:
    return Provider(served.url, served.token, PERSONA)

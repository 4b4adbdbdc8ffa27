"""Small jobs for programs of other people: the command of each, and what it has to be told.

Each is started in a folder of its own, with a home of its own, and finds its provider as its users
would say it: in a variable or in its settings.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mentis.values.json import JsonObject

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venv-programs"
QUESTION = "What is two and two?"
# Whatever a program asks of others (prices, updates) finds nobody.
NOWHERE = "http://127.0.0.1:9"
KEY = "sk-the-key-of-the-program"
_PATIENCE = 150


@dataclass(frozen=True)
class Provider:
    """The server that a program is set up for: its address, a key, and a model to be named."""

    url: str
    key: str = KEY
    model: str = "gpt-5"


@dataclass(frozen=True)
class Job:
    """`command` and `variables` are made for the folder it runs in and its provider."""

    name: str
    environment: str
    command: Callable[[Path, Provider], list[str]]
    variables: Callable[[Path, Provider], Mapping[str, str]] = lambda _folder, _provider: {}

    def run(
        self, folder: Path, provider: Provider, *before: str, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it in a new `folder`; `before` is a command that is to start it."""
        place = installed(self.environment)
        shutil.rmtree(folder, ignore_errors=True)
        work = folder / "work"
        work.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", str(work)], check=True)
        environ = {
            "PATH": f"{place}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "MENTIS_CONFIG": os.environ["MENTIS_CONFIG"],
            "OPENAI_API_KEY": provider.key,
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OPENAI_API_BASE": f"{provider.url}/v1",
            "ANTHROPIC_API_KEY": provider.key,
            "ANTHROPIC_BASE_URL": provider.url,
            **self.variables(folder, provider),
            **more,
        }
        command = [*before, *self.command(folder, provider)]
        return subprocess.run(
            command,
            cwd=work,
            env=environ,
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
        )


def installed(environment: str) -> Path:
    """The folder with the commands of an environment; a skip that says why it is not there."""
    folder = PLACE / environment
    reason = folder / "reason.txt"
    if reason.is_file():
        pytest.skip(f"{environment} could not be installed: {reason.read_text('utf-8')}")
    if not (folder / "stamp.txt").is_file():
        pytest.skip(f"{environment} is not installed: tools/install_programs.py does it")
    return folder / ("node_modules/.bin" if environment == "node" else "bin")


def _llm(*options: str) -> Callable[[Path, Provider], list[str]]:
    """A model that it does not know stands in its folder, with its key."""

    def command(folder: Path, provider: Provider) -> list[str]:
        place = folder / "llm"
        place.mkdir()
        if provider.model != "gpt-5":
            names = f"- model_id: {provider.model}\n  model_name: {provider.model}\n"
            where = f"  api_base: {provider.url}/v1\n  api_key_name: own\n"
            (place / "extra-openai-models.yaml").write_text(names + where, "utf-8")
            (place / "keys.json").write_text(json.dumps({"own": provider.key}), "utf-8")
        return ["llm", "-m", provider.model, *options, QUESTION]

    return command


def _llm_folder(folder: Path, _provider: Provider) -> Mapping[str, str]:
    return {"LLM_USER_PATH": str(folder / "llm")}


def _aider(_folder: Path, provider: Provider) -> list[str]:
    quiet = ("--no-check-update", "--no-analytics", "--no-show-model-warnings", "--no-pretty")
    plain = ("--no-git", "--yes-always", "--no-show-release-notes")
    return ["aider", "--model", f"openai/{provider.model}", *quiet, *plain, "--message", QUESTION]


def _codex(folder: Path, provider: Provider) -> list[str]:
    settings = folder / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'openai_base_url = "{provider.url}/v1"\n', "utf-8")
    return ["codex", "exec", "--skip-git-repo-check", "-m", provider.model, QUESTION]


def _codex_key(_folder: Path, provider: Provider) -> Mapping[str, str]:
    return {"CODEX_API_KEY": provider.key}


def _opencode(_folder: Path, provider: Provider) -> list[str]:
    return ["opencode", "run", "-m", f"openai/{provider.model}", QUESTION]


def _opencode_settings(_folder: Path, provider: Provider) -> Mapping[str, str]:
    options = {"baseURL": f"{provider.url}/v1", "apiKey": provider.key}
    known: JsonObject = {"openai": {"options": options, "models": {provider.model: {}}}}
    settings: JsonObject = {"provider": known, "autoupdate": False, "share": "disabled"}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)}


def script(code: str) -> Callable[[Path, Provider], list[str]]:
    def command(folder: Path, provider: Provider) -> list[str]:
        file = folder / "job.py"
        file.write_text(code, "utf-8")
        return ["python", str(file), QUESTION, provider.model]

    return command


OPENAI_AGENTS = """
import sys
from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)

@function_tool
def add(a: int, b: int) -> str:
    "Adds two numbers."
    return f"It is {a + b}."

agent = Agent("calculator", instructions="Be brief.", model=sys.argv[2], tools=[add])
print(Runner.run_sync(agent, sys.argv[1]).final_output)
"""

PYDANTIC_AI = """
import sys
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

for kind in (OpenAIChatModel, OpenAIResponsesModel, AnthropicModel):
    agent = Agent(kind(sys.argv[2]), system_prompt="Be brief.")

    @agent.tool_plain
    def add(a: int, b: int) -> str:
        "Adds two numbers."
        return f"It is {a + b}."

    print(agent.run_sync(sys.argv[1]).output)
    with agent.run_stream_sync(sys.argv[1]) as stream:
        print("".join(stream.stream_text(delta=True)))
"""

OLLAMA = """
import os, sys
from ollama import Client

key = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
client = Client(os.environ["ANTHROPIC_BASE_URL"], headers=key)
asked = [{"role": "user", "content": sys.argv[1]}]
print(client.chat(model=sys.argv[2], messages=asked).message.content)
pieces = client.chat(model=sys.argv[2], messages=asked, stream=True)
print("".join(piece.message.content for piece in pieces))
"""

JOBS = (
    Job("llm", "sdks", _llm(), _llm_folder),
    Job("llm-whole", "sdks", _llm("--no-stream"), _llm_folder),
    Job("openai-agents", "sdks", script(OPENAI_AGENTS)),
    Job("pydantic-ai", "sdks", script(PYDANTIC_AI)),
    Job("ollama", "sdks", script(OLLAMA)),
    Job("aider", "aider", _aider),
    Job("codex", "node", _codex, _codex_key),
    Job("opencode", "node", _opencode, _opencode_settings),
)

"""Programs are led to the recorder, and what they were set up for is called in the end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from mentis.errors import RouteError
from mentis.recorder.programs import ProgramStart, prepare_program, program_name
from mentis.recorder.targets import find_target, known_targets, make_target
from mentis.settings.settings import Settings, SettingsModel

BASE = "http://127.0.0.1:8788"
TARGETS = known_targets(Settings(SettingsModel()))


def start(folder: Path, *command: str, **environ: str) -> ProgramStart:
    project = folder / "project"
    return prepare_program(command, BASE, TARGETS, environ=environ, folder=folder, project=project)


def write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")


def test_a_program_that_nobody_knows_gets_the_variables_of_the_official_clients(
    tmp_path: Path,
) -> None:
    made = start(tmp_path, "my-agent", "--fast")
    assert made.command == ("my-agent", "--fast")
    assert made.environ == {
        "ANTHROPIC_BASE_URL": f"{BASE}/anthropic",
        "OPENAI_BASE_URL": f"{BASE}/openai/v1",
        "OPENAI_API_BASE": f"{BASE}/openai/v1",
        "GOOGLE_GEMINI_BASE_URL": f"{BASE}/gemini",
        "OLLAMA_HOST": f"{BASE}/ollama",
        "OLLAMA_API_BASE": f"{BASE}/ollama",
    }
    assert made.targets == TARGETS


@pytest.mark.parametrize(
    ("told", "origin"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("[::]", "http://127.0.0.1:11434"),
        (":8000", "http://127.0.0.1:8000"),
        ("localhost", "http://localhost:11434"),
        ("http://localhost", "http://localhost:80"),
        ("https://ollama.com", "https://ollama.com:443"),
        ("https://box.example:8443/models/", "https://box.example:8443"),
        ("[::1]:9000", "http://[::1]:9000"),
        ("::1", "http://[::1]:11434"),
    ],
)
def test_ollama_is_found_where_its_variable_says_in_each_of_its_ways(
    tmp_path: Path, told: str, origin: str
) -> None:
    made = start(tmp_path, "agent", OLLAMA_HOST=told)
    _, _, target, *path = made.environ["OLLAMA_HOST"].removeprefix("http:").split("/")[1:]
    assert made.targets[target].origin == origin
    assert path == (["models"] if "models" in told else [])
    assert made.environ["OLLAMA_API_BASE"] == made.environ["OLLAMA_HOST"]


def test_an_ollama_that_cannot_be_led_here_is_called_as_ever_and_told(tmp_path: Path) -> None:
    made = start(tmp_path, "agent", OLLAMA_HOST="192.168.7.9")
    assert "OLLAMA_HOST" not in made.environ
    assert "OLLAMA_HOST is not led here, and not recorded" in made.notes[0]


def test_a_server_that_was_chosen_already_is_the_one_that_is_called(tmp_path: Path) -> None:
    made = start(
        tmp_path,
        "aider",
        ANTHROPIC_BASE_URL="http://localhost:4000/anthropic/",
        OPENAI_API_BASE="https://openrouter.ai/api/v1",
        ANTHROPIC_API_BASE="https://gateway.example:8443",
        HTTPS_PROXY="http://proxy.example:3128",
        NO_PROXY="internal",
    )
    assert made.environ["ANTHROPIC_BASE_URL"] == f"{BASE}/localhost-4000/anthropic"
    assert made.environ["OPENAI_BASE_URL"] == f"{BASE}/openrouter/api/v1"
    assert made.environ["OPENAI_API_BASE"] == f"{BASE}/openrouter/api/v1"
    assert made.environ["ANTHROPIC_API_BASE"] == f"{BASE}/gateway-example-8443"
    assert made.environ["NO_PROXY"] == "internal,127.0.0.1,localhost,::1"
    new = {name: made.targets[name].origin for name in made.targets if name not in TARGETS}
    assert new == {
        "localhost-4000": "http://localhost:4000",
        "gateway-example-8443": "https://gateway.example:8443",
    }


@pytest.mark.parametrize("url", ["http://169.254.169.254/v1", "http://10.0.0.5/v1", "ftp://a/b"])
def test_a_server_that_must_not_be_called_is_refused_before_the_program_starts(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(RouteError):
        start(tmp_path, "agent", OPENAI_BASE_URL=url)


def test_claude_code_keeps_the_server_of_its_own_settings(tmp_path: Path) -> None:
    env = {"ANTHROPIC_BASE_URL": "https://corp.example/claude", "CLAUDE_CODE_USE_BEDROCK": "1"}
    write(tmp_path / ".claude/settings.json", json.dumps({"env": env}))
    made = start(tmp_path, "claude", "-p", "hi")
    address = f"{BASE}/corp-example-443/claude"
    assert made.environ["ANTHROPIC_BASE_URL"] == address
    override = json.dumps({"env": {"ANTHROPIC_BASE_URL": address}})
    assert made.command == ("claude", "--settings", override, "-p", "hi")
    assert made.notes == [
        "CLAUDE_CODE_USE_BEDROCK is set: what Claude Code asks there is not recorded"
    ]


@pytest.mark.parametrize(
    ("files", "option"),
    [
        ({}, f'openai_base_url="{BASE}/openai/v1"'),
        ({"auth.json": '{"tokens": {"access_token": "x"}}'},
         f'openai_base_url="{BASE}/chatgpt-com-443/backend-api/codex"'),
        ({"config.toml": 'openai_base_url = "http://127.0.0.1:9/v1"'},
         f'openai_base_url="{BASE}/127-0-0-1-9/v1"'),
        ({"config.toml": 'model_provider = "mine"\n[model_providers.mine]\n'
                         'base_url = "https://api.mistral.ai/v1"'},
         f'model_providers.mine.base_url="{BASE}/mistral/v1"'),
    ],
)  # fmt: skip
def test_codex_is_led_here_by_its_own_option(
    tmp_path: Path, files: Mapping[str, str], option: str
) -> None:
    for name, content in files.items():
        write(tmp_path / ".codex" / name, content)
    made = start(tmp_path, "/usr/bin/codex", "exec", "hi")
    assert made.command == ("/usr/bin/codex", "-c", option, "exec", "hi")


def test_claude_code_takes_the_server_of_the_project_before_that_of_the_user(
    tmp_path: Path,
) -> None:
    for file, host in (
        (".claude/settings.json", "user"),
        ("project/.claude/settings.json", "project"),
        ("project/.claude/settings.local.json", "local"),
    ):
        env = {"ANTHROPIC_BASE_URL": f"https://{host}.example"}
        write(tmp_path / file, json.dumps({"env": env}))
        made = start(tmp_path, "claude")
        assert made.environ["ANTHROPIC_BASE_URL"] == f"{BASE}/{host}-example-443"
        assert made.servers[-1].origin == f"https://{host}.example:443"


@pytest.mark.parametrize("words", [("-p", "work"), ("--profile=work",), ()])
def test_codex_keeps_the_provider_of_its_profile(tmp_path: Path, words: tuple[str, ...]) -> None:
    chosen = "" if words else 'profile = "work"\n'
    provider = '[model_providers.corp]\nbase_url = "https://corp.example/v1"\n'
    profile = '[profiles.work]\nmodel_provider = "corp"\n'
    write(tmp_path / ".codex/config.toml", chosen + profile + provider)
    made = start(tmp_path, "codex", *words)
    option = f'model_providers.corp.base_url="{BASE}/corp-example-443/v1"'
    assert made.command == ("codex", "-c", option, *words)


def test_opencode_is_led_here_from_every_provider_that_it_names(tmp_path: Path) -> None:
    mine = {"mine": {"npm": "x", "options": {"baseURL": "https://mine.example/v1"}}, "bare": {}}
    write(tmp_path / "project/opencode.json", json.dumps({"provider": mine}))
    write(tmp_path / "else.json", json.dumps({"provider": {"mine": {"options": {"baseURL": "x"}}}}))
    write(tmp_path / ".config/opencode/opencode.jsonc", "{}")
    made = start(tmp_path, "opencode", OPENCODE_CONFIG=str(tmp_path / "else.json"))
    told = json.loads(made.environ["OPENCODE_CONFIG_CONTENT"])["provider"]
    assert told["mine"] == {"options": {"baseURL": f"{BASE}/mine-example-443/v1"}}
    assert set(told) == {"anthropic", "openai", "mine"}
    assert len(made.notes) == 1
    assert "opencode.jsonc is not read" in made.notes[0]


def test_opencode_gets_its_settings_merged_with_what_it_was_given(tmp_path: Path) -> None:
    given = {"theme": "dark", "provider": {"openai": {"options": {"timeout": 5}}}}
    own = {"provider": {"openai": {"options": {"baseURL": "https://openrouter.ai/api/v1"}}}}
    write(tmp_path / ".config/opencode/opencode.json", json.dumps(own))
    made = start(tmp_path, "opencode", OPENCODE_CONFIG_CONTENT=json.dumps(given))
    assert json.loads(made.environ["OPENCODE_CONFIG_CONTENT"]) == {
        "theme": "dark",
        "provider": {
            "anthropic": {"options": {"baseURL": f"{BASE}/anthropic/v1"}},
            "openai": {"options": {"timeout": 5, "baseURL": f"{BASE}/openrouter/api/v1"}},
        },
    }


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["/opt/My Agent.exe"], "my-agent"),
        (["claude", "-p"], "claude"),
        ([], "program"),
        (["???"], "program"),
    ],
)
def test_a_recorded_agent_is_called_like_its_program(command: list[str], name: str) -> None:
    assert program_name(command) == name


def test_no_setting_can_lead_the_name_of_a_provider_elsewhere() -> None:
    routes = {"openai": {"url": "https://evil.example/v1", "model": "m"},
              "mine": {"url": "http://127.0.0.1:9/v1", "model": "m"}}  # fmt: skip
    model = SettingsModel.model_validate({"routes": routes})
    targets = known_targets(Settings(model))
    assert targets["openai"].origin == "https://api.openai.com:443"
    assert targets["mine"].origin == "http://127.0.0.1:9"
    with pytest.raises(ValueError, match="name of a preset"):
        SettingsModel.model_validate({"recorder": {"targets": {"openai": "https://evil.example"}}})


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254", "http://[fe80::1]", "http://2852039166", "https://u:p@h.example"],
)
def test_link_local_targets_and_credentials_are_refused(url: str) -> None:
    with pytest.raises(RouteError):
        make_target("bad", url)
    with pytest.raises(ValueError, match="bad"):
        SettingsModel.model_validate({"recorder": {"targets": {"bad": url}}})


def test_an_unknown_target_says_which_there_are() -> None:
    with pytest.raises(RouteError) as refused:
        find_target("nowhere", TARGETS)
    assert "anthropic" in refused.value.hint

"""Where a home keeps its ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.errors import SettingsError, StoreDown
from mentis.runtime.agent import Agent
from mentis.runtime.homes import create_home, verify_home
from mentis.runtime.wiring import Parts

SCHEMA = "runtime_test"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def choose(home: Path, *lines: str) -> None:
    path = home / "mentis.toml"
    text = path.read_text(encoding="utf-8").replace(
        "[ledger]\n", "\n".join(["[ledger]", *lines, ""])
    )
    said = '[routes.said]\nbackend = "scripted"\nreplies = ["Hello."]\n'
    path.write_text(f"{text}\n{said}", encoding="utf-8")


async def test_a_home_may_keep_its_ledger_in_postgresql(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(home, 'store = "postgres"', f'schema_name = "{SCHEMA}"')
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    async with Agent.open(home, route="said") as agent:
        await agent.chat("hello")
    (verdict,) = verify_home(home)
    assert (verdict.agent, verdict.entries, verdict.findings) == ("home/ada", 1, ())
    # The home's own database has no ledger then.
    assert verify_home(home, ledger=home / "mentis.db") == ()


def test_without_an_address_the_error_says_how_to_give_one(home: Path) -> None:
    choose(home, 'store = "postgres"')
    with pytest.raises(SettingsError) as caught:
        Agent.open(home, parts=Parts(environ={}))
    assert "export LEDGER_URL=postgresql://" in caught.value.hint


@pytest.mark.parametrize("url", ["postgresql://me:hunter2@x/y", "host=x password=hunter2"])
def test_a_password_in_the_settings_is_refused_and_not_told(home: Path, url: str) -> None:
    choose(home, 'store = "postgres"', f'url = "{url}"')
    with pytest.raises(SettingsError, match="holds a password") as caught:
        Agent.open(home, parts=Parts(environ={}))
    assert "hunter2" not in repr(caught.value.as_problem())


def test_a_server_that_is_gone_leaves_nothing_open(home: Path) -> None:
    choose(home, 'store = "postgres"', 'url = "postgresql://127.0.0.1:1/x"')
    with pytest.raises(StoreDown):
        Agent.open(home, parts=Parts(environ={}))

"""Where a home keeps its ledger."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.ask.one_call import call_route
from mentis.errors import BudgetReached, RolledBack, SettingsError, StoreDown, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.record.record import open_record
from mentis.record.rollback import accept_rollback
from mentis.record.verify_home import verify_home
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.files.home import Home
from mentis.values.digest import digest
from mentis.values.entry import Draft

SCHEMA = "runtime_test"
SAME = b"the same in both"


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


async def test_a_call_outside_any_turn_is_held_to_what_the_record_in_postgresql_says(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(home, 'store = "postgres"', f'schema_name = "{SCHEMA}_budget"')
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    monkeypatch.setenv("MENTIS_ROUTES__SAID__MAX_TOKENS", "10")
    async with Agent.open(home, route="said") as agent:
        asked = agent.compose("Hi").request
        await agent.chat("Hi")

    async def call(budget: int) -> str:
        monkeypatch.setenv("MENTIS_BUDGETS__AGENT_TOKENS", str(budget))
        with pytest.raises(BudgetReached) as reached:
            await call_route(home, asked, route="said", on_event=lambda _event: None)
        return reached.value.message

    used, size = re.findall(r"\d+", await call(1))[:2]
    assert used == "0"  # the call is too large by itself
    assert re.search(rf"[1-9]\d* \+ {size} ", await call(int(size)))


def note(home: Path, text: str) -> None:
    with open_record(home) as record:
        draft = Draft("note", "test", {"text": text})
        record.ledger.append(record.agent, [draft], record.stamp())


@pytest.fixture
def shared(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two homes with their own names in one database."""
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    homes = [create_home(tmp_path / name) for name in ("alpha", "beta")]
    for home in homes:
        choose(home, 'store = "postgres"', f'schema_name = "s{tmp_path.stat().st_ino}"')
        note(home, "hello")
    return homes


@pytest.mark.parametrize("persona", [None, "ada"])
def test_of_a_database_with_several_homes_each_verifies_its_own(
    shared: list[Path], persona: str | None
) -> None:
    for home in shared:
        (verdict,) = verify_home(home, persona=persona)
        assert (verdict.agent, verdict.findings) == (f"{home.name}/ada", ())
        assert "1 agent of other homes in the same database, not looked at" in verdict.notes


def test_a_home_that_got_another_name_still_verifies_what_it_had(shared: list[Path]) -> None:
    file = shared[0] / "mentis.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('name = "alpha"', 'name = "gamma"'), encoding="utf-8")
    note(shared[0], "as gamma")
    assert [one.agent for one in verify_home(shared[0])] == ["alpha/ada", "gamma/ada"]


def test_what_another_home_records_keeps_no_blob_from_being_erased_here(
    shared: list[Path],
) -> None:
    for home in shared:
        with open_record(home) as record:
            blob = FileBlobs(record.home.blobs).keep(SAME)
            draft = Draft("act", "test", {"result": {"blob": blob}})
            record.ledger.append(record.agent, [draft], record.stamp())
    with open_record(shared[0]) as record:
        record.erase(1, ["result"], reason="asked for")
    left = [FileBlobs(Home(home).blobs).read(digest(SAME)) for home in shared]
    assert left == [None, SAME]


def test_a_second_home_of_the_same_name_writes_nothing_into_the_chain_of_the_first(
    shared: list[Path], tmp_path: Path
) -> None:
    twin = create_home(tmp_path / "elsewhere" / "alpha")
    choose(twin, 'store = "postgres"', f'schema_name = "s{tmp_path.stat().st_ino}"')
    with pytest.raises(RolledBack, match="of another log") as caught:
        note(twin, "from the twin")
    assert "`ledger.schema_name` of its own" in caught.value.hint
    with open_record(twin) as record, pytest.raises(UsageError, match="nothing was rolled back"):
        accept_rollback(record, reason="it is mine")
    (verdict,) = verify_home(shared[0])
    assert (verdict.entries, verdict.findings) == (1, ())
    note(shared[0], "and it goes on")


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

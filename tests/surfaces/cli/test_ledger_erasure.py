"""`mentis ledger erase` of a turn, killed in between: the same command ends it, no more."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.parts import Parts
from mentis.record.erased_turns import ERASED_TURNS
from mentis.record.record import open_record
from mentis.stores.sqlite.conversations import SqliteConversations

KILLED = Path(__file__).with_name("killed_erasure.py")
ERASE = ("ledger", "erase", "0", "--reason", "asked", "--yes")


class Done(Protocol):
    code: int
    out: str
    err: str

    def json(self) -> Any: ...  # noqa: ANN401 - what a command prints


Mentis = Callable[..., Done]


def ask(home: Path, *messages: str) -> None:
    """Each is answered with the same word."""

    async def talk() -> None:
        parts = Parts(provider=ScriptedProvider(["Yes."] * len(messages)))
        async with Agent.open(home, parts=parts) as agent:
            for message in messages:
                await agent.chat(message)

    anyio.run(talk)


def killed(home: Path, write: int) -> None:
    command = [sys.executable, str(KILLED), str(home), str(write)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def texts(home: Path) -> list[str]:
    with open_record(home) as record:
        return [turn.text for turn in record.talk.turns(record.agent, "main")]


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.fixture(params=["sqlite", "postgres"])
def home(
    home: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """The turns are in the home; the ledger is there as well, or on a server."""
    if request.param == "postgres":
        settings = home / "mentis.toml"
        chosen = f'[ledger]\nstore = "postgres"\nschema_name = "{tmp_path.name.lower()}"\n'
        settings.write_text(settings.read_text().replace("[ledger]\n", chosen))
        monkeypatch.setenv("LEDGER_URL", request.getfixturevalue("postgres_url"))
    return home


def verified(mentis: Mentis, home: Path) -> str:
    """What is said beside a verdict that is `ok` and tells of the erasure."""
    done = mentis("--home", home, "status", "verify")
    assert (done.code, done.out.split()[0]) == (0, "ok"), done.out
    assert "entry 0: erased" in done.out
    return done.err


@pytest.mark.parametrize("write", [1, 2, 3], ids=["tombstone", "message", "answer"])
def test_an_erasure_killed_after_any_write_is_ended_by_the_same_command_and_no_other_turn_goes(
    home: Path, mentis: Mentis, write: int
) -> None:
    ask(home, "May ADA?", "May Bob?")
    killed(home, write)
    assert texts(home) == ["", "", "May Bob?", "Yes."]
    assert ("`mentis ledger erase 0` again does that" in verified(mentis, home)) == (write < 3)
    again = mentis("--home", home, *ERASE)
    if write < 3:
        assert (again.code, "of entry 0; entry 2 says so" in again.out) == (0, True)
        assert "emptied turns 0, 1 of session 'main'" in again.err
    else:
        assert (again.code, "nothing left to erase" in again.err) == (2, True)
    assert texts(home) == ["", "", "May Bob?", "Yes."]
    assert "emptied" not in verified(mentis, home)
    assert b"May ADA?" not in everything(home)
    assert mentis("--home", home, "ledger", "erase", "1", *ERASE[3:]).code == 0
    assert texts(home) == [""] * 4
    verified(mentis, home)


@pytest.mark.parametrize("write", [1, 2])
def test_the_next_turn_ends_an_erasure_that_was_killed_and_stays_itself(
    home: Path, mentis: Mentis, write: int
) -> None:
    ask(home, "May ADA?")
    killed(home, write)
    ask(home, "May Bob?")
    assert "emptied" not in verified(mentis, home)
    assert "nothing left to erase" in mentis("--home", home, *ERASE).err
    with open_record(home) as record:
        assert record.store.marks(record.agent, ERASED_TURNS) == ()
        stored = SqliteConversations(record.database).turns(record.agent, "main")
    assert [turn.text for turn in stored] == ["", "", "May Bob?", "Yes."]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_of_turns_with_the_same_words_the_one_of_the_entry_is_erased(
    home: Path, mentis: Mentis, index: int
) -> None:
    ask(home, "May I?", "May I?", "May I?")
    done = mentis("--home", home, "ledger", "erase", str(index), *ERASE[3:], "--json")
    numbers = [2 * index, 2 * index + 1]
    assert done.json()["emptied"] == {"session": "main", "turns": numbers}
    assert [n for n, text in enumerate(texts(home)) if not text] == numbers
    assert mentis("--home", home, "status", "verify").code == 0

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
from mentis.record.record import open_record

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


def killed(home: Path, moment: str) -> None:
    command = [sys.executable, str(KILLED), str(home), moment]
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
    """The record is in the home, or on a server."""
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


def test_an_erasure_killed_inside_its_transaction_has_done_nothing(
    home: Path, mentis: Mentis
) -> None:
    ask(home, "May ADA?", "May Bob?")
    killed(home, "inside")
    assert texts(home) == ["May ADA?", "Yes.", "May Bob?", "Yes."]
    assert "erased" not in mentis("--home", home, "status", "verify").out
    again = mentis("--home", home, *ERASE)
    assert (again.code, "of entry 0; entry 2 says so" in again.out) == (0, True)
    assert "emptied turns 0, 1 of session 'main'" in again.err
    assert texts(home) == ["", "", "May Bob?", "Yes."]
    verified(mentis, home)


def test_an_erasure_killed_right_after_its_transaction_is_whole_and_no_other_turn_goes(
    home: Path, mentis: Mentis
) -> None:
    ask(home, "May ADA?", "May Bob?")
    killed(home, "after")
    for _ in range(2):
        assert texts(home) == ["", "", "May Bob?", "Yes."]
        assert "emptied" not in verified(mentis, home)
        assert b"May ADA?" not in everything(home)
        again = mentis("--home", home, *ERASE)
        assert (again.code, "nothing left to erase" in again.err) == (2, True)
    assert mentis("--home", home, "ledger", "erase", "1", *ERASE[3:]).code == 0
    assert texts(home) == [""] * 4
    verified(mentis, home)


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

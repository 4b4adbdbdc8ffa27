"""The entry of a turn and the turns of the conversation are one, whatever comes between them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import StoreFull, StoreLocked
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.stores.sql_ledger import SqlLedger
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.turn import Turn

pytestmark = pytest.mark.anyio
KILLED = Path(__file__).with_name("killed_turns.py")


@pytest.fixture(params=["sqlite", "postgres"])
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The record is in the home, or on a server."""
    home = create_home(tmp_path / "home")
    if request.param == "postgres":
        settings = home / "mentis.toml"
        chosen = f'[ledger]\nstore = "postgres"\nschema_name = "{tmp_path.name.lower()}"\n'
        settings.write_text(settings.read_text().replace("[ledger]\n", chosen))
        monkeypatch.setenv("LEDGER_URL", request.getfixturevalue("postgres_url"))
    return home


def opened(home: Path, *replies: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(replies)))


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def texts(turns: tuple[Turn, ...]) -> list[str]:
    return [f"{turn.text} {turn.state}" for turn in turns]


def test_a_kill_after_any_write_of_a_turn_tears_nothing_apart(home: Path, tmp_path: Path) -> None:
    """What was left behind, an answer, a title, a thought and what followed it: each is recorded
    and in the conversation, or neither.
    """
    command = [sys.executable, str(KILLED), str(home), str(create_home(tmp_path / "scratch"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *lines, replayed = [json.loads(line) for line in done.stdout.splitlines()] or [None]
    writes = [line for line in lines if isinstance(line, str)]
    found: list[Any] = [line for line in lines if not isinstance(line, str)]
    assert writes == [
        "append",  # left behind
        "add_turn", "append",  # said and answered
        "append", "append", "append",  # title, thought, message
    ], done.stderr  # fmt: skip
    assert len(found) == len(writes) + 1
    whole = found[-1]["found"]
    for write, one in zip([*writes, "end"], found, strict=True):
        assert (one["before"], one["after"]) == ([], True), one
        assert len(set(one["asked"])) == len(one["asked"]), one  # one entry for each message
        pending = ["said pending a"] if write == "add_turn" else []
        there = len(one["found"]) - len(pending)
        assert one["found"] == [*whole[:there], *pending], one
        failed = [line.replace("pending", "failed") for line in pending]
        told = [*whole[:there], *failed, "said complete Still there?", "said complete Yes."]
        assert one["turns"] == told, one
    steps = [len(one["found"]) for one in found]
    assert steps == [1, 2, 3, 4, 5, 6, 6]
    assert replayed
    assert all(replayed)


WRITES = ["append", "add_turn"]
# Which write is refused, what is there then, and what is there before the next message: what was
# not recorded is not in the conversation either.
ANSWERED = ["a complete", "One. complete"]
REFUSED: list[tuple[str, list[str], list[str]]] = [
    ("add_turn", [], []),
    ("append", ["a pending"], ["a failed"]),
    ("append", ANSWERED, ANSWERED),
]


@pytest.mark.parametrize("fault", [StoreLocked, StoreFull])
async def test_a_store_that_refuses_any_write_of_a_turn_loses_nothing_that_is_recorded(
    home: Path, fault: type[StoreLocked], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    left = 0

    def refusing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: object, **rest: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                refused.append(name)
                raise fault("not now", hint="later")
            return real(*args, **rest)

        return write

    for name in WRITES:
        monkeypatch.setattr(SqlLedger, name, refusing(name, getattr(SqlLedger, name)))
    for place, (_, there, then) in enumerate(REFUSED, start=1):
        async with opened(home, "One.", "Two.") as agent:
            left, session = place, f"s{place}"
            with suppress(fault):
                await agent.chat("a", session=session)
                agent.set_title("A talk", session=session)
            assert agent.verify().intact, place
            assert texts(agent.history(session=session)) == there, place
            result = await agent.chat("b", session=session)
            assert agent.verify().intact, place
            last = ["b complete", f"{result.reply.text} complete"]
            assert texts(agent.history(session=session)) == [*then, *last], place
    assert refused == [name for name, _, _ in REFUSED]


async def test_an_erased_turn_survives_nowhere_in_the_home(home: Path) -> None:
    note = MediaPart("document", "text/plain", data=b"PAPERMARK", name="note.txt")
    async with opened(home, "It is ANSWERMARK.") as agent:
        await agent.chat(Stimulus("My word is ASKEDMARK.", attachments=(note,)))
    with open_record(home) as record:
        record.erase(0, [], reason="asked for")
        assert [turn.parts for turn in record.store.turns(record.agent, "main")] == [(), ()]
    for words in (b"ANSWERMARK", b"ASKEDMARK", b"PAPERMARK"):
        assert words not in everything(home)
    (found,) = verify_home(home)
    assert (found.findings, found.notes) == ((), ())


async def test_a_turn_that_somebody_changed_is_found_wherever_it_lies(home: Path) -> None:
    async with opened(home, "Yes.") as agent:
        await agent.chat("May I?")
    with open_record(home) as record:
        store = record.store
        assert isinstance(store, SqlLedger)
        changed = "UPDATE turns SET turn = replace(turn, 'Yes.', 'No!!')"
        store.unit(record.agent, lambda unit: unit.execute(changed))
    (found,) = verify_home(home)
    assert [finding.attack for finding in found.findings] == ["edited"]


async def test_turns_lie_where_the_ledger_lies(home: Path) -> None:
    picture = MediaPart("image", "image/png", data=b"PICTUREMARK")
    async with opened(home, "ANSWERMARK") as agent:
        await agent.chat(Stimulus("My word is ASKEDMARK.", attachments=(picture,)))
        assert [turn.text for turn in agent.history()] == ["My word is ASKEDMARK.", "ANSWERMARK"]
    here = 'store = "postgres"' not in (home / "mentis.toml").read_text()
    for words in (b"ANSWERMARK", b"ASKEDMARK", b"PICTUREMARK"):
        assert (words in (home / "mentis.db").read_bytes()) == here

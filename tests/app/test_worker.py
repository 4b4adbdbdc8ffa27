"""Workers answer what is sent: each message once, in order, whoever is killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import pytest

from mentis.app.home_move import lay_out_home, move_home, move_home_back
from mentis.app.worker import SERVED_AT_ONCE, Mailbox, Worker
from mentis.call.scripted import ScriptedProvider
from mentis.errors import StoreLocked, UsageError
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.home.view import push_view
from mentis.prompts.personas import Personas
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.stores.postgres.database import PostgresDatabase
from mentis.values.inbox import InboxAnswer

pytestmark = pytest.mark.anyio
_SCHEMAS = count(1)
# A worker of its own process. It says what it is asked, and of one word that it is at it, for ever.
CHILD = Path(__file__).with_name("serving.py")


@pytest.fixture
def schema() -> str:
    return f"served_{next(_SCHEMAS)}"


@pytest.fixture
def home(tmp_path: Path, postgres_url: str, schema: str) -> Path:
    path = create_home(tmp_path / "home")
    move_home(path, postgres_url, schema=schema)
    return path


@pytest.fixture
def mailbox(home: Path) -> Iterator[Mailbox]:
    with Mailbox.open(home) as mailbox:
        yield mailbox


def scripted(home: Path, *replies: str) -> Worker:
    return Worker(home, parts=Parts(provider=ScriptedProvider(replies)))


async def served(worker: Worker, mailbox: Mailbox) -> None:
    """Until nothing waits."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run)
        while mailbox.inbox.counts()[0]:
            await anyio.to_thread.run_sync(mailbox.inbox.wait, 1.0)  # an answer is heard
        worker.stop()


def said(home: Path, persona: str = "ada", session: str = "main") -> list[str]:
    with open_record(home, persona, readonly=True) as record:
        return [one.text for one in record.ledger.turns(record.agent, session)]


def findings(home: Path) -> list[str]:
    return [finding.message for one in verify_home(home) for finding in one.findings]


async def test_messages_are_answered_in_their_order_and_each_once(
    home: Path, mailbox: Mailbox
) -> None:
    number = SERVED_AT_ONCE + 3
    sent = [mailbox.send(f"m{n}", delivery=f"id{n}") for n in range(number)]
    assert mailbox.send("m0 again", delivery="id0") == "id0"
    await served(scripted(home, *(f"a{n}" for n in range(number))), mailbox)
    assert said(home) == [f"{who}{n}" for n in range(number) for who in "ma"]
    last = mailbox.wait(sent[-1], seconds=5)
    assert last is not None
    assert (last.state, last.text) == ("answered", f"a{number - 1}")
    assert findings(home) == []


async def test_two_workers_share_the_agents_of_a_home(
    home: Path, postgres_url: str, schema: str, mailbox: Mailbox
) -> None:
    with Personas.open(home) as personas:
        personas.create("bob", name="Bob")
    push_view(home)
    other = lay_out_home(home.parent / "other", postgres_url, home / "secret.key", schema=schema)
    with Mailbox.open(home) as fresh:
        for n in range(6):
            fresh.send(f"m{n}", persona="ada")
            fresh.send(f"m{n}", persona="bob")
    one, two = (scripted(path, *["Yes."] * 12) for path in (home, other))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(served, one, mailbox)
        tasks.start_soon(served, two, mailbox)
    for persona in ("ada", "bob"):
        assert said(home, persona)[::2] == [f"m{n}" for n in range(6)]
    assert findings(home) == []


async def test_a_failed_turn_is_told_to_whoever_asked(home: Path, mailbox: Mailbox) -> None:
    sent = mailbox.send("Hello")
    await served(scripted(home), mailbox)  # it has nothing to say
    found = mailbox.answer(sent)
    assert found is not None
    assert (found.state, bool(found.reason)) == ("failed", True)


async def test_words_that_only_the_database_knows_are_not_the_owners(
    home: Path, mailbox: Mailbox, postgres_url: str, schema: str
) -> None:
    sent = mailbox.send("Hello")
    with PostgresDatabase(postgres_url, schema=schema) as server, server.session() as connection:
        connection.execute("UPDATE inbox SET stimulus = replace(stimulus, 'Hello', 'Pay Eve')")
    await served(scripted(home, "Done."), mailbox)
    assert mailbox.answer(sent) == InboxAnswer(
        "dead", reason="it was not put there with the secret of this home"
    )
    assert said(home) == []


async def test_what_was_answered_by_one_who_could_not_say_so_is_not_answered_again(
    home: Path, mailbox: Mailbox, postgres_url: str, schema: str
) -> None:
    sent = mailbox.send("Hello")
    await served(scripted(home, "Yes."), mailbox)
    with PostgresDatabase(postgres_url, schema=schema) as server, server.session() as connection:
        connection.execute("UPDATE inbox SET answer = NULL")
    mailbox.inbox.ring(mailbox.agent())
    await served(scripted(home, "Twice."), mailbox)
    assert said(home) == ["Hello", "Yes."]
    found = mailbox.answer(sent)
    assert found is not None
    assert "the session has it" in found.reason


async def test_a_worker_that_is_killed_at_an_answer_is_followed_and_the_talk_goes_on(
    home: Path, mailbox: Mailbox, postgres_url: str, schema: str
) -> None:
    sent = mailbox.send("Hello")
    words = [sys.executable, str(CHILD), str(home), "wait"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:  # noqa: ASYNC220
        assert child.stdout is not None
        assert child.stdout.readline() == "at it\n"
        os.kill(child.pid, signal.SIGKILL)
    with PostgresDatabase(postgres_url, schema=schema) as server, server.session() as connection:
        connection.execute("UPDATE rings SET due = now()")  # half a minute later
    await served(scripted(home, "Here I am."), mailbox)
    answer = mailbox.answer(sent)
    assert answer is not None
    assert answer.text == "Here I am."
    assert said(home) == ["Hello", "Hello", "Here I am."]
    assert findings(home) == []


async def test_a_home_is_not_moved_back_while_somebody_waits(home: Path, mailbox: Mailbox) -> None:
    mailbox.send("Hello")
    with pytest.raises(StoreLocked, match="messages wait in this home: 1"):
        move_home_back(home)
    await served(scripted(home, "Yes."), mailbox)
    move_home_back(home)
    assert said(home) == ["Hello", "Yes."]


async def test_a_worker_that_is_drained_ends(home: Path, mailbox: Mailbox) -> None:
    worker = scripted(home)
    ready = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(worker.run, on_ready=ready.set))
        await ready.wait()
        assert [one.name for one in mailbox.list_workers()] == [worker.name]
        mailbox.drain(worker.name)
    assert mailbox.list_workers() == ()
    with pytest.raises(UsageError, match="there is no worker"):
        mailbox.drain(worker.name)


def test_a_home_of_its_own_has_no_workers(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not lie in a database"):
        Worker(create_home(tmp_path / "own"))

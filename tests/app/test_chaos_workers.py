"""Workers that are killed, stopped and woken: every message is answered once and in its order."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from mentis.app.home_move import move_home
from mentis.app.worker import Mailbox
from mentis.home.create import create_home
from mentis.home.view import push_view
from mentis.prompts.personas import Personas
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home

CHILD = Path(__file__).with_name("serving.py")
AGENTS, EACH, WORKERS, KILLS = 12, 20, 3, 4
NAMES = ("ada", *(f"p{number:02}" for number in range(1, AGENTS)))


@pytest.fixture
def home(tmp_path: Path, postgres_url: str) -> Path:
    path = create_home(tmp_path / "home")
    with Personas.open(path) as personas:
        for name in NAMES[1:]:
            personas.create(name, name=name)
    move_home(path, postgres_url, schema="chaos_of_workers")
    push_view(path)
    return path


def answered(home: Path, name: str) -> list[str]:
    """What an agent answered, in the order of its conversation."""
    with open_record(home, name, readonly=True) as record:
        turns = record.ledger.turns(record.agent, "main")
        return [one.text for one in turns if one.role == "user" and one.state == "complete"]


@pytest.mark.slow
def test_every_message_is_answered_once_and_in_order_whoever_is_killed_or_frozen(
    home: Path,
) -> None:
    chance = random.Random(24)  # noqa: S311 - the same each time
    with ExitStack() as stack:
        mailbox = stack.enter_context(Mailbox.open(home))
        # Its output goes nowhere: whoever is killed has nobody to tell.
        start = [sys.executable, str(CHILD), str(home), "echo"]

        def began() -> subprocess.Popen[bytes]:
            process = stack.enter_context(subprocess.Popen(start, stderr=subprocess.DEVNULL))
            stack.callback(process.kill)
            return process

        workers = [began() for _ in range(WORKERS)]
        for number in range(EACH):
            for name in NAMES:
                mailbox.send(f"m{number}", persona=name, delivery=f"{name}-{number}")
        total, left, frozen = AGENTS * EACH, KILLS, None
        while waiting := mailbox.inbox.counts()[0]:
            mailbox.inbox.wait(1.0)
            if left and waiting < total * left // (KILLS + 1):
                left -= 1
                if frozen is None:
                    frozen = chance.choice(workers)
                    os.kill(frozen.pid, signal.SIGSTOP)
                    continue
                os.kill(frozen.pid, signal.SIGCONT)
                victim = workers.pop(chance.randrange(len(workers)))
                victim.kill()
                workers.append(began())
    for name in NAMES:
        assert answered(home, name) == [f"m{number}" for number in range(EACH)]
    assert [finding.message for one in verify_home(home) for finding in one.findings] == []

"""`python -m tests.recorder.killed_recorder HOME FOLDER STRIDE`: recorders killed in mid-batch.

Each is forked with a copy of HOME of its own, `FOLDER/N`, and dies before its N-th sync or renaming
of a file, N growing by STRIDE; the last one meets no such step and comes to its end. Forking is
safe here: this process has one thread and has opened no database.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from mentis.ports.screener import ListedScreener
from mentis.record.agent_record import AgentRecord
from mentis.record.record import open_record
from mentis.recorder.call_copy import CallCopy
from mentis.recorder.writer import CallWriter
from mentis.stores.files.blobs import FileBlobs

from .foreign import anthropic_call, user

BEFORE, BATCH = 2, 3


def batch_of(first: int, number: int) -> list[CallCopy]:
    said = [user(f"{n} and so on. " * 40) for n in range(first + number)]
    return [
        anthropic_call({"messages": said[: n + 1]}, after=n, text=f"answer {n}. " * 40)
        for n in range(first, first + number)
    ]


def die_before(step: int) -> None:
    steps = count(1)

    def killing(real: Callable[..., Any]) -> Callable[..., Any]:
        def act(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - as they are
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **named)

        return act

    os.fsync, os.replace, os.rename = map(killing, (os.fsync, os.replace, os.rename))


def live(home: Path, step: int) -> None:
    with open_record(home, "recorded/agent") as record:
        record.start()
        writer = CallWriter(
            AgentRecord(record.agent, record.ledger, record.clock, record.ids),
            FileBlobs(home / "blobs"),
            lambda: ListedScreener({}),
        )
        first = writer.write_together(batch_of(0, BEFORE))
        die_before(step)
        second = writer.write_together(batch_of(BEFORE, BATCH))
        os._exit(0 if first and second else 3)  # not by its end: closing would do the files good


def main() -> int:
    home, folder, stride = sys.argv[1:]
    for step in count(1, int(stride)):
        mine = shutil.copytree(home, Path(folder) / str(step))
        child = os.fork()
        if not child:
            os.environ["MENTIS_CONFIG"] = f"{mine}.config"  # where it is noted how far a home got
            live(mine, step)
        _, status = os.waitpid(child, 0)
        ended = os.waitstatus_to_exitcode(status)
        if ended != -signal.SIGKILL:
            return ended
    return 1


if __name__ == "__main__":
    sys.exit(main())

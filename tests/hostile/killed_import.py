"""Imports that are killed at a chosen step, by processes that have loaded everything.

`python killed_import.py KIND FILE`, and on standard input one line for each try: HOME STEP. A child
takes the file over and dies before the STEP-th line of ours that runs in it (0: not at all, and it
says how many there were). Forking is safe here: this process has one thread and has opened no
database.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import mentis
from mentis.app.home_import import import_file
from mentis.home.parts import Parts
from mentis.memories.memories import open_memories
from mentis.ports.screener import ListedScreener
from mentis.prompts.prompts import Prompts
from mentis.status.statuses import open_statuses

OURS = str(Path(mentis.__file__).parent)
PARTS = Parts(screener=ListedScreener({}))


def take_memories(home: str, data: bytes, count: Callable[[], None]) -> None:
    with open_memories(home, parts=PARTS) as memories:
        count()
        memories.import_lines(data)


def take_history(home: str, data: bytes, count: Callable[[], None]) -> None:
    with open_statuses(home) as statuses:
        count()
        statuses.import_history(data)


def take_prompts(home: str, data: bytes, count: Callable[[], None]) -> None:
    file = Path(home).with_suffix(".zip")
    file.write_bytes(data)
    with Prompts.open(home) as prompts:
        plan = prompts.plan_import(file, "replace", force=True)
        count()
        prompts.import_set(plan, force=True)


def take_home(home: str, _: bytes, count: Callable[[], None]) -> None:
    count()
    import_file(home, sys.argv[2], parts=PARTS)


KINDS = {
    "memories": take_memories,
    "history": take_history,
    "prompts": take_prompts,
    "home": take_home,
}


class Steps:
    """Lines of ours that ran since it was begun; the process dies before the last one."""

    def __init__(self, last: int) -> None:
        self.done, self._last = 0, last

    def begin(self) -> None:
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - itself
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            self.done += 1
            if self.done == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._trace


def main() -> None:
    kind, file = sys.argv[1], Path(sys.argv[2])
    data = file.read_bytes() if file.is_file() else b""
    for line in sys.stdin:  # HOME STEP
        home, _, step = line.strip().rpartition(" ")
        child = os.fork()
        if not child:
            steps = Steps(int(step))
            KINDS[kind](home, data, steps.begin)
            sys.settrace(None)
            os.write(1, f"steps {steps.done}\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.write(1, b"end\n")


if __name__ == "__main__":
    main()

"""Opens an agent whose turns are to be moved to the server, killed after the write named."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mentis.app.agent import Agent
from mentis.stores import turn_move
from mentis.stores.session import SqlTransaction
from mentis.stores.sql_ledger import SqlLedger

PLACES: dict[str, tuple[Any, str, int]] = {
    "inside the copy": (SqlTransaction, "finish", 1),
    "copy": (SqlLedger, "unit", 1),
    "removal": (turn_move, "_remove", 1),
    "clearing": (SqlLedger, "unit", 2),
}


def killed_after(real: Callable[..., Any], times: int) -> Callable[..., Any]:
    def write(*args: object, **rest: object) -> object:
        nonlocal times
        made = real(*args, **rest)
        times -= 1
        if times == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    return write


if __name__ == "__main__":
    owner, name, times = PLACES[sys.argv[2]]
    setattr(owner, name, killed_after(getattr(owner, name), times))
    Agent.open(Path(sys.argv[1]))

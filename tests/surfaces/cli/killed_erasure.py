"""`mentis ledger erase 0`, killed right after the write of its stores with the number given."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mentis.stores.sql_ledger import SqlLedger
from mentis.stores.sqlite.conversations import SqliteConversations
from mentis.surfaces.cli.main import run

_left = int(sys.argv[2])


def counted(real: Callable[..., Any]) -> Callable[..., Any]:
    def write(*args: object, **rest: object) -> object:
        global _left  # noqa: PLW0603  # one count for all stores
        made = real(*args, **rest)
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    return write


if __name__ == "__main__":
    SqlLedger.erase = counted(SqlLedger.erase)
    SqliteConversations.replace = counted(SqliteConversations.replace)
    sys.exit(run(["--home", sys.argv[1], "ledger", "erase", "0", "--reason", "asked", "--yes"]))

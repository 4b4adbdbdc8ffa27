"""`mentis ledger erase 0`, killed inside its one transaction or right after it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mentis.stores.session import SqlTransaction
from mentis.stores.sql_ledger import SqlLedger
from mentis.surfaces.cli.main import run


def then_killed(real: Callable[..., Any]) -> Callable[..., Any]:
    def write(*args: object, **rest: object) -> None:
        real(*args, **rest)
        os.kill(os.getpid(), signal.SIGKILL)

    return write


if __name__ == "__main__":
    # Inside the transaction of the tombstone, or right after it.
    inside = sys.argv[2] == "inside"
    owner, name = (SqlTransaction, "finish") if inside else (SqlLedger, "erase")
    setattr(owner, name, then_killed(getattr(owner, name)))
    sys.exit(run(["--home", sys.argv[1], "ledger", "erase", "0", "--reason", "asked", "--yes"]))

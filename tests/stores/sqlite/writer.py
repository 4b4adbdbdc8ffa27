"""A process that appends drafts to one ledger and says the number of each entry once it is kept.

Usage: writer.py DATABASE NAME COUNT. Run by the tests with the real clock and real salts.
"""

from __future__ import annotations

import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from mentis.ledger.chain import make_stamp
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Draft


def main(path: str, name: str, count: str) -> None:
    stamp = make_stamp(lambda: datetime.now(UTC), lambda: secrets.token_bytes(16))
    with Database(Path(path), busy_seconds=60) as database:
        ledger = SqliteLedger(database)
        for n in range(int(count)):
            (entry,) = ledger.append("ada", [Draft("note", name, {"n": n})], stamp)
            sys.stdout.write(f"{entry.index}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

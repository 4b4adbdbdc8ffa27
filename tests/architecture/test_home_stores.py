"""Where stores of a home lie is known in one place, so that a home in a database misses none."""

from __future__ import annotations

import re
from pathlib import Path

import mentis

SOURCE = Path(mentis.__file__).parent
# Whoever moves a home has both sides in hand.
ALLOWED = {"home/server.py", "app/home_move.py"}
OPENED = re.compile(r"\b(?:FileBlobs|SqliteRevisions|PostgresBlobs|PostgresRevisions)\(")


def test_blobs_and_revisions_are_opened_by_the_room_home_alone() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if not path.is_relative_to(SOURCE / "stores") and OPENED.search(path.read_text("utf-8"))
    }
    assert found == ALLOWED

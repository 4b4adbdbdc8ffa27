"""Fault 10: a connection that was carried over a fork loses rows, so it is refused there."""

from __future__ import annotations

import re
from pathlib import Path

import mentis

from .conftest import NewFolder
from .tracing import Victims

_FORKS = re.compile(r"os\.fork|multiprocessing|ProcessPoolExecutor|forkpty")


def test_a_child_that_inherits_the_connection_is_refused_and_the_parent_goes_on(
    untraced: Victims, new_folder: NewFolder
) -> None:
    told = untraced.run("fork", new_folder())
    assert told.of("bug") == []
    assert len(told.of("refused")) == 2
    assert all("forked" in words for words in told.of("refused"))
    assert told.of("kept") == ["one-0"]


def test_nothing_in_the_package_forks() -> None:
    root = Path(str(mentis.__file__)).parent
    assert [path.name for path in root.rglob("*.py") if _FORKS.search(path.read_text())] == []

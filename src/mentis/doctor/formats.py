"""Which reader a log wants, by what stands in it: names of files say little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeAlias

from .calls import LoggedCall
from .claude_code import ClaudeCodeReader, is_claude_code
from .codex import CodexReader, is_codex
from .lines import LogFile, Progress

_LOOKED_AT = 200  # lines at the beginning of which one must be known


class LogReader(Protocol):
    """Takes the items of one file in their order, and tells of calls."""

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]: ...

    def end(self) -> Iterator[LoggedCall]: ...


_Known: TypeAlias = tuple[Callable[[dict[str, object]], bool], Callable[[str], LogReader]]
READERS: tuple[_Known, ...] = (
    (is_claude_code, ClaudeCodeReader),
    (is_codex, CodexReader),
)


def reader_of(told: dict[str, object], file: str) -> LogReader | None:
    return next((make(file) for known, make in READERS if known(told)), None)


def read_log(path: Path, progress: Progress, say: Callable[[str], None]) -> Iterator[LoggedCall]:
    """The calls of one file. What could not be read is said."""
    log = LogFile(path, progress)
    yield from read_lines(log, say)
    for sentence in log.faults.sentences():
        say(sentence)


def read_lines(log: LogFile, say: Callable[[str], None]) -> Iterator[LoggedCall]:
    reader: LogReader | None = None
    seen = 0
    for number, told in log.objects():
        if reader is None:
            seen += 1
            reader = reader_of(told, str(log.path))
            if reader is None:
                if seen == _LOOKED_AT:
                    break
                continue
        yield from reader.take(number, told)
    if reader is not None:
        yield from reader.end()
    elif not log.faults.why:
        say("no log that is known: nothing in it tells of a call to a model")

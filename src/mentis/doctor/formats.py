"""Which reader a log wants, by what stands in it: names of files say little."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Protocol, TypeAlias

import orjson

from .calls import LoggedCall
from .claude_code import ClaudeCodeReader, is_claude_code
from .codex import CodexReader, is_codex
from .documents import document_items, is_yaml, objects_in
from .exchanges import ExchangeReader, is_exchange
from .lines import LogFile, Progress
from .places import is_home
from .records import read_home
from .spans import SpanReader, is_spans
from .tracked import LangfuseReader, LiteLLMReader, is_langfuse, is_litellm

_LOOKED_AT = 200  # items, of which one must be known
_DOCUMENTS = (".json", ".har", ".json.gz", ".har.gz")
_Items: TypeAlias = Iterator[tuple[int, dict[str, object]]]


class LogReader(Protocol):
    """Takes the items of one file in their order, and tells of calls."""

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]: ...

    def end(self) -> Iterator[LoggedCall]: ...

    def notes(self) -> Iterator[str]: ...


_Known: TypeAlias = tuple[Callable[[dict[str, object]], bool], Callable[[str], LogReader]]
# In this order: an exchange is told by the least.
READERS: tuple[_Known, ...] = (
    (is_claude_code, ClaudeCodeReader),
    (is_codex, CodexReader),
    (is_spans, SpanReader),
    (is_litellm, LiteLLMReader),
    (is_langfuse, LangfuseReader),
    (is_exchange, ExchangeReader),
)


def reader_of(told: dict[str, object], file: str) -> LogReader | None:
    return next((make(file) for known, make in READERS if known(told)), None)


def read_log(path: Path, progress: Progress, say: Callable[[str], None]) -> Iterator[LoggedCall]:
    """The calls of one file. What could not be read is said."""
    if is_home(path):
        yield from read_home(path, say)
        return
    if path.is_dir():
        say("this folder cannot be opened")
        return
    log = LogFile(path, progress)
    if is_yaml(path) or (str(path).lower().endswith(_DOCUMENTS) and not _has_lines(log)):
        items = document_items(path, log.faults)
        progress(path.stat().st_size)
    else:
        items = log.objects()
    reader = yield from _read(items, str(path))
    if reader is None and not log.faults.why:
        say("no log that is known: nothing in it tells of a call to a model")
    for sentence in (*log.faults.sentences(), *(reader.notes() if reader else ())):
        say(sentence)


def _read(items: _Items, file: str) -> Generator[LoggedCall, None, LogReader | None]:
    reader: LogReader | None = None
    packed = False  # whether each item is a document with items in it
    for seen, (number, told) in enumerate(items):
        if reader is None:
            if seen >= _LOOKED_AT:
                break
            reader = reader_of(told, file)
            inner = None if reader else next(objects_in(told), None)
            if inner is not None:
                reader, packed = reader_of(inner, file), True
        if reader is None:
            continue
        for one in objects_in(told) if packed else (told,):
            yield from reader.take(number, one)
    if reader is not None:
        yield from reader.end()
    return reader


def _has_lines(log: LogFile) -> bool:
    """Whether its first line is an object of its own, and there is another."""
    first = None
    for _, line in LogFile(log.path).lines():
        if first is not None:
            return True
        try:
            first = orjson.loads(line)
        except ValueError:
            return False
        if not isinstance(first, dict):
            return False
    return False

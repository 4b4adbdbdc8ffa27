"""The three files a persona keeps about itself: read one, or add to it and rewrite it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from anyio.to_thread import run_sync

from mentis.errors import StoreConflict
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.cognition import REVIEW, Revision
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .arguments import Arguments
from .kind import BuiltIn, Kind

READ = Kind("read_memory_file", "core", endpoint="memory_files")
WRITE = Kind(
    "write_memory_file",
    "memory",
    endpoint="memory_files",
    limits="`limits.memory_chars` for each file; a change that loses most of one is refused",
)
FILES = ("memory", "soul", "relationship")
_TRIES = 5
Change: TypeAlias = Callable[[str], str]


class HeldFile(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def number(self) -> int: ...


class ShownFile(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def empty(self) -> bool: ...
    @property
    def limit(self) -> int: ...
    @property
    def trust(self) -> Trust: ...
    @property
    def held(self) -> int: ...


class WrittenFile(Protocol):
    @property
    def number(self) -> int: ...
    @property
    def changed(self) -> bool: ...


class MemoryFiles(Protocol):
    """What is needed of `mentis.library.memory.files.PersonaMemory`."""

    def read(self, name: str) -> HeldFile: ...

    def view(self, name: str) -> ShownFile: ...

    def history(self, name: str) -> Sequence[Revision]: ...

    def write(
        self, name: str, text: str, *, words: str = "", expected: int | None = None
    ) -> WrittenFile: ...


class ReadMemoryFile(BuiltIn):
    def __init__(self, words: ToolDeclaration, files: MemoryFiles) -> None:
        super().__init__(READ.spec(words))
        self._files = files

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        name = given.choice("name", FILES)
        file = await run_sync(self._files.view, name)
        result = {"name": name, "empty": file.empty, "limit": file.limit, "text": file.text}
        result |= {"in_review": file.held} if file.held else {}
        return self._done(call, result, file.trust)


class WriteMemoryFile(BuiltIn):
    def __init__(self, words: ToolDeclaration, files: MemoryFiles) -> None:
        super().__init__(WRITE.spec(words))
        self._files = files

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        name = given.choice("name", FILES)
        adds = given.choice("mode", ("append", "replace"), "append") == "append"
        text = given.text("text", most=100_000)
        change = _adding(text, again=call.attempt > 1) if adds else _being(text)
        result = await run_sync(self._write, name, change, call)
        return self._done(call, {"name": name, **result}, Trust.RUNTIME)

    def _write(self, name: str, changed: Change, call: ActCall) -> dict[str, object]:
        """On top of what is there now; if somebody else wrote meanwhile, on top of that."""
        for _ in range(_TRIES - 1):
            try:
                return self._once(name, changed, call)
            except StoreConflict:
                continue
        return self._once(name, changed, call)

    def _once(self, name: str, changed: Change, call: ActCall) -> dict[str, object]:
        review = call.lineage is Trust.UNTRUSTED
        words = f"act {call.key}" + (REVIEW if review else "")
        file = self._files.read(name)
        if call.attempt > 1 and (number := self._made(name, words)):
            return {"revision": number, "changed": False, "review": review}
        done = self._files.write(name, changed(file.text), words=words, expected=file.number)
        return {"revision": done.number, "changed": done.changed, "review": review}

    def _made(self, name: str, words: str) -> int:
        """The revision that an earlier try of the same call has made."""
        mine = (one for one in self._files.history(name) if one.words.endswith(f": {words}"))
        return next((one.number for one in mine), 0)


def _adding(text: str, *, again: bool) -> Change:
    def append_text(old: str) -> str:
        if again and old.rstrip().endswith(text.rstrip()):
            return old  # an earlier try of the same call came as far as the file
        return f"{old.rstrip()}\n{text}\n" if old.strip() else f"{text}\n"

    return append_text


def _being(text: str) -> Change:
    return lambda _: text

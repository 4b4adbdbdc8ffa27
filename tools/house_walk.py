"""The functions that one chat turn and one tick enter, counted while they run.

`walk("turn")` and `walk("tick")` each start an interpreter of their own, so that what one of them
loads and caches does not change the other. There it runs through the public API on a fresh home
with a scripted model. The turn is counted from `run_turn` on, the tick from `Agent.tick` on, both
until the agent is closed. Functions are those with a name and lambdas: comprehensions are functions
in some versions of Python and not in others. A crossing is a call whose nearest caller inside the
package lies in another room; a coroutine that goes on is no call.
"""

from __future__ import annotations

import dis
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Literal

import anyio

import mentis
from house_code import room_of

Kind = Literal["turn", "tick"]

PACKAGE = Path(mentis.__file__).parent
COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
RESUME = dis.opmap["RESUME"]
# The last two bits of the argument of RESUME say why a frame goes on: 0 is a call.
RESUME_REASON = 3
MEMORY = '[{"op": "append", "value": "Somebody said good morning."}]'
REPLIES: dict[Kind, str] = {
    "turn": "Good morning to you.",
    "tick": "<output-ir><acts>[]</acts><goal-tree-patch>[]</goal-tree-patch>"
    f"<l1-memory-patch>{MEMORY}</l1-memory-patch></output-ir>",
}
ROUTE = """
[routes.walk]
backend = "scripted"
replies = [{reply}]
facts = {{ native_tools = false }}
"""


@dataclass(frozen=True, slots=True)
class Walk:
    calls: int
    functions: int
    files: int
    crossings: int
    functions_by_room: dict[str, int]


class Recorder:
    """Notes the calls of functions of a package, from the first one that `begins` on."""

    def __init__(self, package: Path, begins: Callable[[CodeType], bool]) -> None:
        self._package = package
        self._begins = begins
        self._inside = f"{package}{os.sep}"
        self._under_way = False
        self._calls: list[CodeType] = []
        self._crossings: list[tuple[str, str]] = []

    def start(self) -> None:
        """In this thread and in those that begin from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def stop(self) -> Walk:
        sys.setprofile(None)
        threading.setprofile(None)
        # Equal code in two files is one to Python, and two functions to a reader.
        functions = {
            (code.co_filename, code.co_firstlineno, code.co_qualname): code for code in self._calls
        }
        rooms = Counter(map(self._room, functions.values()))
        return Walk(
            calls=len(self._calls),
            functions=len(functions),
            files=len({file for file, _, _ in functions}),
            crossings=len(self._crossings),
            functions_by_room=dict(sorted(rooms.items(), key=lambda item: (-item[1], item[0]))),
        )

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not self._is_ours(code) or not _at_start(frame):
            return
        self._under_way = self._under_way or self._begins(code)
        if not self._under_way:
            return
        self._calls.append(code)
        caller = frame.f_back
        while caller is not None and not self._is_ours(caller.f_code):
            caller = caller.f_back
        if caller is not None and self._room(caller.f_code) != self._room(code):
            self._crossings.append((self._room(caller.f_code), self._room(code)))

    def _is_ours(self, code: CodeType) -> bool:
        """A function of the package, not the body of a module or class."""
        return (
            code.co_filename.startswith(self._inside)
            and bool(code.co_flags & inspect.CO_OPTIMIZED)
            and code.co_name not in COMPREHENSIONS
        )

    def _room(self, code: CodeType) -> str:
        return room_of(Path(code.co_filename), self._package)


def _at_start(frame: FrameType) -> bool:
    """Whether a frame is at its very start, not a coroutine or generator that goes on."""
    operation, argument = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
    return operation == RESUME and not argument & RESUME_REASON


def walk(kind: Kind) -> Walk:
    """CalledProcessError, with what it said, where the turn or tick fails."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("MENTIS_")}
    command = [sys.executable, __file__, kind]
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    return Walk(**json.loads(done.stdout))


def _walk_here(kind: Kind) -> Walk:
    with tempfile.TemporaryDirectory(prefix="mentis-house-") as folder:
        os.environ["MENTIS_CONFIG"] = str(Path(folder) / "keys")
        home = mentis.create_home(Path(folder) / "home")
        with (home / "mentis.toml").open("a", encoding="utf-8") as settings:
            settings.write(ROUTE.format(reply=json.dumps(REPLIES[kind])))
        recorder = Recorder(PACKAGE, _begins_turn if kind == "turn" else _begins_tick)
        anyio.run(_live, home, kind, recorder)
        found = recorder.stop()
    if not found.calls:
        sys.exit(f"the walk of a {kind} never came to the function it begins with")
    return found


def _begins_turn(code: CodeType) -> bool:
    return code.co_name == "run_turn"


def _begins_tick(code: CodeType) -> bool:
    return code is mentis.Agent.tick.__code__


async def _live(home: Path, kind: Kind, recorder: Recorder) -> None:
    recorder.start()
    async with mentis.Agent.open(home, route="walk") as agent:
        if kind == "turn":
            await agent.chat("Good morning!")
        else:
            text = {"text": "Good morning!"}
            sense = mentis.Sense("hello", "message", text, mentis.Trust.OWNER, "owner")
            ticked = await agent.tick([sense])
            if not ticked.tick.report.memory_ops:
                sys.exit("the tick came to nothing: its scripted answer was not understood")


def main() -> int:
    kind: Kind = "tick" if sys.argv[1:] == ["tick"] else "turn"
    print(json.dumps(asdict(_walk_here(kind))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

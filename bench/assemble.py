"""What it costs to assemble a prompt: 200 tools, 100 skills, 10,000 memories, the default embedder.

The whole is measured with a task that was never seen, in a folder under git. The rest, which is
everything but the embedding and git, is measured with tasks that are embedded already and without
a folder; it stands beside the bare product of all vectors and the joining of the strings. Both
have gates in plain JSON too, for what a bare product does not grow with.

Tools and skills are embedded as they would be. The memories have made-up vectors of the embedder's
size: what they say does not change what a search costs.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from functools import cache, partial
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.from_thread
import numpy as np

from mentis.app.agent import Agent
from mentis.assemble.git import read_git
from mentis.engines.embedders import open_embedder
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.memories.memories import open_memories
from mentis.ports.act_handler import RecordingHandler
from mentis.recall.manifest_file import FILE
from mentis.recall.skills import read_skills
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.tools.selection import build, of_tools
from mentis.values.act import ActSpec
from mentis.values.assembly import AssembledPrompt
from mentis.values.cognition import Memory
from mentis.values.memories import Vector, text_digest
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .harness import Pair, benchmark, plain_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOOLS, SKILLS, MEMORIES, TASKS = 200, 100, 10_000, 64
WHOLE, REST = 3_000, 300  # documents of plain JSON
VERBS = ["find", "send", "open", "close", "convert", "record", "cancel", "show", "print", "check"]
NOUNS = ["invoice", "mail", "door", "lamp", "parcel", "file", "song", "route", "note", "chart"]
PEOPLE = ["Lena", "Marco", "Ada", "Jonas", "Priya", "Tom", "Elif", "Sofia", "Charles", "Grace"]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["name"],
}


def said(number: int) -> str:
    verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
    return f"{verb} the {noun} of {PEOPLE[number // 7 % 10]} for week {number}"


def declared(number: int) -> ToolDeclaration:
    verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
    return ToolDeclaration(
        f"{verb}_{noun}_{number}", f"{verb.title()} one {noun} of archive {number}.", SCHEMA
    )


class Ready:
    """A home with everything in it, opened once, and an event loop of its own to ask it in."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="mentis-bench-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder / "work"
        _make_repository(self.folder)
        self.home = create_home(folder / "home")
        _write_skills(self.home / "skills")
        tools = [declared(number) for number in range(TOOLS)]
        self._build(tools)
        self.rows = self._remember()
        handlers = tuple(RecordingHandler(ActSpec(one, "agent", "bench")) for one in tools)
        self.agent = Agent.open(self.home, parts=Parts(handlers=handlers))
        self._opened = ExitStack()
        self.portal = self._opened.enter_context(anyio.from_thread.start_blocking_portal())
        atexit.register(self._close)
        self.tasks = [said(number) for number in range(TASKS)]
        self.prompts = [self.ask(task).prompt for task in self.tasks]

    def ask(self, task: str, root: Path | None = None) -> AssembledPrompt:
        return self.portal.call(partial(self.agent.assemble, task, root=root))

    def _build(self, tools: list[ToolDeclaration]) -> None:
        wanted = (*of_tools(tuple(tools)), *read_skills(self.home / "skills").skills)
        built = anyio.run(build, wanted, self.home / FILE)
        shape = (-1, built.manifest.header.dimension)
        self.vectors = np.frombuffer(built.manifest.vectors, dtype="<f4").reshape(shape)

    def _remember(self) -> NDArray[np.float32]:
        """Straight into the store: the embedder would take minutes."""
        with open_memories(self.home) as memories:
            agent = memories.agent
        embedder, _ = open_embedder()
        chance = np.random.default_rng(7)
        rows = chance.standard_normal((MEMORIES, self.vectors.shape[1]), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        kept = [
            Memory(
                f"m{number:05}",
                f"{said(number)} is done",
                kind="fact",
                trust=Trust.OWNER,
                lineage=Trust.OWNER,
            )
            for number in range(MEMORIES)
        ]
        with Database(self.home / "mentis.db") as database:
            store = SqliteMemories(database)
            store.add(agent, kept)
            vectors = [
                Vector(one.id, text_digest(one.text), row.tobytes())
                for one, row in zip(kept, rows, strict=True)
            ]
            store.keep_vectors(agent, embedder.fingerprint, vectors)
        return rows

    def _close(self) -> None:
        self.portal.call(self.agent.__aexit__, None, None, None)
        self._opened.close()


def _make_repository(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(200):
        (folder / f"file{number}.txt").write_text(f"{number}\n", encoding="utf-8")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=folder, check=True, capture_output=True)
    (folder / "file1.txt").write_text("changed\n", encoding="utf-8")


def _write_skills(folder: Path) -> None:
    for number in range(SKILLS):
        verb, noun = VERBS[number % 10], NOUNS[number // 10 % 10]
        place = folder / f"{verb}-{noun}-{number}"
        place.mkdir(parents=True)
        head = (
            f"---\nname: {place.name}\ndescription: How to {verb} a {noun}, case {number}.\n---\n"
        )
        (place / "SKILL.md").write_text(f"{head}\nDo it with care.\n", encoding="utf-8")


@cache
def ready() -> Ready:
    return Ready()


@cache
def rest() -> Pair:
    """Everything but the embedding and git, and the bare work in it."""
    there = ready()
    tasks, prompts = cycle(there.tasks), cycle([one.split("\n") for one in there.prompts])
    wanted = np.ascontiguousarray(there.rows[0])

    def bare() -> str:
        near, known = there.rows @ wanted, there.vectors @ wanted
        return "\n".join(next(prompts)) if near.max() + known.max() else ""

    return (lambda: there.ask(next(tasks))), bare


@benchmark("assemble/rest", against="bare products and a join", gate=8.0, rounds=21)
def rest_of_it() -> Pair:
    return rest()


@benchmark("assemble/rest, bounded", against=f"{REST} documents of JSON", gate=1.0, rounds=21)
def rest_in_time() -> Pair:
    return rest()[0], partial(plain_json, REST)


@benchmark("assemble/whole, bounded", against=f"{WHOLE:,} documents of JSON", gate=1.0, rounds=21)
def whole_in_time() -> Pair:
    there, numbers = ready(), count(1_000)
    return (
        lambda: there.ask(said(next(numbers)), there.folder),
        partial(plain_json, WHOLE),
    )


@benchmark("assemble/embedding", against=f"{REST} documents of JSON", rounds=11)
def embedding() -> Pair:
    embedder, _ = open_embedder()
    there, numbers = ready(), count(5_000_000)
    return (lambda: there.portal.call(embedder.embed, [said(next(numbers))])), partial(
        plain_json, REST
    )


@benchmark("assemble/git", against=f"{REST} documents of JSON", rounds=5, clock="wall")
def git() -> Pair:
    there = ready()
    look = partial(read_git, there.folder, environ={}, seconds=5.0)
    return (lambda: there.portal.call(look)), partial(plain_json, REST)

"""A home in the hands of its owner, and of somebody with another program."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anyio

from mentis.app.agent import Agent
from mentis.home.parts import Parts
from mentis.memories.memories import open_memories
from mentis.prompts.cognition import open_cognition
from mentis.prompts.personas import Personas
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.values.entry import Draft, Verdict
from mentis.values.memories import MemoryDraft
from mentis.values.trust import Trust


@dataclass
class Owned:
    path: Path
    parts: Parts

    def remember(self, *texts: str) -> list[str]:
        async def keep() -> list[str]:
            with open_memories(self.path, "ada", self.parts) as memories:
                drafts = [MemoryDraft(text, trust=Trust.OWNER) for text in texts]
                return [(await memories.remember(one)).memory.id for one in drafts]

        return anyio.run(keep)

    def forget(self, name: str) -> None:
        with open_memories(self.path, "ada", self.parts) as memories:
            memories.forget(name)

    def write(self, name: str, text: str) -> None:
        with Personas.open(self.path, parts=self.parts) as personas:
            personas.memory("ada").write(name, text, force=True)

    def want(self, goal: str) -> None:
        with open_cognition(self.path, "ada", self.parts) as cognition:
            cognition.add_goal(goal, f"{goal} it")

    def record(self) -> Record:
        return open_record(self.path, parts=self.parts)

    def chat(self, text: str = "Hello.") -> None:
        """A turn, by which is recorded what was kept until then."""

        async def say() -> None:
            async with Agent.open(self.path, parts=self.parts) as agent:
                await agent.chat(text)

        anyio.run(say)

    def bind(self) -> None:
        """An entry of the owner's own."""
        with self.record() as record:
            draft = Draft("state", "owner", {"state": {"what": "nothing"}})
            record.ledger.append(record.agent, [draft], record.stamp())

    def sql(self, statement: str, *given: object) -> int:
        with closing(sqlite3.connect(self.path / "mentis.db")) as connection, connection:
            return connection.execute(statement, given).rowcount

    def verify(self) -> Verdict:
        (verdict,) = verify_home(self.path)
        return verdict

    def told(self) -> list[tuple[str, str]]:
        """What is found wrong: what was likely done, and the words."""
        return [(one.attack, one.message) for one in self.verify().findings]

    def notes(self) -> list[str]:
        return [note for note in self.verify().notes if "not yet recorded" in note]

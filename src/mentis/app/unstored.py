"""An agent to look through, also where its database cannot be opened: then with an empty one.

For what reads only. What has to be recorded needs the real one, so `Agent.open` stays strict.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from mentis.disk.inside import seen_from
from mentis.errors import StoreError
from mentis.home.parts import Parts
from mentis.values.trace import Degradation

from .agent import Agent
from .wiring import open_agent_parts

_EMPTY = "no memories, no activity"


@contextmanager
def open_anyhow(
    path: str | Path, *, persona: str | None = None, parts: Parts | None = None
) -> Generator[Agent]:
    """The agent of one persona. That its database is missing is a step down, told as such."""
    parts = parts or Parts()
    with TemporaryDirectory(prefix="mentis-") as folder:
        try:
            agent = Agent.open(path, persona=persona, parts=parts)
        except StoreError as error:
            agent = _unstored(path, persona, parts, store=Path(folder) / "empty.db", error=error)
        try:
            yield agent
        finally:
            agent.close()


def _unstored(
    path: str | Path, persona: str | None, parts: Parts, *, store: Path, error: StoreError
) -> Agent:
    opened, database, settings = open_agent_parts(
        Path(path), persona=persona, route="default", parts=parts, store=store
    )
    note = Degradation("database", f"{seen_from(Path(path), error.message)}: {_EMPTY}")
    sources = replace(opened.sources, noted=(*opened.sources.noted, note))
    known = replace(opened, sources=sources)
    return Agent(known, database, settings, parts.variables, on_event=parts.on_event)

"""A prompt is composed for a thread while others compose too: each in an event loop of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mentis import Agent, Parts, create_home
from mentis.testing import HashEmbedder

_SECONDS = 30.0


class MeetingEmbedder(HashEmbedder):
    """Goes on when both messages are there, so that two read at once what can be recalled."""

    def __init__(self) -> None:
        super().__init__()
        self._both = threading.Barrier(2)
        self.seen: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += texts
        if list(texts) == ["Good morning!"]:
            self._both.wait(_SECONDS)
        return await super().embed(texts)


def test_prompts_composed_in_threads_at_once_wait_for_each_other_and_are_the_same(
    tmp_path: Path,
) -> None:
    home = create_home(tmp_path / "home")
    skill = home / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tea\ndescription: Make a pot of tea.\n---\nBoil water.\n")
    for _ in range(2):
        embedder = MeetingEmbedder()
        agent = Agent.open(home, parts=Parts(embedder=embedder))
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(agent.compose, "Good morning!") for _ in range(2)]
            one, other = (job.result(_SECONDS) for job in jobs)
        assert len(embedder.seen) > 2
        assert one.request == other.request

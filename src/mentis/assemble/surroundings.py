"""The surroundings of a task: git, the machine, what happened lately. Each may be missing.

Where that is so, the reason is a step down, and the rest is told all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from mentis.disk.inside import seen_from
from mentis.errors import StoreError
from mentis.record.agent_record import AgentRecord
from mentis.record.threads import told_turns
from mentis.settings.assembly import AssemblySettings
from mentis.values.assembly import AssembledActivity, EnvState, GitState
from mentis.values.trace import Degradation

from .activity import POOL, ChosenActivity, activity_of
from .git import read_git, read_place

_SYSTEMS = {"darwin": "macos", "win32": "windows"}


@dataclass(slots=True)
class Around:
    """Filled while something else is being waited for. `timings` are milliseconds.

    `place` is the folder as it is seen from the top of its repository, as no more than a name;
    `outside` is what could not be told of either.
    """

    git: GitState | None = None
    env: EnvState | None = None
    place: str = "."
    candidates: tuple[AssembledActivity, ...] = ()
    chosen: ChosenActivity = field(default_factory=ChosenActivity)
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    outside: list[Degradation] = field(default_factory=list[Degradation])
    timings: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def activity(self) -> tuple[AssembledActivity, ...]:
        """What is told of what happened."""
        return self.chosen.activity

    def took(self, part: str, since: float) -> None:
        self.timings[part] = round((perf_counter() - since) * 1000, 3)


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """Whose surroundings are looked at, and where from. Without a root no place is told."""

    record: AgentRecord
    home: Path
    environ: Mapping[str, str]
    session: str
    root: Path | None = None


async def look_at_place(view: Viewpoint, settings: AssemblySettings, around: Around) -> None:
    if view.root is None:
        return
    if settings.include_env:
        around.env = EnvState(str(view.root), _SYSTEMS.get(sys.platform, sys.platform))
        around.place, degraded = await read_place(view.root, seconds=settings.git_seconds)
        around.outside += degraded
    if settings.include_git:
        begun = perf_counter()
        around.git, degraded = await read_git(
            view.root, environ=view.environ, seconds=settings.git_seconds
        )
        around.outside += degraded
        around.took("git", begun)


def look_back(view: Viewpoint, settings: AssemblySettings, around: Around) -> None:
    """It blocks."""
    most = settings.max_activity if settings.include_activity else 0
    if not most:
        return
    begun = perf_counter()
    try:
        entries = view.record.latest(POOL * most)
        turns = told_turns(view.record.turns(view.session))
        said = [turn for turn in turns if turn.kind == "said"]
        around.candidates = activity_of(entries, said, most=most)
    except StoreError as error:
        reason = seen_from(view.home, error.message)
        around.degraded.append(Degradation("ledger", f"{reason}: no activity is told"))
    around.took("activity", begun)

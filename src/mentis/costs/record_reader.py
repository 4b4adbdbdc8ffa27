"""One agent's record, as bills and explanations are read from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Protocol, TypeAlias

from mentis.ask.recorded_calls import RecordedCall, object_in, route_of
from mentis.errors import MentisError
from mentis.home.checkpoints import CheckpointedLedger
from mentis.home.identity import home_name, persona_of
from mentis.ports.ledger_store import LedgerStore
from mentis.record.backwards import backwards
from mentis.record.foreign_calls import foreign_call
from mentis.record.segments import open_segments
from mentis.record.source import EntrySource, read_still
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.turn.replay.recorded_turn import find_stored
from mentis.turn.replay.replay import Replay
from mentis.values.cost import PromptChange, RecordedPrompt
from mentis.values.entry import Entry
from mentis.values.reply import Usage
from mentis.values.route import Route

# Puts a step of a recorded turn together again, by the index of its entry.
ReplayTurn: TypeAlias = Callable[[int, int], Replay]
_REPLAYS = 4  # each is looked at more than once: by itself, and as the one before another


class ForeignPrompts(Protocol):
    """Reads the prompts of recorded agents, as they were kept; ReplayError where one was not."""

    def told(self, entry: Entry, find: Callable[[int], Entry]) -> RecordedPrompt: ...

    def body(self, entry: Entry, field: str = "request") -> tuple[bytes, bool]: ...

    def change(self, entry: Entry, before: Entry) -> PromptChange | None: ...


@dataclass(frozen=True, slots=True)
class RecordReader:
    """`snapshot` is all of it at one moment, `find` one entry, `backwards` all that are in the
    store, or those before one, the newest first, read as they are asked for. `replay` is None where
    nobody is here who could put its prompts together again. `routes` are those of today, for
    prices. `foreign` reads the calls of an agent that is not ours.
    """

    agent: str
    snapshot: Callable[[], AbstractContextManager[EntrySource]]
    find: Callable[[int], Entry]
    backwards: Callable[[int | None], Iterator[Entry]]
    routes: Sequence[Route]
    replay: ReplayTurn | None = None
    foreign: ForeignPrompts | None = None

    def told(self, index: int) -> RecordedPrompt | MentisError | None:
        """The prompt of a recorded agent's call, or why there is none; None of our own agents."""
        entry = self.find(index)
        if self.foreign is None or foreign_call(entry) is None:
            return None
        try:
            return self.foreign.told(entry, self.find)
        except MentisError as error:
            return error

    def route(self, index: int) -> Route:
        """The route that an entry names, as it is today where it is one of ours."""
        told = object_in(self.find(index).body.get("route"))
        names = [str(told.get(name, "")) for name in ("name", "backend", "model")]
        return route_of(RecordedCall(names[0], names[1], names[2], Usage()), self.routes)

    def current_route(self, kept: Route) -> Route:
        """Where a route of that name leads today: what is kept of one has no address."""
        now = next((one for one in self.routes if one.name == kept.name), None)
        if now is None or now.backend != kept.backend:
            return kept
        return replace(kept, url=now.url, key_env=now.key_env)

    def rebuild(self, index: int, step: int) -> Replay | MentisError | None:
        """The replay, or why there is none."""
        if self.replay is None:
            return None
        try:
            return self.replay(index, step)
        except MentisError as error:
            return error


def record_reader(
    agent: str,
    ledger: LedgerStore,
    home: Home,
    settings: Settings,
    *,
    replay: ReplayTurn | None,
    foreign: ForeignPrompts | None = None,
) -> RecordReader:
    """The record of one agent in a store that is open."""
    store = ledger.inner if isinstance(ledger, CheckpointedLedger) else ledger
    segments = open_segments(home, settings, persona_in(agent, home, settings), agent)
    return RecordReader(
        agent,
        partial(read_still, agent, store, segments),
        partial(find_stored, agent, store, segments),
        partial(backwards, agent, store),
        settings.every_route(),
        None if replay is None else lru_cache(_REPLAYS)(replay),
        foreign,
    )


def persona_in(agent: str, home: Home, settings: Settings) -> str:
    """The persona of an agent's id; of a recorded program the whole of it."""
    return persona_of(agent, own=home_name(home, settings))

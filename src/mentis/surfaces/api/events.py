"""News of a home as server-sent events: every new entry of every agent, as it is recorded.

One watcher looks for all readers, and only while there is one. An event's id says how far each
record had come, so that a reader who was away goes on where they were (`Last-Event-ID`).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, cast

from anyio import Lock, current_time, move_on_after, sleep, to_thread
from starlette.responses import Response

from mentis.errors import RequestRefused
from mentis.home.database import open_database
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.parts import Parts
from mentis.home.signing import open_sealing
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.sources import load_settings
from mentis.settings.web import WebSettings
from mentis.stores.files.home import Home
from mentis.values.entry import Entry
from mentis.web.application import AppState
from mentis.web.problems import WebProblem, problem_json
from mentis.web.streams import Emit, Streamed, sse

Standing = Mapping[str, int]  # how many entries of each agent are known
_MOST = 500  # entries of one agent in one look; the rest comes with the next


def entry_event(entry: Entry, standing: Standing) -> bytes:
    """An entry in short. What is in it is read where it is: this goes to whoever watches."""
    told = {
        "agent": entry.agent,
        "index": entry.index,
        "time": entry.time,
        "kind": entry.kind,
        "source": entry.source,
        "hash": entry.hash,
        **_about(entry),
    }
    return f"id: {write_standing(standing)}\n".encode() + sse(told, "entry")


def _about(entry: Entry) -> dict[str, object]:
    """The session of a turn; which act, and how it stands."""
    turn = cast("Mapping[str, Any]", entry.body.get("turn") or {})
    act = cast("Mapping[str, Any]", entry.body.get("act") or {})
    found = {
        "session": turn.get("session") or act.get("session"),
        "turn": turn.get("number"),
        "act": act.get("key"),
        "act_type": act.get("type"),
        "act_state": act.get("state"),
    }
    return {name: one for name, one in found.items() if one not in (None, "")}


def write_standing(standing: Standing) -> str:
    text = json.dumps(dict(sorted(standing.items())), separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_standing(given: str) -> dict[str, int]:
    """RequestRefused where it is no id of ours."""
    try:
        text = base64.b64decode(given + "=" * (-len(given) % 4), b"-_", validate=True)
        found: object = json.loads(text)
    except (binascii.Error, ValueError, RecursionError) as error:
        raise _unknown(given) from error
    known = cast("dict[str, object]", found) if isinstance(found, dict) else {"": None}
    if not all(isinstance(one, int) and 0 <= one < 2**53 for one in known.values()):
        raise _unknown(given)
    return cast("dict[str, int]", known)


def _unknown(given: str) -> RequestRefused:
    return RequestRefused(
        f"{given[:80]!r} is no id of an event here",
        hint="leave Last-Event-ID out: then only what is new is told",
        status=422,
        field="last-event-id",
    )


class HomeEvents:
    """Watches the records of a home: one look at a time, for all who read."""

    def __init__(self, home: Home, parts: Parts, settings: WebSettings, state: AppState) -> None:
        self._home = home
        self._parts = parts
        self._settings = settings
        self._state = state
        self._looking = Lock()
        self._looked = -math.inf
        self._counts: dict[str, int] = {}

    async def follow(self, after: str, agent: str = "") -> Response:
        """What is recorded from now on, or after an event that is known by its id: of every agent,
        or of one.
        """
        standing = read_standing(after) if after else await self._standing(agent)
        return Streamed(lambda emit: self._tell(emit, dict(standing), agent), fail=problem_event)

    async def _tell(self, emit: Emit, standing: dict[str, int], agent: str) -> None:
        """Until the reader goes, the server is to stop, or a whole answer may take no longer."""
        chosen = self._settings
        emit(f"id: {write_standing(standing)}\n: following\n\n".encode())
        silent = 0.0
        with move_on_after(chosen.answer_seconds * 0.95):
            while not self._state.draining:
                news = await self._news(standing, agent)
                for piece in news:
                    emit(piece)
                silent = 0.0 if news else silent + chosen.events_seconds
                if silent >= chosen.heartbeat_seconds:
                    emit(b": still here\n\n")
                    silent = 0.0
                await sleep(chosen.events_seconds)

    async def _news(self, standing: dict[str, int], agent: str) -> list[bytes]:
        """What is new to one reader, whose standing moves on."""
        counts = await self._standing(agent)
        behind = {agent: n for agent, n in counts.items() if standing.get(agent, 0) < n}
        return await to_thread.run_sync(self._read, behind, standing) if behind else []

    async def _standing(self, chosen: str = "") -> dict[str, int]:
        """How far each record has come, or one; whoever asks meanwhile is told the same."""
        async with self._looking:
            if current_time() - self._looked >= self._settings.events_seconds * 0.9:
                self._counts = await to_thread.run_sync(self._look)
                self._looked = current_time()
            return {one: n for one, n in self._counts.items() if chosen in ("", one)}

    def _look(self) -> dict[str, int]:
        with self._opened() as (ledger, agents):
            return {} if ledger is None else {agent: ledger.count(agent) for agent in agents}

    def _read(self, behind: Mapping[str, int], standing: dict[str, int]) -> list[bytes]:
        told: list[bytes] = []
        with self._opened() as (ledger, _):
            for agent in behind:
                if ledger is None:
                    break
                start = standing.get(agent, 0)
                for entry in islice(ledger.entries(agent, start=start), _MOST):
                    standing[agent] = entry.index + 1
                    told.append(entry_event(entry, standing))
        return told

    @contextmanager
    def _opened(self) -> Generator[tuple[LedgerStore | None, tuple[str, ...]]]:
        """The store, if there is one yet, and the agents in it."""
        variables = self._parts.variables
        settings = load_settings(self._home.path, variables)
        if settings.model.ledger.store == "sqlite" and not self._home.database.exists():
            yield None, ()
            return
        with (
            open_database(self._home, settings, variables, readonly=True) as database,
            closing(open_ledger(settings, database, variables)) as ledger,
        ):
            sealing = open_sealing(self._home, settings, variables)
            yield ledger, agents_here(ledger, settings, self._home, sealing)


def problem_event(problem: WebProblem) -> bytes:
    """What goes wrong once a stream has begun, as its last event."""
    return sse(problem_json(problem)[1].decode(), "error")

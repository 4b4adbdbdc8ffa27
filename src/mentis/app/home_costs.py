"""The costs of a whole home: of every agent that has a record in it, and of calls of its own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from functools import cache, partial
from pathlib import Path

from mentis.costs.blame import blame_turn
from mentis.costs.record_reader import RecordReader, persona_in, record_reader
from mentis.costs.report import CostQuestion, cost_report
from mentis.costs.request_search import MOST_CALLS, RequestSearch, search_requests
from mentis.costs.why import explain_turn
from mentis.home.database import open_database
from mentis.home.identity import RECORDED, pick_persona, unknown_recorded
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.parts import Parts
from mentis.home.server import open_blobs
from mentis.home.signing import open_sealing
from mentis.recorder.prompt_parts import RecordedPrompts
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.turn.replay.replay import Replay
from mentis.values.blame import TurnBlame
from mentis.values.cost import CostReport, TurnExplanation

from .agent import Agent


def home_costs(
    path: str | Path,
    question: CostQuestion,
    *,
    persona: str | None = None,
    alone: bool = False,
    parts: Parts | None = None,
) -> CostReport:
    """Of all agents, or of one persona; `alone` without what it asked others for. Nothing is asked
    or written. It blocks.
    """
    home, parts = find_home(Path(path)), parts or Parts()
    settings = load_settings(home.path, parts.variables)
    if persona is not None:
        pick_persona(home, persona)
    with _readers(home, settings, parts) as readers:
        chosen = [r for r in readers if persona in (None, persona_in(r.agent, home, settings))]
        if persona is not None and persona.startswith(RECORDED) and not chosen:
            raise unknown_recorded(persona, [reader.agent for reader in readers])
        beside = [] if alone else [one for one in readers if one not in chosen]
        return cost_report(chosen, question, beside=beside)


def explain_recorded(
    path: str | Path, agent: str, index: int | None = None, *, parts: Parts | None = None
) -> TurnExplanation:
    """Why a call of a recorded agent (`recorded/NAME`) came out as it did: of the last one, unless
    an entry is named. Nothing is asked or written. It blocks.
    """
    home, parts = find_home(Path(path)), parts or Parts()
    with _recorded(home, agent, parts) as reader:
        return explain_turn(reader, index)


def blame_recorded(
    path: str | Path, agent: str, index: int | None = None, *, parts: Parts | None = None
) -> TurnBlame:
    """The same, with the text of what it said. It blocks."""
    home, parts = find_home(Path(path)), parts or Parts()
    with _recorded(home, agent, parts) as reader:
        return blame_turn(reader, index)


def search_recorded(
    path: str | Path,
    agent: str,
    words: str,
    *,
    before: int | None = None,
    most: int = MOST_CALLS,
    parts: Parts | None = None,
) -> RequestSearch:
    """Where words stand in the requests of a recorded agent; see `Agent.search_requests`."""
    home, parts = find_home(Path(path)), parts or Parts()
    with _recorded(home, agent, parts) as reader:
        return search_requests(reader, words, before=before, most=most)


@contextmanager
def _recorded(home: Home, agent: str, parts: Parts) -> Generator[RecordReader]:
    settings = load_settings(home.path, parts.variables)
    pick_persona(home, agent)
    with _readers(home, settings, parts) as readers:
        known = {reader.agent: reader for reader in readers}
        if agent not in known:
            raise unknown_recorded(agent, known)
        yield known[agent]


@contextmanager
def _readers(home: Home, settings: Settings, parts: Parts) -> Generator[list[RecordReader]]:
    if settings.model.ledger.store == "sqlite" and not home.database.exists():
        yield []  # nothing was recorded yet
        return
    with (
        open_database(home, settings, parts.variables, readonly=True) as database,
        closing(open_ledger(settings, database, parts.variables)) as ledger,
        ExitStack() as opened,
    ):

        @cache
        def agent_of(persona: str) -> Agent:
            agent = Agent.open(home.path, persona=persona, parts=parts)
            opened.callback(agent.close)
            return agent

        def replay(persona: str, index: int, step: int) -> Replay:
            return agent_of(persona).replay(index, step=step)

        name = settings.model.name or home.name
        living = {f"{name}/{one}": partial(replay, one) for one in home.personas()}
        sealing = open_sealing(home, settings, parts.variables)
        foreign = RecordedPrompts(open_blobs(home, database))
        yield [
            record_reader(agent, ledger, home, settings, replay=living.get(agent), foreign=foreign)
            for agent in agents_here(ledger, settings, home, sealing)
        ]

"""Making a home, and checking the records of one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from mentis.errors import BadCheckpoint, RolledBack, StoreDamaged
from mentis.home.database import open_database
from mentis.home.identity import (
    agent_id,
    home_name,
    persona_of,
    pick_persona,
    unknown_recorded,
)
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.older_turns import OlderTurns
from mentis.home.signing import open_pin, open_sealing, swapped_identity
from mentis.ledger.anchors import read_given
from mentis.ledger.verify import NOTE
from mentis.ports.ledger_store import LedgerStore
from mentis.settings.sources import load_settings
from mentis.stores.files.home import MARKER, find_home, is_id
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.checkpoint import Pin
from mentis.values.entry import Finding, Verdict
from mentis.values.words import quantity

from .evidence import gather_home_evidence, verified_file
from .segments import open_segments
from .verify import Progress, VerifyEvidence, find_damage, verify_agent

_UNPINNED = (
    "nothing says which log this is and whose key counts, so anybody could have written it; name"
    " the home it is of with --home"
)


def verify_home(
    path: str | Path,
    *,
    ledger: Path | None = None,
    persona: str | None = None,
    checkpoints: Sequence[Path] = (),
    resume: bool = False,
    progress: Progress | None = None,
) -> tuple[Verdict, ...]:
    """Check every agent's record in a home, or in a copy of its database.

    With `resume` it begins where the last run with it ended, and keeps how far it came.
    """
    if ledger is not None:
        given = tuple(kept for file in checkpoints for kept in read_given(file))
        pin, swapped = _identity(Path(path))
        remarks = () if pin else (_UNPINNED,)
        asked = VerifyEvidence(
            pin=pin, outside=given, progress=progress, swapped=swapped, remarks=remarks
        )
        return _verify_copy(ledger, persona, asked)
    home = find_home(Path(path))
    settings = load_settings(home.path, os.environ)
    with (
        open_database(home, settings, os.environ, readonly=True) as database,
        closing(open_ledger(settings, database, os.environ)) as store,
    ):
        talk = OlderTurns(store, database)
        known = gather_home_evidence(home, settings, os.environ, checkpoints=checkpoints)
        asked = replace(known, progress=progress, damage=find_damage(store, talk))
        persona_in = partial(persona_of, own=home_name(home, settings))
        personas = [agent_id(home, settings, one) for one in home.personas()]
        here = agents_here(store, settings, home, open_sealing(home, settings, os.environ))
        agents = _agents(here, asked, personas)
        if persona is not None and agent_id(home, settings, persona) not in agents:
            pick_persona(home, persona)  # says which there are
            raise unknown_recorded(persona, agents)
        chosen = [agent for agent in agents if persona in (None, persona_in(agent))]
        remarks = (*asked.remarks, *_others(store, here))
        asked = replace(asked, beside=frozenset(chosen), remarks=remarks)
        verdicts: list[Verdict] = []
        for agent in chosen:
            place = verified_file(home, settings, os.environ, agent=agent)
            if not (_recorded(store, agent) or asked.tells_of(agent) or place.exists()):
                continue  # a persona that never did anything
            segments = open_segments(home, settings, persona_in(agent), agent)
            own = replace(asked, segments=segments, place=place if resume else None)
            verdicts.append(verify_agent(agent, store, talk, own))
        verdicts.extend(_misnamed(store, here) if persona is None else ())
        _refuse_nothing(verdicts, asked)
        return tuple(verdicts)


def _verify_copy(ledger: Path, persona: str | None, asked: VerifyEvidence) -> tuple[Verdict, ...]:
    """A copy of a database is looked at alone, also where there is no home."""
    with Database(ledger, readonly=True) as database:
        store = SqliteLedger(database)
        talk = OlderTurns(store, database)
        here = store.agents()
        agents = _agents(here, asked)
        chosen = [agent for agent in agents if persona in (None, persona_of(agent, ""))]
        damage = find_damage(store, talk)
        asked = replace(asked, beside=frozenset(chosen), damage=damage)
        verdicts = [verify_agent(agent, store, talk, asked) for agent in chosen]
        verdicts.extend(_misnamed(store, here) if persona is None else ())
        _refuse_nothing(verdicts, asked)
        return tuple(verdicts)


def _agents(here: Sequence[str], asked: VerifyEvidence, more: Sequence[str] = ()) -> list[str]:
    """Those with entries, and those that somebody else knows of: all of theirs may be gone."""
    named = (agent for agent in here if is_id(agent.rpartition("/")[2]))
    return sorted({*named, *asked.agents(), *more})


def _others(store: LedgerStore, here: Sequence[str]) -> Iterator[str]:
    if count := len(set(store.agents()) - set(here)):
        yield f"{quantity(count, 'agent')} of other homes in the same database, not looked at"


def _misnamed(store: LedgerStore, here: Sequence[str]) -> Iterator[Verdict]:
    """Entries of nobody: no home can have such an agent, so no record can be theirs."""
    odd = (repr(agent) for agent in here if not is_id(agent.rpartition("/")[2]))
    for name in (*odd, *store.misnamed_agents()):
        message = "entries stand here under a name that no agent can have"
        yield Verdict(name, 0, None, (Finding(0, "agent", message, "inserted"),), NOTE)


def _recorded(store: LedgerStore, agent: str) -> bool:
    try:
        return store.count(agent) > 0 or bool(store.checkpoints(agent))
    except StoreDamaged:
        return True  # what is wrong with it is for the verdict to say


def _refuse_nothing(verdicts: Sequence[Verdict], asked: VerifyEvidence) -> None:
    """Checkpoints that nothing was compared with must not end in a verdict without them; those of
    agents that nobody asked about may.
    """
    told = [kept for kept in asked.outside if asked.agent_of(kept) in ("", *asked.beside)]
    if told and not verdicts:
        raise BadCheckpoint(
            f"nothing is recorded here, and {quantity(len(told), 'checkpoint')} say that it was",
            hint="look for the database that they were made of",
        )
    if asked.swapped and not verdicts:
        raise RolledBack(asked.swapped, hint="put `ledger.origin` and its key back")


def _identity(path: Path) -> tuple[Pin | None, str]:
    """What is pinned for the home, and whether that was exchanged."""
    if not (path / MARKER).is_file():
        return None, ""
    home = find_home(path)
    settings = load_settings(home.path, os.environ)
    return open_pin(settings), swapped_identity(home, settings, os.environ)

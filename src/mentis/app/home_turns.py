"""The agents that have a record in a home, and the newest turns of each with what they cost."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from mentis.costs.entry_costs import pricing_on, turn_cost
from mentis.home.database import open_database
from mentis.home.ledger import agents_here, open_ledger
from mentis.home.parts import Parts
from mentis.home.signing import open_sealing
from mentis.ports.ledger_store import LedgerStore
from mentis.record.backwards import backwards
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.values.cost import TurnCost
from mentis.values.entry import Entry

_MOST_LOOKED = 2000  # entries that one look goes through for an agent


def recent_turns(
    path: str | Path,
    count: int,
    *,
    wanted: Callable[[str], bool] = lambda _agent: True,
    before: int | None = None,
    parts: Parts | None = None,
) -> dict[str, list[TurnCost]]:
    """Of each agent whose id is `wanted`, the last `count` that asked a model, the newest first;
    those `before` an entry where one is given. Nothing is asked or written. It blocks.
    """
    found: dict[str, list[TurnCost]] = {}
    with _opened(path, parts or Parts()) as (agents, ledger, settings):
        price = pricing_on(settings.every_route())
        for one in agents:
            if ledger is not None and wanted(one):
                turns = (turn_cost(entry, price) for entry in _looked_through(ledger, one, before))
                asked = (turn for turn in turns if turn.calls)
                found[one] = list(islice(asked, count))
    return found


def agents_on_record(path: str | Path, *, parts: Parts | None = None) -> tuple[str, ...]:
    """The ids of those that have a record here: `home/persona`, `recorded/NAME`. It blocks."""
    with _opened(path, parts or Parts()) as (agents, _, _):
        return agents


@contextmanager
def _opened(
    path: str | Path, parts: Parts
) -> Generator[tuple[tuple[str, ...], LedgerStore | None, Settings]]:
    """None where nothing was recorded yet."""
    home = find_home(Path(path))
    settings = load_settings(home.path, parts.variables)
    if settings.model.ledger.store == "sqlite" and not home.database.exists():
        yield (), None, settings
        return
    with (
        open_database(home, settings, parts.variables, readonly=True) as database,
        closing(open_ledger(settings, database, parts.variables)) as ledger,
    ):
        sealing = open_sealing(home, settings, parts.variables)
        yield tuple(agents_here(ledger, settings, home, sealing)), ledger, settings


def _looked_through(ledger: LedgerStore, agent: str, before: int | None) -> Iterator[Entry]:
    return islice(backwards(agent, ledger, before), _MOST_LOOKED)

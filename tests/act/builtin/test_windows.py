"""`save_status` goes the way of every window, on a real home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mentis.act.builtin.windows import SaveStatus
from mentis.home.create import create_home
from mentis.ledger.guardian.examples import good_window
from mentis.library.acts import load_acts
from mentis.status.statuses import Statuses, open_statuses
from mentis.values.guardian import Receipt
from mentis.values.json import JsonObject
from mentis.values.status import WindowResult

from .calling import do, result

pytestmark = pytest.mark.anyio
WORDS = load_acts()["save_status"]


@pytest.fixture
def statuses(tmp_path: Path) -> Iterator[Statuses]:
    with open_statuses(create_home(tmp_path / "home")) as opened:
        yield opened


def act(statuses: Statuses) -> SaveStatus:
    def add(window: JsonObject, delivery: str) -> WindowResult:
        return statuses.add(window, source="act", delivery=delivery, own=True)

    return SaveStatus(WORDS, add)


def window(statuses: Statuses, **fields: object) -> dict[str, object]:
    state = statuses.backend_state()
    return {**good_window(), "step_id": state.step_id, "cycle": state.cycle, **fields}


async def test_a_window_is_recorded_once_and_acknowledged(statuses: Statuses) -> None:
    payload = {"window": window(statuses)}
    told = result(await do(act(statuses), payload))
    assert told["recorded"] is True
    assert told["line"].startswith("Added to history: ")
    again = result(await do(act(statuses), payload, attempt=2))
    assert (again["known"], again["hash"]) == (True, told["hash"])
    assert statuses.stats().windows == 1


async def test_a_window_that_breaks_rules_is_refused_with_all_of_them(statuses: Statuses) -> None:
    broken = window(statuses, goal=7, confidence=7)
    outcome = await do(act(statuses), {"window": broken})
    assert outcome.state == "refused"
    assert "/goal" in outcome.reason
    assert "/confidence" in outcome.reason
    assert statuses.stats().windows == 0


@pytest.mark.parametrize("given", [{}, {"window": "GREEN"}, {"window": [1]}, {"window": None}])
async def test_what_is_no_window_is_refused(statuses: Statuses, given: dict[str, object]) -> None:
    await do(act(statuses), given, fits=False)


async def test_numbers_that_json_does_not_have_are_refused(statuses: Statuses) -> None:
    outcome = await do(act(statuses), {"window": window(statuses, confidence=float("nan"))})
    assert outcome.state == "invalid"
    assert outcome.reason.startswith("window: ")


async def test_a_window_that_waits_for_the_store_is_not_called_recorded() -> None:
    waits = WindowResult(None, None, 0, Receipt("", 0, 0, verified=None), spooled="d1")
    told = result(await do(SaveStatus(WORDS, lambda window, delivery: waits), {"window": {}}))
    assert told == {"recorded": False, "spooled": "d1", "health": None}

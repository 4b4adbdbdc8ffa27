"""`sleep` says how long, and waits for nothing."""

from __future__ import annotations

import math

import pytest

from mentis.act.builtin.rest import Sleep, asked_rest
from mentis.library.acts import load_acts
from mentis.ports.clock import FixedClock
from mentis.values.action import Action, Outcome

from .calling import do, result

pytestmark = pytest.mark.anyio
ACT = Sleep(load_acts()["sleep"], FixedClock())


async def test_the_loop_is_told_how_long_to_rest() -> None:
    outcome = await do(ACT, {"seconds": 90.5})
    assert result(outcome) == {"seconds": 90.5, "until": "2026-01-01T00:01:30+00:00"}
    other = await do(ACT, {"seconds": 60})
    assert asked_rest([outcome, other]) == 60
    assert asked_rest([Outcome(Action("remember", {"seconds": 3}), "done")]) is None
    assert asked_rest([Outcome(Action("sleep", {"seconds": 3}), "refused")]) is None


def test_an_act_of_ones_own_that_is_called_sleep_is_no_rest() -> None:
    own = Outcome(Action("sleep", {"minutes": 3}), "done", source="python")
    far = Outcome(Action("sleep", {"seconds": 3}), "done", source="mcp:x")
    assert asked_rest([own, far]) is None


@pytest.mark.parametrize(
    "seconds", [0, 0.5, -1, 86_401, math.nan, math.inf, "60", None, True, [60], 10**30]
)
async def test_what_is_no_time_to_rest_is_refused(seconds: object) -> None:
    await do(ACT, {"seconds": seconds}, fits=False)

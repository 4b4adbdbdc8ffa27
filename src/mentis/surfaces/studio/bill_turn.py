"""One turn of the bill: from which byte on its cache did not help, the money, and what helps."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from anyio import to_thread

from mentis.app.agent import Agent
from mentis.app.home_costs import explain_recorded
from mentis.costs.cost_data import explanation_data, turn_cost_data
from mentis.costs.predictions import predictions_of
from mentis.errors import PersonaError, UsageError
from mentis.home.identity import RECORDED
from mentis.values.cost import TurnCost, TurnExplanation
from mentis.web.problems import with_status

from .exchanges import talk_link
from .pages import PageCall, PageData

HOME = "/studio/bill"


async def turn_page(call: PageCall) -> PageData:
    """What a turn cost, from which byte on its cache did not help, and what would help."""
    opened = None if call.recorded() else await call.served.pool.agent(await call.persona())
    try:
        found = await to_thread.run_sync(_explained, call, opened)
    except (PersonaError, UsageError) as error:
        raise with_status(error, 404) from error
    return await to_thread.run_sync(_turn_data, call, opened, found)


def _turn_data(call: PageCall, opened: Agent | None, found: TurnExplanation) -> PageData:
    turn = found.turn
    own = found.call
    predicted = predictions_of([turn])
    mine = [one for one in predicted.calls if own is not None and one.call.step == own.step]
    return {
        **explanation_data(replace(found, omitted=())),  # Blame tells what was left out, in parts
        "path": turn_path(turn),
        "talk": talk_link(call, opened, turn.session),
        "blame": _blame_path(turn),
        "recorded": turn.agent.startswith(RECORDED),
        "before_path": _before(found),
        "block": _block(found),
        "what_if": _what_if(found),
        "parted": _parted(found.context),
        "verdict": mine[0].verdict if mine else "",
        "shown": turn_cost_data(turn)["whole"],
    }


def _explained(call: PageCall, opened: Agent | None) -> TurnExplanation:
    entry, step = call.number("entry"), max(1, call.number("step", 1) or 1)
    if opened is None:
        home, parts = call.served.pool.path, call.served.parts
        return explain_recorded(home, call.recorded(), entry, parts=parts)
    return opened.why(entry, step=step)


def _blame_path(turn: TurnCost) -> str:
    recorded = turn.agent.startswith(RECORDED)
    own = turn.agent if recorded else f"blame/{turn.agent.rpartition('/')[2]}"
    return f"/studio/{own}/{turn.entry}"


def _before(found: TurnExplanation) -> str:
    if found.before is None:
        return ""
    path = turn_path(found.turn).rpartition("/")[0]
    return f"{path}/{found.before[0]}?step={found.before[1]}"


def _block(found: TurnExplanation) -> str:
    """The block of ours in which the prompt changed."""
    where = found.changed.where if found.changed is not None else ""
    ours = not found.turn.agent.startswith(RECORDED) and where.startswith("block ")
    return where.removeprefix("block ").split(" ")[0] if ours else ""


def _what_if(found: TurnExplanation) -> str:
    if not (block := _block(found)):
        return ""
    persona = found.turn.agent.rpartition("/")[2]
    return "/studio/what-if?" + urlencode(
        {"block": block, "persona": persona, "entry": found.turn.entry}
    )


def _parted(context: tuple[str, str] | None) -> PageData | None:
    """Two texts with what they share at the beginning and at the end apart."""
    if context is None:
        return None
    was, now = context
    same = _shared(was, now)
    rest = was[len(same) :], now[len(same) :]
    end = _shared(rest[0][::-1], rest[1][::-1])[::-1]
    cut = [text[: len(text) - len(end)] for text in rest]
    return {"same": same, "was": cut[0], "now": cut[1], "end": end}


def _shared(one: str, other: str) -> str:
    """What both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    end = next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
    return one[:end]


def turn_path(turn: TurnCost) -> str:
    recorded = turn.agent.startswith(RECORDED)
    agent = turn.agent if recorded else turn.agent.rpartition("/")[2]
    return f"{HOME}/{agent}/{turn.entry}"

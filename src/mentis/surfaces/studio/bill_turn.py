"""One turn of the bill: from which byte on its cache did not help, the money, and what helps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

from anyio import to_thread

from mentis.app.home_costs import explain_recorded
from mentis.costs.cost_data import explanation_data, turn_cost_data
from mentis.costs.predictions import predictions_of
from mentis.errors import AccessDenied, PersonaError, RequestRefused, UsageError
from mentis.values.cost import TurnCost, TurnExplanation
from mentis.web.problems import with_status

from .pages import PageCall, PageData

HOME = "/studio/bill"
RECORDED = "recorded/"


async def turn_page(call: PageCall) -> PageData:
    """What a turn cost, from which byte on its cache did not help, and what would help."""
    try:
        found = await _explained(call)
    except (PersonaError, UsageError) as error:
        raise with_status(error, 404) from error
    turn = found.turn
    own = found.call
    predicted = predictions_of([turn])
    mine = [one for one in predicted.calls if own is not None and one.call.step == own.step]
    return {
        **explanation_data(replace(found, omitted=())),  # Blame tells what was left out, in parts
        "path": turn_path(turn),
        "blame": _blame_path(turn),
        "recorded": turn.agent.startswith(RECORDED),
        "before_path": _before(found),
        "block": _block(found),
        "what_if": _what_if(found),
        "parted": _parted(found.context),
        "verdict": mine[0].verdict if mine else "",
        "shown": turn_cost_data(turn)["whole"],
    }


async def _explained(call: PageCall) -> TurnExplanation:
    entry, step = call.number("entry"), max(1, call.number("step", 1) or 1)
    agent = call.request.path_params.get("agent")
    if agent is not None:
        if call.token.agent:
            raise AccessDenied("this token is for one persona", hint="ask the owner", status=403)
        home, parts = call.served.pool.path, call.served.parts
        look = partial(explain_recorded, home, f"{RECORDED}{agent}", entry, parts=parts)
        return await to_thread.run_sync(look)
    persona = call.path("persona")
    known = await call.served.pool.personas(call.token)
    if persona not in known:
        hint = f"there are: {', '.join(known) or 'none'}"
        raise RequestRefused(f"there is no persona {persona[:80]!r}", hint=hint, status=404)
    opened = await call.served.pool.agent(persona)
    return await to_thread.run_sync(partial(opened.why, entry, step=step))


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

"""Search over all requests: where words stand in what models were told."""

from __future__ import annotations

from functools import partial

from anyio import to_thread

from mentis.app.home_costs import search_recorded
from mentis.app.home_turns import recent_turns
from mentis.codec.forms import to_object
from mentis.costs.request_search import MOST_CALLS, RequestSearch
from mentis.errors import RequestRefused
from mentis.home.identity import RECORDED

from .pages import PageCall, PageData

_AGENTS = 4  # that one look goes through; the others when they are asked for


async def search_page(call: PageCall) -> PageData:
    """Of each agent, or of the one that is chosen, the newest requests with these words: as many in
    all as one look goes through.
    """
    asked = call.request.query_params.get("q", "").strip()[:200]
    chosen = call.request.query_params.get("in", "")
    data: PageData = {"asked": asked, "chosen": chosen, "agents": []}
    if not asked:
        return data
    known = await _agents(call)
    if chosen and chosen not in known:
        raise RequestRefused(f"nothing is known of {chosen[:80]!r}", hint="see all", status=404)
    wanted, before = [chosen] if chosen else known[:_AGENTS], call.number("before")
    most = MOST_CALLS // max(1, len(wanted))
    found = [await _search(call, key, asked, before=before, most=most) for key in wanted]
    rest = [] if chosen else [_group(key, None) for key in known[_AGENTS:]]
    return {**data, "agents": [*found, *rest]}


async def _agents(call: PageCall) -> list[str]:
    """As their paths name them; our own first."""
    known = await call.served.pool.personas(call.token)
    look = partial(recent_turns, call.served.pool.path, 1, parts=call.served.parts)
    agents = [agent for agent, turns in (await to_thread.run_sync(look)).items() if turns]
    own = [f"blame/{one}" for one in known if any(a.endswith(f"/{one}") for a in agents)]
    recorded = [one for one in agents if one.startswith(RECORDED) and not call.token.agent]
    return [*own, *recorded]


async def _search(
    call: PageCall, key: str, asked: str, *, before: int | None, most: int
) -> PageData:
    if key.startswith(RECORDED):
        home, parts = call.served.pool.path, call.served.parts
        look = partial(search_recorded, home, key, asked, before=before, most=most, parts=parts)
    else:
        agent = await call.served.pool.agent(key.partition("/")[2])
        look = partial(agent.search_requests, asked, before=before, most=most)
    return _group(key, await to_thread.run_sync(look))


def _group(key: str, found: RequestSearch | None) -> PageData:
    """One agent; not searched yet where nothing is found out about it."""
    hits = () if found is None else found.hits
    return {
        "key": key,
        "name": key.partition("/")[2],
        "recorded": key.startswith(RECORDED),
        "path": f"/studio/{key}",
        "searched": 0 if found is None else found.searched,
        "next": 2**40 if found is None else found.next,
        "hits": [
            {
                "entry": hit.turn.entry,
                "time": hit.turn.time,
                "kind": hit.turn.kind,
                "session": hit.turn.session,
                "places": [to_object(place) for place in hit.places],
            }
            for hit in hits
        ],
    }

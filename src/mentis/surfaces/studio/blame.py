"""Blame: the exact request of a turn, who wrote each run of it, why it is in, what it cost."""

from __future__ import annotations

from functools import partial

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from mentis.app.home_costs import blame_recorded
from mentis.app.home_turns import recent_turns
from mentis.costs.blame_data import blame_data
from mentis.costs.cost_data import turn_cost_data
from mentis.errors import AccessDenied, MentisError, RequestRefused
from mentis.values.blame import TurnBlame
from mentis.values.cost import PromptPiece, TurnCost
from mentis.web.application import Door, Endpoint

from .pages import HEADERS, PageCall, PageData, Pages, reader_of

RECORDED = "recorded/"  # before the name of a program whose calls were recorded
_TEXT = 120_000  # characters of a request that come with its page; more when asked for
_FIRST, _LISTED = 8, 50  # turns of each agent, and of one


def blame_doors(pages: Pages) -> list[Door]:
    """Lists of turns, one turn, and its request as a file."""
    return [
        *pages.doors("/studio/blame", "turns.html", list_page),
        *pages.doors("/studio/blame/{persona}", "turns.html", list_page),
        *pages.doors("/studio/recorded/{agent}", "turns.html", list_page),
        *pages.doors("/studio/blame/{persona}/{entry}", "blame.html", blame_page),
        *pages.doors("/studio/recorded/{agent}/{entry}", "blame.html", blame_page),
        Door("/studio/blame/{persona}/{entry}/request", _request_file(pages), None),
    ]


async def list_page(call: PageCall) -> PageData:
    """The newest turns of everybody, or of one agent."""
    chosen = _agent_path(call)
    known = await call.served.pool.personas(call.token)
    look = partial(_turns, call, chosen, known)
    groups = await to_thread.run_sync(look)
    if chosen and not groups:
        raise RequestRefused(f"nothing is known of {chosen[:80]!r}", hint="see all", status=404)
    return {"chosen": chosen, "agents": groups}


def _turns(call: PageCall, chosen: str, known: tuple[str, ...]) -> list[PageData]:
    count, before = (_LISTED, call.number("before")) if chosen else (_FIRST, None)
    found = recent_turns(call.served.pool.path, count, before=before, parts=call.served.parts)
    groups: list[PageData] = []
    for agent, turns in found.items():
        recorded = agent.startswith(RECORDED)
        name = agent.removeprefix(RECORDED) if recorded else agent.rpartition("/")[2]
        if recorded and call.token.agent:
            continue  # a token for one persona sees that one alone
        path = f"recorded/{name}" if recorded else f"blame/{name}"
        if not turns or not (recorded or name in known) or chosen not in ("", path):
            continue
        groups.append(
            {
                "agent": agent,
                "name": name,
                "recorded": recorded,
                "path": f"/studio/{path}",
                "turns": [_row(turn) for turn in turns],
                "next": turns[-1].entry if len(turns) == count else None,
            }
        )
    return sorted(groups, key=lambda group: bool(group["recorded"]))  # our own first


def _row(turn: TurnCost) -> PageData:
    models = dict.fromkeys(call.model for call in turn.calls)
    return {**turn_cost_data(turn), "models": list(models)}


async def blame_page(call: PageCall) -> PageData:
    """One call of one turn."""
    found = await _found(call)
    whole = call.number("section")
    data = blame_data(found, most=_TEXT, whole=whole)
    path = f"/studio/{_agent_path(call)}"
    here = f"{path}/{call.number('entry')}"
    links = {"path": path, "here": here, "whole": whole, "fade": _cache_end(found)}
    return {**data, **links, "map": _map(found), "largest": _largest(found)}


def _map(found: TurnBlame) -> list[PageData]:
    """Each section as a stretch of a thousand, as wide as its share of the tokens."""
    whole = sum(one.piece.tokens for one in found.sections)
    made, start = list[PageData](), 0
    for number, section in enumerate(found.sections):
        piece = section.piece
        x, end, held = (round(1000 * at / whole, 2) if whole else 0 for at in _ends(start, piece))
        made.append(
            {
                "number": number,
                "name": piece.name,
                "tokens": piece.tokens,
                "trust": piece.trust.value,
                "cached": piece.cached,
                "x": x,
                "width": round(max(end - x - 1, 0.5), 2),
                "held": round(max(held - x, 0.5), 2),
            }
        )
        start += piece.tokens
    return made


def _ends(start: int, piece: PromptPiece) -> tuple[int, int, int]:
    return start, start + piece.tokens, start + piece.cached


def _largest(found: TurnBlame) -> list[PageData]:
    numbered = enumerate(section.piece for section in found.sections)
    ordered = sorted(numbered, key=lambda one: -one[1].tokens)[:4]
    return [{"number": n, "name": one.name, "tokens": one.tokens} for n, one in ordered]


async def _found(call: PageCall) -> TurnBlame:
    entry, step = call.number("entry"), max(1, call.number("step", 1) or 1)
    agent = call.request.path_params.get("agent")
    if agent is not None:
        if call.token.agent:
            raise AccessDenied("this token is for one persona", hint="ask the owner", status=403)
        home, parts = call.served.pool.path, call.served.parts
        look = partial(blame_recorded, home, f"{RECORDED}{agent}", entry, parts=parts)
        return await to_thread.run_sync(look)
    persona = call.path("persona")
    known = await call.served.pool.personas(call.token)
    if persona not in known:
        raise RequestRefused(
            f"there is no persona {persona[:80]!r}",
            hint=f"there are: {', '.join(known) or 'none'}",
            status=404,
        )
    opened = await call.served.pool.agent(persona)
    return await to_thread.run_sync(partial(opened.blame, entry, step=step))


def _agent_path(call: PageCall) -> str:
    params = call.request.path_params
    if "agent" in params:
        return f"recorded/{params['agent']}"
    return f"blame/{params['persona']}" if "persona" in params else ""


def _cache_end(found: TurnBlame) -> int | None:
    """The section in which what was found in the cache ends; None where nothing was."""
    cached = [n for n, one in enumerate(found.sections) if one.piece.cached]
    return cached[-1] if cached else None


def _request_file(pages: Pages) -> Endpoint:
    async def send(request: Request) -> Response:
        """The request to the byte, to be kept."""
        try:
            call = PageCall(pages.served, request, reader_of(request))
            found = await _found(call)
            if found.body is None:
                raise RequestRefused(
                    "the request cannot be put together again",
                    hint="the page of the turn says why",
                    status=404,
                )
        except MentisError as error:
            return pages.problem(request, error)
        name = f"{call.path('persona')}-{call.number('entry')}.json"
        named = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(found.body, headers={**HEADERS, **named}, media_type="application/json")

    return send

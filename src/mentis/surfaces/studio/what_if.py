"""Another text of a block: what it would do for each persona and route, and a trial of it
on one turn. The page itself changes nothing: it asks the API, as programs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast
from urllib.parse import urlencode

from anyio import to_thread

from mentis.app.agent import Agent
from mentis.app.home_turns import recent_turns
from mentis.errors import LibraryError, MentisError, UsageError
from mentis.library.overlay import merge_block
from mentis.prompts.prompt_data import block_data
from mentis.prompts.prompts import Prompts
from mentis.record.record import open_record
from mentis.turn.replay.fork import SESSION as FORKS
from mentis.values.block import Block
from mentis.values.cost import TurnCost
from mentis.values.json import json_object
from mentis.values.trust import Trust
from mentis.web.application import Door
from mentis.web.etags import etag_of
from mentis.web.problems import with_status

from .exchanges import exchange_at, exchange_data
from .pages import PageCall, PageData, Pages, check_persona
from .prompt_desk import PromptDesk

HOME = "/studio/what-if"
_LISTED = 50  # blocks on a page
_PERSONAS = 12
_TURNS = 12  # of the persona, to try it on
_TALK = ("turn", "chat", "resume")  # kinds of turns that can be tried again


def what_if_doors(pages: Pages) -> list[Door]:
    return pages.doors(HOME, "what_if.html", partial(what_if_page, PromptDesk(pages.served)))


async def what_if_page(desk: PromptDesk, call: PageCall) -> PageData:
    """The block to try, or a list to choose it from."""
    known = await call.served.pool.personas(call.token)
    given = call.request.query_params
    persona = given.get("persona", "") or (known[0] if known else "")
    if persona:
        check_persona(persona, known)
    entry, name = call.number("entry"), given.get("block", "")
    if not name:
        opened = await call.served.pool.agent(persona) if persona and entry is not None else None
        return await to_thread.run_sync(_choices, desk, call, opened, persona)
    data = await to_thread.run_sync(
        partial(_block_page, desk, call, known=known, persona=persona), name
    )
    if not persona:
        return {**data, "turns": [], "turn": None, "entry": None}
    opened = await call.served.pool.agent(persona)
    return {**data, **await to_thread.run_sync(_run_data, call, opened, persona)}


# Choosing


def _choices(desk: PromptDesk, call: PageCall, opened: Agent | None, persona: str) -> PageData:
    given, start = call.request.query_params, call.number("from", 0) or 0
    wanted, entry = given.get("q", "")[:200].strip().casefold(), call.number("entry")
    with desk.opened("default") as prompts:
        blocks = _seen(prompts, call, persona)
    told = list[str]() if opened is None else _told_blocks(opened, entry, blocks)
    found = [one for one in blocks if wanted in f"{one.id} {one.name}".casefold()]
    found = [one for one in found if one.type == "text"]
    if told:
        found = sorted((one for one in found if one.id in told), key=lambda one: told.index(one.id))
    shown = found[start : start + _LISTED]
    place = {"persona": persona, "entry": str(entry)} if entry is not None else {}
    return {
        "block": None,
        "q": given.get("q", "")[:200],
        "entry": entry,
        "persona": persona,
        "count": len(found),
        "blocks": [
            {
                "id": one.id,
                "name": one.name,
                "category": one.category,
                "href": f"{HOME}?{urlencode({'block': one.id, **place})}",
            }
            for one in shown
        ],
        "next": _next(given.get("q", ""), start, len(found), place),
    }


def _next(wanted: str, start: int, count: int, place: dict[str, str]) -> str:
    if start + _LISTED >= count:
        return ""
    asked = {"q": wanted, **place, "from": str(start + _LISTED)}
    return f"{HOME}?{urlencode({name: value for name, value in asked.items() if value})}"


def _told_blocks(opened: Agent, entry: int | None, blocks: Sequence[Block]) -> list[str]:
    """The blocks that a turn was told, in their order."""
    try:
        pieces = opened.why(entry).pieces
    except UsageError as error:
        raise with_status(error, 404) from error
    known = {one.id for one in blocks}
    return list(dict.fromkeys(one.name for one in pieces if one.name in known))


def _seen(prompts: Prompts, call: PageCall, persona: str) -> Sequence[Block]:
    """The library; for whoever sees one persona alone, what that one is told of it."""
    blocks = prompts.loaded_library.library.blocks
    if not call.token.agent:
        return blocks
    traces = prompts.preview(persona=persona).trace.blocks if persona else ()
    told = {one.block for one in traces if one.included}
    return [one for one in blocks if one.id in told]


# Trying


def _block_page(
    desk: PromptDesk, call: PageCall, name: str, *, known: Sequence[str], persona: str
) -> PageData:
    given, start = call.request.query_params, call.number("from", 0) or 0
    with desk.opened("default") as prompts:
        try:
            block = prompts.block(name)
        except LibraryError as error:
            raise with_status(error, 404) from error
        ordered = [persona, *(one for one in known if one != persona)] if persona else []
        shown = ordered[start : start + _PERSONAS]
        told = [one for who in shown for one in _in_force(prompts, block, who)]
        own = next((one for one in told if one["persona"] == persona), None)
        variant = given.get("variant", "") or (str(own["wording"]) if own else "") or "default"
        wordings = {*block.variants, variant}
        if call.token.agent:
            wordings &= {str(one["wording"]) for one in told}
            if variant not in wordings or block not in _seen(prompts, call, persona):
                call.check_library()
        wording, loaded = block.variants.get(variant), prompts.loaded_library
        changed = merge_block(block.id, loaded.shipped, loaded.owner).overridden
    routes = list(dict.fromkeys(str(one["route"]) for one in told))
    route = given.get("route", "") or (call.served.pool.route if routes else "")
    return {
        "block": {
            "id": block.id,
            "name": block.name,
            "category": block.category,
            "type": block.type,
            "constitution": block.trust is Trust.CONSTITUTION,
            "variants": sorted(wordings),
            "owned": list(block.owned),
        },
        "variant": variant,
        "etag": etag_of(block_data(block, {block.id: changed})),
        "text": "" if wording is None else wording.content,
        "rows": told,
        "personas": shown,
        "persona": persona,
        "route": route if route in routes else (routes[0] if routes else ""),
        "next": f"{HOME}?{urlencode({'block': block.id, 'from': start + _PERSONAS})}"
        if len(ordered) > start + _PERSONAS
        else "",
        "may_save": call.token.allows("edit") and not call.token.agent,
        "may_run": call.token.allows("chat"),
    }


def _in_force(prompts: Prompts, block: Block, persona: str) -> list[PageData]:
    """A row for each route of a persona; none of a persona that cannot be read."""
    try:
        found = prompts.wordings_in_force(block.id, persona=persona)
    except MentisError:
        return []
    return [{"persona": one.persona, "route": one.route, "wording": one.variant} for one in found]


# One turn


def _run_data(call: PageCall, opened: Agent, persona: str) -> PageData:
    """The last turns, and the one that is chosen with what was said in it."""
    home, parts = call.served.pool.path, call.served.parts
    found = recent_turns(home, _TURNS, wanted=opened.id.__eq__, parts=parts).get(opened.id, [])
    turns = [turn for turn in found if turn.kind in _TALK and not turn.session.startswith(FORKS)]
    wanted = call.number("entry")
    entry = wanted if wanted is not None else (turns[0].entry if turns else None)
    return {
        "turns": [_turn_row(turn) for turn in turns],
        "entry": entry,
        "turn": None if entry is None else _turn(call, opened, persona, entry),
    }


def _turn_row(turn: TurnCost) -> PageData:
    models = dict.fromkeys(one.model for one in turn.calls)
    return {
        "entry": turn.entry,
        "time": turn.time,
        "session": turn.session,
        "models": list(models),
    }


def _turn(call: PageCall, opened: Agent, persona: str, entry: int) -> PageData:
    look = partial(open_record, call.served.pool.path, persona, call.served.parts, readonly=True)
    try:
        with look() as record:
            body = json_object(record.entry(entry).body.get("turn"))
    except UsageError as error:
        raise with_status(error, 404) from error
    session, number = body.get("session"), body.get("number")
    empty: PageData = {"entry": entry, "session": session or "", "said": "", "answer": ""}
    if not isinstance(session, str) or not isinstance(number, int):
        return empty
    found = exchange_at(
        lambda count, before: opened.last_turns(count, before=before, session=session), number
    )
    if found is None:
        return empty
    told = exchange_data(found, [found])
    return {**empty, "said": _words(told["said"]), "answer": _answer(told["steps"])}


def _words(said: object) -> str:
    return str(json_object(said).get("text", "")) if said else ""


def _answer(steps: object) -> str:
    listed = cast("list[object]", steps) if isinstance(steps, list) else []
    told = (json_object(one) for one in listed)
    return "\n\n".join(str(one.get("text", "")) for one in told if one.get("kind") == "text")

"""Talk: conversations, what was said in one of them, and beside it what the last turn was told."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mentis.app.agent import Agent
from mentis.codec.forms import to_object
from mentis.codec.strict_json import read_outside
from mentis.costs.cost_data import cost_data, loss_data
from mentis.errors import AccessDenied, MentisError, RequestRefused, UsageError
from mentis.prompts.personas import Personas
from mentis.tools.acts import open_acts
from mentis.values.blame import TurnBlame
from mentis.values.json import json_object
from mentis.values.session import BEATS, SessionOutline
from mentis.values.turn import Turn
from mentis.web.agents import own_name, session_of
from mentis.web.application import Door
from mentis.web.problems import with_status

from .exchanges import exchange_data, label_of, last_exchanges
from .pages import HEADERS, PageCall, PageData, Pages, check_persona, reader_of

_SHOWN = 20  # exchanges on a page; older ones come when asked for
_LISTED = 20  # conversations on a page
_BESIDE = 8  # conversations beside a talk
_MOMENTS = 3  # thoughts of its own beside a talk
_KEPT = "private, max-age=31536000, immutable"  # its address tells which bytes it is
_RECALLED = ("memory ", "window ", "act ")


async def list_page(call: PageCall) -> PageData:
    """The conversations of one persona, or of all."""
    known = await call.served.pool.personas(call.token)
    chosen = call.request.path_params.get("persona", "")
    if chosen:
        check_persona(str(chosen), known)
    rows = await to_thread.run_sync(persona_rows, call, known)
    start = call.number("from", 0) or 0
    listed: list[PageData] = []
    for row in rows:
        if chosen in ("", row["id"]) and not row["problem"]:
            agent = await call.served.pool.agent(str(row["id"]))
            names = await to_thread.run_sync(own_names, call, agent)
            cut = names[start : start + _LISTED]
            found = await to_thread.run_sync(session_rows, call, agent, cut)
            more = start + _LISTED if len(names) > start + _LISTED else None
            listed.append({**row, "sessions": found, "count": len(names), "next": more})
        elif chosen in ("", row["id"]):
            listed.append({**row, "sessions": [], "count": 0, "next": None})
    return {"chosen": chosen, "personas": listed, "fresh": _fresh_name()}


async def talk_page(call: PageCall) -> PageData:
    """One conversation: its last exchanges, what waits for a yes, and what the last turn cost."""
    persona, session = await call.persona(), _session(call)
    rows = await to_thread.run_sync(persona_rows, call, (persona,))
    agent = await call.served.pool.agent(persona)
    return await to_thread.run_sync(_talk_data, call, agent, rows[0], session)


def branch_door(pages: Pages) -> Door:
    """Begins another conversation with what was said up to one turn of this one."""

    async def branch(request: Request) -> Response:
        try:
            call = PageCall(pages.served, request, reader_of(request))
            if not call.writing:
                raise AccessDenied(
                    "this browser only reads", hint="turn on writing first", status=403
                )
            return await _branch(call)
        except MentisError as error:
            return pages.problem(request, error)

    return Door("/studio/talk/{persona}/{session}/branch", branch, None, ("POST",))


async def _branch(call: PageCall) -> Response:
    persona, session = await call.persona(), _session(call)
    given = read_outside(await call.request.body(), what="the body")
    number = json_object(given).get("number")
    if not isinstance(number, int):
        raise RequestRefused("number is missing", hint="send the number of a turn", status=422)
    agent, fresh = await call.served.pool.agent(persona), _fresh_name()
    try:
        await agent.branch(number, session=session, to=session_of(call.token, fresh))
    except UsageError as error:
        raise with_status(error, 422) from error
    return JSONResponse({"path": f"/studio/talk/{persona}/{fresh}"}, 201, headers=dict(HEADERS))


def _talk_data(call: PageCall, agent: Agent, persona: PageData, session: str) -> PageData:
    def read(count: int, before: int | None) -> Sequence[tuple[int, Turn]]:
        return agent.last_turns(count, before=before, session=session)

    shown, older = last_exchanges(read, _SHOWN, call.number("before"))
    chosen = call.number("turn")
    numbers = {one.number for one, _ in shown} | ({chosen} if chosen is not None else set[int]())
    entries = agent.turn_entries(numbers, session=session, before=call.number("entry"))
    exchanges = [
        {**exchange_data(one, versions), "entry": entries.get(one.number)}
        for one, versions in shown
    ]
    outline = agent.session_outline(session)
    last = [number for number in entries if chosen in (None, number)]
    return {
        "persona": persona,
        "session": own_name(call.token, session),
        "recorded": session,
        "title": label_of(outline),
        "begun": bool(outline.turns),
        "exchanges": exchanges,
        "older": older,
        "greeting": _greeting(agent) if older is None else "",
        "older_entry": min(entries.values(), default=None),
        "sessions": session_rows(call, agent, own_names(call, agent)[:_BESIDE]),
        "fresh": _fresh_name(),
        "waiting": _waiting(call, session),
        "moments": _moments(agent),
        "beside": _beside(agent, entries[max(last)]) if last else None,
    }


def _greeting(agent: Agent) -> str:
    try:
        return agent.greeting()
    except MentisError:
        return ""  # the first turn says what is wrong with the prompts


def _moments(agent: Agent) -> list[str]:
    """What it thought last in moments of its own, the newest first."""
    last = agent.last_turns(_MOMENTS * 2, session=BEATS)
    thoughts = [turn.text for _, turn in last if turn.role == "assistant" and turn.text.strip()]
    return thoughts[::-1][:_MOMENTS]


def _beside(agent: Agent, entry: int) -> PageData:
    """What one turn was told, from where, and for how much."""
    try:
        return beside_data(agent.blame(entry))
    except MentisError as error:
        return {"entry": entry, "problem": error.message}


def beside_data(found: TurnBlame) -> PageData:
    why = found.explanation
    runs = [run for section in found.sections for run in section.runs]
    recalled = [run for run in runs if run.source.startswith(_RECALLED)]
    usage = why.turn.cost.usage
    return {
        "entry": why.turn.entry,
        "problem": "",
        "cost": cost_data(why.turn.whole),
        "model": why.call.model if why.call else "",
        "tokens": usage.input,
        "cached": usage.cache_read,
        "loss": loss_data(why.loss),
        "fix": why.fix,
        "recalled": [
            {"text": run.text.strip(), "source": run.source, "trust": run.trust, "why": run.reason}
            for run in recalled
        ],
        "pieces": _largest(found),
        "omitted": len(why.omitted),
        "notes": list(why.notes),
    }


def _largest(found: TurnBlame) -> list[PageData]:
    """What took most of the prompt."""
    sizes: dict[str, int] = {}
    for piece in found.explanation.pieces:
        sizes[piece.name] = sizes.get(piece.name, 0) + piece.tokens
    ordered = sorted(sizes.items(), key=lambda one: -one[1])[:6]
    return [{"name": name, "tokens": tokens} for name, tokens in ordered]


def _waiting(call: PageCall, session: str) -> list[PageData]:
    home, parts = call.served.pool.path, call.served.parts
    with open_acts(home, call.path("persona"), parts, readonly=True) as acts:
        pending, _ = acts.pending()
    return [to_object(one) for one in pending if one.call.session in ("", session)]


def persona_rows(call: PageCall, known: Sequence[str]) -> list[PageData]:
    with Personas.open(call.served.pool.path, parts=call.served.parts) as personas:
        rows = [row for row in personas.rows() if row["id"] in known]
        pictures = {row["id"]: _picture_path(personas, str(row["id"])) for row in rows}
    return [
        {**row, "name": row["name"] or row["id"], "picture": pictures[row["id"]]} for row in rows
    ]


def _picture_path(personas: Personas, persona: str) -> str:
    """The address of its picture, which is another one for other bytes; nothing without one."""
    try:
        found = personas.picture(persona)
    except MentisError:
        return ""  # one that leads out of the home, or is too large
    version = "" if found is None else hashlib.sha256(found[0]).hexdigest()[:16]
    return f"/studio/personas/{persona}/picture?v={version}" if version else ""


def picture_door(pages: Pages) -> Door:
    """The picture of a persona, and nothing that is no picture."""

    async def send(request: Request) -> Response:
        try:
            call = PageCall(pages.served, request, reader_of(request))
            found = await to_thread.run_sync(_read_picture, call, await call.persona())
            if found is None:
                raise RequestRefused("there is no picture", hint="put one there", status=404)
        except MentisError as error:
            return pages.problem(request, error)
        policy = {"content-security-policy": "default-src 'none'", "cache-control": _KEPT}
        return Response(found[0], headers={**HEADERS, **policy}, media_type=found[1])

    return Door("/studio/personas/{persona}/picture", send, None)


def _read_picture(call: PageCall, persona: str) -> tuple[bytes, str] | None:
    with Personas.open(call.served.pool.path, parts=call.served.parts) as personas:
        return personas.picture(persona)


def own_names(call: PageCall, agent: Agent) -> list[str]:
    """The newest first; moments of its own are no talk."""
    names = reversed(agent.session_names())
    return [name for name in names if name != BEATS and own_name(call.token, name)]


def session_rows(call: PageCall, agent: Agent, names: Sequence[str]) -> list[PageData]:
    return [_session_row(call, agent.session_outline(name)) for name in names]


def _session_row(call: PageCall, one: SessionOutline) -> PageData:
    """By the name that whoever asks has for it, as the API knows it from them."""
    name = own_name(call.token, one.name)
    return {
        "name": name,
        "label": label_of(one) or name,
        "title": one.title,
        "messages": one.turns,
        "unanswered": one.unanswered,
    }


def _session(call: PageCall) -> str:
    name = call.path("session")
    try:
        return session_of(call.token, name)
    except MentisError as error:
        raise RequestRefused(
            f"there is no conversation {name[:80]!r}", hint="see the list", status=404
        ) from error


def _fresh_name() -> str:
    return f"talk-{secrets.token_hex(3)}"

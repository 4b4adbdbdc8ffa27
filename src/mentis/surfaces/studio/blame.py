"""Blame: the exact request of a turn, who wrote each run of it, why it is in, what it cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast
from urllib.parse import urlencode

from anyio import to_thread

from mentis.app.agent import Agent
from mentis.app.home_costs import blame_recorded
from mentis.app.home_turns import recent_turns
from mentis.codec.forms import to_object
from mentis.costs.blame_data import blame_data
from mentis.costs.cost_data import turn_cost_data
from mentis.errors import PersonaError, RequestRefused, UsageError
from mentis.home.identity import RECORDED
from mentis.values.blame import TurnBlame
from mentis.values.block import Block
from mentis.values.cognition import Revision
from mentis.values.cost import PromptPiece, TurnCost
from mentis.values.selection import Candidate
from mentis.web.problems import with_status

from .diffs import compare_lines
from .exchanges import talk_link
from .pages import PageCall, PageData

T = TypeVar("T")
_TEXT = 120_000  # characters of a request that come with its page; more when asked for
_REVISIONS = 20  # of a block: saved states that are listed
_WIRES = {
    "openai-chat": "OpenAI Chat",
    "openai-responses": "OpenAI Responses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "text": "one text",
}
OVER_HTTP = ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")
_FIRST, _LISTED = 8, 16  # turns of each agent, and of one
_LEFT_OUT = 100  # pieces at a time that are told as left out
_ASKED = 300  # characters of a message that memories are held against


async def list_page(call: PageCall) -> PageData:
    """The newest turns of everybody, or of one agent."""
    chosen = _agent_path(call)
    known = await call.served.pool.personas(call.token)
    look = partial(_turns, call, chosen, known)
    groups = await to_thread.run_sync(look)
    if chosen and not groups:
        raise RequestRefused(f"nothing is known of {chosen[:80]!r}", hint="see all", status=404)
    return {"chosen": chosen, "agents": groups, "before": call.number("before")}


def _turns(call: PageCall, chosen: str, known: tuple[str, ...]) -> list[PageData]:
    count, before = (_LISTED, call.number("before")) if chosen else (_FIRST, None)
    home, parts = call.served.pool.path, call.served.parts

    def wanted(agent: str) -> bool:
        return chosen in ("", _path_of(agent))

    found = recent_turns(home, count, wanted=wanted, before=before, parts=parts)
    groups: list[PageData] = []
    for agent, turns in found.items():
        recorded = agent.startswith(RECORDED)
        name = agent.removeprefix(RECORDED) if recorded else agent.rpartition("/")[2]
        if recorded and call.token.agent:
            continue  # a token for one persona sees that one alone
        if not turns or not (recorded or name in known):
            continue
        groups.append(
            {
                "agent": agent,
                "name": name,
                "recorded": recorded,
                "path": f"/studio/{_path_of(agent)}",
                "turns": [_row(turn) for turn in turns],
                "next": turns[-1].entry if len(turns) == count else None,
            }
        )
    return sorted(groups, key=lambda group: bool(group["recorded"]))  # our own first


def _path_of(agent: str) -> str:
    return agent if agent.startswith(RECORDED) else f"blame/{agent.rpartition('/')[2]}"


def _row(turn: TurnCost) -> PageData:
    models = dict.fromkeys(call.model for call in turn.calls)
    return {**turn_cost_data(turn), "models": list(models)}


async def blame_page(call: PageCall) -> PageData:
    """One call of one turn, in the format that it was sent in or in another."""
    found, foreign = await find_turn(call), "agent" in call.request.path_params
    agent = None if foreign else await agent_of(call)
    return await to_thread.run_sync(_blame, call, found, agent)


def _blame(call: PageCall, found: TurnBlame, agent: Agent | None) -> PageData:
    """It blocks: a request may be long. A recorded program has no agent."""
    whole, foreign = call.number("section"), agent is None
    data = blame_data(found, most=_TEXT, whole=whole)
    _annotate(None if call.token.agent else agent, found, data["sections"])
    omitted, start = found.explanation.omitted, call.number("left", 0) or 0
    shown = omitted[start : start + _LEFT_OUT]
    end = start + len(shown)
    return {
        **data,
        **turn_links(call),
        "talk": talk_link(call, agent, found.explanation.turn.session),
        "omitted": [to_object(one) for one in shown],
        "omitted_count": len(omitted),
        "omitted_from": start,
        "omitted_next": end if end < len(omitted) else None,
        "whole": whole,
        "fade": _cache_end(found),
        "map": _map(found),
        "largest": _largest(found),
        "wires": [] if foreign else _wires(found),
        "near": [_near_row(one, call) for one in found.candidates if not one.chosen],
        "recall": "" if foreign else _recall_link(call, found),
        "foreign": foreign,
        "sent": found.sent == found.wire,
        "curl": found.body is not None and found.wire in OVER_HTTP,
    }


def turn_links(call: PageCall) -> PageData:
    """Where the turn and its agent are, and which of its requests is shown."""
    path = f"/studio/{_agent_path(call)}"
    step, wire = call.number("step", 1), call.request.query_params.get("wire", "")
    asked = urlencode({"step": step, **({"wire": wire} if wire else {})})
    return {"path": path, "here": f"{path}/{call.number('entry')}", "asked": asked}


def _recall_link(call: PageCall, found: TurnBlame) -> str:
    """Where to see which memories come with the message, and which just miss."""
    said = [one.text for one in found.sections if one.piece.name == "message"]
    if not said or not said[-1].strip():
        return ""
    return f"/studio/mind/{call.path('persona')}/recall?{urlencode({'q': said[-1][:_ASKED]})}"


def _near_row(one: Candidate, call: PageCall) -> PageData:
    path = f"/studio/mind/{call.path('persona')}/memories/{one.name}"
    return {**to_object(one), "path": path if one.kind == "memory" else ""}


def _annotate(agent: Agent | None, found: TurnBlame, sections: object) -> None:
    """When each block was last changed (a shipped one never was), and how well a tool fitted.
    Without an `agent`, as for whoever does not see the library, no part of it is known as a block.
    """
    scores = {
        f"{one.kind} {one.name}": f"{one.score:.3f}, rank {one.rank}" for one in found.candidates
    }
    for section in cast("list[PageData]", sections):
        name, is_block = str(section["name"]), agent is not None and bool(section["variant"])
        last = agent.block_revisions(name, last=1) if agent is not None and is_block else ()
        section |= {
            "block": is_block,
            "changed": _revision_row(last[-1]) if last else None,
            "score": scores.get(name, ""),
        }


def _revision_row(one: Revision) -> PageData:
    return {"number": one.number, "time": one.time, "words": one.words, "author": one.author}


def _wires(found: TurnBlame) -> list[PageData]:
    """The formats in which the same request can be looked at."""
    if found.body is None:
        return []
    return [
        {"wire": wire, "label": label, "sent": wire == found.sent, "shown": wire == found.wire}
        for wire, label in _WIRES.items()
    ]


async def block_page(call: PageCall) -> PageData:
    """What became of a block since it was told in a turn."""
    call.check_library()
    agent = await agent_of(call)
    return {**await _found(partial(_block_data, call, agent)), **turn_links(call)}


def _block_data(call: PageCall, agent: Agent) -> PageData:
    block, variant = call.path("block"), call.request.query_params.get("variant", "default")
    entry = call.number("entry") or 0
    then = agent.told_library(entry, step=call.number("step", 1) or 1).block(block)
    now = agent.library.block(block)
    if then is None:
        raise RequestRefused(
            f"no block {block[:80]!r} was told in entry {entry}", hint="see the turn", status=404
        )
    before, after = _wording(then, variant), "" if now is None else _wording(now, variant)
    revisions = agent.block_revisions(block, last=_REVISIONS)
    return {
        "block": block,
        "name": then.name,
        "variant": variant,
        "entry": entry,
        "gone": now is None,
        "same": before == after,
        "diff": compare_lines(before, after),
        "revisions": [_revision_row(one) for one in reversed(revisions)],
    }


def _wording(block: Block, variant: str) -> str:
    told = block.variants.get(variant)
    if told is None:
        return ""
    lines = [f"{one.role}: {one.content}" for one in told.messages]
    return "\n".join(lines) if lines else told.content


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


async def find_turn(call: PageCall) -> TurnBlame:
    """The turn that the path names, in the format that the address asks for."""
    entry, step = call.number("entry"), max(1, call.number("step", 1) or 1)
    if recorded := call.recorded():
        home, parts = call.served.pool.path, call.served.parts
        return await _found(partial(blame_recorded, home, recorded, entry, parts=parts))
    opened, wire = await agent_of(call), call.request.query_params.get("wire", "")
    if wire and wire not in _WIRES:
        raise RequestRefused(
            f"there is no format {wire[:80]!r}", hint=f"there are: {', '.join(_WIRES)}", status=404
        )
    return await _found(partial(opened.blame, entry, step=step, wire=wire))


async def _found(look: Callable[[], T]) -> T:
    """What is looked up in a record; 404 for an entry that is not there, or is no turn."""
    try:
        return await to_thread.run_sync(look)
    except (PersonaError, UsageError) as error:
        raise with_status(error, 404) from error


async def agent_of(call: PageCall) -> Agent:
    """The persona that the path names, if whoever asks may see it."""
    return await call.served.pool.agent(await call.persona())


def _agent_path(call: PageCall) -> str:
    params = call.request.path_params
    if "agent" in params:
        return f"recorded/{params['agent']}"
    return f"blame/{params['persona']}" if "persona" in params else ""


def _cache_end(found: TurnBlame) -> int | None:
    """The section in which what was found in the cache ends; None where nothing was."""
    cached = [n for n, one in enumerate(found.sections) if one.piece.cached]
    return cached[-1] if cached else None

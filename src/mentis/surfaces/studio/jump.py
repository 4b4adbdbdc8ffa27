"""Going anywhere: screens, personas, conversations, blocks and entries, by a part of their name."""

from __future__ import annotations

from collections.abc import Iterator

from anyio import to_thread

from mentis.app.agent import Agent
from mentis.library.search import first_matches
from mentis.web.agents import own_name

from .pages import PageCall, PageData
from .screens import SCREENS
from .talk import own_names, persona_rows, session_rows

_PROMPTS, _PROOF = "/studio/prompts", "/studio/proof"
_SCREEN_PATHS = {one.path for one in SCREENS}
_EACH = 6  # places of one kind
_LOOKED = 12  # conversations of a persona whose first words are looked at; all are known by name


async def jump_page(call: PageCall) -> PageData:
    """Places whose name has the words that were typed; without any, where people mostly go."""
    asked = call.request.query_params.get("q", "").strip()[:200]
    known = await call.served.pool.personas(call.token)
    agents = {one: await call.served.pool.agent(one) for one in await _sound(call, known)}
    found = await to_thread.run_sync(_places, call, agents, asked)
    return {"asked": asked, "places": found}


async def _sound(call: PageCall, known: tuple[str, ...]) -> list[str]:
    rows = await to_thread.run_sync(persona_rows, call, known)
    return [str(row["id"]) for row in rows if not row["problem"]]


def _places(call: PageCall, agents: dict[str, Agent], asked: str) -> list[PageData]:
    wanted, found = asked.casefold(), list[PageData]()
    if asked.isascii() and asked.isdigit() and len(asked) < 12:
        found += _entries(agents, int(asked))
    found += [
        _place("screen", one.label, one.path) for one in SCREENS if wanted in one.label.casefold()
    ]
    rows = persona_rows(call, tuple(agents))
    named = [row for row in rows if wanted in f"{row['id']} {row['name']}".casefold()]
    found += [
        _place("persona", str(row["name"]), f"/studio/talk/{row['id']}", str(row["id"]))
        for row in named[:_EACH]
    ]
    talks = (one for name, agent in agents.items() for one in _talks(call, name, agent, wanted))
    found += [one for one, _ in zip(talks, range(_EACH), strict=False)]
    if asked and agents and not call.token.agent and _PROMPTS in _SCREEN_PATHS:
        library = next(iter(agents.values())).library
        found += [
            _place("block", match.block, f"{_PROMPTS}/{match.block}", _by(match.where))
            for match in first_matches(library, asked, _EACH)
        ]
    return found


def _talks(call: PageCall, persona: str, agent: Agent, wanted: str) -> Iterator[PageData]:
    """The newest first: by their names, and by title or first words where these are looked at."""
    names = own_names(call, agent)
    rows = session_rows(call, agent, names[:_LOOKED])
    labels = {str(row["name"]): str(row["label"]) for row in rows}
    for name in (own_name(call.token, one) for one in names):
        label = labels.get(name, name)
        if wanted in name.casefold() or wanted in label.casefold():
            yield _place("conversation", label, f"/studio/talk/{persona}/{name}", persona)


def _entries(agents: dict[str, Agent], number: int) -> Iterator[PageData]:
    """That entry of every record that has it: what a model was told in it, and the entry itself."""
    for persona, agent in agents.items():
        entry = agent.find_entry(number)
        if entry is not None and entry.kind == "turn":
            path = f"/studio/blame/{persona}/{number}"
            yield _place("request", f"What entry {number} told the model", path, persona)
        if entry is not None and _PROOF in _SCREEN_PATHS:
            yield _place("entry", f"Entry {number}", f"{_PROOF}/{persona}/{number}", persona)


def _by(where: str) -> str:
    return "" if where == "id" else f"by its {where}"


def _place(kind: str, name: str, path: str, about: str = "") -> PageData:
    return {"kind": kind, "name": name, "path": path, "about": about}

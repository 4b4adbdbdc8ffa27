"""Mind: the files a persona keeps, what it remembers and why, its goals, people and diary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from anyio import to_thread

from mentis.codec.forms import to_object
from mentis.errors import MentisError, PersonaError, RequestRefused, UsageError
from mentis.library.memory.files import MemoryChange, PersonaMemory
from mentis.library.memory.text import NAMES
from mentis.memories.memories import KEPT_BACK, Memories, open_memories
from mentis.memories.people import PEOPLE
from mentis.prompts.cognition import open_cognition, revision_data
from mentis.prompts.personas import Personas
from mentis.values.cognition import Goal, Memory
from mentis.values.memories import MemoryListing, MemoryState, ScoredMemory, normal_text
from mentis.values.memory_kind import MemoryKind
from mentis.values.recalled import RecalledContext
from mentis.values.trust import Trust
from mentis.web.application import Door
from mentis.web.problems import with_status

from .diffs import diff_lines
from .pages import PageCall, PageData, Pages, read_form

T = TypeVar("T")
_SHOWN = 30  # of any list on a page
_REVISIONS = 12
_TEXT = 1200  # characters of a file beside others
_DIFF = 6000
_MOST_ASKED = 2000
_TRUSTS = {
    "owner": "you vouch for it",
    "self": "its own words",
    "reference": "from a source you keep",
    "untrusted": "nobody vouches",
    "runtime": "from the program",
    "constitution": "always holds",
}
KINDS: tuple[MemoryKind, ...] = (
    "fact",
    "preference",
    "decision",
    "rule",
    "gotcha",
    "episode",
    "observation",
)
_DIARY: tuple[MemoryKind, ...] = ("diary", "thought")
_TITLES = {"memory": "Memory", "soul": "Soul", "relationship": "Relationship"}
_STATES: Mapping[str, tuple[MemoryState, ...]] = {
    "": ("current",),
    "quarantine": ("quarantine",),
    "untrusted": ("current",),
    "superseded": ("superseded",),
}


def mind_doors(pages: Pages) -> list[Door]:
    """Everybody, and for one persona a page for each part of its mind."""
    top = "/studio/mind/{persona}"
    return [
        *pages.doors("/studio/mind", "mind.html", list_page),
        *pages.doors(f"{top}/files/{{file}}", "mind-file.html", file_page),
        *pages.doors(f"{top}/memories/{{memory}}", "mind-memory.html", memory_page),
        *pages.doors(f"{top}/memories", "mind-memories.html", memories_page),
        *pages.doors(f"{top}/recall", "mind-recall.html", recall_page, methods=("GET", "POST")),
        *pages.doors(f"{top}/goals", "mind-goals.html", goals_page),
        *pages.doors(f"{top}/people", "mind-people.html", people_page),
        *pages.doors(f"{top}/diary", "mind-diary.html", diary_page),
        *pages.doors(top, "mind-files.html", files_page),
    ]


async def list_page(call: PageCall) -> PageData:
    """Personas, each with what waits for somebody to look at it."""
    known = await call.served.pool.personas(call.token)
    rows = [await to_thread.run_sync(_glance, call, name) for name in known]
    return {"personas": rows}


def _glance(call: PageCall, name: str) -> PageData:
    with Personas.open(call.served.pool.path, parts=call.served.parts) as personas:
        called = next((str(row["name"]) for row in personas.rows() if row["id"] == name), "")
        try:
            changes = len(_changes(personas.memory(name)))
        except MentisError:
            changes = 0
    with _memories(call, name) as memories:
        held = memories.count(KEPT_BACK)
    with open_cognition(call.served.pool.path, name, call.served.parts) as cognition:
        review = len(cognition.in_review())
    waits = {"changes": changes, "held": held, "review": review}
    return {"id": name, "name": called or name, "path": f"/studio/mind/{name}", **waits}


# Files


async def files_page(call: PageCall) -> PageData:
    """The files of a persona about itself, and what it changed in them that nobody looked at."""
    return await _in_thread(call, _files)


def _files(call: PageCall, name: str) -> PageData:
    with Personas.open(call.served.pool.path, parts=call.served.parts) as personas:
        memory = personas.memory(name)
        files = [
            {
                **to_object(one),
                "path": f"/studio/mind/{name}/files/{one.name}",
                "title": _TITLES[one.name],
                "text": one.text[:_TEXT],
                "left": max(0, len(one.text) - _TEXT),
            }
            for one in memory.files()
        ]
        changes = [_change(one) for one in _changes(memory)]
    with _memories(call, name) as memories:
        held = memories.count(KEPT_BACK)
    return {"files": files, "changes": changes, "waiting": _waiting(changes), "held": held}


def _changes(memory: PersonaMemory) -> list[MemoryChange]:
    return [one for name in NAMES for one in memory.pending_changes(name)]


def _change(one: MemoryChange) -> PageData:
    return {**to_object(one), "title": _TITLES[one.name], "lines": diff_lines(one.diff[:_DIFF])}


async def file_page(call: PageCall) -> PageData:
    """One file to be edited, and how it came to be so."""
    return await _in_thread(call, _file)


def _file(call: PageCall, name: str) -> PageData:
    which = call.path("file")
    if which not in NAMES:
        raise RequestRefused(
            f"there is no file {which[:80]!r}", hint=f"there are: {', '.join(NAMES)}", status=404
        )
    with Personas.open(call.served.pool.path, parts=call.served.parts) as personas:
        memory = personas.memory(name)
        found, history = memory.read(which), memory.history(which)
        before = call.number("before") or len(history) + 1
        shown = [one for one in reversed(history) if one.number < before][:_REVISIONS]
        revisions = [
            {
                "number": one.number,
                "time": one.time,
                "words": one.words,
                "lines": diff_lines(memory.diff(which, one.number - 1, one.number)[:_DIFF]),
            }
            for one in shown
        ]
        changes = [_change(one) for one in memory.pending_changes(which)]
    older = shown[-1].number if shown and shown[-1].number > 1 else None
    told = {"file": to_object(found), "title": _TITLES[which], "older": older}
    return {**told, "revisions": revisions, "changes": changes, "waiting": _waiting(changes)}


def _waiting(changes: Sequence[PageData]) -> dict[str, str]:
    """Files with changes that nobody looked at, and what they are called."""
    return {str(one["name"]): str(one["title"]) for one in changes}


# Memories


async def memories_page(call: PageCall) -> PageData:
    """What it remembers, the newest first; those in quarantine apart."""
    return await _in_thread(call, _memory_list)


def _memory_list(call: PageCall, name: str) -> PageData:
    asked = call.request.query_params
    kind, state = asked.get("kind", ""), asked.get("state", "")
    if state not in _STATES or kind not in ("", *KINDS):
        raise RequestRefused("there is no such part of the list", hint="see all", status=404)
    listing = MemoryListing(
        kinds=cast("tuple[MemoryKind, ...]", (kind,)) if kind else KINDS,
        states=_STATES[state],
        worths=(Trust.UNTRUSTED,) if state == "untrusted" else (),
        order="newest",
    )
    with _memories(call, name) as memories:
        held = memories.count(KEPT_BACK)
        if state == "quarantine" and not kind:
            listing = replace(KEPT_BACK, order="newest")  # whatever is kept back is to be seen
        page = _windowed(call, memories, listing, lambda one: _memory(one, name))
    return {**page, "kind": kind, "state": state, "kinds": list(KINDS), "held": held}


async def memory_page(call: PageCall) -> PageData:
    """One memory: what it says, where it is from, who vouches for it."""
    return await _in_thread(call, _one_memory)


def _one_memory(call: PageCall, name: str) -> PageData:
    with _memories(call, name) as memories:
        try:
            found = memories.get(call.path("memory"))
        except UsageError as error:
            raise with_status(error, 404) from error
    return {"memory": _memory(found, name)}


def _memory(one: Memory, name: str) -> PageData:
    return {
        **to_object(one),
        "path": f"/studio/mind/{name}/memories/{one.id}",
        "quarantined": one.quarantined,
        "worth": one.worth.value,
        "vouched": _TRUSTS.get(one.worth.value, one.worth.value),
        "screened": to_object(one.screening) if one.screening else None,
    }


async def recall_page(call: PageCall) -> PageData:
    """What would come to mind for a sentence, with the scores of each memory and why.

    An address may bring the sentence; the embedder, which may cost something, is asked by whoever
    sends the form.
    """
    name, sent = await call.persona(), call.request.method == "POST"
    given = await read_form(call.request) if sent else call.request.query_params
    text = given.get("q", "").strip()[:_MOST_ASKED]
    found: PageData = {"rows": [], "notes": [], "filtered": 0, "searched": 0}
    if text and sent:
        agent = await call.served.pool.agent(name)
        found |= _recalled(await agent.recall(text), name)
    return {**_top(name), **found, "asked": text, "answered": bool(text) and sent}


def _recalled(told: RecalledContext, name: str) -> PageData:
    """What a memory says is shown only if it may be told."""
    spans = {span.source for span in told.memories}
    found = told.found
    rows = () if found is None else (*found.hits, *found.near)
    return {
        "rows": [_scored(one, f"memory {one.memory.id}" in spans, name) for one in rows],
        "notes": [f"{one.part}: {one.reason}" for one in told.degraded],
        "filtered": told.filtered,
        "searched": found.searched if found else 0,
    }


def _scored(one: ScoredMemory, told: bool, name: str) -> PageData:
    memory = one.memory
    return {
        "id": memory.id,
        "path": f"/studio/mind/{name}/memories/{memory.id}",
        "text": memory.text if told else "",
        "kind": memory.kind,
        "source": memory.source,
        "vouched": _TRUSTS.get(memory.worth.value, memory.worth.value),
        "told": told,
        "reason": one.reason,
        "score": round(one.score, 4),
        "meaning": round(one.semantic, 3) if one.semantic_rank else None,
        "words": round(one.lexical, 3) if one.lexical_rank else None,
        "age": round(one.decay, 2),
    }


# Goals and what is held in mind


async def goals_page(call: PageCall) -> PageData:
    """What it wants, what it holds in mind, and every revision of both."""
    return await _in_thread(call, _goals)


def _goals(call: PageCall, name: str) -> PageData:
    with open_cognition(call.served.pool.path, name, call.served.parts) as cognition:
        state = cognition.state()
        newest = next((one.number for one in cognition.history(last=1)), 0)
        before = call.number("before") or newest + 1
        kept = cognition.history(last=max(1, newest - before + 1 + _REVISIONS)) if newest else ()
        shown = [one for one in reversed(kept) if one.number < before][:_REVISIONS]
        revisions = [
            {
                **revision_data(one),
                "lines": diff_lines(cognition.diff(one.number - 1, one.number)[:_DIFF]),
            }
            for one in shown
        ]
    held = [
        {
            "text": one.text,
            "hash": one.hash[:12],
            "review": one.review,
            "vouched": _TRUSTS.get(one.lineage.value),
        }
        for one in state.l1_memory
    ]
    return {
        "drives": list(state.goals.root.texts),
        "goals": list(_goal_rows(state.goals.user.children, 0)),
        "held": held,
        "revision": state.revision,
        "revisions": revisions,
        "older": shown[-1].number if shown and shown[-1].number > 1 else None,
    }


def _goal_rows(goals: Iterable[Goal], depth: int) -> Iterable[PageData]:
    for goal in goals:
        yield {
            "id": goal.id,
            "text": goal.text,
            "weight": goal.weight,
            "depth": min(depth, 4),
            "review": goal.review,
            "vouched": _TRUSTS.get(goal.lineage.value),
        }
        yield from _goal_rows(goal.children, depth + 1)


# People and diary


async def people_page(call: PageCall) -> PageData:
    """Everybody of whom something is known."""
    return await _in_thread(call, _people)


def _people(call: PageCall, name: str) -> PageData:
    with _memories(call, name) as memories:
        return _windowed(
            call, memories, PEOPLE, lambda one: {**_memory(one, name), "names": list(one.tags)}
        )


async def diary_page(call: PageCall) -> PageData:
    """What it wrote for itself, the newest first."""
    return await _in_thread(call, _diary)


def _diary(call: PageCall, name: str) -> PageData:
    listing = MemoryListing(kinds=_DIARY, order="newest")
    with _memories(call, name) as memories:
        return _windowed(call, memories, listing, lambda one: _memory(one, name))


# Lists


def _windowed(
    call: PageCall, memories: Memories, listing: MemoryListing, told: Callable[[Memory], PageData]
) -> PageData:
    """A part of a list; with `q`, of those that hold every word of it, wherever it stands."""
    start, asked = call.number("from", 0) or 0, call.request.query_params.get("q", "")[:_MOST_ASKED]
    listing = replace(listing, words=tuple(normal_text(asked).split()))
    found = memories.part(listing, start=start, count=_SHOWN)
    return {
        "q": asked,
        "count": found.count,
        "start": start,
        "rows": [told(one) for one in found.memories],
        "next": start + _SHOWN if found.more else None,
        "back": max(0, start - _SHOWN) if start else None,
    }


# Which persona


async def _in_thread(call: PageCall, build: Callable[[PageCall, str], PageData]) -> PageData:
    name = await call.persona()
    try:
        return {**_top(name), **await to_thread.run_sync(build, call, name)}
    except PersonaError as error:
        raise with_status(error, 404) from error


def _top(name: str) -> PageData:
    top = f"/studio/mind/{name}"
    tabs = [
        {"label": "Files", "path": top},
        {"label": "Memories", "path": f"{top}/memories"},
        {"label": "What comes to mind", "path": f"{top}/recall"},
        {"label": "Goals", "path": f"{top}/goals"},
        {"label": "People", "path": f"{top}/people"},
        {"label": "Diary", "path": f"{top}/diary"},
    ]
    return {"persona": name, "api": f"/mentis/v1/personas/{name}", "path": top, "tabs": tabs}


def _memories(call: PageCall, name: str) -> Memories:
    return open_memories(call.served.pool.path, name, call.served.parts)

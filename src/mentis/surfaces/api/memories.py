"""Operations on what an agent remembers: memories, people, and its goals and mind."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

import anyio
from pydantic import Field

from mentis.codec.forms import to_object
from mentis.errors import UsageError
from mentis.memories.draft import read_time
from mentis.memories.memories import Memories, open_memories
from mentis.prompts.cognition import Cognition, ReviewItem, open_cognition, revision_data
from mentis.values.cognition import CognitionState, Memory
from mentis.values.entry import Entry
from mentis.values.memories import (
    FoundMemories,
    HygieneFinding,
    ImportedMemories,
    MemoryDraft,
    MemoryFilter,
    StoredMemory,
    VectorRebuild,
    Way,
)
from mentis.values.memory_kind import MemoryKind
from mentis.values.trust import Trust

from .missing import is_there
from .operation import (
    ApiCall,
    Example,
    FileAnswer,
    Given,
    ListPage,
    OperationTable,
    PageQuery,
    ReasonGiven,
)
from .paging import cursor_text, page_of
from .shapes import (
    CandidatesAnswer,
    DiffAnswer,
    ForgottenAnswer,
    QuarantineAnswer,
    StateRevision,
    also,
    listed,
)

table = OperationTable("memories", "Memories, people, goals and what is held in mind.")
T = TypeVar("T")
_PERSONA = "/personas/{persona}"
_MEMORIES = f"{_PERSONA}/memories"
_MEMORY = f"{_MEMORIES}/{{memory}}"
_PEOPLE = f"{_PERSONA}/people"
_STATE = f"{_PERSONA}/state"
_TIME = "A day or a time, in ISO 8601."
Vouched = Literal["owner", "self", "reference"]
Kept = Literal["owner", "self", "reference", "untrusted"]


class FilterQuery(Given):
    """What may be found."""

    kind: tuple[MemoryKind, ...] = Field((), description="Only these kinds.")
    scope: tuple[str, ...] = Field((), description="Only these scopes.")
    tag: tuple[str, ...] = Field((), description="Only with all of these tags.")
    source: tuple[str, ...] = Field((), description="Only from these sources.")
    session: str = Field("", description="Only of this conversation.")
    trust: Kept = Field("untrusted", description="The least trust that is enough.")
    since: str = Field("", description=f"Made then or later. {_TIME}")
    until: str = Field("", description=f"Made then or earlier. {_TIME}")
    private: bool = Field(False, description="Thoughts and diary as well.")
    superseded: bool = Field(False, description="What was superseded as well.")
    expired: bool = Field(False, description="What is not valid now as well.")

    def wanted(self) -> MemoryFilter:
        return MemoryFilter(
            self.kind,
            self.scope,
            self.tag,
            self.source,
            self.session,
            Trust(self.trust),
            read_time(self.since),
            read_time(self.until),
            self.private,
            self.superseded,
            self.expired,
        )


class MemoryPageQuery(FilterQuery, PageQuery):
    """Which memories."""


class MemorySearchQuery(FilterQuery):
    """What to look for."""

    example: ClassVar[Example] = {"query": "cello"}

    query: str = Field(min_length=1, max_length=8000, description="What it is about.")
    way: Way = Field("hybrid", description="By meaning and words, by meaning, or by words.")
    limit: int = Field(10, ge=1, le=1000, description="How many.")
    half_life: float | None = Field(
        None, gt=0, le=1e6, description="After so many days a memory counts half."
    )


class MemoryGiven(Given):
    """Something to be remembered."""

    example: ClassVar[Example] = {"text": "Lena plays the cello."}

    text: str = Field(min_length=1)
    kind: MemoryKind = "fact"
    scope: str = Field("", description="Where it holds; empty: always.")
    tags: tuple[str, ...] = ()
    confidence: float = Field(1.0, ge=0, le=1)
    trust: Kept = Field("owner", description="Who vouches for it; `untrusted` is screened.")
    source: str = Field("api", description="Where it comes from.")
    session: str = Field("", description="The conversation that it is of.")
    valid_from: str = Field("", description=_TIME)
    valid_until: str = Field("", description=_TIME)

    def draft(self) -> MemoryDraft:
        given: dict[str, Any] = self.model_dump(exclude={"trust"})
        return MemoryDraft(**given, trust=Trust(self.trust))


class SupersedeGiven(Given):
    """What takes the place of a memory: a new one, or one that is there."""

    example: ClassVar[Example] = {"memory": {"text": "Lena plays the viola now."}}

    memory: MemoryGiven | None = None
    by: str = Field("", description="The id of a memory that is there already.")


class PromoteGiven(Given):
    """Who vouches for it from now on, and why."""

    example: ClassVar[Example] = {"trust": "owner", "reason": "I checked it"}

    trust: Vouched
    reason: str = Field(min_length=1)


class ExportMemoriesQuery(Given):
    """Which memories."""

    private: bool = Field(False, description="Thoughts, diary and quarantine as well.")


class ImportMemoriesQuery(Given):
    """When vectors are made."""

    later: bool = Field(False, description="Make no vectors now; `rebuild` makes them.")


class PersonSummary(Given):
    """What is known of somebody."""

    example: ClassVar[Example] = {"summary": "Plays the cello."}

    summary: str = Field(min_length=1)
    also: tuple[str, ...] = Field((), description="What else they are called.")
    trust: Kept = "owner"


@contextmanager
def _opened(call: ApiCall) -> Generator[Memories]:
    with open_memories(call.home, call.persona, call.desk.parts) as memories:
        yield memories


@contextmanager
def _memory_of(call: ApiCall) -> Generator[tuple[Memories, str]]:
    with _opened(call) as memories:
        with is_there():
            memories.get(call.path["memory"])
        yield memories, call.path["memory"]


def _done(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """In a loop of its own, in this thread, as a command does it."""
    return anyio.run(work)


# Memories


@table.get(_MEMORIES, listed(Memory, "MemoryPage"), commands=("memory list",))
def list_memories(call: ApiCall, query: MemoryPageQuery) -> ListPage:
    """List memories, in the order of their ids."""
    with _opened(call) as memories:
        after = cursor_text(query.cursor) if query.cursor else ""
        found = memories.page(query.wanted(), count=query.limit + 1, after=after)
    shown = found[: query.limit]
    more = len(found) > len(shown)
    return ListPage([to_object(one) for one in shown], shown[-1].id if more else None)


@table.post(_MEMORIES, StoredMemory, scope="edit", status=201, commands=("memory add",))
def add_memory(call: ApiCall, body: MemoryGiven) -> dict[str, object]:
    """Remember something. What is known already stays one memory, with a note."""
    with _opened(call) as memories:
        return to_object(_done(partial(memories.remember, body.draft())))


@table.get(f"{_MEMORIES}/search", FoundMemories, commands=("memory search",))
def search_memories(call: ApiCall, query: MemorySearchQuery) -> dict[str, object]:
    """Find the memories that fit a query best."""
    return to_object(_found(call, query))


@table.get(f"{_MEMORIES}/why", CandidatesAnswer, commands=("memory why",))
def explain_search(call: ApiCall, query: MemorySearchQuery) -> dict[str, object]:
    """Show each candidate's scores and why it was in or out, near misses included."""
    found = _found(call, query)
    rest = to_object(replace(found, hits=(), near=()))
    told = {name: value for name, value in rest.items() if name not in ("hits", "near")}
    return {**told, "candidates": [to_object(row) for row in (*found.hits, *found.near)]}


def _found(call: ApiCall, query: MemorySearchQuery) -> FoundMemories:
    with _opened(call) as memories:
        ask = partial(
            memories.search,
            query.query,
            way=query.way,
            wanted=query.wanted(),
            limit=query.limit,
            half_life_days=query.half_life,
        )
        return _done(ask)


@table.get(f"{_MEMORIES}/quarantine", QuarantineAnswer, commands=("memory quarantine",))
def list_quarantine(call: ApiCall) -> dict[str, object]:
    """List what screening kept back."""
    with _opened(call) as memories:
        return {"held": [to_object(one) for one in memories.quarantine()], "freed": []}


@table.post(
    f"{_MEMORIES}/quarantine/screen",
    QuarantineAnswer,
    scope="edit",
    commands=("memory quarantine",),
)
def screen_again(call: ApiCall) -> dict[str, object]:
    """Look anew at what nobody could look at."""
    with _opened(call) as memories:
        freed = [one.id for one in memories.screen_again()]
        return {"held": [to_object(one) for one in memories.quarantine()], "freed": freed}


@table.get(f"{_MEMORIES}/hygiene", list[HygieneFinding], commands=("memory hygiene",))
def check_memories(call: ApiCall) -> list[dict[str, object]]:
    """Find duplicates, junk, secrets, quotes of memories, and circles. Nothing is changed."""
    with _opened(call) as memories:
        return [to_object(one) for one in memories.hygiene()]


@table.get(f"{_MEMORIES}/export", bytes, media="application/x-ndjson", commands=("memory export",))
def export_memories(call: ApiCall, query: ExportMemoriesQuery) -> FileAnswer:
    """Write memories as lines of JSON: same memories, same bytes."""
    with _opened(call) as memories:
        data = memories.export(private=query.private)
    return FileAnswer(data, "application/x-ndjson", f"{call.persona}.jsonl")


@table.post(
    f"{_MEMORIES}/import",
    also(ImportedMemories, "ImportAnswer", vectors=VectorRebuild | None),
    scope="edit",
    takes="application/x-ndjson",
    commands=("memory import",),
)
def import_memories(call: ApiCall, query: ImportMemoriesQuery, raw: bytes) -> dict[str, object]:
    """Take memories from lines of JSON: all or none. They are untrusted until you promote them."""
    with _opened(call) as memories:
        done = memories.import_lines(raw)
        made = None
        if done.waiting and not query.later:
            made = _done(partial(memories.fill, _unheard))
    if made is not None and made.quarantined:
        done = replace(done, quarantined=(*done.quarantined, *made.quarantined))
    return {**to_object(done), "vectors": None if made is None else to_object(made)}


@table.post(f"{_MEMORIES}/rebuild", VectorRebuild, scope="edit", commands=("memory rebuild",))
def rebuild_vectors(call: ApiCall) -> dict[str, object]:
    """Make the vectors that are missing, after the embedder changed."""
    with _opened(call) as memories:
        return to_object(_done(partial(memories.rebuild, _unheard)))


def _unheard(_made: int, _total: int) -> None:
    """Nobody listens to the progress; what came of it is answered."""


@table.get(_MEMORY, Memory, commands=("memory list",))
def show_memory(call: ApiCall) -> dict[str, object]:
    """Show one memory."""
    with _memory_of(call) as (memories, name):
        return to_object(memories.get(name))


@table.delete(
    _MEMORY, ForgottenAnswer, scope="edit", edits=show_memory, commands=("memory forget",)
)
def forget_memory(call: ApiCall) -> dict[str, object]:
    """Forget a memory for good: text, vectors, index. There is no undo."""
    with _memory_of(call) as (memories, name):
        memories.forget(name)
        return {"forgotten": [name], "remains": list(memories.remains)}


@table.post(
    f"{_MEMORY}/supersede",
    StoredMemory | Memory,
    scope="edit",
    edits=show_memory,
    commands=("memory supersede",),
)
def supersede_memory(call: ApiCall, body: SupersedeGiven) -> dict[str, object]:
    """Put a newer memory in the place of an old one, which stays but is found no more."""
    if (body.memory is None) == (not body.by):
        raise UsageError("give a memory or by, and not both", hint="the new one, or its id")
    with _memory_of(call) as (memories, name):
        if body.memory is None:
            return to_object(memories.supersede_by(name, body.by))
        return to_object(_done(partial(memories.supersede, name, body.memory.draft())))


@table.post(
    f"{_MEMORY}/promote",
    Entry,
    scope="edit",
    edits=show_memory,
    commands=("memory promote",),
)
def promote_memory(call: ApiCall, body: PromoteGiven) -> dict[str, object]:
    """Vouch for a memory from outside. This is an entry of the ledger."""
    with _memory_of(call) as (memories, name):
        return to_object(memories.promote(name, Trust(body.trust), reason=body.reason))


@table.post(
    f"{_MEMORY}/release",
    Entry,
    scope="edit",
    edits=show_memory,
    commands=("memory quarantine",),
)
def release_memory(call: ApiCall, body: ReasonGiven) -> dict[str, object]:
    """Let a memory out of quarantine; it stays marked. This is an entry of the ledger."""
    with _memory_of(call) as (memories, name):
        return to_object(memories.release(name, reason=body.reason))


# People


@table.get(_PEOPLE, listed(Memory, "PeoplePage"), commands=("people list",))
def list_people(call: ApiCall, query: PageQuery) -> ListPage:
    """List everybody of whom something is known."""
    with _opened(call) as memories:
        found = memories.people.list()
    return page_of(found, query, lambda one: one.id, to_object)


@table.get(f"{_PEOPLE}/{{name}}", list[Memory], commands=("people show",))
def show_person(call: ApiCall) -> list[dict[str, object]]:
    """Show all that is known of somebody, by any of their names."""
    with _opened(call) as memories, is_there():
        return [to_object(one) for one in memories.people.about(call.path["name"])]


def person_or_nobody(call: ApiCall) -> list[dict[str, object]]:
    """The same; nothing of somebody who is not known yet."""
    with _opened(call) as memories:
        try:
            return [to_object(one) for one in memories.people.about(call.path["name"])]
        except UsageError:
            return []


@table.put(
    f"{_PEOPLE}/{{name}}",
    StoredMemory,
    scope="edit",
    edits=person_or_nobody,
    commands=("people set",),
)
def set_person_summary(call: ApiCall, body: PersonSummary) -> dict[str, object]:
    """Keep a summary of somebody, in the place of the one before."""
    with _opened(call) as memories:
        keep = partial(
            memories.people.set,
            call.path["name"],
            body.summary,
            also=body.also,
            trust=Trust(body.trust),
        )
        return to_object(_done(keep))


@table.delete(
    f"{_PEOPLE}/{{name}}",
    ForgottenAnswer,
    scope="edit",
    edits=show_person,
    commands=("people rm",),
)
def forget_person(call: ApiCall) -> dict[str, object]:
    """Forget all that is known of somebody, for good. There is no undo."""
    with _opened(call) as memories:
        gone = [one.id for one in memories.people.remove(call.path["name"])]
        return {"forgotten": gone, "remains": list(memories.remains)}


# Goals and mind


class StateDiffQuery(Given):
    """Which revisions; without numbers, what the newest changed."""

    older: int | None = Field(None, ge=0, le=2**53)
    newer: int | None = Field(None, ge=0, le=2**53)


class StateGiven(Given):
    """Something that is to be in the persona's mind."""

    example: ClassVar[Example] = {"text": "Learn Polish", "goal": "polish"}

    text: str = Field(min_length=1)
    goal: str = Field("", description="As a goal of this id; else it is held in mind.")
    weight: int = Field(0, ge=-1000, le=1000, description="Of the goal.")
    under: str = Field("", description="The goal that it stands under.")


class StateUndoGiven(Given):
    """How far back."""

    to: int | None = Field(None, ge=0, le=2**53, description="Go back to this revision.")


class StateAcceptGiven(Given):
    """What to vouch for, and why."""

    example: ClassVar[Example] = {"name": "polish", "reason": "mine"}

    name: str = Field(min_length=1, description="The id of a goal, or the hash of an entry.")
    reason: str = Field(min_length=1)


class StateNameGiven(Given):
    """What is to go."""

    example: ClassVar[Example] = {"name": "polish"}

    name: str = Field(min_length=1, description="The id of a goal, or the hash of an entry.")


@contextmanager
def _mind(call: ApiCall) -> Generator[Cognition]:
    with open_cognition(call.home, call.persona, call.desk.parts) as cognition:
        cognition.expected = call.seen_number("revision")
        yield cognition


@table.get(_STATE, CognitionState, commands=("state show",))
def show_state(call: ApiCall) -> dict[str, object]:
    """Show the drives, the goals and what is held in mind."""
    with _mind(call) as cognition:
        return to_object(cognition.state())


@table.get(f"{_STATE}/revisions", listed(StateRevision, "StatePage"), commands=("state history",))
def list_state_revisions(call: ApiCall, query: PageQuery) -> ListPage:
    """List the revisions of the state and what made each, the oldest first."""
    with _mind(call) as cognition:
        found = cognition.history()
    return page_of(found, query, lambda one: str(one.number), revision_data)


@table.get(f"{_STATE}/revisions/{{revision}}", CognitionState, commands=("state show",))
def show_state_revision(call: ApiCall) -> dict[str, object]:
    """Show the state as it was at a revision."""
    with _mind(call) as cognition, is_there():
        return to_object(cognition.state(call.number("revision")))


@table.get(f"{_STATE}/diff", DiffAnswer, commands=("state diff",))
def diff_state(call: ApiCall, query: StateDiffQuery) -> dict[str, object]:
    """Show what changed from one revision to another."""
    with _mind(call) as cognition:
        return {"diff": cognition.diff(query.older, query.newer)}


@table.get(f"{_STATE}/review", list[ReviewItem], commands=("state review",))
def list_state_review(call: ApiCall) -> list[dict[str, object]]:
    """List goals and entries made from outside text that nobody has looked at."""
    with _mind(call) as cognition:
        return [to_object(one) for one in cognition.in_review()]


@table.post(_STATE, CognitionState, scope="edit", edits=show_state, commands=("state add",))
def add_to_state(call: ApiCall, body: StateGiven) -> dict[str, object]:
    """Put a goal, or something to be held in mind, into the persona's mind."""
    if not body.goal and (body.weight or body.under):
        raise UsageError("weight and under are of a goal", hint="give a goal too")
    with _mind(call) as cognition:
        if not body.goal:
            return to_object(cognition.add(body.text))
        parent = {"parent": body.under} if body.under else {}
        return to_object(cognition.add_goal(body.goal, body.text, weight=body.weight, **parent))


@table.post(
    f"{_STATE}/remove", CognitionState, scope="edit", edits=show_state, commands=("state rm",)
)
def remove_from_state(call: ApiCall, body: StateNameGiven) -> dict[str, object]:
    """Take away a goal, with all below it, or an entry. It can be undone."""
    with _mind(call) as cognition:
        return to_object(cognition.remove(body.name))


@table.post(
    f"{_STATE}/accept", CognitionState, scope="edit", edits=show_state, commands=("state accept",)
)
def accept_in_state(call: ApiCall, body: StateAcceptGiven) -> dict[str, object]:
    """Vouch for a goal or an entry. This is an entry of the ledger."""
    with _mind(call) as cognition:
        return to_object(cognition.accept(body.name, reason=body.reason))


@table.post(
    f"{_STATE}/undo", CognitionState, scope="edit", edits=show_state, commands=("state undo",)
)
def undo_state(call: ApiCall, body: StateUndoGiven) -> dict[str, object]:
    """Take back the newest change, or go back to a revision. This is a revision of its own."""
    with _mind(call) as cognition:
        return to_object(cognition.undo(body.to))

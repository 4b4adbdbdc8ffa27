"""Answers that are not one value alone: their fields, for the OpenAPI document and for tests."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Literal, NotRequired, cast, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model
from typing_extensions import TypedDict

from mentis.ask.inquiry import PassedOver
from mentis.compose.built import BuiltMessages, BuiltText
from mentis.library.archive import ImportRow
from mentis.library.edit import Edit
from mentis.prompts.effects import EditEffect, WordingInForce
from mentis.settings.persona import UpdateFrequency
from mentis.values.action import Action, Outcome
from mentis.values.block import Block
from mentis.values.caching import CacheReconciliation
from mentis.values.cognition import Memory
from mentis.values.location import Problem
from mentis.values.memories import ScoredMemory
from mentis.values.rendering import Loss
from mentis.values.reply import ReplyProblem, Usage
from mentis.values.trace import Attempt, TokenCount
from mentis.values.value import Value

JsonObject = dict[str, Any]
_LATER = ConfigDict(defer_build=True)  # most of it is for the document, which not everybody reads


class EntryPlace(TypedDict):
    """Which entry of the record it is."""

    index: int
    hash: str


class StepAnswer(TypedDict):
    """One answer, what it asked for and what came of that."""

    text: str
    stop: str
    calls: list[Action]
    outcomes: list[Outcome]


class TurnAnswer(TypedDict):
    """A turn that is over. Guests are told its words and how it ended."""

    text: str
    output: NotRequired[Any]
    stop: str
    stop_reason: str
    session: str
    usage: NotRequired[Usage | None]
    caching: NotRequired[list[CacheReconciliation]]
    model_calls: NotRequired[int]
    repeats: NotRequired[int | None]
    losses: NotRequired[list[Loss]]
    attempts: NotRequired[list[Attempt]]
    notes: NotRequired[list[ReplyProblem]]
    passed_over: NotRequired[list[PassedOver]]
    errors: NotRequired[list[ReplyProblem]]
    steps: NotRequired[list[StepAnswer]]
    outcomes: NotRequired[list[Outcome]]
    pending: NotRequired[list[Outcome]]
    calls: NotRequired[list[Action]]
    window: NotRequired[JsonObject | None]
    claims: NotRequired[JsonObject | None]
    entry: NotRequired[EntryPlace]


class ResumedAnswer(TypedDict):
    """The turn that went on; null where nothing was decided, or somebody wrote since."""

    turn: TurnAnswer | None


class MessageAnswer(TypedDict):
    """A turn. `counts`: it was not said anew since. Guests see words and files."""

    number: int
    counts: bool
    role: Literal["user", "assistant"]
    parts: list[JsonObject]
    lineage: NotRequired[str]
    kind: NotRequired[str]
    state: NotRequired[str]
    replaces: NotRequired[int | None]
    until: NotRequired[int | None]
    author: NotRequired[str]


class WrittenAnswer(TypedDict):
    """The entry that says so."""

    entry: int


class TitleAnswer(TypedDict):
    """A title, and the entry that says so. `fallback`: the model gave none."""

    title: str
    entry: int
    fallback: NotRequired[bool]


class EditAnswer(TypedDict):
    """What a change did: to the block, and to the prompts that it is part of."""

    edits: list[Edit]
    effects: list[EditEffect]
    in_force: NotRequired[list[WordingInForce]]


class DraftAnswer(TypedDict):
    """A wording with its values, and what it would cost."""

    built: BuiltText | BuiltMessages
    tokens: TokenCount


class MemoryUpdatesAnswer(TypedDict):
    """How memory files are used."""

    enabled: bool
    frequency: UpdateFrequency


class CheckAnswer(TypedDict):
    """What is wrong with the prompt files."""

    errors: int
    problems: list[Problem]


class DiffAnswer(TypedDict):
    """Two revisions side by side, as `diff -u` has it."""

    diff: str


def also(value: type[Value], name: str, **more: Any) -> type[BaseModel]:  # noqa: ANN401  # types
    """A value with fields beside its own."""
    hints = get_type_hints(value)
    own: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is MISSING is one.default_factory else None)
        for one in fields(cast("Any", value))
    }
    for key, kind in more.items():
        own[key] = (kind, None if type(None) in get_args(kind) else ...)
    return create_model(name, __doc__=value.__doc__, __config__=_LATER, **own)


def listed(item: Any, name: str) -> type[BaseModel]:  # noqa: ANN401  # any type that has a schema
    """A page of items."""
    return create_model(
        name,
        __doc__="`next` is the cursor of the page after this one, null where there is none.",
        __config__=_LATER,
        items=(cast("Any", list)[item], ...),
        next=(str | None, ...),
    )


class HitAnswer(TypedDict):
    """A line that was said, and how well it fits."""

    score: float
    session: str
    number: int
    role: str
    text: str
    trust: str
    author: str


class SummaryAnswer(TypedDict):
    """A summary, which is told in the place of the turns before `until`."""

    text: str
    until: int
    lineage: str
    left_out: int
    entry: int


class AfterthoughtAnswer(TypedDict):
    """What it thought, and what it wrote, if it did."""

    session: str
    decision: str
    thought: str
    text: str | None
    entries: list[int]


class LiveAnswer(TypedDict):
    """What a voice session is opened with."""

    instructions: str
    tools: list[JsonObject]
    entry: int


BlockAnswer = also(Block, "BlockAnswer", overridden=list[str])


class LibraryAnswer(TypedDict):
    """The state of the whole library."""

    revision: str
    order: dict[str, float]


class ConflictAnswer(TypedDict):
    """`base` is what you changed, `ours` is yours, `theirs` is what is shipped now."""

    block: str
    field: str
    base: Any
    ours: Any
    theirs: Any


class ImportPlanAnswer(TypedDict):
    """What an import would do, block by block."""

    rows: list[ImportRow]
    problems: list[Problem]


class UsagesAnswer(TypedDict):
    """Blocks by placeholder; `orphaned` are used and not registered, `unused` the other way."""

    usages: dict[str, list[str]]
    orphaned: NotRequired[list[str]]
    unused: NotRequired[list[str]]


class PersonaRow(TypedDict):
    """A persona in short; `problem` says why it cannot be read."""

    id: str
    name: str
    type: str
    language: str
    problem: str
    default: bool


class DefaultPersonaAnswer(TypedDict):
    """The persona that is taken where none is named; empty where nobody chose one."""

    id: str


class NewPersonaAnswer(TypedDict):
    """A persona that was made."""

    id: str
    name: str


class CandidatesAnswer(TypedDict):
    """Everything that was looked at in a search."""

    candidates: list[ScoredMemory]


class QuarantineAnswer(TypedDict):
    """What screening keeps back, and the ids of what it let out now."""

    held: list[Memory]
    freed: list[str]


class ForgottenAnswer(TypedDict):
    """What is gone, and where its bytes may still be."""

    forgotten: list[str]
    remains: list[str]


class StateRevision(TypedDict):
    """A revision of the state, without the state."""

    number: int
    time: str
    words: str
    digest: str

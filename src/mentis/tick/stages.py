"""The seven stages of a tick that may be a model, as plain async callables.

Whoever runs a tick hands them in, so that all of it can be run without a model. Each is given only
what it may see: the goal-tree helper the user partition, the output helpers their own section.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from mentis.compose.input_ir import InputIr
from mentis.settle.correction import Attempts
from mentis.values.cognition import Goal, L1Entry, Sense
from mentis.values.reply import Usage
from mentis.values.route import Route
from mentis.values.tick import (
    ActDraft,
    Catalogue,
    Descriptor,
    DroppedElement,
    GoalPatchOp,
    LeftOut,
    MemoryPatchOp,
    OutputIr,
    Violation,
)
from mentis.values.value import Value

T = TypeVar("T")
Way: TypeAlias = Literal["rendered", "read", "model", "cached", "skipped"]


@dataclass(frozen=True, slots=True)
class SectionText(Value):
    """The text of an input section, and how it came about."""

    text: str
    way: Way = "model"
    route: str = ""


@dataclass(frozen=True, slots=True)
class SenseInput(Value):
    """For the sense helper: what arrived, and what the catalogue says of such senses."""

    senses: tuple[Sense, ...]
    descriptors: tuple[Descriptor, ...] = ()


@dataclass(frozen=True, slots=True)
class GoalTreeInput(Value):
    """For the goal-tree helper. `root` is only for the key of a cache: no model is shown it here,
    the runtime puts it before the text."""

    user: Goal
    root: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimaryDrafts(Value):
    """What a primary asked for by tool calls: the same types that the sections come to."""

    acts: tuple[ActDraft, ...] = ()
    goal_ops: tuple[GoalPatchOp, ...] = ()
    memory_ops: tuple[MemoryPatchOp, ...] = ()
    dropped: tuple[DroppedElement, ...] = ()
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimaryCorrection(Value):
    """What asks a primary once more, of the route that answered; `attempts` count both."""

    text: str
    route: Route
    attempts: Attempts
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimaryInput(Value):
    """For the primary: the whole Input IR, and what may be called where calls are native. `plain`
    are the senses a line each, where the section has them in the words of a helper: those cannot
    be cut without knowing what of them is gone.
    """

    ir: InputIr
    catalogue: Catalogue
    again: PrimaryCorrection | None = None
    plain: str = ""

    @property
    def text(self) -> str:
        return self.ir.text


@dataclass(frozen=True, slots=True)
class PrimaryAnswer(Value):
    """What the primary came to: its text, or what it asked for by tool calls.

    `usage` and `model` are what the provider reported, for the record. `again`: it should be asked
    once more; where that comes to nothing, this is what it came to.
    """

    text: str = ""
    drafts: PrimaryDrafts | None = None
    route: str = ""
    usage: Usage | None = None
    left_out: tuple[LeftOut, ...] = ()
    again: PrimaryCorrection | None = None


@dataclass(frozen=True, slots=True)
class Intent(Value):
    """For an output helper: its section, and the whole output it stands in."""

    body: str
    output: OutputIr
    text: str = ""


@dataclass(frozen=True, slots=True)
class SectionItems(Value, Generic[T]):
    """What a section came to, and what of it came to nothing."""

    items: tuple[T, ...] = ()
    dropped: tuple[DroppedElement, ...] = ()
    way: Way = "model"
    route: str = ""


SenseHelper: TypeAlias = Callable[[SenseInput], Awaitable[SectionText]]
ActDescriptorHelper: TypeAlias = Callable[[tuple[Descriptor, ...]], Awaitable[SectionText]]
GoalTreeHelper: TypeAlias = Callable[[GoalTreeInput], Awaitable[SectionText]]
Primary: TypeAlias = Callable[[PrimaryInput], Awaitable[PrimaryAnswer]]
ActsHelper: TypeAlias = Callable[[Intent, Catalogue], Awaitable[SectionItems[ActDraft]]]
GoalTreePatchHelper: TypeAlias = Callable[[Intent, Goal], Awaitable[SectionItems[GoalPatchOp]]]
L1MemoryPatchHelper: TypeAlias = Callable[
    [Intent, tuple[L1Entry, ...]], Awaitable[SectionItems[MemoryPatchOp]]
]


@dataclass(frozen=True, slots=True)
class Stages:
    sense_helper: SenseHelper
    act_descriptor_helper: ActDescriptorHelper
    goal_tree_helper: GoalTreeHelper
    primary: Primary
    acts_helper: ActsHelper
    goal_tree_patch_helper: GoalTreePatchHelper
    l1_memory_patch_helper: L1MemoryPatchHelper

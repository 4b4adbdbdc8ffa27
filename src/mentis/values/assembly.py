"""The prompt as one text: what goes into it, how much may, and what came of it.

The names of the result's fields are those of its JSON form, which others read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .selection import Candidate
from .trace import Degradation
from .value import Value

LayerName: TypeAlias = Literal["constitution", "runtime", "untrusted", "tools", "task"]
LAYERS: tuple[LayerName, ...] = ("constitution", "runtime", "untrusted", "tools", "task")
ASSEMBLY_VERSION = 2


@dataclass(frozen=True, slots=True)
class AssemblyWords(Value):
    """What the layers are headed and joined by. The texts are the library's."""

    separator: str
    heading_constitution: str
    heading_rules: str
    heading_runtime: str
    heading_untrusted: str
    heading_tools: str
    heading_task: str
    precedence: str
    git: str
    env: str
    memories: str
    activity: str
    tools: str
    skills: str
    none: str
    parameters: str
    cut: str
    suspicious: str

    @property
    def headings(self) -> tuple[str, ...]:
        return (
            self.heading_constitution,
            self.heading_runtime,
            self.heading_untrusted,
            self.heading_tools,
            self.heading_task,
        )


@dataclass(frozen=True, slots=True)
class AssemblyLimits(Value):
    """How much may stand in the text: tokens in all and per layer, and how many of each kind.

    The constitution is never cut, so it has no limit of its own.
    """

    max_context_tokens: int = 4000
    max_tools: int = 10
    max_skills: int = 3
    max_memories: int = 3
    max_results: int = 5
    max_activity: int = 5
    runtime_tokens: int = 200
    untrusted_tokens: int = 800
    tools_tokens: int = 1600
    task_tokens: int = 1500
    item_tokens: int = 250
    layers: tuple[LayerName, ...] = LAYERS


@dataclass(frozen=True, slots=True)
class GitState(Value):
    branch: str
    summary: str


@dataclass(frozen=True, slots=True)
class EnvState(Value):
    """`cwd` is absolute; in the prompt it is told relative to the root."""

    cwd: str
    os: str


@dataclass(frozen=True, slots=True)
class AssembledMemory(Value):
    """`screening` is what the filter says of it; "" is of what nobody had to look at."""

    id: str
    text: str
    kind: str
    trust: str
    score: float
    screening: str = ""


@dataclass(frozen=True, slots=True)
class AssembledActivity(Value):
    """Something that happened: `source` is `ledger` or `conversation`. `score` is its cosine to the
    task, 0 where words chose it.
    """

    source: str
    text: str
    score: float = 0.0
    screening: str = ""


@dataclass(frozen=True, slots=True)
class AssembledContext(Value):
    """`memories` and `activity` are texts, in the order of the prompt; the details beside them say
    where each comes from. `filteredCount`: what screening kept out of both.
    """

    git: GitState | None = None
    env: EnvState | None = None
    memories: tuple[str, ...] = ()
    activity: tuple[str, ...] = ()
    filteredCount: int = 0  # keys of the JSON
    memoryDetails: tuple[AssembledMemory, ...] = ()
    activityDetails: tuple[AssembledActivity, ...] = ()


@dataclass(frozen=True, slots=True)
class AssemblyCut(Value):
    """Something left out of a layer for lack of room."""

    layer: LayerName
    what: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class ModeDecision(Value):
    """Which rule decided the mode, and by what."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Thresholds(Value):
    """What had to be reached, and for which embedder. None: the rank alone decides.

    `planned` is what a selection starts from where nobody measured the embedder. `memories` is a
    cosine; by `words` it is the part of the words that a memory must share.
    """

    model: str
    origin: Literal["calibrated", "planned", "settings"]
    selection: float | None = None
    memories: float | None = None
    memoriesOrigin: Literal["calibrated", "planned", "settings", "words"] = "words"


@dataclass(frozen=True, slots=True)
class AssemblyMetrics(Value):
    """`embeddingCalls` are all texts that this assembly had embedded: the task (`taskEmbedded`; a
    cache may have answered it), `manifestEmbedded` texts of tools and skills that no manifest has,
    `examplesEmbedded` of the stances, and `activityEmbedded` of what happened. All but the task
    are embedded once for an agent that stays open. `monolithicTokens` is what the text would have
    with every tool and every skill in it, whole. `timings` are milliseconds, and there only when
    they were asked for.
    """

    # ruff: noqa: N815  # keys of the JSON
    estimatedTokens: int
    embeddingCalls: int
    embeddingCacheHits: int
    step: str
    decided: ModeDecision
    thresholds: Thresholds
    layers: Mapping[str, int]
    taskEmbedded: int = 0
    manifestEmbedded: int = 0
    examplesEmbedded: int = 0
    activityEmbedded: int = 0
    monolithicTokens: int = 0
    cuts: tuple[AssemblyCut, ...] = ()
    degraded: tuple[Degradation, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    timings: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class AssembledPrompt(Value):
    """What `mentis assemble --json` prints. `tools` and `skills` are those that are in the text."""

    mode: str
    task: str
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    context: AssembledContext
    prompt: str = field(repr=False)
    metrics: AssemblyMetrics
    version: int = ASSEMBLY_VERSION

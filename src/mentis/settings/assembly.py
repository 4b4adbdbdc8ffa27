"""The section `assembly` of `mentis.toml`: how much the one-text prompt may hold, and of what."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from mentis.recall.stance import StanceName
from mentis.values.assembly import LAYERS, AssemblyLimits, LayerName
from mentis.values.selection import SelectionLimits

from .constant import Constant
from .section import SettingsSection


class StanceSettings(SettingsSection):
    """What is different for one stance; what is left out is as for every one."""

    max_tools: Annotated[
        int | None, Field(ge=0, le=1000, description="Most tools in this stance.")
    ] = None
    max_skills: Annotated[
        int | None, Field(ge=0, le=100, description="Most skills in this stance.")
    ] = None
    max_memories: Annotated[
        int | None, Field(ge=0, le=100, description="Most memories in this stance.")
    ] = None
    base: Annotated[
        tuple[str, ...] | None,
        Field(description="Tools that are there whatever the task; left out: those that ship."),
    ] = None
    skills: Annotated[
        tuple[str, ...],
        Field(description="Skills that are told whatever the task, before those that fit it."),
    ] = ()


class AssemblySettings(SettingsSection):
    """The prompt as one text (`mentis assemble`)."""

    max_context_tokens: Annotated[
        int,
        Field(
            ge=500,
            description="Most tokens of the whole text. The constitution, the rules and the"
            " headings are never cut: those that ship need about 560.",
        ),
    ] = 4000
    max_tools: Annotated[int, Field(ge=0, le=1000, description="Most tools.")] = 10
    max_skills: Annotated[int, Field(ge=0, le=100, description="Most skills.")] = 3
    max_memories: Annotated[int, Field(ge=0, le=100, description="Most memories.")] = 3
    max_results: Annotated[
        int, Field(ge=1, le=100, description="Most tools, skills and memories found by ranking.")
    ] = 5
    max_activity: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Most entries of the record, and turns, that fit the task and are told.",
        ),
    ] = 5
    runtime_tokens: Annotated[
        int, Field(ge=20, description="Most tokens of the runtime context.")
    ] = 200
    untrusted_tokens: Annotated[
        int, Field(ge=20, description="Most tokens of the untrusted context.")
    ] = 800
    tools_tokens: Annotated[int, Field(ge=20, description="Most tokens of tools and skills.")] = (
        1600
    )
    task_tokens: Annotated[
        int, Field(ge=50, description="Most tokens of the task; the rest is cut and reported.")
    ] = 1500
    item_tokens = Constant(
        250,
        "Most tokens of one memory or one thing that happened.",
        "One memory must not take the room of all others; the budgets of layers are the choice.",
    )
    layers: Annotated[
        tuple[LayerName, ...],
        Field(
            description="Which layers there are and their order: `constitution` first, `task` last,"
            " between them `runtime`, `untrusted` and `tools`."
        ),
    ] = LAYERS
    include_git: Annotated[bool, Field(description="Tell the state of git.")] = True
    include_env: Annotated[bool, Field(description="Tell the folder and the system.")] = True
    include_memory_summary: Annotated[bool, Field(description="Tell memories that fit.")] = True
    include_activity: Annotated[
        bool, Field(description="Tell what happened lately and fits the task.")
    ] = True
    include_skills: Annotated[bool, Field(description="Tell skills that fit.")] = True
    semantic_mode: Annotated[
        bool,
        Field(description="Let meaning decide the mode where no hint and no keyword does."),
    ] = False
    min_score: Annotated[
        float | None,
        Field(
            ge=0,
            le=2,
            description="Least score of a tool or skill; left out: as measured for the embedder.",
        ),
    ] = None
    memory_min_score: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="Least cosine of a memory; left out: as measured for the embedder.",
        ),
    ] = None
    embed_seconds = Constant(
        5.0,
        "How long the embedder may take.",
        "Past it words alone are compared: a longer wait makes the text later, not better.",
    )
    git_seconds = Constant(
        2.0,
        "How long git may take.",
        "A repository that answers later is left out, and the text says so.",
    )
    plan: StanceSettings = StanceSettings()
    act: StanceSettings = StanceSettings()
    review: StanceSettings = StanceSettings()

    @field_validator("layers")
    @classmethod
    def _in_order(cls, layers: tuple[LayerName, ...]) -> tuple[LayerName, ...]:
        """Nothing may stand above the constitution, and nothing below the task."""
        if len(layers) != len(set(layers)):
            raise ValueError("a layer stands twice")
        if len(layers) < 2 or layers[0] != "constitution" or layers[-1] != "task":
            raise ValueError("begin with `constitution` and end with `task`")
        return layers

    def stance(self, name: StanceName) -> StanceSettings:
        return {"plan": self.plan, "act": self.act, "review": self.review}[name]

    def limits(self, name: StanceName) -> AssemblyLimits:
        own = self.stance(name)
        return AssemblyLimits(
            max_context_tokens=self.max_context_tokens,
            max_tools=self.max_tools if own.max_tools is None else own.max_tools,
            max_skills=self._skills(own),
            max_memories=self._memories(own),
            max_results=self.max_results,
            max_activity=self.max_activity if self.include_activity else 0,
            runtime_tokens=self.runtime_tokens,
            untrusted_tokens=self.untrusted_tokens,
            tools_tokens=self.tools_tokens,
            task_tokens=self.task_tokens,
            item_tokens=self.item_tokens,
            layers=self.layers,
        )

    def selection(self, limits: AssemblyLimits) -> SelectionLimits:
        return SelectionLimits(
            max_tools=limits.max_tools,
            max_skills=limits.max_skills,
            max_memories=limits.max_memories,
            max_results=limits.max_results,
            embed_seconds=self.embed_seconds,
            min_score=self.min_score,
            memory_min_score=self.memory_min_score,
        )

    def _skills(self, own: StanceSettings) -> int:
        if not self.include_skills:
            return 0
        return self.max_skills if own.max_skills is None else own.max_skills

    def _memories(self, own: StanceSettings) -> int:
        if not self.include_memory_summary:
            return 0
        return self.max_memories if own.max_memories is None else own.max_memories

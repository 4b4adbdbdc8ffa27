"""The prompt as one text: stance, one embedding, what comes to mind, layers in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import anyio
from anyio import to_thread

from mentis.compose.assembly import AssemblyInputs, Frame, LaidLayers, ListItem, lay_layers
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import BadInput
from mentis.home.events import OnEvent, emit_event
from mentis.memories.draft import check_whole
from mentis.memories.parts import HomeScreener
from mentis.recall.embedding import Patience
from mentis.recall.recall import RecallAim, memory_floor
from mentis.recall.stance import NO_HINTS, Hints, Stance, checked_mode, infer_stance, load_stances
from mentis.settings.assembly import AssemblySettings
from mentis.turn.agent_parts import AgentParts
from mentis.turn.recall_sources import RecallCatalogue, RecallSources
from mentis.values.assembly import AssembledActivity, AssembledPrompt, AssemblyWords
from mentis.values.recalled import EmbeddedText, RecalledContext, Stimulus
from mentis.values.selection import SelectionLimits
from mentis.values.trace import Degradation

from .activity import ActivityChooser
from .layers import Layers
from .result import AssemblyResult, event_of, found_rows
from .stance_examples import InferredStance, StanceExamples
from .surroundings import Around, Viewpoint, look_at_place, look_back


class TaskAssembler:
    """Held by an agent: what is the same for every task is made once per revision."""

    def __init__(
        self, parts: AgentParts, environ: Mapping[str, str], *, on_event: OnEvent | None = None
    ) -> None:
        self._parts = parts
        self._environ = environ
        self._on_event = on_event
        self._layers = Layers(parts.who, parts.sources.shelf, EstimatingCounter())
        self._examples = StanceExamples()
        ground = parts.acting.ground
        self._activity = ActivityChooser(ground.screener or HomeScreener(ground.home.path))
        # Its own: what turns have embedded so far must not decide what a task finds.
        self._recalling = RecallSources(parts.who.home.path, parts.acting.tools.notes)

    async def assemble(
        self,
        task: str,
        *,
        mode: str = "auto",
        root: Path | None = None,
        hints: Hints = NO_HINTS,
        session: str = "main",
        timings: bool = False,
    ) -> AssembledPrompt:
        """Nothing of the clock, the working directory or chance goes in, and no model is called."""
        begun, around = perf_counter(), Around()
        asked = checked_mode(mode)
        _check(task)
        home = self._parts.sources.settings.home
        view = Viewpoint(self._parts.record, home, self._environ, session, root)
        job = _Job(task, self._settings(around), around, self._recalling, view)
        embedded = await (job.embed() if root is None else _embedded_meanwhile(job, view))
        patience = job.patience()
        stance = infer_stance(task, asked=asked, hints=hints)
        inferred = await self._inferred(job, stance, embedded, patience)
        recalled, there = await self._recalled(job, inferred.stance, embedded, patience)
        await self._choose_activity(job, inferred.stance, embedded, patience)
        around.degraded += (*around.outside, *inferred.degraded, *around.chosen.degraded)
        made = self._laid(job, inferred, embedded, recalled, there=there)
        around.took("total", begun)
        public = made.public(timings=timings)
        emit_event(event_of(public, around.timings["total"]), self._on_event)
        return public

    async def recall(
        self, task: str, *, mode: str = "auto", hints: Hints = NO_HINTS
    ) -> RecalledContext:
        """What comes to mind for a task, as an assembly would have it."""
        asked, around = checked_mode(mode), Around()
        _check(task)
        job = _Job(task, self._settings(around), around, self._recalling)
        embedded = await job.embed()
        patience = job.patience()
        stance = infer_stance(task, asked=asked, hints=hints)
        inferred = await self._inferred(job, stance, embedded, patience)
        recalled, _ = await self._recalled(job, inferred.stance, embedded, patience)
        return replace(recalled, degraded=(*inferred.degraded, *recalled.degraded))

    async def _inferred(
        self, job: _Job, stance: Stance, embedded: EmbeddedText, patience: Patience
    ) -> InferredStance:
        """By meaning where nothing else says it and the settings let it."""
        if stance.rule != "default" or not job.settings.semantic_mode:
            return InferredStance(stance)
        return await self._examples.stance(embedded, await job.recalling.embedder(), patience)

    async def _recalled(
        self, job: _Job, stance: Stance, embedded: EmbeddedText, patience: Patience
    ) -> tuple[RecalledContext, RecallCatalogue]:
        acting = self._parts.acting
        acting.tools.follow_skills()  # one look into a folder: a thread for it would cost more
        tools = acting.registry.declarations()
        wait = None if embedded.vector is None else patience
        there = await job.recalling.catalogue(tools, wait)
        job.recalling.check_width(embedded)
        return await to_thread.run_sync(job.recall, embedded, stance, there), there

    async def _choose_activity(
        self, job: _Job, stance: Stance, embedded: EmbeddedText, patience: Patience
    ) -> None:
        begun, limits = perf_counter(), job.settings.limits(stance.name)
        job.around.chosen = await self._activity.choose(
            job.around.candidates,
            embedded,
            embedder=await job.recalling.embedder(),
            patience=patience,
            floor=memory_floor(embedded, job.settings.selection(limits)),
            most=limits.max_activity,
        )
        job.around.took("choosing", begun)

    def _settings(self, around: Around) -> AssemblySettings:
        settings, fault = self._parts.sources.settings.current()
        if fault is not None:
            reason = f"{fault.message}; the earlier ones hold"
            around.degraded.append(Degradation("settings", reason))
        return settings.model.assembly

    def _laid(
        self,
        job: _Job,
        inferred: InferredStance,
        embedded: EmbeddedText,
        recalled: RecalledContext,
        *,
        there: RecallCatalogue,
    ) -> AssemblyResult:
        begun, around, stance = perf_counter(), job.around, inferred.stance
        frame, noted = self._layers.frame()
        told = AssemblyInputs(
            task=job.task,
            rules=self._layers.rules(stance.name),
            runtime=_lines(around, frame.words),
            memories=_memory_items(recalled, frame.words),
            activity=tuple(_activity_item(one, frame.words) for one in around.activity),
            tools=recalled.tools,
            skills=recalled.skills,
        )
        laid = lay_layers(told, frame, job.settings.limits(stance.name))
        around.took("layers", begun)
        return AssemblyResult(
            task=job.task,
            stance=stance,
            embedded=embedded,
            recalled=recalled,
            laid=laid,
            around=around,
            settings=job.settings,
            cuts=there.cuts,
            embedded_also=(there.embedded, inferred.embedded, around.chosen.embedded),
            whole_tokens=_whole_tokens(laid, there, frame),
            noted=(*self._parts.sources.noted, *self._parts.acting.notes(), *noted),
        )


@dataclass(frozen=True, slots=True)
class _Job:
    """One task, and what it is worked on with; without a view nothing is told of before it."""

    task: str
    settings: AssemblySettings
    around: Around
    recalling: RecallSources
    view: Viewpoint | None = None

    async def embed(self) -> EmbeddedText:
        begun = perf_counter()
        limits = SelectionLimits(embed_seconds=self.settings.embed_seconds)
        made = await self.recalling.embed(self.task, limits)
        self.around.took("embedding", begun)
        return made

    def patience(self) -> Patience:
        """What the task left of the time that the embedder has."""
        spent = self.around.timings["embedding"] / 1000
        return Patience.of(self.settings.embed_seconds, spent=spent)

    def recall(
        self, embedded: EmbeddedText, stance: Stance, there: RecallCatalogue
    ) -> RecalledContext:
        """All that blocks, for one thread."""
        if self.view is not None:
            look_back(self.view, self.settings, self.around)
        begun, settings = perf_counter(), self.settings
        base = settings.stance(stance.name).base
        aim = RecallAim(
            stance=stance.name,
            base=load_stances().base[stance.name] if base is None else base,
            skills=settings.stance(stance.name).skills,
            limits=settings.selection(settings.limits(stance.name)),
        )
        stimulus = Stimulus(self.task)
        recalled = self.recalling.recall_among(there, stimulus, embedded, aim)
        self.around.took("recall", begun)
        return recalled


async def _embedded_meanwhile(job: _Job, view: Viewpoint) -> EmbeddedText:
    """The embedding, and git: neither waits for the other."""
    made: list[EmbeddedText] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look_at_place, view, job.settings, job.around)
            made.append(await job.embed())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return made[0]


def _check(task: str) -> None:
    if not task.strip():
        raise BadInput("the task is empty", hint="say what is to be done")
    check_whole(task, "the task")


def _whole_tokens(laid: LaidLayers, there: RecallCatalogue, frame: Frame) -> int:
    """What the text would have with every tool and skill there is, with all their parameters."""
    if "tools" not in laid.layers:
        return laid.tokens
    tools = sum(frame.tool(one)[0].tokens for one in there.tools.values())
    skills = sum(frame.skill(one).tokens for one in there.skills.skills)
    head = frame.count(frame.words.heading_tools + frame.words.tools + frame.words.skills)
    return max(laid.tokens, laid.tokens - laid.layers["tools"] + head + tools + skills)


def _memory_items(recalled: RecalledContext, words: AssemblyWords) -> tuple[ListItem, ...]:
    """With a mark before what the filter finds suspicious."""
    rows = found_rows(recalled)
    items: list[ListItem] = []
    for span in recalled.memories:
        screening = rows[span.source].memory.screening
        outcome = "" if screening is None else screening.outcome
        items.append(ListItem(span.source, _marked(span.text, outcome, words)))
    return tuple(items)


def _activity_item(one: AssembledActivity, words: AssemblyWords) -> ListItem:
    return ListItem(one.text.partition(":")[0], _marked(one.text, one.screening, words))


def _marked(text: str, outcome: str, words: AssemblyWords) -> str:
    return f"{words.suspicious} {text}" if outcome == "suspicious" else text


def _lines(around: Around, words: AssemblyWords) -> tuple[str, ...]:
    """The folder is told as seen from the root: no path of a machine is in a prompt."""
    lines: list[str] = []
    if around.git is not None:
        lines.append(f"{words.git}: {around.git.branch} ({around.git.summary})")
    if around.env is not None:
        lines.append(f"{words.env}: {around.env.os} {around.place}")
    return tuple(lines)

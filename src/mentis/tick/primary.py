"""The primary: the model that decides. By tool calls where its route has them, else by text.

Both come to the same drafts. What is asked for by a tool is checked like what is written. Each
route is asked for as much as it has room for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from anyio import to_thread

from mentis.compose.input_ir import InputIr
from mentis.errors import ReplyError, SenseTooLarge
from mentis.facts.abilities import abilities
from mentis.settle.drafts import SectionContent, read_goal_ops, read_memory_ops
from mentis.settle.output_ir import evidence
from mentis.settle.window import split_window
from mentis.values.action import Action
from mentis.values.json import JsonObject
from mentis.values.reply import Reply
from mentis.values.route import Route
from mentis.values.tick import (
    ActDraft,
    Descriptor,
    DroppedElement,
    GoalPatchOp,
    LeftOut,
    MemoryPatchOp,
    Section,
    Violation,
)
from mentis.values.tool import ToolDeclaration

from .asking import StageQuestion, TickAsker
from .fitting import count_unseen, fit_input
from .stages import PrimaryAnswer, PrimaryDrafts, PrimaryInput
from .window import TickWindow, handed_over, is_usable

_ROOT = "<output-ir>"
_WITH_TOOLS = "cortex_primary_tools"
# The tools of the two patches, and the operation that each stands for.
GOAL_TOOLS: Mapping[str, str] = {
    "sprout_goal": "sprout",
    "prune_goal": "prune",
    "tilt_goal": "tilt",
}
MEMORY_TOOLS: Mapping[str, str] = {
    "append_memory": "append",
    "insert_memory": "insert",
    "remove_memory": "remove",
}


@dataclass(frozen=True, slots=True)
class PrimaryModel:
    """`patches` are the tools for the two patches, in the words of the library, as is that of the
    window; without any, the answer is an `<output-ir>`. `correction` is the route that is asked
    again, if not the one that answered.
    """

    asking: TickAsker
    routes: tuple[Route, ...]
    patches: tuple[ToolDeclaration, ...] = ()
    window_tool: ToolDeclaration | None = None
    correction: Route | None = None

    @property
    def by_tools(self) -> bool:
        """The abilities of the route decide, where the settings let it have tools."""
        return bool(self.patches) and abilities(self.routes[0]).calls != "text"

    async def think(self, occasion: PrimaryInput) -> PrimaryAnswer:
        plans: dict[str, _Plan] = {}

        async def plan(route: Route) -> StageQuestion:
            made = plans[route.name] = await to_thread.run_sync(self._plan, occasion, route)
            return made.question

        routes = self.routes if occasion.again is None else (occasion.again.route,)
        reply, route = await self.asking.ask_each("primary", plan, routes)
        return self._thought(occasion, plans[route.name], reply, route)

    def _thought(
        self, occasion: PrimaryInput, plan: _Plan, reply: Reply, route: Route
    ) -> PrimaryAnswer:
        reply, whole = handed_over(reply) if plan.takes_window else (reply, reply.text)
        by_text = not self.by_tools or (not reply.actions and _ROOT in reply.text)
        drafts = None if by_text else plan.offered.drafts(reply)
        text = self._answer(reply.text)
        thought = PrimaryAnswer(text, drafts, route.name, reply.usage, plan.left_out)
        if occasion.again is not None and not is_usable(thought):
            raise ReplyError("what came as a correction decides nothing", route=route.name)
        asked_again = self.correction or route
        again = plan.window.again(occasion, thought, replace(reply, text=whole), asked_again)
        return replace(thought, again=again)

    def _plan(self, occasion: PrimaryInput, route: Route) -> _Plan:
        """What this route is asked: as much of the sections as it has room for. It blocks."""
        block = _WITH_TOOLS if self.by_tools else ""
        window = TickWindow.of(self.asking, route, block, tools=self.by_tools)
        own = (self.window_tool,) if self.window_tool and window.asked and self.by_tools else ()
        offered = OfferedTools(occasion.catalogue.acts, (*own, *self.patches))
        after = f"\n\n{occasion.again.text}" if occasion.again is not None else ""
        asked = partial(StageQuestion, "primary", block=block, window=window.values)

        def question(ir: InputIr) -> StageQuestion:
            if self.by_tools:
                return asked(f"{ir.text}{after}", tools=offered.tools)
            return asked(f"{self.asking.message(ir, route)}{after}")

        room = route.context_tokens - route.max_tokens
        count = self.asking.plan_call

        def size(ir: InputIr) -> int:
            return count(question(ir), route)[2]

        ir, cut = fit_input(occasion.ir, room, size, plain=occasion.plain)
        if _tells_no_sense(occasion, cut) and size(ir) <= room:
            raise _no_room(route)
        return _Plan(question(ir), offered, cut, window, takes_window=bool(own))

    def _answer(self, text: str) -> str:
        """Without the window that it may open with; the entry of the tick has that."""
        windows = self.asking.present.settings.model.status.window == "model"
        return split_window(text).text if windows else text


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one route is asked, and what it is not told for want of room. `takes_window`: with a
    tool that hands one over; else a call of that name is an act, or none that is known.
    """

    question: StageQuestion
    offered: OfferedTools
    left_out: tuple[LeftOut, ...]
    window: TickWindow
    takes_window: bool


class OfferedTools:
    """The acts of a catalogue as tools, with the tools of the patches after them."""

    def __init__(
        self, acts: Sequence[Descriptor], patches: tuple[ToolDeclaration, ...] = ()
    ) -> None:
        own = {tool.name for tool in patches}
        often = Counter(one.name for one in acts)
        self._acts = {
            one.name if often[one.name] == 1 and one.name not in own else _whole(one): one
            for one in acts
        }
        self.tools = (*(_tool(name, one) for name, one in self._acts.items()), *patches)

    def drafts(self, reply: Reply) -> PrimaryDrafts:
        """What was called, sorted by what it is for; what is no call of ours is dropped."""
        acts, dropped = list[ActDraft](), list[DroppedElement]()
        goals, memory = list[JsonObject](), list[JsonObject]()
        violations = list[Violation]()
        for index, action in enumerate(reply.actions):
            if _said(action, reply.actions[:index]):
                # A small model repeats itself, and means it once.
                violations.append(Violation("repeated-call", evidence(action.type)))
                dropped.append(_repeated(index, action))
            elif action.type in GOAL_TOOLS:
                goals.append({**action.payload, "op": GOAL_TOOLS[action.type]})
            elif action.type in MEMORY_TOOLS:
                memory.append({**action.payload, "op": MEMORY_TOOLS[action.type]})
            elif action.type in self._acts:
                one = self._acts[action.type]
                acts.append(ActDraft(one.endpoint, one.name, action.payload))
            else:
                dropped.append(_unknown(index, action))
        dropped += _broken(reply, len(reply.actions))
        goal_ops: SectionContent[GoalPatchOp] = read_goal_ops(json.dumps(goals))
        memory_ops: SectionContent[MemoryPatchOp] = read_memory_ops(json.dumps(memory))
        dropped += [*goal_ops.dropped, *memory_ops.dropped]
        patches = goal_ops.items, memory_ops.items
        return PrimaryDrafts(tuple(acts), *patches, tuple(dropped), tuple(violations))


def _tells_no_sense(occasion: PrimaryInput, cut: Sequence[LeftOut]) -> bool:
    told = (occasion.plain or occasion.ir.senses).splitlines()
    return 0 < len(told) <= count_unseen(cut)


def _no_room(route: Route) -> SenseTooLarge:
    """An answer to a prompt without it would pass for an answer to it."""
    return SenseTooLarge(
        f"the prompt of primary has no room for the first sense within the {route.context_tokens}"
        f" tokens of route {route.name!r}",
        hint="raise its context_tokens if the model has more, or lower its max_tokens",
        route=route.name,
    )


def _said(action: Action, before: Sequence[Action]) -> bool:
    return any((one.type, one.payload) == (action.type, action.payload) for one in before)


def _repeated(index: int, action: Action) -> DroppedElement:
    section: Section = "acts"
    if action.type in GOAL_TOOLS:
        section = "goal-tree-patch"
    elif action.type in MEMORY_TOOLS:
        section = "l1-memory-patch"
    reason = "an earlier call of the same answer says the same"
    return DroppedElement(section, index, "repeated", reason, json.dumps(action.payload)[:400])


def _tool(name: str, one: Descriptor) -> ToolDeclaration:
    return ToolDeclaration(name, one.description, one.schema)


def _whole(one: Descriptor) -> str:
    return f"{one.endpoint}/{one.name}"


def _unknown(index: int, action: Action) -> DroppedElement:
    reason = f"the catalogue has no act {action.type[:200]!r}"
    return DroppedElement("acts", index, "unknown-act", reason, json.dumps(action.payload)[:400])


def _broken(reply: Reply, start: int) -> Iterator[DroppedElement]:
    """Calls whose arguments could not be read: an error with the raw text, never an empty call."""
    called = [problem for problem in reply.errors if problem.call_id or problem.action]
    for index, problem in enumerate(called, start):
        yield DroppedElement("acts", index, "shape", problem.message, problem.raw[:400])

"""The three output helpers: what is data already is read, the rest a model may put into form.

Where a route can hold a model to a schema, it is asked by a tool of that form; the contract stays
a bare array, and the object around it is only on the wire.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from mentis.compose.input_ir import render_catalog
from mentis.errors import ReplyError
from mentis.facts.abilities import abilities
from mentis.settle.draft_schemas import Form, draft_schema
from mentis.settle.drafts import SectionContent, read_acts, read_goal_ops, read_memory_ops
from mentis.values.cognition import Goal, L1Entry
from mentis.values.json import JsonObject
from mentis.values.marks import sectionless
from mentis.values.reply import Reply
from mentis.values.request import ToolChoice
from mentis.values.route import Route
from mentis.values.tick import (
    ActDraft,
    Catalogue,
    Descriptor,
    GoalPatchOp,
    MemoryPatchOp,
    Section,
    Stage,
)
from mentis.values.tool import ToolDeclaration

from .asking import StageQuestion, TickAsker
from .input_helpers import partition, wrap_in_tags
from .stages import Intent, SectionItems

T = TypeVar("T")
_MOST_ITEMS, _MOST_CHARS = 1, 100  # of what a small model writes at once


@dataclass(frozen=True, slots=True)
class OutputHelper:
    """One output helper. Without routes, a section that is not data has failed."""

    stage: Stage
    section: Section
    asking: TickAsker | None = None
    routes: tuple[Route, ...] = ()
    form: ToolDeclaration | None = None  # the words of the tool that takes the array

    async def acts(self, intent: Intent, catalogue: Catalogue) -> SectionItems[ActDraft]:
        acts = catalogue.acts
        return await self._made(intent, read_acts, lambda: _catalog(acts), acts)

    async def goals(self, intent: Intent, user: Goal) -> SectionItems[GoalPatchOp]:
        known = partial(wrap_in_tags, "user-partition")
        return await self._made(intent, read_goal_ops, lambda: known(partition(user)))

    async def memory(
        self, intent: Intent, entries: tuple[L1Entry, ...]
    ) -> SectionItems[MemoryPatchOp]:
        known = partial(wrap_in_tags, "l1-memory")
        return await self._made(intent, read_memory_ops, lambda: known([e.text for e in entries]))

    async def _made(
        self,
        intent: Intent,
        read: Callable[[str], SectionContent[T]],
        context: Callable[[], str],
        acts: tuple[Descriptor, ...] = (),
    ) -> SectionItems[T]:
        found = read(intent.body)
        if found.fits or self.asking is None or not self.routes:
            return self._as_it_is(found)
        text = "\n".join(
            (
                intent.text,
                f"<{self.section}>\n{intent.body}\n</{self.section}>",
                context(),
            )
        )
        reply, route = await self.asking.ask(self._question(text, acts), self.routes)
        formed = read(_array_in(reply))
        if not formed.items and formed.dropped:
            raise ReplyError(
                f"the stage {self.stage!r} got no array: {formed.dropped[0].reason}",
                route=route.name,
            )
        return SectionItems(formed.items, formed.dropped, "model", route.name)

    def _as_it_is(self, found: SectionContent[T]) -> SectionItems[T]:
        """What can be read counts; a section of which nothing can has failed."""
        if not found.fits and not found.items:
            reason = found.dropped[0].reason if found.dropped else "nothing in it can be read"
            raise ReplyError(
                f"the section {self.section!r} is not data: {reason}",
                hint=f"name a route for it: routes.{self.stage}",
            )
        return SectionItems(found.items, found.dropped, "read")

    def _question(self, text: str, acts: tuple[Descriptor, ...]) -> StageQuestion:
        """By a tool of the array's form where the route takes one; else in plain words."""
        route = self.routes[0]
        if self.form is None or abilities(route).calls == "text":
            return StageQuestion(self.stage, text)
        calls = abilities(route).calls
        strict = calls == "native" and abilities(route).strict_tools
        form: Form = "strict" if strict else "wrapped"
        schema = draft_schema(self.section, form, acts)
        if calls == "bound":
            schema = cast("JsonObject", _ending(schema))
        tool = ToolDeclaration(self.form.name, self.form.description, schema, strict=strict or None)
        return StageQuestion(self.stage, text, (tool,), ToolChoice("one", tool.name))


def _catalog(acts: tuple[Descriptor, ...]) -> str:
    told = sectionless(render_catalog(acts))
    return f"<act-descriptor-catalog>\n{told}\n</act-descriptor-catalog>"


def _by_hash(node: object) -> bool:
    """A way to name an entry that a small model does not need: it has the place."""
    found = cast("JsonObject", node).get("properties") if isinstance(node, Mapping) else None
    return isinstance(found, Mapping) and "hash" in found


def _ending(node: object) -> object:
    """Held to a grammar, a small model writes for as long as it may: so not for ever."""
    if isinstance(node, list):
        return [_ending(item) for item in cast("list[object]", node) if not _by_hash(item)]
    if not isinstance(node, Mapping):
        return node
    members = {name: _ending(part) for name, part in cast("JsonObject", node).items()}
    bound = {"array": ("maxItems", _MOST_ITEMS), "string": ("maxLength", _MOST_CHARS)}
    if (kind := members.get("type")) in bound and "enum" not in members:
        name, most = bound[cast("str", kind)]
        members.setdefault(name, most)
    return members


def _array_in(reply: Reply) -> str:
    """The array as text: what the tool was called with, else the words."""
    if not reply.actions:
        return reply.text
    payload: JsonObject = reply.actions[0].payload
    return json.dumps(payload, ensure_ascii=False)

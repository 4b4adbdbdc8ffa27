"""The three input helpers: deterministic, or a model with its own route.

A model is asked only for what the cache does not have. Descriptors are asked for one by one, so
that a new one costs one call and their order none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mentis.compose.input_ir import (
    act_descriptor_element,
    flat,
    line,
    render_catalog,
    render_goals,
    render_senses,
    short,
    told_payload,
)
from mentis.errors import ReplyError
from mentis.values.cognition import Goal
from mentis.values.digest import digest
from mentis.values.json import JsonObject
from mentis.values.marks import sectionless
from mentis.values.route import Route
from mentis.values.tick import Descriptor, Stage

from .asking import StageQuestion, TickAsker, block_of
from .cache import HelperCache, HelperCacheKey
from .stages import GoalTreeInput, SectionText, SenseInput


async def rendered_senses(given: SenseInput) -> SectionText:
    return SectionText(render_senses(given.senses, given.descriptors), "rendered")


async def rendered_acts(acts: tuple[Descriptor, ...]) -> SectionText:
    return SectionText(render_catalog(acts), "rendered")


async def named_acts(acts: tuple[Descriptor, ...]) -> SectionText:
    """Only where and what: for a primary that is told of each as a tool anyway."""
    return SectionText(
        "\n".join([f"- {flat(f'{one.endpoint}/{one.name}')}" for one in acts]), "rendered"
    )


async def rendered_goals(given: GoalTreeInput) -> SectionText:
    return SectionText(render_goals(given.user), "rendered")


@dataclass(frozen=True, slots=True)
class ModelHelper:
    """One input helper behind routes; `cache` None: every time is another time."""

    stage: Stage
    asking: TickAsker
    routes: tuple[Route, ...]
    cache: HelperCache | None = None

    async def senses(self, given: SenseInput) -> SectionText:
        senses: list[object] = [
            {
                "endpoint": short(one.endpoint),
                "sense": short(one.kind),
                "trust": one.trust.value,
                "payload": told_payload(one.payload),
            }
            for one in given.senses
        ]
        catalog: list[object] = [
            {"endpoint": one.endpoint, "sense": one.name, "payload_schema": one.schema}
            for one in given.descriptors
        ]
        return await self._told(
            f"{wrap_in_tags('senses', senses)}\n{wrap_in_tags('sense-catalog', catalog)}", ()
        )

    async def acts(self, acts: tuple[Descriptor, ...]) -> SectionText:
        """In a fixed order, each with its names around it."""
        elements, ways = list[str](), set[str]()
        for one in sorted(acts, key=lambda one: one.key):
            told = await self._told(wrap_in_tags("act-descriptor", _described(one)), ())
            elements.append(act_descriptor_element(one, told.text))
            ways.add(told.way)
        way = "cached" if ways == {"cached"} else "model"
        return SectionText("\n".join(elements), way, self.routes[0].name)

    async def goals(self, given: GoalTreeInput) -> SectionText:
        return await self._told(wrap_in_tags("user-partition", partition(given.user)), given.root)

    async def _told(self, text: str, root: Sequence[str]) -> SectionText:
        route = self.routes[0]
        origin = None
        if self.cache is not None:
            prompt = digest(self.asking.prompt(block_of(self.stage), route).text.encode())
            named = line(
                [route.name, route.backend, route.url, route.model, route.variant, route.max_tokens]
            )
            origin = HelperCacheKey(self.stage, text, prompt, named, tuple(root))
            if (found := self.cache.find(origin)) is not None:
                return SectionText(found, "cached", route.name)
        reply, used = await self.asking.ask(StageQuestion(self.stage, text), self.routes)
        if not reply.text.strip():
            raise ReplyError(f"the stage {self.stage!r} got a blank answer", route=used.name)
        # Cut off by the limit it would be cut off again: the limit is part of the key.
        whole = used is route and reply.stop in ("end", "length")
        if self.cache is not None and origin is not None and whole:
            self.cache.keep(origin, reply.text)
        return SectionText(reply.text, "model", used.name)


def wrap_in_tags(name: str, content: object) -> str:
    """JSON between two tags; no text in it can be taken for one of them."""
    body = sectionless(line(content)).replace("</", "<\\/")
    return f"<{name}>\n{body}\n</{name}>"


def _described(one: Descriptor) -> JsonObject:
    return {
        "endpoint_id": one.endpoint,
        "neural_signal_descriptor_id": one.name,
        "description": one.description,
        "payload_schema": one.schema,
    }


def partition(goal: Goal) -> JsonObject:
    """A goal as the contract names its parts; what it was made from is not the model's business."""
    return {
        "node_id": goal.id,
        "summary": goal.text,
        "weight": goal.weight,
        "children": [partition(child) for child in goal.children],
    }

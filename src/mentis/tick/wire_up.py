"""The seven stages as the settings have them: deterministic, or models behind routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from mentis.ask.models import Models
from mentis.home.identity import Identity
from mentis.home.routes import open_stage
from mentis.library.acts import load_cortex_tools
from mentis.settings.settings import Settings
from mentis.turn.window import WINDOW_TOKENS
from mentis.values.json import JsonObject
from mentis.values.route import Route
from mentis.values.tick import Descriptor, Section, Stage
from mentis.values.tool import ToolDeclaration

from .asking import TickAsker
from .cache import HelperCache
from .input_helpers import ModelHelper, named_acts, rendered_acts, rendered_goals, rendered_senses
from .output_helpers import OutputHelper
from .primary import GOAL_TOOLS, MEMORY_TOOLS, PrimaryModel
from .stages import Stages
from .window import TOOL

ENDPOINT = "cortex"  # where acts are done that the tick does itself
_EXPAND = "expand_sense"
_FOR_SMALL = ("append_memory", "sprout_goal")
_MOST_CHARS = 100


@dataclass(frozen=True, slots=True)
class StageBuilder:
    """What stages are made of. `cache` outlives the tick, the rest is of this one."""

    who: Identity
    models: Models
    settings: Settings
    asking: TickAsker
    cache: HelperCache

    def stages(self) -> Stages:
        words = load_cortex_tools(self.who.persona.language)
        senses, acts = self._input("sense_helper"), self._input("act_descriptor_helper")
        goals = self._input("goal_tree_helper")
        routes = self.routes()
        again, by_text = self.models.correction, self.settings.model.cortex.format == "output-ir"
        primary = PrimaryModel(
            self.asking,
            routes,
            () if by_text else _patches(words, small=_is_small(routes[0])),
            replace(words[TOOL], strict=False),  # nobody knows here what a window of tomorrow has
            correction=again and _bounded(again, self._most()),
        )
        plain_acts = named_acts if primary.by_tools else rendered_acts
        return Stages(
            sense_helper=senses.senses if senses else rendered_senses,
            act_descriptor_helper=acts.acts if acts else plain_acts,
            goal_tree_helper=goals.goals if goals else rendered_goals,
            primary=primary.think,
            acts_helper=self._output("acts_helper", "acts", words).acts,
            goal_tree_patch_helper=self._output(
                "goal_tree_patch_helper", "goal-tree-patch", words
            ).goals,
            l1_memory_patch_helper=self._output(
                "l1_memory_patch_helper", "l1-memory-patch", words
            ).memory,
        )

    def expand(self) -> Descriptor:
        words = load_cortex_tools(self.who.persona.language)[_EXPAND]
        return Descriptor("act", ENDPOINT, words.name, words.parameters, words.description)

    def _input(self, stage: Stage) -> ModelHelper | None:
        route = self._route(stage)
        if route is None:
            return None
        cache = None if stage == "sense_helper" else self.cache  # no two moments are the same
        return ModelHelper(stage, self.asking, (route,), cache)

    def _output(
        self, stage: Stage, section: Section, words: Mapping[str, ToolDeclaration]
    ) -> OutputHelper:
        route = self._route(stage)
        if route is None:
            return OutputHelper(stage, section)
        form = words[f"write_{section.replace('-', '_')}"]
        return OutputHelper(stage, section, self.asking, (route,), form)

    def _route(self, stage: Stage) -> Route | None:
        """The route of a helper; None: it works without a model."""
        own = open_stage(self.settings, self.who.home, stage, instead_of=self.models.route)
        route = own or open_stage(
            self.settings, self.who.home, "helper", instead_of=self.models.route
        )
        return route and _bounded(route, self.settings.model.cortex.helper_tokens)

    def routes(self) -> tuple[Route, ...]:
        """Those of the primary: its own, or the agent's with what it falls back on."""
        own = open_stage(self.settings, self.who.home, "primary", instead_of=self.models.route)
        routes = (own,) if own else (self.models.route, *self.models.fallbacks)
        return tuple([_bounded(route, self._most()) for route in routes])

    def _most(self) -> int:
        """The longest answer of the primary; a window comes on top of it."""
        windows = self.asking.present.window is not None
        return self.settings.model.cortex.primary_tokens + (WINDOW_TOKENS if windows else 0)


def _is_small(route: Route) -> bool:
    return route.variant == "compact"


def _patches(words: Mapping[str, ToolDeclaration], *, small: bool) -> tuple[ToolDeclaration, ...]:
    """A small model is told of the two that matter most, each with room for a sentence."""
    if not small:
        return tuple([words[name] for name in (*GOAL_TOOLS, *MEMORY_TOOLS)])
    return tuple([_short(words[name]) for name in _FOR_SMALL])


def _short(tool: ToolDeclaration) -> ToolDeclaration:
    fields = cast("Mapping[str, JsonObject]", tool.parameters["properties"])
    short = {
        name: {"type": "string", "maxLength": _MOST_CHARS}
        if one["type"] == "string"
        else {key: value for key, value in one.items() if key != "description"}
        for name, one in fields.items()
    }
    return replace(tool, parameters={**tool.parameters, "properties": short})


def _bounded(route: Route, tokens: int) -> Route:
    return replace(route, max_tokens=min(route.max_tokens, tokens))

"""The one service of tools: what an agent can do, tried, added, trusted and taken away.

Looking starts no program and calls no server; `connected` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias, cast

from mentis.act.builtin.table import BUILT_IN
from mentis.act.gate import Gate, GateRules
from mentis.act.seen import NOTHING_SEEN
from mentis.errors import MentisError, SettingsError, UsageError
from mentis.home.closing import Closeable
from mentis.home.parts import Parts
from mentis.record.record import Record, open_record
from mentis.settings.acts import TOOL_NAME, TOOL_NAME_RULE, ToolSettings
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.settings.tables import TableValue, add_table, remove_table, restore
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.trusted import TrustedTools
from mentis.values.act import ActSpec, Scope
from mentis.values.action import Action, Outcome
from mentis.values.digest import Digest
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .acting import ActRunner
from .record_ground import ground_of
from .registry import AgentTools, ToolProblem, open_tools, source_of
from .trust import BUILTIN, acts_digest, opening_settings, source_digest

State: TypeAlias = Literal["on", "off", "blocked", "untrusted", "unconnected", "failed"]
_BY_SETTING = {"message_NAME": "outbox", "shell": "programs", "web_fetch": "hosts"}
BY_HAND = GateRules(policy="open")  # whoever calls a tool by hand vouches for what they type


@dataclass(frozen=True, slots=True)
class ActRow(Value):
    """One act, and whether it can be done."""

    name: str
    source: str
    scope: Scope
    external_effects: bool
    idempotent: bool
    state: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class ToolRow(Value):
    """One tool of the settings: where its acts come from, which they are, what is wrong with it."""

    name: str
    source: str
    what: str
    state: State
    acts: tuple[str, ...] = ()
    problems: tuple[ToolProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing(Value):
    acts: tuple[ActRow, ...]
    tools: tuple[ToolRow, ...]

    @property
    def problems(self) -> tuple[ToolProblem, ...]:
        return tuple(problem for tool in self.tools for problem in tool.problems)


@dataclass(frozen=True, slots=True)
class ActDetail(Value):
    """One act in full. `digest` is what a yes to it is bound to."""

    row: ActRow
    spec: ActSpec
    digest: Digest


def open_toolbox(
    home: str | Path, persona: str | None = None, parts: Parts | None = None
) -> Toolbox:
    """The tools of one persona of a home; use it as a context manager."""
    parts = parts or Parts()
    return Toolbox(open_record(home, persona, parts), parts)


class Toolbox(Closeable):
    """Its methods block, but for those that reach out. Settings that it changes count for the next
    one that is opened.
    """

    def __init__(self, record: Record, parts: Parts) -> None:
        self._record = record
        self._home = record.home.path
        self._ground = ground_of(record, parts)
        self._trusted = TrustedTools(config_folder(record.environ))
        self._tools: AgentTools | None = None

    @property
    def tools(self) -> AgentTools:
        """Opened when it is first asked for: that runs the files that are trusted."""
        if self._tools is None:
            self._tools = open_tools(self._ground)
        return self._tools

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AgentTools]:
        """With every server started that may be."""
        try:
            await self.tools.start()
            yield self.tools
        finally:
            await self.tools.aclose()

    # Looking

    def listing(self) -> Listing:
        """Every act there is or could be, and every tool of the settings."""
        acts = sorted([*self._acts(), *self._missing()], key=lambda row: (row.source, row.name))
        settings = self._record.settings.model.tools
        tools = [self._row(name, tool) for name, tool in sorted(settings.items())]
        return Listing(tuple(acts), (*self._opened(), *tools))

    def show(self, name: str) -> ActDetail:
        """One act in full; UsageError when there is none of that name."""
        registry = self.tools.registry
        spec, digest = registry.spec(name), registry.digest(name)
        if spec is None or digest is None:
            raise self._unknown(name)
        return ActDetail(self._act(spec), spec, digest)

    def is_server(self, name: str) -> bool:
        """Whether an act of this name would come from a server that has to be asked for it."""
        tool = self._record.settings.model.tools.get(name.partition("_")[0])
        return tool is not None and tool.chosen_kind == "mcp"

    def tool(self, name: str) -> ToolSettings:
        """What the settings say of one tool; UsageError when they do not."""
        known = self._record.settings.model.tools
        if name in known:
            return known[name]
        raise UsageError(
            f"the settings name no tool {name!r}",
            hint=_meant(name, list(known)) or "`mentis tools list` shows what there is",
        )

    # Changing

    def add(self, name: str, values: Mapping[str, TableValue]) -> ToolSettings:
        """Write it into the settings, and trust it: whoever adds it has asked for it.

        BadInput when an act of it has a name that is taken; then nothing is changed.
        """
        if not re.fullmatch(TOOL_NAME, name):
            raise UsageError(f"{name!r} cannot be the name of a tool", hint=TOOL_NAME_RULE)
        before = add_table(self._home, "tools", name, values)
        try:
            settings = load_settings(self._home, self._record.environ)
            tool = settings.model.tools[name]
            self._trust(name, tool)
            self._refuse_taken(source_of(name, tool), settings)
        except (MentisError, KeyError) as error:
            restore(self._home, before)
            self._trusted.forget(self._home, name)
            if isinstance(error, KeyError):
                raise SettingsError(f"{name!r} cannot be the name of a tool") from error
            raise
        return tool

    def _refuse_taken(self, source: str, settings: Settings) -> None:
        tools = open_tools(replace(self._ground, settings=settings))
        tools.close()
        for collision in tools.collisions:
            if source in cast("list[str]", collision.facts["sources"]):
                raise collision

    def untrusted_digest(self, name: str) -> Digest | None:
        """What a yes would be to, if it would not be used as it stands now. `builtin` is what the
        settings of `[acts]` open.
        """
        if name == BUILTIN:
            wanted = acts_digest(self._home, self._record.settings.model.acts)
            if wanted is None:
                raise UsageError("the settings of [acts] open nothing that needs to be trusted")
        else:
            wanted = source_digest(self._home, self.tool(name))
        if wanted is None or self._trusted.is_trusted(self._home, name, wanted):
            return None
        return wanted

    def has_definitions(self, name: str) -> bool:
        """Whether what somebody else declares comes from it."""
        return name != BUILTIN and self.tool(name).chosen_kind != "python"

    def trust(self, name: str, shown: Digest) -> None:
        """Use it from now on, as it was shown and not otherwise."""
        self._trusted.trust(self._home, name, shown)

    def blocked_acts(self, name: str) -> tuple[ActDetail, ...]:
        """What a server that is connected declares otherwise than it was trusted."""
        registry = self.tools.registry
        return tuple(
            self.show(one) for one in self.tools.names.get(name, ()) if registry.block_reason(one)
        )

    def remove(self, name: str) -> None:
        """Out of the settings; and what was trusted of it is forgotten."""
        self.tool(name)
        remove_table(self._home, "tools", name)
        self._trusted.forget(self._home, name)

    # Doing

    async def call(self, name: str, payload: JsonObject) -> tuple[Outcome, tuple[ToolProblem, ...]]:
        """Do it once, by hand: checked against its schema and recorded like any other act.

        Also what is wrong with the tool it comes from.
        """
        if self.tools.registry.handler(name) is None and not self.is_server(name):
            raise self._unknown(name)
        acting, outcomes = ActRunner(self._ground, self.tools), list[Outcome]()
        try:
            await self.tools.start()
            await acting.dispatch(
                [Action(name, payload)],
                gate=Gate(BY_HAND),
                see=lambda: NOTHING_SEEN,
                mode="chat",
                session="",
                outcomes=outcomes,
            )
            tool = name.partition("_")[0] if self.is_server(name) else ""
            problems = tuple(one for one in self.tools.problems if one.name == tool)
        finally:
            await acting.aclose()
        return outcomes[0], problems

    def close(self) -> None:
        if self._tools is not None:
            self._tools.close()
        self._record.close()

    def _trust(self, name: str, tool: ToolSettings) -> None:
        wanted = source_digest(self._home, tool)
        if wanted is not None:
            self._trusted.trust(self._home, name, wanted)

    def _acts(self) -> list[ActRow]:
        return [self._act(spec) for spec in self.tools.registry.specs()]

    def _act(self, spec: ActSpec) -> ActRow:
        told, why = spec.declaration, self.tools.registry.block_reason(spec.name)
        state: State = "blocked" if why else "on"
        effects, again = told.external_effects, told.idempotent
        return ActRow(spec.name, spec.source, spec.scope, effects, again, state, why)

    def _missing(self) -> list[ActRow]:
        """What every agent could have, and this one has switched off."""
        there = {spec.name for spec in self.tools.registry.specs()}
        closed = {
            name: f"acts.{setting} is not trusted: mentis tools trust {BUILTIN}"
            for name, setting in _BY_SETTING.items()
            if setting in opening_settings(self._record.settings.model.acts)
        }
        why = {
            "message_NAME": "acts.outbox is empty, and no channel was handed in",
            "shell": "acts.programs is empty",
            "web_fetch": "acts.hosts is empty",
            "read_skill": "the home has no skills",
            **closed,
        }
        if any(name.startswith("message_") for name in there):
            there.add("message_NAME")
        return [
            ActRow(
                kind.name,
                "builtin",
                kind.scope,
                kind.external_effects,
                kind.idempotent,
                "off",
                why.get(kind.name, "acts.builtin leaves it out"),
            )
            for kind in BUILT_IN
            if kind.name not in there
        ]

    def _opened(self) -> tuple[ToolRow, ...]:
        """What the settings of `[acts]` open, if anything."""
        opened = opening_settings(self._record.settings.model.acts)
        if not opened:
            return ()
        problems = tuple(one for one in self.tools.problems if one.name == BUILTIN)
        what = "; ".join(f"{name} = {json.dumps(value)}" for name, value in opened.items())
        state: State = "untrusted" if problems else "on"
        return (ToolRow(BUILTIN, BUILTIN, what, state, problems=problems),)

    def _row(self, name: str, tool: ToolSettings) -> ToolRow:
        problems = tuple(one for one in self.tools.problems if one.name == name)
        acts = self.tools.names.get(name, ())
        state = self._state(name, tool, problems)
        return ToolRow(name, source_of(name, tool), what_it_is(tool), state, acts, problems)

    def _state(self, name: str, tool: ToolSettings, problems: tuple[ToolProblem, ...]) -> State:
        if not tool.enabled:
            return "off"
        blocked = any(map(self.tools.registry.block_reason, self.tools.names.get(name, ())))
        if tool.chosen_kind == "openapi" and name in self.tools.names and not blocked:
            return "on"  # what is wrong is in parts of the document that are not used
        if problems:
            try:
                return "untrusted" if self.untrusted_digest(name) else "failed"
            except MentisError:
                return "failed"
        if tool.chosen_kind == "mcp" and name not in self.tools.names:
            return "unconnected"
        return "on"

    def _unknown(self, name: str) -> UsageError:
        names = [spec.name for spec in self.tools.registry.specs()]
        hint = _meant(name, names) or "`mentis tools list` shows what there is"
        return UsageError(f"nothing here does {name!r}", hint=hint)


def what_it_is(tool: ToolSettings) -> str:
    """What would be run or called, in one line."""
    if tool.command:
        return " ".join(tool.command)
    if tool.document:
        return f"{tool.document}: {', '.join(tool.operations)}"
    return tool.url or tool.file or tool.module


def _meant(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""

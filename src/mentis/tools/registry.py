"""Everything an agent can do, in one registry: its own acts, those handed in, and the tools that
its settings name.

Opening reads files and runs the functions of trusted ones; programs are started and servers are
called by `start`, and not before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anyio import CancelScope, Lock, to_thread

from mentis.act.mcp.declared import (
    FirstUse,
    McpCaps,
    McpServer,
    McpTimes,
    ToolOverride,
    check_server,
)
from mentis.act.mcp.pins import compare, reason_of
from mentis.act.mcp.source import McpPorts
from mentis.act.mcp.told import McpStatus, Offer, PinChange
from mentis.act.openapi.acts import OpenApi, OpenApiSource
from mentis.act.openapi.document import read_document
from mentis.act.registry import Registry
from mentis.errors import BadInput, MentisError
from mentis.home.ground import Ground
from mentis.ports.act_handler import ActHandler
from mentis.settings.acts import ActSettings, ToolSettings
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.trusted import TrustedTools
from mentis.stores.keyring import SystemSecrets
from mentis.values.digest import Digest
from mentis.values.value import Value

from .builtin_acts import built_in, read_skill
from .own_memories import OwnMemories
from .pins import Pins
from .python_functions import load_functions
from .servers import FarHandler, Servers
from .skill_texts import SKILLS, has_skills
from .trust import (
    BUILTIN,
    acts_digest,
    closed_settings,
    content_of,
    opening_settings,
    source_digest,
)

_MOST_NOTED = 20
_MIB = 1024 * 1024
_TRUST = "look at it, then: mentis tools trust {}"


@dataclass(frozen=True, slots=True)
class ToolProblem(Value):
    """Something that cannot be done though the settings name it. `name` is that of the tool."""

    name: str
    source: str
    why: str
    hint: str = ""


def open_tools(ground: Ground) -> AgentTools:
    """The registry of one agent. What is wrong with a tool is among the problems, not raised; what
    is wrong with an act that was handed in is.
    """
    tools = AgentTools(ground)
    for handler in ground.handlers:
        tools.registry.add(handler)
    tools.open_own(ground.act_settings)
    for name, tool in sorted(ground.settings.model.tools.items()):
        if tool.enabled:
            tools.add(name, tool)
    return tools


class AgentTools:
    """`names` says, for each tool of the settings, which acts are its own."""

    def __init__(self, ground: Ground) -> None:
        self.registry = Registry()
        self.registry.explain(self._away)
        self.names: dict[str, tuple[str, ...]] = {}
        self.notes = OwnMemories(ground)
        self.collisions: list[BadInput] = []  # two that want one name, as `sources` of each says
        self._ground = ground
        self._trusted = TrustedTools(config_folder(ground.environ))
        self._secrets = SystemSecrets(ground.environ)
        self._pins = Pins(ground.ledger, ground.stamp, ground.agent)
        self._problems: list[ToolProblem] = []
        self._clients: list[OpenApi] = []
        self._declared: list[tuple[FirstUse, McpServer]] = []
        self._servers: Servers | None = None
        self._asked: dict[str, PinChange] = {}
        self._starting: Lock | None = None
        self._starts = 0  # how often `start` came to its end
        self._unrecorded: tuple[PinChange, ...] = ()

    # Before anything is started

    def add(self, name: str, tool: ToolSettings) -> None:
        """Take in one tool of the settings, or note why not."""
        source = source_of(name, tool)
        try:
            # Read once: what is run is what was trusted.
            content = content_of(self._ground.home.path, tool)
            if name == BUILTIN:
                self._refused(name, source, "no tool can have this name", "give it another one")
                return
            if not self._may_run(name, tool, content):
                why = "nobody has said that it may be used, or it has changed since"
                self._refused(name, source, why, _TRUST.format(name))
                return
            match tool.chosen_kind:
                case "python":
                    self._put(name, source, self._functions(name, tool, content))
                case "openapi":
                    operations = self._operations(name, tool, content)
                    self._hold(operations)
                    self._put(name, source, operations)
                case "mcp":
                    self._declare(name, tool)
        except MentisError as error:
            self._refused(name, source, error.message, error.hint)
        except Exception as error:  # noqa: BLE001  # foreign code: it costs this tool and no other
            why = f"it cannot be used: {type(error).__name__}: {error}"
            self._refused(name, source, why, "fix it, or switch it off: enabled = false")

    def granted_settings(self, chosen: ActSettings) -> ActSettings:
        """Without what opens something and nobody outside of the home has said yes to."""
        home = self._ground.home.path
        digest = acts_digest(home, chosen)
        try:
            if digest is None or self._trusted.is_trusted(home, BUILTIN, digest):
                return chosen
        except MentisError as error:
            self._refused(BUILTIN, BUILTIN, error.message, error.hint)
        return closed_settings(chosen)

    def open_own(self, chosen: ActSettings) -> None:
        """Take in the acts that every agent has, and note which settings do not count."""
        granted = self.granted_settings(chosen)
        if granted is not chosen:
            names = ", ".join(f"acts.{name}" for name in opening_settings(chosen))
            why = f"{names}: nobody has said that this may be used, or it has changed since"
            self._refused(BUILTIN, BUILTIN, why, _TRUST.format(BUILTIN))
        for handler in built_in(self._ground, granted, self.notes):
            if self.registry.handler(handler.spec.name) is None:  # one handed in comes first
                self.registry.add(handler)

    def follow_skills(self) -> None:
        """The act that reads a skill comes with the first and goes with the last. It blocks."""
        there, name = has_skills(self._ground.home.path / SKILLS), "read_skill"
        spec = self.registry.spec(name)
        if there and spec is None:
            self.registry.add(read_skill(self._ground), replace=True)  # two may see it at once
        elif not there and spec is not None and spec.source == BUILTIN:
            self.registry.drop(name)

    def _may_run(self, name: str, tool: ToolSettings, content: bytes) -> bool:
        home = self._ground.home.path
        digest = source_digest(home, tool, content)
        return digest is None or self._trusted.is_trusted(home, name, digest)

    def _functions(self, name: str, tool: ToolSettings, content: bytes) -> tuple[ActHandler, ...]:
        return load_functions(name, tool, self._ground.home.path, content)

    def _put(self, name: str, source: str, handlers: Sequence[ActHandler]) -> None:
        """All of them or none: half a tool is one that nobody has looked at."""
        try:
            self.registry.put_source(source, handlers)
        except BadInput as error:
            if "sources" in error.facts:
                self.collisions.append(error)
            raise
        self.names[name] = tuple(handler.spec.name for handler in handlers)

    def _operations(self, name: str, tool: ToolSettings, content: bytes) -> tuple[ActHandler, ...]:
        opened = OpenApi(
            _service(name, tool), read_document(content, name=tool.document), self._secrets
        )
        self._clients.append(opened)
        for problem in opened.problems[:_MOST_NOTED]:
            self._refused(name, source_of(name, tool), f"{problem.place}: {problem.reason}", "")
        if more := len(opened.problems[_MOST_NOTED:]):
            self._refused(name, source_of(name, tool), f"{more} more like these", "")
        return opened.handlers

    def _declare(self, name: str, tool: ToolSettings) -> None:
        server = _server(name, tool, self._ground.home.path)
        # Servers say a result twice, as text and as structured content.
        frame = 2 * self._ground.act_settings.result_bytes + _MIB
        server = replace(server, caps=McpCaps(frame_bytes=max(frame, McpCaps().frame_bytes)))
        check_server(server)
        self._declared.append((tool.first_use, server))

    # Servers

    @property
    def is_started(self) -> bool:
        return self._servers is not None or not self._declared

    @property
    def has_servers(self) -> bool:
        """Whether `start` may have to connect to some, for the first time or again."""
        return bool(self._declared or self._servers or self._unrecorded)

    @property
    def unstarted_servers(self) -> tuple[str, ...]:
        """Servers that `start` will connect to."""
        return () if self.is_started else tuple(server.name for _, server in self._declared)

    async def start(self) -> None:
        """Start programs and call servers, once, and wait for what each can do. What fails is among
        the problems; a server that was given up is tried once more, each time.
        """
        if self._starting is None:
            self._starting = Lock(fast_acquire=True)
        before = self._starts
        async with self._starting:
            if self._starts != before:
                return  # somebody else did all of it while this one waited
            if self._unrecorded:
                await to_thread.run_sync(self._pins.record, self._unrecorded)
                self._unrecorded = ()
            if self._servers is not None:
                await self._servers.connect_again()
            if self.is_started:
                self._starts += 1
                return

            async def take_offer(offer: Offer) -> None:
                await to_thread.run_sync(self._take, servers, offer)

            servers = Servers(self._by_first_use(), self._ports(), take_offer, self._pins.digests)
            try:
                await to_thread.run_sync(servers.start)
            except MentisError as error:  # without the SDK there are no servers, and a turn goes on
                for _, server in self._declared:
                    self._refused(server.name, server.source, error.message, error.hint)
                self._declared = []
                return
            self._servers = servers
            await servers.settle()
            self._starts += 1

    def _by_first_use(self) -> dict[FirstUse, list[McpServer]]:
        groups: dict[FirstUse, list[McpServer]] = {}
        for first_use, server in self._declared:
            groups.setdefault(first_use, []).append(server)
        return groups

    def _ports(self) -> McpPorts:
        ground = self._ground

        async def keep(content: bytes) -> Digest:
            return await to_thread.run_sync(ground.blobs.keep, content)

        folder = str(ground.home.path.resolve())
        return McpPorts(self._secrets, ground.environ, ground.clock, folder, keep)

    def _take(self, servers: Servers, offer: Offer) -> None:
        """What a server has to offer now takes the place of what it had before."""
        registry = self.registry
        changes = self._pins.record(offer.pins)
        self._asked |= {change.name: change for change in changes if change.verdict != "pinned"}
        blocked = {**self._doubted(offer), **offer.blocked}
        for name, reason in blocked.items():
            registry.block(name, reason)  # before it is there, so that nobody is told of it
        registry.put_source(offer.source, [FarHandler(one, servers) for one in offer.handlers])
        names = tuple(one.spec.name for one in offer.handlers)
        for name in names:
            if name not in blocked:
                registry.unblock(name)
        self.names[offer.source.removeprefix("mcp:")] = names

    def _doubted(self, offer: Offer) -> dict[str, str]:
        """What is not pinned as it is, whatever the connection remembers of it."""
        known = self._pins.digests()
        found = compare([one.spec for one in offer.handlers], known, "ask")
        for change in found:
            asked = self._asked.get(change.name)
            if asked is None or asked.digest != change.digest:
                self._asked[change.name] = change
        return {change.name: reason_of(self._asked[change.name]) for change in found}

    def _hold(self, handlers: Sequence[ActHandler]) -> None:
        """Hold definitions of a document against what was trusted. Nothing is written yet."""
        specs = [handler.spec for handler in handlers]
        changes = self._pins.judge(compare(specs, self._pins.digests(), "pin"))
        self._unrecorded += changes
        for change in changes:
            if reason := reason_of(change):
                self._asked[change.name] = change
                self.registry.block(change.name, reason)

    async def approve(self, name: str, shown: Collection[Digest], *, by: str) -> tuple[str, ...]:
        """A person trusts what the server of that name declares, as far as it is among what they
        were shown: the acts that came of it.
        """
        sources, approved = (f"mcp:{name}", f"openapi:{name}"), list[str]()
        for change in [one for one in self._asked.values() if one.source in sources]:
            if change.digest in shown and self.registry.block_reason(change.name):
                await to_thread.run_sync(partial(self._pins.approve, change, by=by))
                if await self._take_back(change):
                    approved.append(change.name)
        return tuple(approved)

    async def _take_back(self, change: PinChange) -> bool:
        if change.source.startswith("openapi:"):
            self.registry.unblock(change.name)
            return True
        servers = self._servers
        return servers is not None and await servers.approve(
            change.source, change.name, change.digest
        )

    # What there is to say

    @property
    def problems(self) -> tuple[ToolProblem, ...]:
        """Of tools, servers and single definitions, as it stands now."""
        return (*self._problems, *self._of_documents(), *self._of_servers())

    def statuses(self) -> tuple[McpStatus, ...]:
        return () if self._servers is None else self._servers.status()

    def _of_documents(self) -> Iterator[ToolProblem]:
        for change in self._asked.values():
            kind, _, name = change.source.partition(":")
            reason = self.registry.block_reason(change.name)
            if kind == "openapi" and reason:
                yield ToolProblem(name, change.source, reason, _TRUST.format(name))

    @property
    def connecting(self) -> tuple[str, ...]:
        """Servers that are being connected to just now."""
        return tuple(one.server for one in self.statuses() if one.state == "connecting")

    def _of_servers(self) -> Iterator[ToolProblem]:
        for status in self.statuses():
            source = f"mcp:{status.server}"
            if status.state != "up":
                yield ToolProblem(status.server, source, status.reason or status.state)
            for left in status.left_out:
                yield ToolProblem(status.server, source, f"{left.tool}: {left.reason}")
            for name in self.names.get(status.server, ()):
                if reason := self.registry.block_reason(name):
                    hint = _TRUST.format(status.server)
                    yield ToolProblem(status.server, source, reason, hint)

    def _away(self, name: str) -> str:
        """Why an act that a server of the settings may have is not there: the server is not."""
        down = {one.server: one.reason or one.state for one in self.statuses() if one.state != "up"}
        down |= {one.name: one.why for one in self._problems if one.source.startswith("mcp:")}
        found = next((server for server in down if name.startswith(f"{server}_")), None)
        return f"the server {found!r} is not there: {down[found]}" if found else ""

    def _refused(self, name: str, source: str, why: str, hint: str) -> None:
        self._problems.append(ToolProblem(name, source, why, hint))

    # The end

    async def aclose(self) -> None:
        """Cancelled or not, everything that was opened is closed."""
        with CancelScope(shield=True):
            try:
                for client in self._clients:
                    await client.aclose()
            finally:
                await to_thread.run_sync(self.close)

    def close(self) -> None:
        """Enough where no act was done. It blocks until every server has ended; what is started
        afterwards is connected to anew.
        """
        servers, self._servers = self._servers, None
        self._starting = None  # the next one may start in another event loop
        try:
            if servers is not None:
                servers.close()
        finally:
            self.notes.close()


def source_of(name: str, tool: ToolSettings) -> str:
    """As it stands in what is declared of its acts."""
    return f"{tool.chosen_kind}:{name}"


def _service(name: str, tool: ToolSettings) -> OpenApiSource:
    source = OpenApiSource(
        name=name,
        operations=tool.operations,
        url=tool.url,
        hosts=tool.hosts,
        keys=tool.keys,
        prefix=tool.prefix,
        effects=tool.effects,
        idempotent=tool.idempotent,
        trusted=tool.trusted,
    )
    seconds = tool.timeout_seconds
    return source if seconds is None else replace(source, timeout_seconds=seconds)


def _server(name: str, tool: ToolSettings, home: Path) -> McpServer:
    overrides = {
        act: ToolOverride(
            given.scope,
            given.external_effects,
            given.idempotent,
            given.modes,
            given.timeout_seconds,
        )
        for act, given in tool.acts.items()
    }
    times = McpTimes()
    return McpServer(
        name,
        tool.command,
        tool.url,
        tool.env,
        str(home.resolve() / tool.cwd) if tool.cwd else "",
        key_env=tool.key_env,
        header=tool.header,
        allow=tool.allow,
        tools=overrides,
        protocol=tool.protocol,
        times=times if tool.timeout_seconds is None else McpTimes(call=tool.timeout_seconds),
        trusted=tool.trusted,
    )

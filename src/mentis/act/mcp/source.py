"""Keeps one server: connects, reads its list, reads it again when it changes, connects again when
it died. All of it bounded: a server that is never there costs a few tries and a notice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import anyio

from mentis.errors import MentisError, SettingsError, UserError
from mentis.net.redact import redact
from mentis.ports.clock import Clock
from mentis.ports.secrets import Secrets
from mentis.values.digest import Digest
from mentis.values.json import JsonObject

from .connection import Connection, ServerTimeout, converse
from .declared import FirstUse, McpServer, check_server
from .handler import McpHandler
from .http import connect_http, unsent_keys
from .listing import ListedTool, clean_texts
from .notices import ServerNotices
from .pins import compare, reason_of
from .process import Launch, start_process
from .results import Keep
from .told import McpStatus, Offer, OmittedTool, PinChange, SourceState
from .watch import Watch

if TYPE_CHECKING:
    from mcp.client import Transport

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
OnOffer: TypeAlias = Callable[[Offer], Awaitable[None]]
# What a program needs to run at all, and what holds no secret.
HARMLESS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SYSTEMROOT", "TMPDIR", "TZ", "USER")


@dataclass(frozen=True, slots=True)
class McpPorts:
    """What a source needs from outside. `folder` is where programs run that name no other."""

    secrets: Secrets
    environment: Mapping[str, str]
    clock: Clock
    folder: str
    keep: Keep | None = None
    sleep: Sleep = anyio.sleep


class McpSource:
    """`on_offer` is told of every offer before the next thing is done. What it cannot record is
    not offered: an error of ours from it counts as a failed connection.
    """

    def __init__(
        self,
        server: McpServer,
        ports: McpPorts,
        on_offer: OnOffer,
        *,
        pins: Mapping[str, Digest],
        first_use: FirstUse,
    ) -> None:
        check_server(server)
        self.server = server
        self.offer = Offer(server.source)
        self.state: SourceState = "connecting"
        self.reason = ""
        self.settled = anyio.Event()
        self._ports = ports
        self._on_offer = on_offer
        self._pins = dict(pins)
        self._first_use: FirstUse = first_use
        self._notices = ServerNotices(server.name, server.caps.notices)
        self._connection: Connection | None = None
        self._watch: Watch | None = None
        self._listed: tuple[ListedTool, ...] = ()
        self._left_out: tuple[OmittedTool, ...] = ()
        self._digests: dict[str, Digest] = {}
        self._told: set[PinChange] = set()
        self._again = anyio.Event()
        self._publishing = anyio.Lock()
        self._since: float | None = None

    @property
    def connection(self) -> Connection | None:
        return self._connection

    @property
    def keep(self) -> Keep | None:
        return self._ports.keep

    @property
    def errors(self) -> tuple[str, ...]:
        """The last lines the program wrote to its standard error."""
        return () if self._watch is None else tuple(self._watch.errors)

    def status(self) -> McpStatus:
        return McpStatus(
            self.server.name,
            self.state,
            self.reason,
            len(self.offer.handlers) - len(self.offer.blocked),
            len(self.offer.blocked),
            self.offer.left_out,
            self._notices.all(),
        )

    def objection(self, name: str, digest: Digest) -> str:
        """Why a handler must not be used any more, or not yet."""
        if self._connection is None:
            return f"the server {self.server.name} is not there: {self.reason or self.state}"
        if self._digests.get(name) != digest:
            return f"the server {self.server.name} does not declare it like this any more"
        return self.offer.blocked.get(name, "")

    def doubt(self) -> None:
        """A call was not answered: see whether anything is."""
        if self._watch is not None:
            self._watch.changed = True
            self._watch.stir()

    def connect_again(self) -> None:
        """Another round of tries for a server that was given up; else nothing."""
        if self.state == "given_up":
            self.settled = anyio.Event()
            self._again.set()

    async def approve(self, name: str, digest: Digest) -> bool:
        """A person trusts that definition: it is offered, if it is still the one."""
        self._pins[name] = digest
        if self._digests.get(name) != digest:
            return False
        await self._publish()
        return True

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            failures = 0
            while True:
                self._since = None
                fatal = await self._once()
                failures = 1 if self._was_steady() else failures + 1
                if fatal or failures >= self.server.times.tries:
                    await self._give_up()
                    failures = 0
                else:
                    await self._pause(failures)
        finally:
            self.state, self._connection = "closed", None

    async def _once(self) -> bool:
        """One connection to its end. True when trying again is of no use."""
        self._watch = watch = self._new_watch()
        self.state = "connecting"
        fatal = False
        try:
            await converse(self.server, self._transport(watch), watch, self._serve)
        except Exception as error:  # noqa: BLE001  # foreign code: it ended, and why is kept
            fatal = self._fell(watch, error)
        finally:
            watch.ended.set()
        self.state, self.reason = "down", self.clean(watch.over or "the connection ended")
        self._notices.add("down", self.reason)
        self.settled.set()
        return fatal

    def _fell(self, watch: Watch, error: Exception) -> bool:
        """Keep what is known of a connection that failed. True when it would fail again."""
        for key in unsent_keys(error):
            watch.forget(key)
        first = _first(error)
        if isinstance(first, ServerTimeout):
            self._notices.add("slow", str(first))
        watch.end(_line(first, self.clean))
        return isinstance(first, UserError | FileNotFoundError | PermissionError | ValueError)

    def _was_steady(self) -> bool:
        now = self._ports.clock.monotonic()
        return self._since is not None and now - self._since >= self.server.times.steady

    async def _serve(self, connection: Connection) -> None:
        watch, times = connection.watch, self.server.times
        async with anyio.create_task_group() as tasks:
            if connection.listens:
                tasks.start_soon(connection.listen)
            try:
                await self._refresh(connection)
                self._since = self._ports.clock.monotonic()
                while not watch.over:
                    await watch.wait()
                    if watch.changed and not watch.over:
                        await self._ports.sleep(times.debounce)
                        await self._refresh(connection)
            except ServerTimeout as error:
                watch.cut = True  # it hangs: nothing is gained by asking it to leave
                watch.end(str(error))
                raise
            finally:
                self._connection = None
                tasks.cancel_scope.cancel()

    async def _refresh(self, connection: Connection) -> None:
        connection.watch.changed = False
        listed, left_out = await connection.tools()
        self._listed = tuple(self._cleaned(one) for one in listed if not self._tells(one))
        told = [OmittedTool("", "its name holds a secret") for one in listed if self._tells(one)]
        told += [OmittedTool(self.clean(one.tool), self.clean(one.reason)) for one in left_out]
        self._left_out = tuple(told)
        self._connection = connection
        self.state, self.reason = "up", ""
        await self._publish()
        self.settled.set()

    async def _publish(self) -> None:
        async with self._publishing:
            changes = self._judge()
            await self._on_offer(self.offer)
            # Not before it is recorded: what could not be is told once more.
            self._told.update(changes)
            self._pins.update({one.name: one.digest for one in changes if one.verdict == "pinned"})

    def _judge(self) -> tuple[PinChange, ...]:
        """Make the offer of what is listed and what is trusted; and say what is not yet."""
        changes = compare([one.spec for one in self._listed], self._pins, self._first_use)
        found = {change.name: change.digest for change in changes}
        self._digests = {
            one.spec.name: found.get(one.spec.name) or self._pins[one.spec.name]
            for one in self._listed
        }
        new = tuple(change for change in changes if change not in self._told)
        self.offer = Offer(
            self.server.source,
            tuple(McpHandler(one, self._digests[one.spec.name], self) for one in self._listed),
            {one.name: reason_of(one) for one in changes if one.verdict != "pinned"},
            new,
            self._left_out,
        )
        return changes

    async def _give_up(self) -> None:
        """Nothing is offered until somebody asks for another try."""
        self._again = anyio.Event()
        self.state = "given_up"
        self._notices.add("given_up", self.reason)
        self._listed, self._digests = (), {}
        self.offer = Offer(self.server.source)
        try:
            await self._on_offer(self.offer)
        except MentisError as error:
            self.reason = error.message
        self.settled.set()
        await self._again.wait()

    async def _pause(self, failures: int) -> None:
        times = self.server.times
        await self._ports.sleep(min(times.backoff * 2 ** (failures - 1), times.backoff_most))

    def _transport(self, watch: Watch) -> Transport:
        if self.server.url:
            secret = self._secret(self.server.key_env)
            return cast("Transport", connect_http(self.server, secret, watch))
        named = {name: self._secret(name) for name in self.server.env}
        harmless = {
            name: value for name, value in self._ports.environment.items() if name in HARMLESS
        }
        # What is run is what was trusted: it leaves no code of its own beside it.
        environment = {**harmless, "PYTHONDONTWRITEBYTECODE": "1", **named}
        launch = Launch(self.server.command, self.server.cwd or self._ports.folder, environment)
        return start_process(launch, watch)

    def _secret(self, name: str) -> str:
        found = self._ports.secrets.get(name) if name else ""
        if found is None:
            raise SettingsError(
                f"the variable {name}, which MCP server {self.server.name!r} needs, is not set",
                hint="set it, or take its name out of the settings",
                server=self.server.name,
            )
        return found

    def _new_watch(self) -> Watch:
        return Watch(self.server, self._ports.clock, self._notices, self.clean)

    def _tells(self, one: ListedTool) -> bool:
        return self.clean(one.tool) != one.tool

    def _cleaned(self, one: ListedTool) -> ListedTool:
        """A server that repeats its secrets in a definition is not to tell them to a model."""
        told = one.spec.declaration
        declaration = replace(
            told,
            description=self.clean(told.description),
            parameters=cast("JsonObject", clean_texts(told.parameters, self.clean)),
        )
        return replace(one, spec=replace(one.spec, declaration=declaration))

    def clean(self, text: str) -> str:
        """Without the secrets that this server was given."""
        names = (*self.server.env, self.server.key_env)
        return redact(text, [found for name in names if (found := self._ports.secrets.get(name))])


def _first(error: BaseException) -> BaseException:
    """The first thing that failed, out of all that fell with it."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _line(error: BaseException, clean: Callable[[str], str]) -> str:
    said = error.message if isinstance(error, MentisError) else f"{type(error).__name__}: {error}"
    if isinstance(error, ServerTimeout):
        said = str(error)
    return clean(said).split("\n", 1)[0][:500]

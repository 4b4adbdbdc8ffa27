"""An MCP server as its owner declares it. Only settings make one: no model, no server, no file of
a conversation ever does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

from mentis.errors import SettingsError
from mentis.values.act import Scope
from mentis.values.block import Mode
from mentis.values.trust import Trust
from mentis.values.value import Value

FirstUse: TypeAlias = Literal["pin", "ask"]
# No underscore: it parts the server's name from the tool's, so that no two servers can collide.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ToolOverride(Value):
    """What the owner says of one tool. None keeps what holds for every foreign tool."""

    scope: Scope | None = None
    external_effects: bool | None = None
    idempotent: bool | None = None
    modes: tuple[Mode, ...] = ()
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class McpCaps(Value):
    """How much of a server is taken. What is over a cap is left out or cut off, and said."""

    tools: int = 256
    definition_bytes: int = 64 * 1024
    listing_bytes: int = 2 * _MIB
    pages: int = 100
    frame_bytes: int = 16 * _MIB  # one message, and so one result
    unasked: int = 1000  # messages nobody asked for, in a burst
    unasked_per_second: float = 50.0
    stderr_bytes: int = 16 * 1024  # the end of it is kept
    notices: int = 100


@dataclass(frozen=True, slots=True)
class McpTimes(Value):
    """Seconds. Nothing a server does or leaves undone is waited for longer."""

    connect: float = 30.0
    listing: float = 20.0
    call: float = 60.0
    close: float = 2.0
    debounce: float = 0.2  # between a list that changed and reading it
    backoff: float = 0.5  # doubled with each try that failed
    backoff_most: float = 30.0
    steady: float = 60.0  # up for so long: earlier failures are forgotten
    tries: int = 5  # in a row, then it is given up


@dataclass(frozen=True, slots=True)
class McpServer(Value):
    """Either `command` (a program spoken to by standard input and output) or `url`.

    `env` names the variables the program gets beside the harmless ones; `key_env` names the one
    that holds the secret for `header`. `allow` empty means every tool. `protocol` "legacy" leaves
    out the question whether the server speaks the newer protocol. `trusted`: the owner vouches for
    what its tools answer.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    cwd: str = ""
    key_env: str = ""
    header: str = "Authorization"
    allow: tuple[str, ...] = ()
    tools: Mapping[str, ToolOverride] = field(default_factory=dict[str, ToolOverride], hash=False)
    trust: Literal[Trust.REFERENCE, Trust.UNTRUSTED] = Trust.UNTRUSTED
    protocol: Literal["auto", "legacy"] = "auto"
    times: McpTimes = McpTimes()
    caps: McpCaps = McpCaps()
    trusted: bool = False

    @property
    def source(self) -> str:
        return f"mcp:{self.name}"


def check_server(server: McpServer) -> None:
    """SettingsError with everything that is wrong with it."""
    problems = tuple(_problems(server))
    if problems:
        raise SettingsError(
            f"the MCP server {server.name!r} is not declared rightly: {problems[0]}",
            hint="correct it in the settings",
            problems=problems,
            server=server.name,
        )


def _problems(server: McpServer) -> Iterator[str]:
    if not _NAME.fullmatch(server.name):
        yield "a name is a letter, then letters, digits and hyphens, 32 in all, in lower case"
    if bool(server.command) == bool(server.url):
        yield "it needs either a command or a url, and not both"
    if any("\0" in word for word in (*server.command, server.cwd)) or server.command[:1] == ("",):
        yield "its command or folder is no text a program can be started with"
    if server.url and (server.env or server.cwd):
        yield "env and cwd are for a command"
    if server.command and server.key_env:
        yield "key_env is for a url; a command gets its variables by env"
    if not _HEADER.fullmatch(server.header):
        yield f"{server.header!r} is no name of a header"
    for group in (server.times, server.caps):
        for one in fields(group):
            if not getattr(group, one.name) > 0:
                yield f"{one.name} has to be more than nothing"

"""The settings of acts, and of the tools an owner adds: programs, services, functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field, model_validator

from mentis.act.budget import ActBudget
from mentis.act.builtin.table import BUILT_IN
from mentis.act.gate import GateRules
from mentis.values.act import Policy, Scope
from mentis.values.block import Mode, current_mode_name

from .constant import Constant
from .section import SettingsSection

ToolKind: TypeAlias = Literal["mcp", "openapi", "python"]
TOOL_NAME = r"^[a-z][a-z0-9-]{0,31}$"
TOOL_NAME_RULE = (
    "the name of a tool is small letters, digits and hyphens, a letter first, 32 at most"
)
# What is switched on by a list of its own: channels, programs, hosts, the folder of skills.
BY_LIST = ("message_NAME", "shell", "web_fetch", "read_skill")
CHOSEN = tuple(kind.name for kind in BUILT_IN if kind.name not in BY_LIST)


class ActSettings(SettingsSection):
    """What the agent may do, and who has to say yes first."""

    policy: Annotated[
        Policy,
        Field(
            description="What needs a person's yes: with `values` an act with effects outside whose"
            " arguments came from untrusted text; with `strict` any such act while untrusted text"
            " is in the request; `open` only records it."
        ),
    ] = "values"
    ask: Annotated[
        tuple[str, ...],
        Field(
            description="Acts that always need a yes: names, sources (`mcp:files`), or `*` for all."
        ),
    ] = ()
    outreach: Annotated[
        bool, Field(description="Whether messages may be sent that nobody asked for.")
    ] = False
    unasked: Annotated[
        tuple[str, ...] | None,
        Field(
            description="Names of the acts that may be done when nobody asked: in beats and ticks,"
            " in afterthoughts and first messages. Left out: all that send no messages; empty:"
            " none."
        ),
    ] = None
    approval_hours: Annotated[
        float, Field(gt=0, le=8760, description="How long an act waits for a yes.")
    ] = 72.0
    per_turn: Annotated[
        int, Field(ge=0, description="Most acts of one turn; 0 means no limit.")
    ] = 32
    per_hour: Annotated[
        int, Field(ge=0, description="Most acts of an agent in an hour; 0 means no limit.")
    ] = 500
    hourly: Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        Field(description="Most times in an hour, by the name of the act."),
    ] = Field(default_factory=dict[str, int])
    inline_bytes: Annotated[
        int,
        Field(
            ge=512,
            le=1024 * 1024,
            description="A longer result is kept apart, and its beginning is shown.",
        ),
    ] = 8192
    result_bytes = Constant(
        32 * 1024 * 1024,
        "Most that is kept of one result, in bytes.",
        "A bound on the disk of one result; what the model is shown is `acts.inline_bytes`.",
    )
    concurrency: Annotated[
        int, Field(ge=1, le=1024, description="Most acts at the same time; others wait.")
    ] = 64
    seconds: Annotated[
        float, Field(gt=0, description="Longest that all acts of one answer may take together.")
    ] = 600.0
    retries: Annotated[
        int,
        Field(
            ge=0,
            le=10,
            description="How often an act that is safe to repeat is tried again after a crash.",
        ),
    ] = 1
    builtin: Annotated[
        tuple[str, ...] | None,
        Field(
            description="Which of the acts that every agent has are told to the model, on every"
            f" route: {', '.join(CHOSEN)}. Left out, all of them are, but on routes of the variant"
            " `compact` none, and in a turn none on routes that take no tools."
        ),
    ] = None
    outbox: Annotated[
        str,
        Field(
            description="Folder where `message_outbox` writes messages, one file each; relative to"
            " the home. Empty: there is no such act."
        ),
    ] = ""
    programs: Annotated[
        tuple[str, ...],
        Field(description="Programs that `shell` may run; empty: there is no such act."),
    ] = ()
    program_path: Annotated[
        str, Field(description="Folders those programs are looked up in, parted by colons.")
    ] = "/usr/local/bin:/usr/bin:/bin"
    hosts: Annotated[
        tuple[str, ...],
        Field(
            description="Hosts that `web_fetch` may read from (`example.org`, `.example.org` with"
            " all below it); empty: there is no such act."
        ),
    ] = ()
    private_hosts: Annotated[
        tuple[str, ...],
        Field(description="Those that may be in the local network, also without encryption."),
    ] = ()

    @model_validator(mode="after")
    def _fits(self) -> ActSettings:
        unknown = [name for name in self.builtin or () if name not in CHOSEN]
        if unknown:
            raise ValueError(f"builtin: there is no {unknown[0]!r}; there are {', '.join(CHOSEN)}")
        return self

    def rules(self) -> GateRules:
        budget = ActBudget(self.per_turn, self.per_hour, dict(self.hourly))
        return GateRules(self.policy, self.ask, self.outreach, budget, self.unasked)


class OverrideSettings(SettingsSection):
    """What the owner says of one tool of an MCP server; what is left out is as for every one."""

    scope: Annotated[Scope | None, Field(description="What it touches; by default `agent`.")] = None
    external_effects: Annotated[
        bool | None, Field(description="Whether it changes anything; by default it does.")
    ] = None
    idempotent: Annotated[
        bool | None, Field(description="Whether doing it twice is like doing it once.")
    ] = None
    modes: Annotated[
        tuple[Annotated[Mode, BeforeValidator(current_mode_name)], ...],
        Field(description="Where it may be used; empty: wherever its scope may."),
    ] = ()
    timeout_seconds: Annotated[
        float | None, Field(gt=0, description="Longest that one call may take.")
    ] = None


class ToolSettings(SettingsSection):
    """One source of acts: an MCP server, operations of a web service, functions in Python."""

    kind: Annotated[
        ToolKind | None,
        Field(
            description="What it is; by default `openapi` with a document, `python` with a file or"
            " module, else `mcp`."
        ),
    ] = None
    enabled: Annotated[bool, Field(description="Whether it is used.")] = True
    command: Annotated[
        tuple[str, ...], Field(description="mcp: the program to run, and its arguments.")
    ] = ()
    url: Annotated[
        str, Field(description="mcp: address of the server. openapi: where it is called.")
    ] = ""
    env: Annotated[
        tuple[str, ...],
        Field(description="mcp: names of the variables the program gets beside harmless ones."),
    ] = ()
    cwd: Annotated[
        str, Field(description="mcp: folder the program runs in; by default the home.")
    ] = ""
    key_env: Annotated[
        str, Field(description="mcp: name of the variable with the secret for the server.")
    ] = ""
    header: Annotated[str, Field(description="mcp: header the secret is sent in.")] = (
        "Authorization"
    )
    allow: Annotated[
        tuple[str, ...], Field(description="mcp: tools that are taken; empty means all.")
    ] = ()
    first_use: Annotated[
        Literal["pin", "ask"],
        Field(
            description="mcp: whether a definition seen for the first time is trusted, or waits for"
            " `mentis tools trust`."
        ),
    ] = "pin"
    protocol: Annotated[
        Literal["auto", "legacy"],
        Field(description="mcp: `legacy` does not ask for the newer protocol."),
    ] = "auto"
    acts: Annotated[
        dict[str, OverrideSettings], Field(description="mcp: what holds for a tool, by its name.")
    ] = Field(default_factory=dict[str, OverrideSettings])
    document: Annotated[
        str, Field(description="openapi: the document, as JSON; relative to the home.")
    ] = ""
    operations: Annotated[
        tuple[str, ...], Field(description="openapi: operations that become acts, by name.")
    ] = ()
    hosts: Annotated[
        tuple[str, ...],
        Field(description="openapi: hosts of the document's own that may be called."),
    ] = ()
    keys: Annotated[
        dict[str, str],
        Field(description="openapi: for each security scheme the variable with its secret."),
    ] = Field(default_factory=dict[str, str])
    prefix: Annotated[str, Field(description="openapi: put before the name of each act.")] = ""
    effects: Annotated[
        tuple[str, ...],
        Field(description="openapi: operations that change something though they are a GET."),
    ] = ()
    idempotent: Annotated[
        tuple[str, ...],
        Field(description="openapi: operations whose server heeds an idempotency key."),
    ] = ()
    file: Annotated[
        str, Field(description="python: a file inside the home; its acts are those with @tool.")
    ] = ""
    module: Annotated[str, Field(description="python: a module that can be imported.")] = ""
    timeout_seconds: Annotated[
        float | None, Field(gt=0, description="mcp and openapi: longest that one call may take.")
    ] = None
    trusted: Annotated[
        bool,
        Field(
            description="mcp and openapi: you vouch for all that it answers, so that it is neither"
            " screened nor fenced. It counts once you said `mentis tools trust`."
        ),
    ] = False

    @property
    def chosen_kind(self) -> ToolKind:
        if self.kind:
            return self.kind
        if self.document:
            return "openapi"
        return "python" if self.file or self.module else "mcp"

    @model_validator(mode="after")
    def _fits(self) -> ToolSettings:
        kind = self.chosen_kind
        for name in sorted(self.model_fields_set - _COMMON):
            if name not in _OF_KIND[kind]:
                raise ValueError(f"{name} is not for a tool of the kind {kind}")
        for problem in self._missing(kind):
            raise ValueError(problem)
        return self

    def _missing(self, kind: ToolKind) -> Iterator[str]:
        if kind == "mcp" and bool(self.command) == bool(self.url):
            yield "an MCP server needs a command or a url, and not both"
        if kind == "openapi" and not (self.document and self.operations):
            yield "a web service needs a document and the operations of it that become acts"
        if kind == "python" and bool(self.file) == bool(self.module):
            yield "functions need a file or a module, and not both"


_COMMON = {"kind", "enabled", "timeout_seconds"}
_OF_KIND: dict[ToolKind, set[str]] = {
    "mcp": {
        *("command", "url", "env", "cwd", "key_env", "header"),
        *("allow", "first_use", "protocol", "acts", "trusted"),
    },
    "openapi": {
        *("document", "operations", "url", "hosts", "keys", "prefix", "effects", "idempotent"),
        "trusted",
    },
    "python": {"file", "module"},
}
if set(_OF_KIND) != set(get_args(ToolKind)):
    raise TypeError("every kind of tool says which settings are its own")

"""The settings of what is served over HTTP: where, to whom, and how much at most."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .constant import Constant
from .section import SettingsSection


class WebSettings(SettingsSection):
    """What `mentis serve` and every other HTTP surface share."""

    host: Annotated[
        str,
        Field(description="Address to listen on; 127.0.0.1 is for this machine alone."),
    ] = "127.0.0.1"
    port: Annotated[
        int, Field(ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    ] = 8377
    hosts: Annotated[
        tuple[str, ...],
        Field(
            description="Names that a request may be addressed to, beside this machine's own"
            " (localhost, 127.0.0.1, [::1]) and `web.host`; all others are refused."
        ),
    ] = ()
    origins: Annotated[
        tuple[str, ...],
        Field(
            description="Web pages that may call from a browser, such as https://chat.example.org;"
            " all others are refused."
        ),
    ] = ()
    models: Annotated[
        dict[str, str],
        Field(
            description="Foreign model ids, with * and ?, and the persona each stands for, for"
            ' clients that cannot name another: "claude-*" = "ada".'
        ),
    ] = Field(default_factory=dict[str, str])
    tools: Annotated[
        Literal["both", "own"],
        Field(
            description="Whether tools that a client brings are offered beside the agent's own"
            " (`both`) and left to the client, or not at all (`own`). Those of a guest's client"
            " are not."
        ),
    ] = "both"
    instructions: Annotated[
        Literal["tell", "ignore"],
        Field(
            description="Whether the system prompt of a client is told with its message, never"
            " in the place of the persona's own. Those of a guest's client are not."
        ),
    ] = "tell"
    body_bytes: Annotated[
        int, Field(ge=1024, description="Largest body of a request, in bytes.")
    ] = 33_554_432
    body_seconds: Annotated[
        float, Field(gt=0, le=3600, description="How long a body may take to arrive.")
    ] = 60.0
    header_bytes = Constant(
        65_536,
        "Largest head of a request, in bytes.",
        "No client sends a larger head, and no server in front of this one would pass it on.",
    )
    header_seconds = Constant(
        10.0,
        "How long the head of a request may take.",
        "Whoever needs longer for a head only holds a connection.",
    )
    answer_seconds: Annotated[
        float,
        Field(gt=0, le=86_400, description="How long a whole answer may take."),
    ] = 1800.0
    drain_seconds: Annotated[
        int,
        Field(ge=0, le=3600, description="How long answers may go on after it was told to stop."),
    ] = 30
    requests_per_minute: Annotated[
        int, Field(ge=1, description="Requests of one token in a minute, on average.")
    ] = 300
    burst: Annotated[
        int, Field(ge=1, description="Requests of one token that may come at once.")
    ] = 60
    failures_per_minute: Annotated[
        int,
        Field(ge=1, description="Wrong tokens from one address in a minute; then it has to wait."),
    ] = 20
    at_once: Annotated[
        int, Field(ge=1, description="Most requests that are answered at the same time.")
    ] = 512
    mcp_sessions: Annotated[
        int,
        Field(ge=1, description="Most sessions of MCP clients that are open at the same time."),
    ] = 256
    mcp_idle_seconds = Constant(
        1800.0,
        "How long an MCP session lasts without a request.",
        "A client that comes back later begins a new session by itself.",
    )
    events_seconds = Constant(
        1.0,
        "How often it looks for news, while somebody follows.",
        "One look for all who follow: seldom enough to cost nothing, often enough to feel live.",
    )
    heartbeat_seconds = Constant(
        15.0,
        "How long a stream of events is silent at most.",
        "Below the shortest idle limit of the proxies in use, which is 30 seconds.",
    )
    link_seconds = Constant(
        600.0,
        "How long the studio's one-time link can be used.",
        "Long enough to open a link, too short for one that was left in a history.",
    )
    browser_hours: Annotated[
        float,
        Field(gt=0, le=8760, description="How long a browser stays signed in to the studio."),
    ] = 12.0

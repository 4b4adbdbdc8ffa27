"""The settings of `mentis record`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, field_validator

from mentis.errors import RouteError
from mentis.facts.presets import PRESETS
from mentis.net.targets import check_target, origin_of

from .constant import Constant
from .section import SettingsSection

# What `mentis record --repair` may change, by name.
RepairRule: TypeAlias = Literal["nonce", "clock", "tool-order", "key-order"]
REPAIR_RULES: tuple[RepairRule, ...] = get_args(RepairRule)
TARGET_NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"


class RecorderSettings(SettingsSection):
    """The recorder in front of other people's agents (`mentis record`)."""

    host: Annotated[
        str, Field(min_length=1, description="Address it listens on; another one lets others in.")
    ] = "127.0.0.1"
    hosts: Annotated[
        tuple[str, ...],
        Field(description="Names, beside `recorder.host`, that others may call it by."),
    ] = ()
    port: Annotated[
        int,
        Field(ge=0, le=65_535, description="Port of `mentis record` without a command; 0: any."),
    ] = 8788
    targets: Annotated[
        dict[Annotated[str, Field(pattern=TARGET_NAME)], str],
        Field(description="Servers by name that it passes calls on to, beside presets and routes."),
    ] = Field(default_factory=dict[str, str])
    body_bytes: Annotated[
        int,
        Field(
            ge=1024,
            description="Longest body that is kept; of a longer one only its length is, and it is"
            " passed on all the same.",
        ),
    ] = 64_000_000
    request_bytes: Annotated[
        int, Field(ge=1024, description="Longest body of a request that is passed on.")
    ] = 1_000_000_000
    body_seconds: Annotated[
        float,
        Field(gt=0, le=86_400, description="How long the body of a request may take to arrive."),
    ] = 600.0
    queue_calls = Constant(
        1_000,
        "Most calls that wait to be recorded; more are a gap.",
        "What waits is bounded by its bytes: `recorder.queue_bytes`.",
    )
    queue_bytes: Annotated[
        int, Field(ge=1024, description="Most bytes of calls that wait to be recorded.")
    ] = 256_000_000
    header_bytes = Constant(
        262_144,
        "Longest head of a request that is taken.",
        "No provider takes a larger head.",
    )
    header_seconds = Constant(
        60.0,
        "How long the head of a request may take.",
        "Whoever needs longer for a head only holds a connection.",
    )
    at_once: Annotated[
        int, Field(ge=1, description="Most requests and tunnels that are open at the same time.")
    ] = 1024
    failures_per_minute: Annotated[
        int,
        Field(ge=1, description="Wrong secrets from one address in a minute; then it has to wait."),
    ] = 20
    tunnels: Annotated[
        Literal["public", "none"],
        Field(
            description="With --forward, whether hosts that are no targets are passed through,"
            " unread and unrecorded, where they are on the public network (`public`), or refused."
        ),
    ] = "public"
    tunnel_hosts: Annotated[
        tuple[str, ...],
        Field(
            description="Hosts that are passed through although they are in the local network, or"
            " on another port than 443 and 80: `host`, `host:port`, `.domain`."
        ),
    ] = ()
    drain_seconds: Annotated[
        float, Field(ge=0, description="How long calls may go on once it is told to stop.")
    ] = 10.0

    repair: Annotated[
        tuple[RepairRule, ...],
        Field(
            description="Rules by which calls are changed so that their cache is found again; none:"
            " every byte is passed on as it came."
        ),
    ] = ()
    title: Annotated[
        bool,
        Field(description="Show the calls so far in the title of the terminal, while it runs."),
    ] = True

    @field_validator("targets")
    @classmethod
    def _safe(cls, targets: dict[str, str]) -> dict[str, str]:
        for name, url in targets.items():
            if name in PRESETS:
                raise ValueError(f"{name!r} is the name of a preset: choose another")
            try:
                check_target(url, with_key=False)
                origin_of(url)
            except RouteError as error:
                raise ValueError(f"{name}: {error.message}; {error.hint}") from error
        return targets

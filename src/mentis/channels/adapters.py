"""Opens the adapter of a channel: with its key, if its owner said that it may be used."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from mentis.errors import EngineMissing, RouteError, UsageError
from mentis.home.channel_reach import reach_digest, server_of
from mentis.ports.channel_adapter import ChannelAdapter
from mentis.ports.secrets import Secrets
from mentis.settings.channels import ChannelKind, ChannelSettings
from mentis.stores.files.channel_owners import ChannelOwners

# The package that speaks the protocol of each platform.
_PACKAGES: dict[ChannelKind, str] = {"telegram": "telegram", "discord": "discord", "matrix": "nio"}


def check_trusted(name: str, chosen: ChannelSettings, owners: ChannelOwners) -> None:
    """RouteError unless the owner here said that this channel may be used."""
    if owners.of(name).trusted != reach_digest(name, chosen):
        raise RouteError(
            f"channel {name!r} would send {chosen.key_env} to {server_of(name, chosen)}, and nobody"
            " here has said that it may",
            hint=f"if it belongs there: mentis channels trust {name}",
            variable=chosen.key_env,
            server=server_of(name, chosen),
        )


def open_adapter(
    name: str, chosen: ChannelSettings, owners: ChannelOwners, secrets: Secrets
) -> ChannelAdapter:
    """Nothing is called yet."""
    check_trusted(name, chosen, owners)
    key = (secrets.get(chosen.key_env) or "").strip()
    if not key:
        raise UsageError(
            f"channel {name!r} needs a key, and {chosen.key_env} holds none",
            hint=f"export {chosen.key_env}=..., or put it into the system's keyring",
            variable=chosen.key_env,
        )
    try:
        import_module(_PACKAGES[chosen.kind])
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"a {chosen.kind} channel needs the package {error.name}, which is not installed",
            hint=f"pip install 'mentis[{chosen.kind}]'",
        ) from error
    opened = import_module(f".{chosen.kind}", __package__).open_channel
    return cast("ChannelAdapter", opened(server_of(name, chosen), chosen, key))

"""Where a channel leads, and what its owner says yes to: a key, a server, an account."""

from __future__ import annotations

import json

from mentis.errors import SettingsError
from mentis.net.targets import check_target, origin_of
from mentis.settings.channels import ChannelKind, ChannelSettings
from mentis.values.digest import Digest, digest

# Where each platform is, unless the settings say so.
SERVERS: dict[ChannelKind, str] = {
    "telegram": "https://api.telegram.org",
    "discord": "https://discord.com",
    "matrix": "",
}


def server_of(name: str, chosen: ChannelSettings) -> str:
    """Scheme, host and port of its server: what its key is sent to."""
    url = chosen.url or SERVERS[chosen.kind]
    if not url:
        raise SettingsError(
            f"channels.{name} names no server", hint=f"mentis settings set channels.{name}.url URL"
        )
    check_target(url, with_key=True)
    return origin_of(url)


def reach_digest(name: str, chosen: ChannelSettings) -> Digest:
    """What the owner says yes to: this key, to this server, as this account."""
    told = [chosen.kind, chosen.key_env, server_of(name, chosen), chosen.user, chosen.persona]
    return digest(json.dumps(told).encode())

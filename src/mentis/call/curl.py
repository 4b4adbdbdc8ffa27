"""A request as a command for a shell, to be tried by hand. A variable stands for the key."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

from mentis.facts.abilities import abilities
from mentis.values.route import Backend, Route

from .dialects import DIALECTS

_BACKENDS: Mapping[str, Backend] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "openai",
}
_KEYS: Mapping[str, str] = {
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_END = "REQUEST_ENDS_HERE"


def curl_command(route: Route, wire: str, body: bytes, *, address: str = "") -> str:
    """What sends these bytes where the route leads, or to an `address` that is known of a recorded
    call. Nothing where the format is not one that goes over HTTP.
    """
    backend = _BACKENDS.get(wire)
    text = body.decode("utf-8", "replace")
    if backend is None or _END in text:
        return ""
    dialect, facts = DIALECTS[backend], abilities(route)
    key = route.key_env if _NAME.fullmatch(route.key_env) else _KEYS[wire]
    named = facts.key_header if _HEADER.fullmatch(facts.key_header) else ""
    header = f"{named}: ${key}" if named else f"{dialect.key_header}: {dialect.key_prefix}${key}"
    lines = [
        f"curl -sSN {_quoted(address or dialect.address(route))}",
        "  -H 'content-type: application/json'",
        f'  -H "{header}"',
    ]
    if dialect.version_header and facts.api_version:
        lines.append(f"  -H {shlex.quote(f'{dialect.version_header}: {facts.api_version}')}")
    lines.append(f"  --data-binary @- <<'{_END}'")
    return " \\\n".join(lines) + f"\n{text}\n{_END}\n"


def _quoted(url: str) -> str:
    """Without a name and password, should somebody have put them there; without a host a variable
    stands for it.
    """
    parts = urlsplit(url)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    if not plain.netloc:
        return f'"$BASE_URL"{shlex.quote(plain.geturl())}'
    return shlex.quote(plain.geturl())

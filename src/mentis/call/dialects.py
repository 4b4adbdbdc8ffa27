"""How each HTTP backend is spoken to: the path, the headers, and what ends a stream.

Facts as of 2026-11. What a payload looks like is known in `render`, what an answer means in
`settle`; here stands only what the connection needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from mentis.facts.abilities import abilities
from mentis.facts.presets import PRESETS
from mentis.net.targets import origin_of
from mentis.values.route import Backend, Route

_VERSION = re.compile(r"/v\d+[a-z0-9]*$")


@dataclass(frozen=True, slots=True)
class Dialect:
    """`done` is data that ends a stream and says nothing else; events in `ends` are the last.

    `others` are the paths of what is no request to a model, by the wire it is rendered for.
    `versioned`: the version of the API (a fact of the model) is the first step of every path.
    """

    path: str
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    version_header: str = ""
    done: str = ""
    ends: frozenset[str] = frozenset()
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    versioned: bool = False

    def address(self, route: Route, wire: str = "") -> str:
        """The whole URL. The key is never part of it: addresses end up in logs."""
        model = quote(route.model.removeprefix("models/"), safe="")
        return f"{self._base(route)}/{self.others.get(wire, self.path).format(model=model)}"

    def list_address(self, route: Route) -> str:
        """Where the server lists its models; every provider calls it the same."""
        return f"{self._base(route)}/models"

    def _base(self, route: Route) -> str:
        """An address that ends in a version is taken at its word; else the facts name one."""
        base = route.url.rstrip("/")
        version = abilities(route).api_version if self.versioned else ""
        return f"{base}/{version}" if version and not _VERSION.search(base) else base

    def headers_for(self, route: Route, key: str) -> dict[str, str]:
        # Unpacked answers only: a packed stream comes late, and can grow past any bound.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self.version_header:
            headers[self.version_header] = abilities(route).api_version
        headers |= _chosen_headers(route)
        if key and (own := abilities(route).key_header):
            headers[own] = key
        elif key:
            headers[self.key_header] = f"{self.key_prefix}{key}"
        return headers


def _chosen_headers(route: Route) -> dict[str, str]:
    """Those that the options add; none of them has the name of one that is ours."""
    given, beta = route.options, abilities(route).beta_header
    headers = {name.lower(): value for name, value in given.headers.items()}
    return headers | ({beta.lower(): ",".join(given.betas)} if beta and given.betas else {})


DIALECTS: dict[Backend, Dialect] = {
    "openai": Dialect("chat/completions", done="[DONE]"),
    "openai-responses": Dialect(
        "responses",
        done="[DONE]",
        ends=frozenset({"response.completed", "response.failed", "response.incomplete", "error"}),
    ),
    "anthropic": Dialect(
        "messages",
        version_header="anthropic-version",
        ends=frozenset({"message_stop", "error"}),
    ),
    "gemini": Dialect(
        "models/{model}:streamGenerateContent?alt=sse",
        key_header="x-goog-api-key",
        key_prefix="",
        others={"gemini-cache": "cachedContents"},
        versioned=True,
    ),
}


# Keys of providers and the servers of those providers. Only these go together unasked.
KEY_SERVERS: frozenset[tuple[str, str]] = frozenset(
    [
        ("GOOGLE_API_KEY", origin_of(PRESETS["gemini"].url)),
        *((one.key_env, origin_of(one.url)) for one in PRESETS.values() if one.key_env and one.url),
    ]
)

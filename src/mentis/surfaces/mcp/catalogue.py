"""The offer of this server, as data: names, words and schemas. It needs no SDK to be read."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, cast

SCHEMES = ("mentis", "synapse")


@cache
def catalogue() -> dict[str, Any]:
    """The shipped file. What a client's model reads stands there and nowhere in code."""
    text = files("mentis.surfaces.mcp").joinpath("catalogue.json").read_text(encoding="utf-8")
    return cast("dict[str, Any]", json.loads(text))


def tools() -> list[dict[str, Any]]:
    """The tools in the words of the protocol; each schema is complete in itself."""
    defined = {"ledger": catalogue()["ledger"]}
    return [
        {**tool, "outputSchema": {**tool["outputSchema"], "$defs": defined}}
        for tool in catalogue()["tools"]
    ]


def resources() -> list[dict[str, Any]]:
    """Every resource under each of its names."""
    return [
        {"mimeType": "application/json", **resource, "uri": f"{scheme}://{resource['name']}"}
        for scheme in SCHEMES
        for resource in catalogue()["resources"]
    ]


def server_offer() -> dict[str, object]:
    """All of it, for people and programs that want to see it before they start anything."""
    facts = {name: catalogue()[name] for name in ("name", "title", "description", "instructions")}
    return {**facts, "tools": tools(), "resources": resources()}

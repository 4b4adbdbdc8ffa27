"""Which wire format a path is of, and how an error is told in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mentis.facts.ability import Wire
from mentis.values.route import Backend

BACKENDS: Mapping[Wire, Backend] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "openai",  # the same server answers there, too
}
_GEMINI = re.compile(r"/models/([^/:]+):(?:stream)?generateContent$", re.IGNORECASE)
_ENDS: Mapping[str, Wire] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
    "/api/chat": "ollama",
    "/api/generate": "ollama",
}
_FAMILIES: Mapping[str, Wire] = {
    "/messages/": "anthropic",
    "/v1beta": "gemini",
    "/v1alpha": "gemini",
}


def wire_at(path: str) -> Wire | None:
    """None where it is no question to a model: a list of models, a count of tokens."""
    bare = path.partition("?")[0].rstrip("/")
    if _GEMINI.search(bare):
        return "gemini"
    return next((wire for end, wire in _ENDS.items() if bare.endswith(end)), None)


def model_at(path: str) -> str:
    """The model that a path names, as Gemini's does."""
    found = _GEMINI.search(path.partition("?")[0])
    return found[1] if found else ""


def error_body(path: str, status: int, message: str) -> bytes:
    """An error in the form that the programs of this path read."""
    wire = wire_at(path) or next((w for part, w in _FAMILIES.items() if part in path), None)
    match wire:
        case "anthropic":
            told: object = {"type": "error", "error": {"type": "api_error", "message": message}}
        case "gemini":
            told = {"error": {"code": status, "message": message, "status": "UNAVAILABLE"}}
        case "ollama":
            told = {"error": message}
        case _:
            fault = {"message": message, "type": "server_error", "param": None, "code": None}
            told = {"error": fault}
    return json.dumps(told).encode()

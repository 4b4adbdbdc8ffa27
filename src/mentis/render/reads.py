"""Parts of each wire format that a model reads beside traced text, by their keys."""

from __future__ import annotations

from collections.abc import Mapping

from mentis.values.source_map import Reading

from .draft import GEMINI_OWN

_FUNCTION: Mapping[str, Reading] = {
    "name": "name",
    "description": "tool",
    "parameters": "tool",
    "schema": "form",
    "filename": "file",
}
_THOUGHT: Reading = "thought"
READS: Mapping[str, Mapping[str, Reading]] = {
    "ollama": {**_FUNCTION, "arguments": "call", "thinking": "thought"},
    "openai-chat": {
        **_FUNCTION,
        "arguments": "call",
        "reasoning_content": "thought",
        "reasoning": "thought",
    },
    "openai-responses": {**_FUNCTION, "arguments": "call", "summary": "thought"},
    "anthropic": {
        "name": "name",
        "description": "tool",
        "input_schema": "tool",
        "input": "call",
        "thinking": "thought",
        "title": "file",
        "schema": "form",
    },
    "gemini": {
        "name": "name",
        "description": "tool",
        "parametersJsonSchema": "tool",
        "args": "call",
        "text": "thought",
        **dict.fromkeys(GEMINI_OWN, _THOUGHT),
        "responseJsonSchema": "form",
    },
    "live": _FUNCTION,
}

"""Answers of providers, as bytes: written out where a case needs its own, recorded where not."""

from __future__ import annotations

import json
from pathlib import Path

from .server import Answer

RECORDED = Path(__file__).parents[1] / "settle" / "recorded"


def said(text: str = "", *calls: tuple[str, object]) -> Answer:
    """An answer in the format of Chat Completions: words, then calls of tools."""
    told = [
        {
            "index": number,
            "id": f"call-{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    pieces = [text[start : start + 40] for start in range(0, len(text), 40)]
    deltas: list[dict[str, object]] = [{"content": piece} for piece in pieces]
    if told:
        deltas.append({"tool_calls": told})
    events: list[dict[str, object]] = [{"choices": [{"index": 0, "delta": one}]} for one in deltas]
    end = "tool_calls" if told else "stop"
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 9}})
    lines = [*(json.dumps(event, ensure_ascii=False) for event in events), "[DONE]"]
    return Answer("".join(f"data: {line}\n\n" for line in lines).encode())


def refused(status: int = 400, words: str = "not like this") -> Answer:
    body = json.dumps({"error": {"message": words, "type": "invalid_request_error"}})
    return Answer(body.encode(), status, "application/json")


def recorded(name: str) -> Answer:
    return Answer((RECORDED / name).read_bytes())


def output_ir(*acts: object, goals: object = (), memory: object = ()) -> Answer:
    """The answer of a tick: acts and patches in the strict form."""
    sections = (("acts", acts), ("goal-tree-patch", goals), ("l1-memory-patch", memory))
    inner = "\n".join(f"<{name}>\n{json.dumps(value)}\n</{name}>" for name, value in sections)
    return said(f"<output-ir>\n{inner}\n</output-ir>")

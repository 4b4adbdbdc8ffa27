"""The two judges of our payloads judge: each finds what is wrong in one made wrong on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from mentis.render.wires import render_for

from .conftest import NATIVE, ROUTES, requests_for
from .oracle import validate
from .rules import problems


def golden(wire: str) -> Any:  # noqa: ANN401  # JSON
    return json.loads(render_for(wire, requests_for(wire)["chat"], ROUTES[wire]).body())


def objects(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # JSON
    if isinstance(value, dict):
        return [value, *(found for part in value.values() for found in objects(part))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON
    return [found for part in value for found in objects(part)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON


def fits(wire: str, payload: dict[str, Any]) -> bool:
    try:
        validate(wire, payload)
    except (ValidationError, AssertionError):
        return False
    return True


FREE = ("parameters", "input_schema", "parametersJsonSchema", "input", "args", "response")


def fixed_objects(payload: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # JSON
    """All objects whose keys the provider fixes: not schemas, not arguments."""
    held = [
        one[name] for one in objects(payload) for name in FREE if isinstance(one.get(name), dict)
    ]
    free = [inner for one in held for inner in objects(one)]
    return [one for one in objects(payload) if not any(one is other for other in free)]


@pytest.mark.parametrize("wire", NATIVE)
def test_an_unknown_key_anywhere_is_found_by_the_types(wire: str) -> None:
    count = len(fixed_objects(golden(wire)))
    assert count > 15
    for number in range(count):
        payload = golden(wire)
        changed = fixed_objects(payload)[number]
        changed["surprise"] = 1
        assert not fits(wire, payload), changed


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_a_missing_type_or_role_is_found_by_the_types(wire: str) -> None:
    for name in ("role", "type"):
        payload = golden(wire)
        key = "input" if wire == "openai-responses" else "messages"
        for message in payload[key]:
            message.pop(name, None)
        if payload != golden(wire) and (name, wire) != ("type", "openai-responses"):
            with pytest.raises(ValidationError):
                validate(wire, payload)


def without_result(payload: Any) -> None:  # noqa: ANN401  # JSON
    for name in ("messages", "input", "contents"):
        payload[name] = [m for m in payload.get(name, []) if not is_result(m)]


def is_result(message: Any) -> bool:  # noqa: ANN401  # JSON
    text = json.dumps(message)
    return any(f'"{kind}"' in text for kind in ("tool", "tool_result", "functionResponse")) or (
        message.get("type") == "function_call_output"
    )


def bad_name(payload: Any) -> None:  # noqa: ANN401  # JSON
    for one in objects(payload.get("tools", [])):
        if one.get("name") == "look_up":
            one["name"] = "look up"


def five_marks(payload: Any) -> None:  # noqa: ANN401  # JSON
    for message in payload["messages"]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}


def late_hour(payload: Any) -> None:  # noqa: ANN401  # JSON
    payload["messages"][-2]["content"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


def unarmed(payload: Any) -> None:  # noqa: ANN401  # JSON
    payload.pop("tools")
    payload["toolConfig" if "contents" in payload else "tool_choice"] = {}


def half_strict(payload: Any) -> None:  # noqa: ANN401  # JSON
    tool = payload["tools"][0]
    tool.get("function", tool)["strict"] = True
    schema = tool.get("input_schema") or tool.get("function", tool)["parameters"]
    schema["properties"]["more"] = {"type": "string"}
    schema["additionalProperties"] = True


BROKEN: list[tuple[str, Callable[[Any], object], str]] = [
    *((wire, without_result, "result") for wire in NATIVE),
    *((wire, bad_name, "tool name 'look up'") for wire in NATIVE),
    ("anthropic", five_marks, "more than 4 cache marks"),
    ("anthropic", late_hour, "5m before 1h"),
    ("anthropic", lambda p: p.update(temperature=1), "temperature is gone"),
    ("anthropic", lambda p: p["messages"].insert(0, p["messages"][-1]), "wrong place"),
    ("anthropic", lambda p: p["messages"].append(p["messages"][0]), "prefill"),
    ("anthropic", lambda p: p["messages"][0]["content"][0].update(text=" "), "empty text"),
    ("openai-chat", lambda p: p["messages"][1].update(content=""), "empty content"),
    ("openai-chat", lambda p: p["messages"][3].update(tool_calls=[]), "empty tool_calls"),
    ("openai-responses", lambda p: p["input"].append(p["input"][3]), "without its item"),
    ("openai-responses", lambda p: p.update(max_output_tokens=1), "below 16"),
    ("gemini", lambda p: p["contents"].append({"role": "model", "parts": [{"text": "x"}]}), "last"),
    ("gemini", lambda p: p.update(cachedContent="c"), "cachedContent"),
    *((wire, unarmed, "tool settings without tools") for wire in NATIVE),
    ("openai-chat", half_strict, "an open object in a strict schema"),
    ("openai-responses", half_strict, "an optional property in a strict schema"),
    ("anthropic", half_strict, "an open object in a strict schema"),
    ("gemini", lambda p: p["contents"][3]["parts"][2].pop("thoughtSignature"), "unsigned"),
]


@pytest.mark.parametrize(("wire", "breaks", "found"), BROKEN)
def test_what_a_provider_would_refuse_is_found_by_the_rules(
    wire: str, breaks: Callable[[Any], object], found: str
) -> None:
    payload = golden(wire)
    assert problems(wire, payload) == []
    breaks(payload)
    assert any(found in problem for problem in problems(wire, payload)), problems(wire, payload)

"""The newest official SDKs' own request types, made strict: unknown keys and lazy lists are out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator


def validate(wire: str, payload: Mapping[str, Any]) -> None:
    """Raises pydantic's ValidationError where the payload does not fit."""
    if wire == "gemini":
        _validate_gemini(payload)
        return
    _validator(wire).validate_python(payload, strict=True)


@cache
def _validator(wire: str) -> SchemaValidator:
    adapter: TypeAdapter[Any] = TypeAdapter(_params(wire))
    return SchemaValidator(_strict(adapter.core_schema))


def _params(wire: str) -> Any:  # noqa: ANN401  # a TypedDict of an SDK
    if wire == "openai-chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

        return CompletionCreateParamsStreaming
    if wire == "openai-responses":
        from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

        return ResponseCreateParamsStreaming
    if wire == "live":
        from openai.types.realtime.realtime_session_create_request_param import (
            RealtimeSessionCreateRequestParam,
        )

        return RealtimeSessionCreateRequestParam
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return MessageCreateParamsStreaming


def _strict(node: Any) -> Any:  # noqa: ANN401  # a core schema has no type
    if isinstance(node, (list, tuple)):
        kind = cast("type[Any]", type(node))  # pyright: ignore[reportUnknownArgumentType]  # either
        return kind(_strict(item) for item in cast("list[Any]", node))
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    if schema.get("type") == "model":  # a response model that leaked into a request's union
        return {"type": "is-instance", "cls": schema["cls"], **_ref(schema)}
    made = {name: _strict(part) for name, part in schema.items()}
    if schema.get("type") == "generator":
        return {**made, "type": "list"}
    if schema.get("type") == "typed-dict" and not _is_open(schema):
        return {**made, "extra_behavior": "forbid"}
    return made


def _ref(schema: dict[str, Any]) -> dict[str, Any]:
    return {"ref": schema["ref"]} if "ref" in schema else {}


def _is_open(schema: dict[str, Any]) -> bool:
    config = schema.get("config", {})
    return "allow" in (schema.get("extra_behavior"), config.get("extra_fields_behavior"))


def _validate_gemini(payload: Mapping[str, Any]) -> None:
    from google.genai import types

    known = {
        *("contents", "systemInstruction", "tools", "toolConfig"),
        *("generationConfig", "cachedContent", "safetySettings", "serviceTier"),
    }
    assert set(payload) <= known, f"unknown keys {set(payload) - known}"
    for content in payload["contents"]:
        types.Content.model_validate(content)
        for part in content["parts"]:
            kinds = set(part) - {"thought", "thoughtSignature"}
            assert len(kinds) == 1, f"a part is exactly one thing: {kinds}"
    if "systemInstruction" in payload:
        types.Content.model_validate(payload["systemInstruction"])
    for tool in payload.get("tools", []):
        types.Tool.model_validate(tool)
    types.ToolConfig.model_validate(payload.get("toolConfig", {}))
    types.GenerationConfig.model_validate(payload.get("generationConfig", {}))

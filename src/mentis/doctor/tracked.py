"""Calls that a tracker wrote down: LiteLLM's logging payloads and observations of Langfuse.

They tell the texts and the counts; what went over the wire they do not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import orjson

from mentis.recorder.span_calls import backend_of
from mentis.render.compare import is_body
from mentis.values.json import JsonObject, json_object
from mentis.values.reply import Usage
from mentis.values.route import Backend
from mentis.values.words import quantity

from .calls import LogBody, LoggedCall, LogPlace
from .timestamps import seconds_of

LITELLM, LANGFUSE = "litellm", "langfuse"
_CLAUDE = re.compile(r"claude[a-z0-9.-]*?(?=-v\d+(?::\d+)?$|@|$)")
_STANDARD = "standard_logging_object"
_READ = ("cache_read_input_tokens", "input_cached_tokens", "input_cache_read", "cached_tokens")
_WRITTEN = ("cache_creation_input_tokens", "input_cache_creation", "cache_write_tokens")
_TYPES = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN")


def is_litellm(told: dict[str, object]) -> bool:
    one = told.get(_STANDARD, told)
    return isinstance(one, dict) and "call_type" in one and "model" in one


def is_langfuse(told: dict[str, object]) -> bool:
    traced = "traceId" in told or "trace_id" in told
    return traced and (told.get("type") in _TYPES or "usageDetails" in told)


@dataclass(slots=True)
class LiteLLMReader:
    file: str
    failed: int = 0

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]:
        one = json_object(told.get(_STANDARD, told))
        if one.get("status") == "failure" or one.get("error_str"):
            self.failed += 1
            return
        metadata = json_object(one.get("metadata"))
        response = json_object(_read(one.get("response")))
        counts = json_object(metadata.get("usage_object")) or json_object(response.get("usage"))
        named = str(one.get("custom_llm_provider") or "")
        model, backend = plain_model(str(one.get("model", "")), named)
        usage, known = chat_usage({**_counts_of(one), **counts})
        session = metadata.get("session_id") or one.get("session_id")
        parameters = json_object(one.get("model_parameters"))
        yield LoggedCall(
            LITELLM,
            LogPlace(self.file, number),
            "",
            model,
            backend,
            usage,
            time=seconds_of(one.get("startTime")),
            tells_cache=known,
            body=_transcript(one.get("messages"), parameters.get("tools"), session),
            key=str(one.get("id") or ""),
            reply_id=str(response.get("id") or ""),
            project=str(one.get("model_group") or ""),
            usd=_number(one.get("response_cost")),
        )

    def end(self) -> Iterator[LoggedCall]:
        return iter(())

    def notes(self) -> Iterator[str]:
        if self.failed:
            yield f"{quantity(self.failed, 'call')} failed, and count for nothing"


@dataclass(slots=True)
class LangfuseReader:
    """Names of fields as the API writes them, and as exports to storage do."""

    file: str

    def take(self, number: int, told: dict[str, object]) -> Iterator[LoggedCall]:
        model = _first(told, "model", "providedModelName", "provided_model_name")
        details = json_object(_read(_first(told, "usageDetails", "usage_details")))
        counts = details or json_object(_read(told.get("usage")))
        if not model or not (counts or _first(told, "promptTokens", "prompt_tokens")):
            return
        name, backend = plain_model(str(model), "")
        asked: object = _read(told.get("input"))
        inner = json_object(asked)
        tools = inner.get("tools")
        usage = langfuse_usage(counts) if counts else chat_usage(_counts_of(told))[0]
        cost = json_object(_read(_first(told, "costDetails", "cost_details"))).get("total")
        session = _first(told, "sessionId", "session_id") or _first(told, "traceId", "trace_id")
        yield LoggedCall(
            LANGFUSE,
            LogPlace(self.file, number),
            str(session or ""),
            name,
            backend,
            usage,
            time=seconds_of(_first(told, "startTime", "start_time")),
            tells_cache=any(one in counts for one in _READ),
            body=_transcript(inner.get("messages", asked), tools, session),
            key=str(told.get("id") or ""),
            project=str(_first(told, "traceName", "trace_name", "name") or ""),
            usd=_number(_first(told, "totalCost", "total_cost", "calculatedTotalCost") or cost),
        )

    def end(self) -> Iterator[LoggedCall]:
        return iter(())

    def notes(self) -> Iterator[str]:
        return iter(())


def plain_model(told: str, provider: str) -> tuple[str, Backend]:
    """The model by the name that its maker gives it, whoever serves it, and whose prices count."""
    name = told.rpartition("/")[2]
    if found := _CLAUDE.search(name):
        return found[0], "anthropic"
    if name.startswith("gemini"):
        return name, "gemini"
    return name, backend_of(provider or told.partition("/")[0])


def chat_usage(told: JsonObject) -> tuple[Usage, bool]:
    """As OpenAI counts, where the input holds all of it; and whether it tells of a cache."""
    details = json_object(told.get("prompt_tokens_details"))
    read = _count_of(told, _READ) or _count_of(details, _READ)
    wrote = _count_of(told, _WRITTEN) or _count_of(details, _WRITTEN)
    thought = json_object(told.get("completion_tokens_details")).get("reasoning_tokens")
    whole = max(_count(told.get("prompt_tokens")), read + wrote)
    usage = Usage(whole, _count(told.get("completion_tokens")), read, wrote, _count(thought))
    known = any(isinstance(one.get(n), int) for one in (told, details) for n in _READ)
    return usage, known


def langfuse_usage(told: JsonObject) -> Usage:
    """Its kinds of input add up, unless the total says that they do not."""
    read, wrote = _count_of(told, _READ), _count_of(told, _WRITTEN)
    fresh, out = _count(told.get("input")), _count(told.get("output"))
    total = _count(told.get("total"))
    apart = total != fresh + out or not fresh or fresh < read + wrote
    return Usage(fresh + read + wrote if apart else fresh, out, read, wrote)


def _transcript(messages: object, tools: object, session: object) -> LogBody | None:
    asked = _read(messages)
    payload: JsonObject = {"messages": asked}
    if isinstance(asked, list) and tools:
        payload = {"tools": tools, **payload}
    if not is_body(payload, "openai-chat"):
        return None
    headers = {"session-id": str(session)} if session else {}
    size = len(str(asked)) if isinstance(asked, str) else 4096 * len(cast("list[object]", asked))
    return LogBody("openai-chat", payload, headers, size=size, transcript=True)


def _counts_of(told: JsonObject) -> dict[str, object]:
    return {
        "prompt_tokens": _first(told, "prompt_tokens", "promptTokens"),
        "completion_tokens": _first(told, "completion_tokens", "completionTokens"),
    }


def _read(value: object) -> object:
    """Exports to storage write objects as texts."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return cast("object", orjson.loads(value))
        except ValueError:
            return value
    return value


def _first(told: JsonObject, *names: str) -> object:
    return next((told[name] for name in names if told.get(name)), None)


def _count_of(told: JsonObject, names: tuple[str, ...]) -> int:
    return next((found for name in names if (found := _count(told.get(name)))), 0)


def _count(told: object) -> int:
    return max(0, told) if isinstance(told, int) and not isinstance(told, bool) else 0


def _number(told: object) -> float | None:
    try:
        number = float(cast("str", told)) if told is not None else None
    except (TypeError, ValueError):
        return None
    return number if number is not None and 0 <= number < float("inf") else None

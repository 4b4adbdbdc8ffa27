"""A callback handler for LangChain and LangGraph: calls of chat models become entries, each with
the tools used before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, cast
from uuid import UUID

from mentis.values.json import JsonObject, json_object

from .owned_recording import OwnedRecording, own_recording
from .span_calls import SpanCall, TraceStep, backend_of, span_copy, steps_copy
from .trace_tree import TraceTree

Foreign: TypeAlias = Any  # of LangChain: messages, results

_ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_SESSIONS = ("thread_id", "session_id", "conversation_id")
_AGENTS = ("lc_agent_name", "agent_name")
_MOST_RUNS = 10_000
_FINISHES = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def callback_handler(
    home: str | Path, *, name: str, tell: Callable[[str], None] | None = None
) -> LangChainRecorder:
    """A handler for `config={"callbacks": [...]}` or the `callbacks` of a model, which records as
    `recorded/NAME` in this home.

    `tell` hears what could not be recorded, by default the logger `mentis.recording`.
    """
    return _handler_class()(own_recording(home, name, tell=tell))


def _handler_class() -> type[LangChainRecorder]:
    """Models look whether it is one of LangChain's own; where that is not installed, none does."""
    try:
        base = import_module("langchain_core.callbacks").BaseCallbackHandler
    except ModuleNotFoundError:
        return LangChainRecorder
    return type("LangChainRecorder", (LangChainRecorder, base), {})


@dataclass(slots=True)
class _Run:
    """One that goes on. `trace` is the outermost run that it is in."""

    trace: str
    parent: str
    name: str
    began: datetime
    at: float
    request: JsonObject | None = None
    provider: str = ""
    agent: str = ""
    session: str = ""


class LangChainRecorder:
    """Records calls by what LangChain calls back. It never raises, and never waits for the
    record. `close` writes what waits; the end of the program does it, too.
    """

    raise_error = False
    run_inline = True  # in the order in which things happen
    ignore_llm = ignore_chain = ignore_chat_model = False
    ignore_agent = False  # of tools, too
    ignore_retry = ignore_retriever = ignore_custom_event = True

    def __init__(self, recording: OwnedRecording) -> None:
        self._recording = recording
        self._tree = TraceTree("langchain")
        self._runs: dict[str, _Run] = {}
        self._lock = Lock()

    @property
    def agent(self) -> str:
        """The agent in the record: `recorded/NAME`."""
        return self._recording.agent

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until what has ended is written; False where it takes longer."""
        return self._recording.flush(seconds)

    def close(self) -> None:
        """Write what waits, and let go of the home."""
        self._recording.close()

    # Models

    def on_chat_model_start(
        self, serialized: object, messages: list[list[Foreign]], *, run_id: UUID, **told: object
    ) -> None:
        with self._recording.guarded():
            asked = [_message(one) for one in (messages[0] if messages else [])]
            self._ask(run_id, serialized, asked, told)

    def on_llm_start(
        self, serialized: object, prompts: list[str], *, run_id: UUID, **told: object
    ) -> None:
        with self._recording.guarded():
            self._ask(run_id, serialized, [{"role": "user", "content": p} for p in prompts], told)

    def on_llm_end(self, response: Foreign, *, run_id: UUID, **_told: object) -> None:
        with self._recording.guarded():
            run = self._end(run_id)
            if run is not None and run.request is not None:
                self._offer(run_id, run, _answer(response), "")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_told: object) -> None:
        with self._recording.guarded():
            run = self._end(run_id)
            if run is not None and run.request is not None:
                self._offer(run_id, run, None, f"{type(error).__name__}: {error}")

    # What is around them

    def on_chain_start(
        self, serialized: object, inputs: object, *, run_id: UUID, **told: object
    ) -> None:
        del inputs
        with self._recording.guarded():
            self._begin(run_id, serialized, told)

    def on_chain_end(self, outputs: object, *, run_id: UUID, **_told: object) -> None:
        del outputs
        self._end_chain(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_told: object) -> None:
        del error
        self._end_chain(run_id)

    def on_tool_start(
        self, serialized: object, input_str: str, *, run_id: UUID, **told: object
    ) -> None:
        del input_str
        with self._recording.guarded():
            self._begin(run_id, serialized, told, tool=True)

    def on_tool_end(self, output: object, *, run_id: UUID, **_told: object) -> None:
        del output
        self._end_tool(run_id, "")

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_told: object) -> None:
        self._end_tool(run_id, f"{type(error).__name__}: {error}")

    def _ask(
        self,
        run_id: UUID,
        serialized: object,
        asked: list[JsonObject],
        told: Mapping[str, object],
    ) -> None:
        run = self._begin(run_id, serialized, told)
        metadata = json_object(told.get("metadata"))
        params = json_object(told.get("invocation_params"))
        model = params.get("model") or params.get("model_name") or metadata.get("ls_model_name")
        run.provider = str(metadata.get("ls_provider") or "")
        tools = params.get("tools")
        run.request = {
            "model": str(model or ""),
            **({"tools": tools} if tools else {}),
            "messages": asked,
        }

    def _begin(
        self, run_id: UUID, serialized: object, told: Mapping[str, object], *, tool: bool = False
    ) -> _Run:
        metadata = json_object(told.get("metadata"))
        parent = str(told.get("parent_run_id") or "")
        known = json_object(serialized)
        path = cast("list[str]", known.get("id") or [""])
        name = str(told.get("name") or known.get("name") or path[-1])
        with self._lock:
            above = self._runs.get(parent)
            run = _Run(
                above.trace if above else str(run_id),
                parent if above else "",
                name,
                self._recording.now(),
                self._recording.touch(),
                agent=_first(metadata, _AGENTS),
                session=_first(metadata, _SESSIONS),
            )
            if len(self._runs) < _MOST_RUNS:
                self._runs[str(run_id)] = run
        self._tree.open(run.trace, run.session)
        kind = "tool" if tool else "other"
        self._tree.begin(run.trace, str(run_id), run.parent, kind=kind, name=name)
        return run

    def _end(self, run_id: UUID) -> _Run | None:
        with self._lock:
            return self._runs.pop(str(run_id), None)

    def _end_chain(self, run_id: UUID) -> None:
        with self._recording.guarded():
            run = self._end(run_id)
            if run is not None:
                self._close(run)

    def _end_tool(self, run_id: UUID, error: str) -> None:
        with self._recording.guarded():
            run = self._end(run_id)
            if run is None:
                return
            milliseconds = round((self._recording.touch() - run.at) * 1000)
            step = TraceStep("tool", run.name, str(run_id), run.parent, milliseconds, error)
            self._tree.add(run.trace, step)
            self._close(run)

    def _offer(self, run_id: UUID, run: _Run, answer: JsonObject | None, error: str) -> None:
        recording = self._recording
        source = self._tree.source(run.trace, str(run_id), run.parent, agent=run.agent)
        call = SpanCall(
            replace(source, backend=backend_of(run.provider)),
            run.provider,
            run.request or {},
            answer,
            run.began,
            recording.touch() - run.at,
            error,
        )
        recording.offer(span_copy(call, recording.targets, limit=recording.body_bytes))
        self._close(run)

    def _close(self, run: _Run) -> None:
        """With the outermost run, its trace is over."""
        recording = self._recording
        if not run.parent and (rest := self._tree.close(run.trace)) is not None:
            recording.offer(steps_copy(rest, recording.now(), limit=recording.body_bytes))


def _message(message: Foreign) -> JsonObject:
    kind = str(message.type)
    made: dict[str, object] = {"role": _ROLES.get(kind, kind), "content": message.content}
    if calls := getattr(message, "tool_calls", None):
        made["tool_calls"] = [_call(one) for one in calls]
    if call := getattr(message, "tool_call_id", None):
        made["tool_call_id"] = str(call)
    return made


def _call(told: Mapping[str, object]) -> JsonObject:
    function = {"name": told.get("name"), "arguments": json.dumps(told.get("args"), default=str)}
    return {"id": str(told.get("id") or ""), "type": "function", "function": function}


def _answer(response: Foreign) -> JsonObject:
    said = [one for listed in response.generations for one in listed]
    choices: list[JsonObject] = []
    usage: JsonObject = {}
    model = reply = ""
    for number, one in enumerate(said):
        message = getattr(one, "message", None)
        metadata = json_object(getattr(message, "response_metadata", None))
        model = model or str(metadata.get("model_name") or metadata.get("model") or "")
        reply = reply or str(metadata.get("id") or "")
        usage = usage or _usage(json_object(getattr(message, "usage_metadata", None)))
        reason = str(metadata.get("finish_reason") or metadata.get("stop_reason") or "")
        told = {"role": "assistant", "content": one.text} if message is None else _message(message)
        reason = reason or ("tool_calls" if told.get("tool_calls") else "stop")
        finish = _FINISHES.get(reason, reason)
        choices.append({"index": number, "message": told, "finish_reason": finish})
    return {
        **({"id": reply} if reply else {}),
        "object": "chat.completion",
        "model": model,
        "choices": choices,
        **({"usage": usage} if usage else {}),
    }


def _usage(told: JsonObject) -> JsonObject:
    """Its input holds what was read from a cache and written into one."""
    if not told:
        return {}
    read, made = (json_object(told.get(f"{way}_token_details")) for way in ("input", "output"))
    return {
        "prompt_tokens": told.get("input_tokens", 0),
        "completion_tokens": told.get("output_tokens", 0),
        "prompt_tokens_details": {
            "cached_tokens": read.get("cache_read") or 0,
            "cache_write_tokens": read.get("cache_creation") or 0,
        },
        "completion_tokens_details": {"reasoning_tokens": made.get("reasoning") or 0},
    }


def _first(metadata: JsonObject, names: tuple[str, ...]) -> str:
    return next((str(metadata[name]) for name in names if metadata.get(name)), "")

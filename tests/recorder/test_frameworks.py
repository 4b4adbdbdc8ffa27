"""Frameworks that tell of their calls: objects shaped like theirs, and, in `make slow`, theirs."""

from __future__ import annotations

import os
import subprocess
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import TracerProvider

from mentis import recording
from mentis.home.create import create_home
from mentis.record.foreign_calls import ForeignCall, foreign_call
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.values.entry import Entry
from mentis.values.json import json_object

from .foreign import BEGAN

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ROOT / ".venv-frameworks" / "bin" / "python"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "house")


def fail(text: str) -> None:
    raise AssertionError(text)


def entries_of(home: Path, name: str) -> list[Entry]:
    with open_record(home, f"recorded/{name}", readonly=True) as record:
        return list(record.store.entries(record.agent))


def calls_in(entries: list[Entry]) -> list[ForeignCall]:
    return [cast("ForeignCall", foreign_call(entry)) for entry in entries]


def steps_in(entry: Entry) -> list[tuple[object, object]]:
    steps = cast("list[object]", json_object(entry.body["call"]).get("steps", []))
    return [(json_object(one)["kind"], json_object(one)["name"]) for one in steps]


# The Agents SDK


def told(kind: str, **data: object) -> SimpleNamespace:
    return SimpleNamespace(type=kind, **data)


def agents_span(
    number: int, parent: int | None, data: SimpleNamespace, **more: object
) -> SimpleNamespace:
    began = BEGAN + timedelta(seconds=number)
    return SimpleNamespace(
        trace_id="trace_1",
        span_id=f"span_{number}",
        parent_id=None if parent is None else f"span_{parent}",
        span_data=data,
        started_at=began.isoformat(),
        ended_at=(began + timedelta(milliseconds=400)).isoformat(),
        error=more.get("error"),
    )


def response(text: str) -> SimpleNamespace:
    content = [{"type": "output_text", "text": text}]
    body: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5",
        "status": "completed",
        "instructions": "Be exact.",
        "output": [{"type": "message", "role": "assistant", "content": content}],
        "usage": {"input_tokens": 50, "output_tokens": 4},
    }

    def model_dump(**_options: object) -> dict[str, Any]:
        return body

    return SimpleNamespace(model_dump=model_dump)


def test_spans_of_the_agents_sdk_become_calls_with_their_agents_tools_and_handoffs(
    home: Path,
) -> None:
    processor = recording.trace_processor(home, name="agents", tell=fail)
    trace = SimpleNamespace(trace_id="trace_1", name="talk", group_id="talk-1")
    desk = agents_span(1, None, told("agent", name="desk"))
    first = agents_span(2, 1, told("response", response=response("go"), input="How is Rome?"))
    handoff = agents_span(3, 1, told("handoff", from_agent="desk", to_agent="sky"))
    sky = agents_span(4, None, told("agent", name="sky"))
    tool = agents_span(5, 4, told("function", name="look", input="{}", output="sun"))
    messages = [{"role": "user", "content": "How is Rome?"}]
    output = [{"role": "assistant", "content": "Sunny."}]
    usage = {"input_tokens": 60, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 8}}
    second = agents_span(
        6,
        4,
        told(
            "generation",
            input=messages,
            output=output,
            model="gpt-5",
            model_config={"base_url": "https://api.openai.com/v1/"},
            usage=usage,
        ),
    )
    last = agents_span(7, 4, told("function", name="bow", input="{}", output=""), error={})
    broken = agents_span(
        8, 4, told("response", response=None, input=None), error={"message": "no answer"}
    )
    processor.on_trace_start(trace)
    for span in (desk, first, handoff, sky, tool, second, broken, last):
        processor.on_span_start(span)
        processor.on_span_end(span)
    processor.on_trace_end(trace)
    processor.shutdown()
    entries = entries_of(home, "agents")
    calls = calls_in(entries)
    assert [(one.session, one.agent, one.thread, one.parent, one.end) for one in calls] == [
        ("talk-1", "desk", 0, None, "answered"),
        ("talk-1", "sky", 1, 0, "answered"),
        ("talk-1", "sky", 1, 0, "broken"),
        ("talk-1", "", 0, None, "answered"),
    ]
    assert [one.evidence for one in calls] == ["span"] * 4
    assert [steps_in(entry) for entry in entries] == [
        [],
        [("handoff", "sky"), ("tool", "look")],
        [],
        [("tool", "bow")],
    ]
    used = [(one.usage.input, one.usage.output) for one in calls if one.usage]
    assert used == [(50, 4), (60, 3)]
    assert json_object(entries[1].body["call"])["above"] == ["agent sky"]
    assert all(one.intact for one in verify_home(home, persona="recorded/agents"))


def test_no_byte_is_named_of_a_call_that_is_known_by_its_span(home: Path) -> None:
    processor = recording.trace_processor(home, name="agents", tell=fail)
    for number, system in enumerate(("one " * 400, "two " * 400)):
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": "Hello"},
        ]
        data = told(
            "generation",
            input=messages,
            output=[{"role": "assistant", "content": "Hi."}],
            model="gpt-5",
            model_config=None,
            usage={"input_tokens": 2000, "output_tokens": 1},
        )
        processor.on_span_end(agents_span(number, None, data))
    processor.shutdown()
    _, entry = entries_of(home, "agents")
    cache = json_object(entry.body["cache"])
    assert "byte" not in cache
    assert "pointer" not in cache


# LangChain


def message(kind: str, content: str, **more: object) -> SimpleNamespace:
    return SimpleNamespace(type=kind, content=content, **more)


def test_what_langchain_calls_back_becomes_calls_with_the_tools_between_them(home: Path) -> None:
    handler = recording.callback_handler(home, name="chain", tell=fail)
    chain, ask, tool, again, late = (UUID(int=number) for number in range(1, 6))
    about: dict[str, Any] = {
        "metadata": {"ls_provider": "anthropic", "thread_id": "t-1", "lc_agent_name": "sky"},
        "invocation_params": {"model": "claude-sonnet-5", "tools": [{"name": "look"}]},
        "parent_run_id": chain,
    }
    usage = {
        "input_tokens": 70,
        "output_tokens": 3,
        "input_token_details": {"cache_read": 40, "cache_creation": 20},
    }
    answer = message(
        "ai", "Sunny.", tool_calls=[], usage_metadata=usage, response_metadata={"id": "msg_1"}
    )
    calls = [{"name": "look", "args": {"at": 1}, "id": "c1"}]
    asked = [message("human", "How is Rome?"), message("ai", "", tool_calls=calls)]
    result = SimpleNamespace(generations=[[SimpleNamespace(message=answer, text="Sunny.")]])
    handler.on_chain_start({"name": "graph"}, {}, run_id=chain, metadata=about["metadata"])
    handler.on_chat_model_start({}, [asked[:1]], run_id=ask, **about)
    handler.on_llm_end(result, run_id=ask)
    handler.on_tool_start({"name": "look"}, "{}", run_id=tool, parent_run_id=chain)
    handler.on_tool_error(KeyError("sun"), run_id=tool)
    handler.on_chat_model_start({}, [asked], run_id=again, **about)
    handler.on_llm_error(TimeoutError("too late"), run_id=again)
    handler.on_tool_start({"name": "bow"}, "{}", run_id=late, parent_run_id=chain)
    handler.on_tool_end("", run_id=late)
    handler.on_chain_end({}, run_id=chain)
    handler.close()
    entries = entries_of(home, "chain")
    first, second, rest = calls_in(entries)
    assert (first.session, first.agent, first.route, first.model) == (
        "t-1",
        "sky",
        "anthropic",
        "claude-sonnet-5",
    )
    assert first.usage is not None
    assert (first.usage.input, first.usage.cache_read, first.usage.cache_write) == (70, 40, 20)
    assert (second.end, second.status) == ("broken", 0)
    assert [steps_in(entry) for entry in entries] == [[], [("tool", "look")], [("tool", "bow")]]
    assert rest.model == ""


# OpenTelemetry


def test_genai_spans_of_this_process_become_calls(home: Path) -> None:
    processor = recording.span_processor(home, name="traced", tell=fail)
    provider = TracerProvider()
    provider.add_span_processor(cast("Any", processor))
    tracer = provider.get_tracer("test")
    usage = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 1}
    with tracer.start_as_current_span(
        "invoke_agent sky",
        attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "sky"},
    ):
        about = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", **usage}
        with tracer.start_as_current_span("chat gpt-5", attributes=about) as span:
            span.set_attribute("gen_ai.request.model", "gpt-5")
        with tracer.start_as_current_span("GET /"):
            pass
    assert processor.force_flush()
    (entry,) = entries_of(home, "traced")
    (call,) = calls_in([entry])
    assert (call.agent, call.model, call.route, call.evidence) == ("sky", "gpt-5", "openai", "span")
    provider.shutdown()


def test_what_a_framework_tells_wrongly_is_told_and_raises_nothing(home: Path) -> None:
    heard: list[str] = []
    processor = recording.trace_processor(home, name="agents", tell=heard.append)
    processor.on_span_end(SimpleNamespace(span_data=told("response")))
    processor.shutdown()
    assert heard == [heard[0]]
    assert "was not recorded: AttributeError" in heard[0]


# Their own packages


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "name", "wanted"),
    [
        ("agents", "agents", [("desk", 0), ("sky", 1), ("sky", 1), ("chatter", 0)]),
        ("pydantic-ai", "pydantic", [("sky", 0), ("sky", 0)]),
        ("langchain", "langchain", [("", 0), ("", 0)]),
        ("httpx", "legacy", [("", 0)]),
    ],
)
def test_a_program_of_a_framework_is_recorded_from_inside(
    home: Path, program: str, name: str, wanted: list[tuple[str, int]]
) -> None:
    script = Path(__file__).with_name("framework_programs.py")
    assert FRAMEWORKS.exists(), "make slow makes this environment"
    done = subprocess.run(
        [FRAMEWORKS, script, program, home],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "false"},
    )
    assert done.returncode == 0, done.stderr
    entries = entries_of(home, name)
    calls = calls_in(entries)
    assert [(one.agent, one.thread) for one in calls] == wanted
    assert [(one.usage.input, one.usage.cache_read) for one in calls if one.usage] == [
        (100, 64)
    ] * len(wanted)
    used = [step for entry in entries for step in steps_in(entry) if step[0] == "tool"]
    assert used == ([] if program == "httpx" else [("tool", "weather")])
    assert all(one.intact for one in verify_home(home, persona=f"recorded/{name}"))

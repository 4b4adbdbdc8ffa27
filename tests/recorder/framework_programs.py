"""Programs of other people's frameworks, each recorded from inside. Run in an environment that has
them (`make slow`): `python framework_programs.py NAME HOME`. A provider is played in memory.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import httpx2
import openai

import mentis.recording

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 5,
    "total_tokens": 105,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 0},
}
RESPONSE_USAGE = {
    "input_tokens": 100,
    "output_tokens": 5,
    "total_tokens": 105,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def completion(message: Mapping[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-5"}
    return {**answer, "choices": [choice], "usage": USAGE}


def tool_call(name: str, **arguments: object) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


def response(output: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "instructions": None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "output": [output],
        "usage": RESPONSE_USAGE,
    }


def said(text: str) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    told = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    return {**told, "content": [content]}


def called(name: str, **arguments: object) -> dict[str, Any]:
    told = {"id": "fc_1", "type": "function_call", "call_id": f"call_{name}", "status": "completed"}
    return {**told, "name": name, "arguments": json.dumps(arguments)}


def provider(*answers: Mapping[str, Any]) -> httpx2.MockTransport:
    """Answers in this order."""
    left = list(answers)

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=dict(left.pop(0)))

    return httpx2.MockTransport(answer)


def openai_client(*answers: Mapping[str, Any]) -> openai.AsyncOpenAI:
    http = httpx2.AsyncClient(transport=provider(*answers))
    return openai.AsyncOpenAI(api_key="sk-x", http_client=http)


def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


def run_agents(home: str) -> None:
    agents: Any = import_module("agents")
    client = openai_client(
        response(called("transfer_to_sky")),
        response(called("weather", city="Rome")),
        response(said("It is sunny.")),
    )
    model = agents.OpenAIResponsesModel("gpt-5", client)
    tool = agents.function_tool(weather)
    inner = agents.Agent("sky", instructions="Be exact.", model=model, tools=[tool])
    outer = agents.Agent("desk", instructions="Hand over.", model=model, handoffs=[inner])
    processor = mentis.recording.trace_processor(home, name="agents")
    agents.set_trace_processors([processor])
    with agents.trace("weather", group_id="talk-1"):
        done = asyncio.run(agents.Runner.run(outer, "How is Rome?"))
    assert done.final_output == "It is sunny."
    client = openai_client(completion({"content": "Hi."}))
    chat = agents.OpenAIChatCompletionsModel("gpt-5", client)
    asyncio.run(agents.Runner.run(agents.Agent("chatter", model=chat), "Hello"))
    processor.shutdown()


def run_pydantic_ai(home: str) -> None:
    pydantic_ai: Any = import_module("pydantic_ai")
    instrumented: Any = import_module("pydantic_ai.models.instrumented")
    models: Any = import_module("pydantic_ai.models.openai")
    providers: Any = import_module("pydantic_ai.providers.openai")
    sdk: Any = import_module("opentelemetry.sdk.trace")
    processor = mentis.recording.span_processor(home, name="pydantic")
    tracing = sdk.TracerProvider()
    tracing.add_span_processor(processor)
    told = instrumented.InstrumentationSettings(tracer_provider=tracing)
    pydantic_ai.Agent.instrument_all(told)
    client = openai_client(
        completion(tool_call("weather", city="Rome")), completion({"content": "It is sunny."})
    )
    model = models.OpenAIChatModel("gpt-5", provider=providers.OpenAIProvider(openai_client=client))
    agent = pydantic_ai.Agent(model, name="sky", instructions="Be exact.", tools=[weather])
    assert agent.run_sync("How is Rome?").output == "It is sunny."
    processor.shutdown()


def run_langchain(home: str) -> None:
    messages: Any = import_module("langchain_core.messages")
    runnables: Any = import_module("langchain_core.runnables")
    tools: Any = import_module("langchain_core.tools")
    partner: Any = import_module("langchain_openai")
    tool = tools.tool(weather)
    handler = mentis.recording.callback_handler(home, name="langchain")
    transport = provider(
        completion(tool_call("weather", city="Rome")), completion({"content": "It is sunny."})
    )
    http = httpx2.Client(transport=transport)
    model = partner.ChatOpenAI(model="gpt-5", api_key="sk-x", http_client=http, callbacks=[handler])

    def talk(asked: list[Any]) -> str:
        answer = model.bind_tools([tool]).invoke(asked)
        result = tool.invoke(answer.tool_calls[0])
        return str(model.invoke([*asked, answer, result]).content)

    asked = [messages.SystemMessage("Be exact."), messages.HumanMessage("How is Rome?")]
    config = {"metadata": {"thread_id": "talk-1"}, "callbacks": [handler]}
    assert runnables.RunnableLambda(talk).invoke(asked, config=config) == "It is sunny."
    handler.close()


def run_httpx(home: str) -> None:
    """The library that came before httpx2, by an SDK that still takes it."""
    httpx: Any = import_module("httpx")

    def answer(_request: object) -> object:
        return httpx.Response(200, json=completion({"content": "Hi."}))

    transport = mentis.recording.transport(home, name="legacy", inner=httpx.MockTransport(answer))
    with openai.OpenAI(api_key="sk-x", http_client=httpx.Client(transport=transport)) as client:
        messages: Any = [{"role": "user", "content": "Hello"}]
        told = client.chat.completions.create(model="gpt-5", messages=messages)
        assert told.choices[0].message.content == "Hi."


PROGRAMS: Mapping[str, Callable[[str], None]] = {
    "agents": run_agents,
    "httpx": run_httpx,
    "langchain": run_langchain,
    "pydantic-ai": run_pydantic_ai,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2])

"""What other libraries do with the same conversation: their own messages and tools to a payload.

Each peer gets its own typed messages and tools, made beforehand, as our `PromptRequest` is made
beforehand. What is measured is its way from those to the arguments of the request: the mapping of
messages, the mapping of tools, nothing of the network, no bytes. LiteLLM speaks the OpenAI form as
its own, so its pictures are already base64; the others, like us, are given the picture's bytes
where they take bytes.

They are loaded where they are measured: the checks run without them.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable, Coroutine
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeAlias

from mentis.values.part import TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest

from .harness import Pair, Run, benchmark, summary
from .render import ROUTES, conversation, first, next_turn

Prepare: TypeAlias = Callable[[PromptRequest], Run]
MODELS = {
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-2.5-pro",
}
LIMIT = 256
KEY = "none"  # nothing is sent


def _system(request: PromptRequest) -> str:
    return "".join(span.text for span in request.system_instruction)


def _picture(request: PromptRequest) -> bytes:
    return request.attachments[0].data or b""


def _data_url(request: PromptRequest) -> str:
    return f"data:image/png;base64,{b64encode(_picture(request)).decode('ascii')}"


# LiteLLM


def _openai_messages(request: PromptRequest) -> list[Any]:
    messages: list[Any] = [{"role": "system", "content": _system(request)}]
    for turn in request.conversation_history:
        message: dict[str, Any] = {"role": turn.role, "content": None}
        for part in turn.parts:
            if isinstance(part, TextPart):
                message["content"] = part.text
            elif isinstance(part, ToolCallPart):
                function = {"name": part.name, "arguments": json.dumps(part.arguments)}
                message["tool_calls"] = [{"id": part.id, "type": "function", "function": function}]
            elif isinstance(part, ToolResultPart):
                message = {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
        messages.append(message)
    image = {"type": "image_url", "image_url": {"url": _data_url(request)}}
    text = {"type": "text", "text": request.current_text}
    return [*messages, {"role": "user", "content": [image, text]}]


def _openai_tools(request: PromptRequest) -> list[Any]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in request.tool_declarations
    ]


def litellm(wire: str) -> Prepare:
    def prepare(request: PromptRequest) -> Run:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch one
        transform = _LITELLM[wire](MODELS[wire])
        utils: Any = import_module("litellm.utils")
        messages, tools = _openai_messages(request), _openai_tools(request)
        provider = "openai" if wire.startswith("openai") else wire

        def run() -> object:
            # Both are copied, for some of it is changed in place.
            options = utils.get_optional_params(
                model=MODELS[wire],
                custom_llm_provider=provider,
                tools=[*tools],
                max_completion_tokens=LIMIT,
                stream=True,
            )
            return transform([*messages], options)

        return run

    return prepare


def _litellm_chat(model: str) -> Callable[[Any, Any], object]:
    config: Any = import_module("litellm").OpenAIGPTConfig()
    return lambda messages, options: config.transform_request(model, messages, options, {}, {})


def _litellm_responses(model: str) -> Callable[[Any, Any], object]:
    bridge: Any = import_module(
        "litellm.completion_extras.litellm_responses_transformation.transformation"
    )
    handler, log = bridge.LiteLLMResponsesTransformationHandler(), SimpleNamespace()
    return lambda messages, options: handler.transform_request(
        model, messages, options, {}, {}, log
    )


def _litellm_anthropic(model: str) -> Callable[[Any, Any], object]:
    config: Any = import_module("litellm").AnthropicConfig()
    return lambda messages, options: config.transform_request(model, messages, options, {}, {})


def _litellm_gemini(model: str) -> Callable[[Any, Any], object]:
    module: Any = import_module("litellm.llms.vertex_ai.gemini.transformation")
    return lambda messages, options: module._transform_request_body(  # noqa: SLF001
        messages, model, options, "gemini", {}, None
    )


_LITELLM = {
    "openai-chat": _litellm_chat,
    "openai-responses": _litellm_responses,
    "anthropic": _litellm_anthropic,
    "gemini": _litellm_gemini,
}

# pydantic-ai


def _pydantic_messages(request: PromptRequest) -> list[Any]:
    ai: Any = import_module("pydantic_ai.messages")
    messages: list[Any] = [ai.ModelRequest(parts=[ai.SystemPromptPart(content=_system(request))])]
    for turn in request.conversation_history:
        parts: list[Any] = []
        for part in turn.parts:
            if isinstance(part, ToolCallPart):
                parts.append(ai.ToolCallPart(part.name, dict(part.arguments), part.id))
            elif isinstance(part, ToolResultPart):
                parts.append(ai.ToolReturnPart(part.name, part.text, part.call_id))
            elif isinstance(part, TextPart) and turn.role == "user":
                parts.append(ai.UserPromptPart(content=part.text))
            elif isinstance(part, TextPart):
                parts.append(ai.TextPart(content=part.text))
        kind = ai.ModelRequest if turn.role == "user" else ai.ModelResponse
        messages.append(kind(parts=parts))
    picture = ai.BinaryContent(data=_picture(request), media_type="image/png")
    current = ai.UserPromptPart(content=[picture, request.current_text])
    return [*messages, ai.ModelRequest(parts=[current])]


def pydantic_ai(wire: str) -> Prepare:
    def prepare(request: PromptRequest) -> Run:
        models: Any = import_module("pydantic_ai.models")
        tools: Any = import_module("pydantic_ai.tools")
        messages = _pydantic_messages(request)
        declared = [
            tools.ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in request.tool_declarations
        ]
        settings = {"max_tokens": LIMIT}
        parameters = models.ModelRequestParameters(function_tools=declared)
        mapped = _PYDANTIC[wire](MODELS[wire])

        def run() -> object:
            return _finished(mapped(messages, dict(settings), parameters))

        return run

    return prepare


def _finished(work: Coroutine[Any, Any, object]) -> object:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("mapping a conversation waits for nothing")


Mapped: TypeAlias = Callable[[Any, Any, Any], Coroutine[Any, Any, object]]


def _pydantic_chat(name: str) -> Mapped:
    module: Any = import_module("pydantic_ai.models.openai")
    provider: Any = import_module("pydantic_ai.providers.openai").OpenAIProvider(api_key=KEY)
    model = module.OpenAIChatModel(name, provider=provider)

    async def mapped(messages: Any, settings: Any, parameters: Any) -> object:  # noqa: ANN401
        settings, parameters = model.prepare_request(settings, parameters)
        tools, choice = model._get_tool_choice(settings, parameters)  # noqa: SLF001
        written = await model._map_messages(messages, parameters, model_settings=settings)  # noqa: SLF001
        return {"messages": written, "tools": tools, "tool_choice": choice, **settings}

    return mapped


def _pydantic_responses(name: str) -> Mapped:
    module: Any = import_module("pydantic_ai.models.openai")
    provider: Any = import_module("pydantic_ai.providers.openai").OpenAIProvider(api_key=KEY)
    model = module.OpenAIResponsesModel(name, provider=provider)

    async def mapped(messages: Any, settings: Any, parameters: Any) -> object:  # noqa: ANN401
        settings, parameters = model.prepare_request(settings, parameters)
        return await model._prepare_responses_create(messages, settings, parameters)  # noqa: SLF001

    return mapped


def _pydantic_anthropic(name: str) -> Mapped:
    module: Any = import_module("pydantic_ai.models.anthropic")
    provider: Any = import_module("pydantic_ai.providers.anthropic").AnthropicProvider(api_key=KEY)
    model = module.AnthropicModel(name, provider=provider)

    async def mapped(messages: Any, settings: Any, parameters: Any) -> object:  # noqa: ANN401
        settings, parameters = model.prepare_request(settings, parameters)
        return await model._prepare_messages_create(messages, settings, parameters)  # noqa: SLF001

    return mapped


def _pydantic_gemini(name: str) -> Mapped:
    module: Any = import_module("pydantic_ai.models.google")
    provider: Any = import_module("pydantic_ai.providers.google").GoogleProvider(api_key=KEY)
    model = module.GoogleModel(name, provider=provider)

    async def mapped(messages: Any, settings: Any, parameters: Any) -> object:  # noqa: ANN401
        settings, parameters = model.prepare_request(settings, parameters)
        return await model._build_content_and_config(messages, settings, parameters)  # noqa: SLF001

    return mapped


_PYDANTIC: dict[str, Callable[[str], Mapped]] = {
    "openai-chat": _pydantic_chat,
    "openai-responses": _pydantic_responses,
    "anthropic": _pydantic_anthropic,
    "gemini": _pydantic_gemini,
}

# LangChain


def _langchain_messages(request: PromptRequest) -> list[Any]:
    core: Any = import_module("langchain_core.messages")
    messages: list[Any] = [core.SystemMessage(_system(request))]
    for turn in request.conversation_history:
        text, calls, result = "", list[Any](), None
        for part in turn.parts:
            if isinstance(part, TextPart):
                text = part.text
            elif isinstance(part, ToolCallPart):
                calls.append({"id": part.id, "name": part.name, "args": dict(part.arguments)})
            elif isinstance(part, ToolResultPart):
                result = core.ToolMessage(part.text, tool_call_id=part.call_id, name=part.name)
        spoken = core.HumanMessage(text) if turn.role == "user" else core.AIMessage(text)
        if calls:
            spoken = core.AIMessage(text, tool_calls=calls)
        messages.append(result or spoken)
    image = {"type": "image_url", "image_url": {"url": _data_url(request)}}
    text = {"type": "text", "text": request.current_text}
    return [*messages, core.HumanMessage(content=[image, text])]


def langchain(wire: str) -> Prepare:
    def prepare(request: PromptRequest) -> Run:
        core: Any = import_module("langchain_core.tools")
        tools = [
            core.StructuredTool(
                name=tool.name,
                description=tool.description,
                args_schema=dict(tool.parameters),
                func=str,
            )
            for tool in request.tool_declarations
        ]
        messages = _langchain_messages(request)
        model = _LANGCHAIN[wire](MODELS[wire])
        written = model._prepare_request if wire == "gemini" else model._get_request_payload  # noqa: SLF001

        def run() -> object:
            return written(messages, **model.bind_tools(tools).kwargs)

        return run

    return prepare


def _langchain_chat(name: str) -> Any:  # noqa: ANN401
    module: Any = import_module("langchain_openai")
    return module.ChatOpenAI(model=name, api_key=KEY, max_tokens=LIMIT, use_responses_api=False)


def _langchain_responses(name: str) -> Any:  # noqa: ANN401
    module: Any = import_module("langchain_openai")
    return module.ChatOpenAI(model=name, api_key=KEY, max_tokens=LIMIT, use_responses_api=True)


def _langchain_anthropic(name: str) -> Any:  # noqa: ANN401
    module: Any = import_module("langchain_anthropic")
    return module.ChatAnthropic(model=name, api_key=KEY, max_tokens=LIMIT)


def _langchain_gemini(name: str) -> Any:  # noqa: ANN401
    module: Any = import_module("langchain_google_genai")
    return module.ChatGoogleGenerativeAI(model=name, api_key=KEY, max_tokens=LIMIT)


_LANGCHAIN: dict[str, Callable[[str], Any]] = {
    "openai-chat": _langchain_chat,
    "openai-responses": _langchain_responses,
    "anthropic": _langchain_anthropic,
    "gemini": _langchain_gemini,
}

PEERS: dict[str, Callable[[str], Prepare]] = {
    "LiteLLM": litellm,
    "pydantic-ai": pydantic_ai,
    "LangChain": langchain,
}


def beside(peer: str, wire: str, ours: Callable[[str, PromptRequest], Run]) -> Pair:
    request = conversation()
    return ours(wire, request), PEERS[peer](wire)(request)


for _peer in PEERS:
    for _when, _ours, _median in (("first", first, None), ("next turn", next_turn, 0.1)):
        for _wire in ROUTES:
            benchmark(f"render {_wire}, {_when}, beside {_peer}", against=_peer, gate=1)(
                lambda peer=_peer, wire=_wire, ours=_ours: beside(peer, wire, ours)
            )
        summary(
            f"render, {_when}, beside {_peer}, median of formats",
            against=_peer,
            members=[f"render {_wire}, {_when}, beside {_peer}" for _wire in ROUTES],
            gate=_median,
        )

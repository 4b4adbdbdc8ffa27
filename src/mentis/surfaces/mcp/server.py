"""The answers in the words of the protocol, by the official SDK."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from anyio import to_thread
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
)

from mentis.codec.canon import MAX_BYTES
from mentis.codec.strict_json import read_strict_object
from mentis.errors import Defect, MentisError, UsageError, UserError

from .answers import Answer, Answers
from .block_prompts import BlockPrompt
from .catalogue import catalogue, resources, tools
from .rights import ClientRights

_LOG = logging.getLogger("mentis.service")  # without `--log-format json`, lines on stderr

Context: TypeAlias = ServerRequestContext[Any, Any]
# What a line has around its draft.
_AROUND = 64 * 1024
# Where a resource says how far the chain reached when it was read.
STANDING = "mentis/ledger"
# Where a prompt says which block of the library it is.
BLOCK = "mentis/block"


@runtime_checkable
class HasBody(Protocol):
    """An HTTP request."""

    async def body(self) -> bytes: ...


def make_server(
    answers: Answers,
    version: str,
    rights_of: Callable[[object], ClientRights] = lambda _request: ClientRights(),
) -> Server[Any]:
    """A server of the official SDK. `rights_of` is handed what the transport brought along with a
    message: a line of standard input, or the HTTP request.
    """
    facts, handlers = catalogue(), _Handlers(answers, rights_of)
    return Server(
        facts["name"],
        version=version,
        title=facts["title"],
        description=facts["description"],
        instructions=facts["instructions"],
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


@dataclass(frozen=True, slots=True)
class _Handlers:
    """One method of the protocol each, for whatever client asks; the work is done in threads."""

    answers: Answers
    rights_of: Callable[[object], ClientRights]

    async def list_tools(
        self, context: Context, asked: PaginatedRequestParams | None
    ) -> ListToolsResult:
        _check_cursor(asked)
        rights = self.rights_of(context.request)
        offered = [one for one in tools() if rights.offers_tool(one["name"])]
        return ListToolsResult(tools=[Tool.model_validate(one, by_name=False) for one in offered])

    async def call_tool(self, context: Context, asked: CallToolRequestParams) -> CallToolResult:
        line = await _bytes_of(context.request)
        return await to_thread.run_sync(_call, self._within(context), line, asked)

    async def list_resources(
        self, context: Context, asked: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        _check_cursor(asked)
        rights = self.rights_of(context.request)
        offered = [one for one in resources() if rights.offers_resource(one["name"])]
        listed = [Resource.model_validate(one, by_name=False) for one in offered]
        return ListResourcesResult(resources=listed)

    async def read_resource(
        self, context: Context, asked: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return await to_thread.run_sync(_read, self._within(context), str(asked.uri))

    async def list_prompts(
        self, context: Context, asked: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        cursor = None if asked is None else asked.cursor
        return await to_thread.run_sync(_list_prompts, self._within(context), cursor)

    async def get_prompt(self, context: Context, asked: GetPromptRequestParams) -> GetPromptResult:
        return await to_thread.run_sync(_get_prompt, self._within(context), asked)

    def _within(self, context: Context) -> Answers:
        return self.answers.within(self.rights_of(context.request))


async def _bytes_of(request: object) -> object:
    """A message as it came: the line itself, or the body of the request, which was read before."""
    return await request.body() if isinstance(request, HasBody) else request


def _check_cursor(asked: PaginatedRequestParams | None) -> None:
    """These lists have one page."""
    if asked is not None and asked.cursor is not None:
        raise MCPError(INVALID_PARAMS, f"the cursor {asked.cursor!r} is of no page here")


def _call(answers: Answers, line: object, asked: CallToolRequestParams) -> CallToolResult:
    try:
        answer = answers.call(asked.name, _arguments(line, asked))
    except MentisError as error:
        return _failed(error, answers.standing())
    except Exception as error:  # noqa: BLE001  # the surface is the last boundary: it reports
        return _failed(_reported(error), None)
    return _answered(asked.name, answer)


def _arguments(line: object, asked: CallToolRequestParams) -> Mapping[str, object]:
    """Read again from the bytes, strictly: the SDK's reader keeps the last of two equal keys."""
    if not isinstance(line, bytes):
        return asked.arguments or {}
    message = cast("Mapping[str, Any]", read_strict_object(line, max_bytes=MAX_BYTES + _AROUND))
    return message["params"].get("arguments") or {}


def _answered(tool: str, answer: Answer) -> CallToolResult:
    said: list[ContentBlock] = [_text(json.dumps(answer, ensure_ascii=False))]
    if tool == "save_status":
        said.insert(0, _text(_acknowledgement(answer)))
    return CallToolResult(content=said, structured_content=answer)


def _acknowledgement(answer: Answer) -> str:
    if answer["saved"]:
        return f"Status Saved. Hash: {answer['hash']}"
    return f"Not saved yet: {answer['reason']}. The draft waits as {answer['spooled']}."


def _failed(error: MentisError, standing: Answer | None) -> CallToolResult:
    """A tool error: the message, every problem, the hint; and still where the chain stands."""
    lines = [error.message, *(f"- {problem}" for problem in error.problems)]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    told: Answer = {"error": _plain(error.as_problem()), "ledger": standing}
    said: list[ContentBlock] = [
        _text("\n".join(lines)),
        _text(json.dumps(told, ensure_ascii=False)),
    ]
    return CallToolResult(content=said, structured_content=told, is_error=True)


def _read(answers: Answers, uri: str) -> ReadResourceResult:
    try:
        answer, standing = answers.read(_name_of(uri)), answers.standing()
    except MentisError as error:
        raise _protocol_error(error, answers.standing()) from error
    except Exception as error:
        raise _protocol_error(_reported(error), None) from error
    plain = isinstance(answer, str)
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, indent=2)
    meta = {STANDING: standing}
    kind = "text/plain" if plain else "application/json"
    content = TextResourceContents(uri=uri, mime_type=kind, text=text, _meta=meta)
    return ReadResourceResult(contents=[content], _meta=meta)


def _list_prompts(answers: Answers, cursor: str | None) -> ListPromptsResult:
    try:
        offered, after = answers.list_prompts(cursor)
    except MentisError as error:
        raise _protocol_error(error, answers.standing()) from error
    except Exception as error:
        raise _protocol_error(_reported(error), None) from error
    return ListPromptsResult(prompts=[_prompt(one) for one in offered], next_cursor=after)


def _prompt(block: BlockPrompt) -> Prompt:
    arguments = [
        PromptArgument(name=one.name, description=one.description or None, required=one.required)
        for one in block.arguments
    ]
    return Prompt(
        name=block.name,
        title=block.title,
        description=block.description,
        arguments=arguments,
        _meta={BLOCK: dict(block.facts)},
    )


def _get_prompt(answers: Answers, asked: GetPromptRequestParams) -> GetPromptResult:
    try:
        description, messages = answers.prompt(asked.name, asked.arguments or {})
    except MentisError as error:
        raise _protocol_error(error, answers.standing()) from error
    except Exception as error:
        raise _protocol_error(_reported(error), None) from error
    said = [PromptMessage(role=role, content=_text(text)) for role, text in messages]
    return GetPromptResult(description=description, messages=said)


def _name_of(uri: str) -> str:
    names = {resource["uri"]: resource["name"] for resource in resources()}
    if uri not in names:
        raise UsageError(f"there is no resource {uri!r}", hint=f"known: {', '.join(names)}")
    return names[uri]


def _protocol_error(error: MentisError, standing: Answer | None) -> MCPError:
    """A resource has no result that is an error, so the protocol's own has to say it."""
    code = INVALID_PARAMS if isinstance(error, UserError) else INTERNAL_ERROR
    hint = f" (hint: {error.hint})" if error.hint else ""
    told = {**cast("Answer", _plain(error.as_problem())), "ledger": standing}
    return MCPError(code, f"{error.message}{hint}", told)


def _reported(error: Exception) -> Defect:
    _LOG.error("mentis: a defect", exc_info=error, extra={"event": "defect"})
    return Defect(
        f"this is a defect in Mentis: {type(error).__name__}: {error}",
        hint="the server's standard error has the details; please report it",
    )


def _plain(value: object) -> object:
    """Facts of an error may be anything; what JSON cannot say is said as text."""
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)

"""The answers in the words of the protocol, by the official SDK."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

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
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
)

from mentis.errors import Defect, MentisError, UsageError, UserError
from mentis.ledger.canon import MAX_BYTES
from mentis.ledger.strict_json import read_strict_object

from .answers import Answer, Answers
from .catalogue import catalogue, resources, tools

Context: TypeAlias = ServerRequestContext[Any, Any]
# What a line has around its draft.
_AROUND = 64 * 1024
# Where a resource says how far the chain reached when it was read.
STANDING = "mentis/ledger"


def make_server(answers: Answers, version: str) -> Server[Any]:
    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(tool, by_name=False) for tool in tools()])

    async def list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
        offered = [Resource.model_validate(one, by_name=False) for one in resources()]
        return ListResourcesResult(resources=offered)

    async def call_tool(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        return await to_thread.run_sync(_call, answers, context.request, asked)

    async def read_resource(_: Context, asked: ReadResourceRequestParams) -> ReadResourceResult:
        return await to_thread.run_sync(_read, answers, str(asked.uri))

    facts = catalogue()
    return Server(
        facts["name"],
        version=version,
        title=facts["title"],
        description=facts["description"],
        instructions=facts["instructions"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


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
    traceback.print_exception(error, file=sys.stderr)
    return Defect(
        f"this is a defect in Mentis: {type(error).__name__}: {error}",
        hint="the server's standard error has the details; please report it",
    )


def _plain(value: object) -> object:
    """Facts of an error may be anything; what JSON cannot say is said as text."""
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)

"""What is told of an answer: all of it, and once."""

from __future__ import annotations

import json

import pytest
from mcp_types import CallToolResult, TextContent

from mentis.act.mcp.results import text_of

pytestmark = pytest.mark.anyio


def answered(*texts: str, **structured: object) -> CallToolResult:
    content = [TextContent(type="text", text=text) for text in texts]
    return CallToolResult(content=list(content), structured_content=structured)


@pytest.mark.parametrize(
    "result",
    [
        answered("a word", result="a word"),
        answered("3", result=3),
        answered("one", "2", result=["one", 2]),
        answered('["one", 2]', result=["one", 2]),
        answered('{"a": 1}', a=1),
        answered('{"result": "x"}', result="x"),
    ],
)
async def test_structured_content_that_repeats_the_text_is_told_once(
    result: CallToolResult,
) -> None:
    parts = [part.text for part in result.content if part.type == "text"]
    assert await text_of(result, None) == "\n".join(parts)


@pytest.mark.parametrize(
    "result",
    [
        answered("a word", result="another"),
        answered("a word", result="a word", more=1),
        answered("one", result=["one", "two"]),
        answered(result=[]),
        answered("x", a="x"),
    ],
)
async def test_structured_content_that_says_more_is_told(result: CallToolResult) -> None:
    last = (await text_of(result, None)).splitlines()[-1]
    assert json.loads(last) == result.structured_content

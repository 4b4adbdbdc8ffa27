"""Pictures and documents in the results of tools: inside the result where the wire takes them,
beside it where it does not, a named loss where the model could not see them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from mentis.render.wires import render_for
from mentis.values.part import MediaPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.turn import Turn

PNG = b"\x89PNG\r\n\x1a\n picture"
PDF = b"%PDF-1.7 pages"
ROUTES = {
    "anthropic": Route("r", "anthropic", "claude-sonnet-5-5"),
    "openai-responses": Route("r", "openai-responses", "gpt-5.5"),
    "openai-chat": Route("r", "openai", "gpt-4o"),
    "gemini": Route("r", "gemini", "gemini-3-pro"),
}
CALL = ToolCallPart("c1", "look", {})
PICTURE = MediaPart("image", "image/png", data=PNG, name="a.png")
PAGES = MediaPart("document", "application/pdf", data=PDF, name="b.pdf")


def request(*media: MediaPart, failed: bool = False) -> PromptRequest:
    result = ToolResultPart("c1", "look", "seen", failed=failed, media=len(media))
    history = (
        Turn("user", (TextPart("Look."),)),
        Turn("assistant", (CALL,)),
        Turn("user", (result, *media)),
        Turn("assistant", (TextPart("A cat."),)),
    )
    return PromptRequest(conversation_history=history, current_text="And?")


def sent(wire: str, asked: PromptRequest, route: Route | None = None) -> Any:  # noqa: ANN401 - JSON
    return render_for(cast("Any", wire), asked, route or ROUTES[wire]).payload


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_anthropic_takes_pictures_and_documents_in_the_result() -> None:
    messages = sent("anthropic", request(PICTURE, PAGES))["messages"]
    (block,) = messages[2]["content"]
    assert [one["type"] for one in block["content"]] == ["text", "image", "document"]
    assert block["content"][1]["source"]["data"] == encoded(PNG)
    assert len(messages) == 5


def test_beside_a_failed_result_anthropic_is_shown_the_picture() -> None:
    messages = sent("anthropic", request(PICTURE, failed=True))["messages"]
    blocks = [block for message in messages for block in message["content"]]
    (result,) = [block for block in blocks if block["type"] == "tool_result"]
    assert result["content"] == "seen"
    assert [block["type"] for block in blocks].count("image") == 1


def test_responses_takes_them_in_the_output() -> None:
    items = sent("openai-responses", request(PICTURE, PAGES))["input"]
    (output,) = [item["output"] for item in items if item["type"] == "function_call_output"]
    assert [one["type"] for one in output] == ["input_text", "input_image", "input_file"]


def test_gemini_takes_them_in_the_function_response() -> None:
    contents = sent("gemini", request(PICTURE))["contents"]
    parts = [part for content in contents for part in content["parts"]]
    (answer,) = [part["functionResponse"] for part in parts if "functionResponse" in part]
    assert answer["parts"] == [{"inlineData": {"mimeType": "image/png", "data": encoded(PNG)}}]


def test_an_older_gemini_is_shown_them_beside_the_result() -> None:
    route = replace(ROUTES["gemini"], model="gemini-2.5-flash")
    contents = sent("gemini", request(PICTURE), route)["contents"]
    parts = [part for content in contents for part in content["parts"]]
    (answer,) = [part["functionResponse"] for part in parts if "functionResponse" in part]
    assert "parts" not in answer
    assert [part for part in parts if "inlineData" in part]


def test_chat_is_shown_them_after_the_result_with_a_word_whose_they_are() -> None:
    messages = sent("openai-chat", request(PICTURE))["messages"]
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert roles == ["user", "assistant", "tool", "user", "assistant", "user"]
    heading, picture = messages[roles.index("tool") + 1]["content"]
    assert heading["text"] == "[notice_result look c1]"  # the words are those of the library
    assert picture["type"] == "image_url"


@pytest.mark.parametrize("model", ["o1-mini"])
def test_for_a_model_that_sees_nothing_it_is_a_named_loss(model: str) -> None:
    route = Route("r", "openai", model, url="http://127.0.0.1:9/v1")
    rendering = render_for("openai-chat", request(PICTURE), route)
    assert "media-not-sent" in {loss.code for loss in rendering.losses}
    assert encoded(PNG).encode() not in rendering.body()


@pytest.mark.parametrize("wire", ROUTES)
def test_a_result_without_media_is_written_as_ever(wire: str) -> None:
    payload: Mapping[str, object] = sent(wire, request())
    assert "image" not in str(payload)

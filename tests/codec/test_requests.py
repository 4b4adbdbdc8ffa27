from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.codec.forms import to_json
from mentis.codec.request_check import check_request
from mentis.codec.requests import read_request
from mentis.errors import BadInput
from mentis.values.part import MediaPart, Part, TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest, ReplyTo
from mentis.values.tool import ToolDeclaration
from mentis.values.turn import Turn

BYTES = bytes(range(200))
IMAGE = MediaPart("image", "image/png", BYTES)
CALL, RESULT = ToolCallPart("1", "look", {}), ToolResultPart("1", "look", "a wall")
GOOD = PromptRequest(
    tool_declarations=(ToolDeclaration("look", "Look."), ToolDeclaration("go", "Go.")),
    conversation_history=(
        Turn("user", (TextPart("Look."), IMAGE)),
        Turn("assistant", (CALL,)),
        Turn("user", (RESULT, replace(RESULT, name=""))),
    ),
    current_text="And?",
    attachments=(
        IMAGE,
        MediaPart("audio", "audio/wav", url="https://example.org/a.wav"),
        MediaPart("document", "text/plain; charset=utf-8", path="a.txt", extracted="text"),
    ),
    reply_to=ReplyTo("Hm?"),
)


def problems(request: PromptRequest) -> tuple[str, ...]:
    with pytest.raises(BadInput) as caught:
        check_request(request)
    return caught.value.problems


def test_a_request_that_can_be_sent_is_left_as_it_is() -> None:
    assert check_request(GOOD) is GOOD
    assert read_request(to_json(GOOD)) == GOOD


def test_everything_that_is_wrong_is_told_at_once() -> None:
    request = PromptRequest(
        tool_declarations=tuple(ToolDeclaration(name, "") for name in ("a", " ", "a")),
        attachments=(MediaPart("image", "image/png"),),
    )
    assert problems(request) == (
        "tool_declarations[1]: the tool has no name",
        "tool_declarations: 2 tools are called 'a'",
        "attachments[0]: the image needs bytes, a path or an address, and has neither",
    )
    with pytest.raises(BadInput, match=r"\(and 2 more\)"):
        read_request(to_json(request))


@pytest.mark.parametrize(
    ("role", "part", "problem"),
    [
        ("assistant", replace(CALL, id=""), "the tool call has no id"),
        ("assistant", replace(CALL, name=""), "the tool call names no tool"),
        ("user", CALL, "a tool call stands in a user's turn"),
        ("user", replace(RESULT, call_id=""), "the tool result has no id of the call it answers"),
        (
            "user",
            replace(RESULT, name=" "),
            "the tool result names no tool, and neither does a call with its id",
        ),
        ("user", replace(IMAGE, data=b""), "the image has no bytes in it"),
    ],
)
def test_a_part_that_cannot_be_is_found_at_its_place(role: str, part: Part, problem: str) -> None:
    turn = Turn("user" if role == "user" else "assistant", (TextPart("x"), part))
    request = PromptRequest(conversation_history=(turn,))
    assert problems(request) == (f"conversation_history[0].parts[1]: {problem}",)


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (replace(IMAGE, path="a"), "the image needs bytes, a path or an address, and has more"),
        (replace(IMAGE, mime="png"), "'png' is no media type"),
        (replace(IMAGE, mime="audio/wav"), "'audio/wav' is not the type of an image"),
        (replace(IMAGE, data=None, url="DATA:image/png;base64,AA"), "the image is a data: address"),
        (replace(IMAGE, extracted=base64.b64encode(BYTES).decode()), "the bytes of the image"),
    ],
)
def test_an_attachment_that_cannot_be_is_refused(part: MediaPart, problem: str) -> None:
    (found,) = problems(PromptRequest(attachments=(part,)))
    assert found.startswith(f"attachments[0]: {problem}")


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_bytes_are_not_told_a_second_time_as_text(encode: Callable[[bytes], bytes]) -> None:
    text = f"see {encode(BYTES).decode()}"
    told = PromptRequest(attachments=(IMAGE,), current_text=text)
    quoted = PromptRequest(attachments=(IMAGE,), reply_to=ReplyTo(text))
    for request in (told, quoted):
        assert problems(request) == (
            "attachments[0]: its bytes stand in the text a second time, as base64",
        )


@given(st.binary(min_size=1, max_size=300), st.text(max_size=80))
def test_bytes_and_text_come_back_and_are_not_confused(data: bytes, text: str) -> None:
    request = replace(GOOD, current_text=text, attachments=(replace(IMAGE, data=data),))
    assert read_request(to_json(request)) == request

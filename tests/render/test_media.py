"""Attachments: by ability, by what they really are, and never an untrue word about them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

import pytest

from mentis.errors import RenderError
from mentis.render.wires import RENDERERS, render_for
from mentis.values.part import MediaPart
from mentis.values.rendering import Rendering
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .conftest import NATIVE, PNG, ROUTES, WORDS, said
from .oracle import validate
from .rules import problems

CAT = MediaPart("image", "image/png", PNG, name="cat.png")
WAV = b"RIFF\0\0\0\0WAVEfmt "


def shown(wire: str, *parts: MediaPart, **facts: object) -> Rendering:
    route = replace(ROUTES[wire], facts=facts)
    request = PromptRequest(current_text="What is it?", attachments=parts, words=WORDS)
    return render_for(wire, request, route)


def codes(rendering: Rendering) -> list[str]:
    return [loss.code for loss in rendering.losses]


@pytest.mark.parametrize("wire", NATIVE)
def test_where_images_are_sent_a_word_on_looking_at_them_follows_the_caption(wire: str) -> None:
    body = shown(wire, CAT).body()
    assert body.index(b"What is it?") < body.index(b"[Describe only what is visible")


@pytest.mark.parametrize("wire", NATIVE)
def test_a_blind_model_is_not_told_to_look(wire: str) -> None:
    body = shown(wire, CAT, vision=False).body()
    assert b"cannot see images" in body
    assert b"Describe only" not in body


@pytest.mark.parametrize("wire", NATIVE)
def test_more_images_than_a_model_takes_the_oldest_stay_out(wire: str) -> None:
    old = [replace(CAT, name=f"old{number}.png") for number in range(3)]
    request = PromptRequest(
        conversation_history=(said("user", *old), said("assistant", "Cats.")),
        current_text="And this?",
        attachments=(CAT,),
        words=WORDS,
    )
    route = replace(ROUTES[wire], facts={"images": 2})
    rendering = render_for(wire, request, route)
    payload = json.loads(rendering.body())
    validate(wire, payload)
    assert problems(wire, payload) == []
    assert codes(rendering) == ["media-not-sent"] * 2
    told = rendering.body().decode()
    assert [f"old{number}.png was attached but not sent" in told for number in range(3)] == [
        *(True, True, False)
    ]


@pytest.mark.parametrize("wire", NATIVE)
def test_more_images_at_once_than_a_model_takes_are_counted_too(wire: str) -> None:
    rendering = shown(wire, *(replace(CAT, name=f"{n}.png") for n in range(3)), images=1)
    assert codes(rendering) == ["media-not-sent"] * 2


def test_a_request_larger_than_the_provider_takes_is_refused() -> None:
    large = replace(CAT, data=PNG + bytes(3000))
    assert shown("anthropic", large, request_bytes=10_000).losses == ()
    with pytest.raises(RenderError, match="bytes, and the provider takes 4,000"):
        shown("anthropic", large, request_bytes=4_000)


def test_a_history_larger_than_the_provider_takes_is_refused() -> None:
    talk = tuple(said(role, "x" * 5000) for role in ("user", "assistant"))
    route = replace(ROUTES["anthropic"], facts={"request_bytes": 9_000})
    request = PromptRequest(conversation_history=talk, current_text="So?")
    with pytest.raises(RenderError, match="and the provider takes 9,000"):
        render_for("anthropic", request, route)


@pytest.mark.parametrize(
    ("part", "sent_as"),
    [
        (MediaPart("image", "image/gif", PNG, name="a"), "image/png"),
        (MediaPart("image", "image/jpg", b"\xff\xd8\xff\xe0", name="a"), "image/jpeg"),
        (MediaPart("image", "image/png; x=1", PNG, name="a"), "image/png"),
    ],
)
def test_what_is_sent_is_called_what_it_is(part: MediaPart, sent_as: str) -> None:
    assert f'"media_type":"{sent_as}"'.encode() in shown("anthropic", part).body()


@pytest.mark.parametrize(
    "part",
    [
        MediaPart("image", "image/png", b"<html>no picture", name="lie.png"),
        MediaPart("image", "image/png", b"%PDF-1.7", name="lie.png"),
        MediaPart("document", "application/pdf", b"MZ\x90", name="lie.pdf"),
        MediaPart("audio", "audio/wav", b"ID3", name="lie.wav"),
    ],
)
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_bytes_that_are_something_else_are_not_sent_as_what_they_claim(
    part: MediaPart, wire: str
) -> None:
    rendering = shown(wire, part)
    assert codes(rendering) == ["media-type", "media-not-sent"]
    assert b"was attached but not sent" in rendering.body()


def test_each_kind_is_told_apart_by_ability() -> None:
    film = MediaPart("video", "video/mp4", b"\0\0\0\x18ftypisom", name="a.mp4")
    sound = MediaPart("audio", "audio/wav", WAV, name="a.wav")
    assert codes(shown("gemini", film, sound)) == []
    assert b"cannot watch videos" in shown("anthropic", film).body()
    assert b"this model cannot hear" in shown("anthropic", sound).body()


@pytest.mark.parametrize("wire", list(RENDERERS))
def test_a_path_nobody_read_is_an_error_that_says_so(wire: str) -> None:
    part = MediaPart("image", "image/png", path="cat.png")
    if wire == "live":
        return  # an opening carries no attachments at all, and says so
    with pytest.raises(RenderError, match=r"was not read: .cat\.png.") as caught:
        shown(wire, part)
    assert "read the file" in caught.value.hint


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "begins with 'file'"),
        ("data:image/png;base64,AAAA", "begins with 'data'"),
        ("https://", "names no host"),
        ("http://example.org/a.png", "begins with 'http'"),
        ("https://example.org/\ud800.png", "no address can hold"),
        ("https://169.254.169.254/latest/meta-data", "private address"),
        ("https://127.0.0.1/a.png", "private address"),
        ("https://127.1/a.png", "private address"),
        ("https://0x7f.0.0.1/a.png", "private address"),
        ("https://2130706433/a.png", "inside a network"),
        ("https://[::1]/a.png", "private address"),
        ("https://[::ffff:10.0.0.1]/a.png", "private address"),
        ("https://10.1.2.3:8080/a.png", "private address"),
        ("https://localhost/a.png", "inside a network"),
        ("https://printer.local/a.png", "inside a network"),
        ("https://metadata.google.internal./a.png", "inside a network"),
        ("https://robin:secret@example.org/a.png", "name or password"),
        ("https://[bad/a.png", "no address"),
    ],
)
def test_an_address_that_does_not_lead_to_the_open_web_is_refused(url: str, reason: str) -> None:
    with pytest.raises(RenderError, match=reason) as caught:
        shown("openai-chat", MediaPart("image", "image/png", url=url))
    assert "secret" not in str(caught.value.as_problem())


def test_a_public_address_is_passed_on_and_never_fetched_here() -> None:
    part = MediaPart("image", "image/png", url="https://example.org/a.png?x=1")
    payload: Any = json.loads(shown("anthropic", part).body())
    source = payload["messages"][0]["content"][0]["source"]
    assert source == {"type": "url", "url": "https://example.org/a.png?x=1"}


def test_a_server_that_fetches_nothing_is_told_of_it() -> None:
    part = MediaPart("image", "image/png", url="https://example.org/a.png")
    route = Route("r", "openai", "some-model", url="https://h/v1", facts={"vision": True})
    request = PromptRequest(attachments=(part,), words=WORDS)
    rendering = render_for("openai-chat", request, route)
    assert codes(rendering) == ["media-not-sent"]
    assert b"fetches nothing from addresses" in rendering.body()


PDF_BY_ADDRESS = MediaPart("document", "application/pdf", url="https://example.org/a.pdf")


def test_a_document_by_its_address_is_told_of_where_the_format_carries_none() -> None:
    rendering = shown("openai-chat", PDF_BY_ADDRESS)
    assert codes(rendering) == ["media-not-sent"]
    assert b"was attached but not sent: it cannot be sent to this model in this form" in (
        rendering.body()
    )
    for wire in ("openai-responses", "anthropic", "gemini"):
        assert b"https://example.org/a.pdf" in shown(wire, PDF_BY_ADDRESS).body()


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_a_film_is_told_of_where_the_format_carries_none_whatever_the_facts_say(wire: str) -> None:
    film = MediaPart("video", "video/mp4", b"\0\0\0\x18ftypisom", name="a.mp4")
    rendering = shown(wire, film, video_types=["video/mp4"])
    assert codes(rendering) == ["media-not-sent"]
    payload = json.loads(rendering.body())
    validate(wire, payload)
    assert problems(wire, payload) == []


@pytest.mark.parametrize("wire", ["openai-responses", "anthropic"])
def test_a_sound_is_not_sent_as_a_document(wire: str) -> None:
    sound = MediaPart("audio", "audio/wav", WAV, name="a.wav")
    assert codes(shown(wire, sound, audio=True)) == ["media-not-sent"]


@pytest.mark.parametrize("wire", NATIVE)
@pytest.mark.parametrize(
    "part",
    [
        MediaPart("document", "application/pdf", b"%PDF-1.7", name="a\ud800.pdf"),
        MediaPart("image", "image/\ud800", url="https://example.org/a.png"),
    ],
)
def test_half_a_character_in_a_name_or_a_type_is_replaced(wire: str, part: MediaPart) -> None:
    rendering = shown(wire, part)
    payload = json.loads(rendering.body())
    validate(wire, payload)
    assert "bad-text" in codes(rendering)
    "".join(loss.message for loss in rendering.losses).encode()


@pytest.mark.parametrize(("kind", "mime"), [("audio", "audio/wav"), ("video", "video/mp4")])
def test_a_sound_or_a_film_by_its_address_is_refused_for_the_address(
    kind: Literal["audio", "video"], mime: str
) -> None:
    part = MediaPart(kind, mime, url="https://example.org/a")
    request = PromptRequest(current_text="Hear.", attachments=(part,), words=WORDS)
    rendering = render_for("gemini", request, ROUTES["gemini"])
    (loss,) = rendering.losses
    assert WORDS["reason_not_carried"] in loss.message

"""Requests that bring up everything a renderer has to deal with."""

from __future__ import annotations

import json
from importlib.resources import files

from mentis.values.part import (
    MediaPart,
    Part,
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.request import PromptRequest, ReplyTo, RuntimeContext, ToolChoice
from mentis.values.route import Route
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.turn import Turn

# What the library says in English for what a renderer has to tell.
_SHIPPED = files("mentis.library").joinpath("shipped/_meta/words.json").read_text("utf-8")
WORDS: dict[str, str] = {
    topic: " ".join(words)
    for topic, words in json.loads(_SHIPPED)["english"].items()
    if topic.startswith(("notice_", "reason_", "kind_"))
}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
PDF = b"%PDF-1.7 tiny"
ROUTES = {
    "openai-chat": Route("r", "openai", "gpt-5.6", url="https://h/v1", max_tokens=256),
    "openai-responses": Route("r", "openai-responses", "gpt-5.6", max_tokens=256),
    "anthropic": Route("r", "anthropic", "claude-opus-5", max_tokens=256),
    "gemini": Route("r", "gemini", "gemini-3-pro", max_tokens=256),
    "text": Route("r", "openai", "some-model", max_tokens=256),
    "live": Route("r", "openai-responses", "gpt-5.6", max_tokens=256),
}
NATIVE = ("openai-chat", "openai-responses", "anthropic", "gemini")

IDENTITY = Span("You are Ada.", block="identity", source="shipped")
RULES = Span(
    " Say what you saw first.", block="rules", source="persona", stability=Stability.SESSION
)
NOON = Span("It is noon.", block="time", trust=Trust.RUNTIME, stability=Stability.TURN)
SUMMARY = Span("You spoke yesterday.", source="summary", stability=Stability.SESSION)
LOOK_UP = ToolDeclaration(
    "look_up",
    "Look a word up.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "minLength": 1}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
BOOK = ToolDeclaration(
    "book",
    "Book a table.",
    {
        "type": "object",
        "properties": {
            "people": {"type": "integer"},
            "when": {"type": "string", "description": "A time of day."},
            "where": {"enum": ["inside", "outside"], "type": "string"},
        },
        "required": ["people"],
    },
    strict=True,
)
SEND = ToolDeclaration("message/send now", "Send a message.")


def said(role: str, *parts: Part | str, lineage: Trust = Trust.OWNER) -> Turn:
    made = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
    return Turn("user" if role == "user" else "assistant", made, lineage)


def state_for(wire: str) -> dict[str, ProviderState]:
    """State as each wire's own reader would have kept it."""
    model = ROUTES[wire].model
    thought: dict[str, dict[str, object]] = {
        "anthropic": {"type": "thinking", "signature": "c2ln"},
        "openai-responses": {"id": "rs_1", "encrypted_content": "ZW5j", "summary": []},
        "gemini": {"thoughtSignature": "c2ln"},
    }
    call: dict[str, dict[str, object]] = {"gemini": {"thoughtSignature": "Y2FsbA=="}}
    text: dict[str, dict[str, object]] = {"openai-responses": {"phase": "final_answer"}}
    return {
        name: ProviderState(wire, model, data[wire])
        for name, data in (("thought", thought), ("call", call), ("text", text))
        if wire in data
    }


def requests_for(wire: str) -> dict[str, PromptRequest]:
    """One request for each mode, one for what may be attached, one that binds the model."""
    state = state_for(wire)
    thought = ReasoningPart("Hm.", state.get("thought", ProviderState("other", "m", {"a": 1})))
    call = ToolCallPart("call-1", "look_up", {"word": "Größe"}, state.get("call"))
    history = (
        said("assistant", "Good morning!", lineage=Trust.SELF),
        said("user", 'What is "Größe"?\n'),
        said("assistant", thought, "Let me see.", call, lineage=Trust.SELF),
        said("user", ToolResultPart("call-1", "look_up", "a size \u2028 \x07")),
        said("assistant", TextPart("A size.", state.get("text")), lineage=Trust.SELF),
    )
    chat = PromptRequest(
        system_instruction=(IDENTITY, RULES),
        tool_declarations=(SEND, LOOK_UP),
        context_summary=(SUMMARY,),
        conversation_history=history,
        current_text="And in French?",
        runtime_ctx=RuntimeContext(username="Robin", language="de", spans=(NOON,)),
        reply_to=ReplyTo("A size.", author="Ada"),
        words=WORDS,
    )
    attached = (
        MediaPart("image", "image/png", PNG, name="cat.png"),
        MediaPart("document", "application/pdf", PDF, name="plan.pdf"),
        MediaPart("document", "text/plain", name="notes.txt", extracted="Buy milk."),
        MediaPart("audio", "audio/ogg", b"OggS", name="hum.ogg"),
    )
    return {
        "chat": chat,
        "bound": PromptRequest(
            system_instruction=(IDENTITY,),
            tool_declarations=(SEND, BOOK),
            current_text="Book me a table.",
            tool_choice=ToolChoice("one", "book"),
            words=WORDS,
        ),
        "beat": PromptRequest(
            system_instruction=(IDENTITY,),
            tool_declarations=(LOOK_UP,),
            runtime_ctx=RuntimeContext(is_beat=True, beat_type="curiosity", spans=(NOON,)),
            mode="beat",
            words=WORDS,
        ),
        "delivery": PromptRequest(
            system_instruction=(IDENTITY,),
            tool_declarations=(SEND,),
            current_text='{"action_outputs": ["done"]}',
            mode="delivery",
            words=WORDS,
        ),
        "live": PromptRequest(
            system_instruction=(IDENTITY,),
            tool_declarations=(LOOK_UP,),
            context_summary=(SUMMARY,),
            mode="live",
            words=WORDS,
        ),
        "attached": PromptRequest(
            system_instruction=(IDENTITY,),
            current_text="See these.",
            attachments=attached,
            words=WORDS,
        ),
    }


CASES = [(wire, name) for wire in ROUTES for name in requests_for(wire)]

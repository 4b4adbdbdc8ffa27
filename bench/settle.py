"""What it costs to make a reply of a stream, against only parsing its lines.

Each stream is one answer of 300 pieces of text and one call in 40 pieces; every event is fed and
its deltas are made, as in a live turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mentis.settle.readers import read_all, reader_for
from mentis.values.reply import Reply

from .harness import Pair, benchmark

WORDS = [f" word{number}" for number in range(300)]
PIECES = ['{"text":"', *[f"piece {number} " for number in range(38)], '"}']
GATE = 1.5


def chat_chunk(delta: Mapping[str, object], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion.chunk",
        "created": 1794700800,
        "model": "gpt-5.6-2026-09-01",
        "service_tier": "default",
        "system_fingerprint": "fp_fc9f1d7035",
        "choices": [choice],
        "obfuscation": "aB3dE5",
    }


def chat_events() -> list[dict[str, object]]:
    first = {"index": 0, "id": "call_1", "type": "function"}
    call = {**first, "function": {"name": "say", "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": piece}} for piece in PIECES]
    return [
        chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        *[chat_chunk({"content": word}) for word in WORDS],
        *[chat_chunk({"tool_calls": [piece]}) for piece in (call, *pieces)],
        chat_chunk({}, "tool_calls"),
    ]


def responses_events() -> list[dict[str, object]]:
    text = {"type": "response.output_text.delta", "item_id": "msg_68af4030592c81938ec0a5fbab4a3e"}
    argument = {"type": "response.function_call_arguments.delta", "item_id": "fc_68af4030592c81938"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "say"}
    message = {"type": "message", "id": "msg_1", "role": "assistant"}
    added, done = "response.output_item.added", "response.output_item.done"
    whole = {**call, "arguments": "".join(PIECES)}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5.6"}},
        {"type": added, "output_index": 0, "item": message},
        *[
            {**text, "output_index": 0, "content_index": 0, "delta": w, "logprobs": []}
            for w in WORDS
        ],
        {"type": added, "output_index": 1, "item": {**call, "arguments": ""}},
        *[{**argument, "output_index": 1, "delta": piece} for piece in PIECES],
        {"type": done, "output_index": 1, "item": whole},
        {"type": "response.completed", "response": {"status": "completed", "model": "gpt-5.6"}},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def anthropic_events() -> list[dict[str, object]]:
    block, delta = "content_block_start", "content_block_delta"
    call = {"type": "tool_use", "id": "toolu_1", "name": "say"}
    words = [{"type": "text_delta", "text": word} for word in WORDS]
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in PIECES]
    return [
        {"type": "message_start", "message": {"model": "claude-sonnet-5-5", "content": []}},
        {"type": block, "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": delta, "index": 0, "delta": word} for word in words],
        {"type": "content_block_stop", "index": 0},
        {"type": block, "index": 1, "content_block": call},
        *[{"type": delta, "index": 1, "delta": piece} for piece in pieces],
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def gemini_events() -> list[dict[str, object]]:
    def event(part: Mapping[str, object], **rest: object) -> dict[str, object]:
        usage = {"promptTokenCount": 1812, "candidatesTokenCount": 12, "totalTokenCount": 1824}
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0, **rest}
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": "gemini-3-flash",
            "responseId": "mAitaLmkHPPlz7IPvtfUqQ4",
        }

    call = {"name": "say", "args": json.loads("".join(PIECES)), "id": "fn-1"}
    return [
        *[event({"text": word}) for word in WORDS],
        event({"functionCall": call}, finishReason="STOP"),
    ]


def pair(wire: str, events: Sequence[Mapping[str, object]]) -> Pair:
    lines = [json.dumps(event, separators=(",", ":")) for event in events]

    def normalised() -> Reply:
        return read_all(reader_for(wire), lines)

    def parsed() -> list[object]:
        return [json.loads(line) for line in lines]

    reply = normalised()
    assert reply.text == "".join(WORDS), "what is measured must be right"  # noqa: S101
    assert reply.actions[0].payload == json.loads("".join(PIECES)), "and whole"  # noqa: S101
    return normalised, parsed


@benchmark("normalise openai-chat", against="json.loads of its lines", gate=GATE)
def normalise_chat() -> Pair:
    return pair("openai-chat", chat_events())


@benchmark("normalise openai-responses", against="json.loads of its lines", gate=GATE)
def normalise_responses() -> Pair:
    return pair("openai-responses", responses_events())


@benchmark("normalise anthropic", against="json.loads of its lines", gate=GATE)
def normalise_anthropic() -> Pair:
    return pair("anthropic", anthropic_events())


@benchmark("normalise gemini", against="json.loads of its lines", gate=GATE)
def normalise_gemini() -> Pair:
    return pair("gemini", gemini_events())

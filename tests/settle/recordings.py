"""Writes the answers in `recorded/`: `python tests/settle/recordings.py`.

They are not captured from providers. They are written from the documented wire formats and from
the quirks that were reported against other converters; see `recorded/README.md`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "recorded"
Event = Mapping[str, object]

WEATHER = {"city": "Köln", "days": 3}
FILES = {"path": "/tmp/a b", "deep": True}  # noqa: S108  # only a text
CREATED = 1794700800
THOUGHT = ("Zwei Dinge", " sind gefragt.")
TEXT = ("Ich schaue", " nach der Gr", "öße: ", "😀", ".")
GPT, CLAUDE, GEMINI = "gpt-5.6-2026-09-01", "claude-sonnet-5-5", "gemini-3-flash"


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def lines(events: Sequence[Event], end: str = "\n") -> str:
    """Events with data alone, as Chat Completions and Gemini send them."""
    return "".join(f"data: {compact(event)}{end}{end}" for event in events)


def named(events: Sequence[Event]) -> str:
    """Events with their names, as Messages and Responses send them."""
    return "".join(f"event: {event['type']}\ndata: {compact(event)}\n\n" for event in events)


# Chat Completions


def chat_chunk(delta: Event, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-7Qx",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": GPT,
        "service_tier": "default",
        "system_fingerprint": "fp_1",
        "choices": [choice],
        "obfuscation": "x9",
    }


def chat_call(index: int, call_id: str, name: str, *pieces: str) -> Iterator[Event]:
    """The id and the name stand in the first piece only."""
    first = {"index": index, "id": call_id, "type": "function"}
    yield chat_chunk({"tool_calls": [{**first, "function": {"name": name, "arguments": ""}}]})
    for piece in pieces:
        yield chat_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


CHAT_USAGE = {
    "prompt_tokens": 1812,
    "completion_tokens": 74,
    "total_tokens": 1886,
    "prompt_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 16,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
CHAT_TEXT = ("Ich", " schaue", " nach", " der Größe", ": 😀", ".", " Einen Moment", ".")


def chat_events() -> list[Event]:
    used: Event = {
        "id": "chatcmpl-7Qx",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": GPT,
        "choices": [],
        "usage": CHAT_USAGE,
        "obfuscation": "",
    }
    return [
        chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        *[chat_chunk({"content": word}) for word in CHAT_TEXT],
        *chat_call(0, "call_A1", "get_weather", '{"ci', 'ty":"Kö', 'ln","days":', "3}"),
        *chat_call(1, "call_B2", "list_files", '{"path"', ':"/tmp/a b","deep":', "true}"),
        chat_chunk({}, "tool_calls"),
        used,
    ]


def chat_stream(events: Sequence[Event]) -> str:
    """With the comments that keep a connection alive, after every third event."""
    told = [lines([event]) for event in events]
    alive = [text + (": keep-alive\n\n" if i % 3 == 0 else "") for i, text in enumerate(told)]
    return "".join(alive) + "data: [DONE]\n\n"


def chat_whole() -> Event:
    given = (("call_A1", "get_weather", WEATHER), ("call_B2", "list_files", FILES))
    calls = [
        {"id": i, "type": "function", "function": {"name": n, "arguments": compact(a)}}
        for i, n, a in given
    ]
    message = {"role": "assistant", "content": "".join(CHAT_TEXT), "refusal": None}
    choice = {"index": 0, "message": {**message, "tool_calls": calls}, "logprobs": None}
    return {
        "id": "chatcmpl-7Qx",
        "object": "chat.completion",
        "created": CREATED,
        "model": GPT,
        "choices": [{**choice, "finish_reason": "tool_calls"}],
        "usage": CHAT_USAGE,
    }


# Responses

SUMMARY = [
    {"type": "summary_text", "text": "".join(THOUGHT)},
    {"type": "summary_text", "text": "Beide sind Aufrufe."},
]
PART: Event = {"type": "output_text", "text": "".join(TEXT), "annotations": [], "logprobs": []}
REASONING = {"id": "rs_1", "type": "reasoning", "summary": SUMMARY}
MESSAGE = {"id": "msg_2", "type": "message", "status": "completed", "role": "assistant"}
ITEMS: list[Event] = [
    {**REASONING, "encrypted_content": "gAAAAB-geheim=="},
    {**MESSAGE, "phase": "commentary", "content": [PART]},
    {
        "id": "fc_3",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_A1",
        "name": "get_weather",
        "arguments": compact(WEATHER),
    },
    {
        "id": "fc_4",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_B2",
        "name": "list_files",
        "arguments": compact(FILES),
    },
]
RESPONSES_USAGE = {
    "input_tokens": 1812,
    "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 512},
    "output_tokens": 90,
    "output_tokens_details": {"reasoning_tokens": 32},
    "total_tokens": 1902,
}


def response(status: str, output: Sequence[Event] = (), usage: Event | None = None) -> Event:
    return {
        "id": "resp_9",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": 512,
        "model": GPT,
        "output": list(output),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "metadata": {},
    }


def numbered(events: Sequence[Event]) -> list[Event]:
    return [
        {"type": event["type"], "sequence_number": number, **event}
        for number, event in enumerate(events)
    ]


def item_event(kind: str, place: int, **more: object) -> Event:
    return {"type": f"response.{kind}", "output_index": place, **more}


def thought_events(item: str) -> Iterator[Event]:
    yield item_event("output_item.added", 0, item={"id": item, "type": "reasoning", "summary": []})
    for number, words in enumerate((THOUGHT, ("Beide", " sind Aufrufe."))):
        where: Event = {"item_id": item, "summary_index": number}
        part = {"type": "summary_text", "text": ""}
        yield item_event("reasoning_summary_part.added", 0, **where, part=part)
        for word in words:
            told = {"delta": word, "obfuscation": "q"}
            yield item_event("reasoning_summary_text.delta", 0, **where, **told)
        text = "".join(words)
        yield item_event("reasoning_summary_text.done", 0, **where, text=text)
        yield item_event("reasoning_summary_part.done", 0, **where, part={**part, "text": text})
    yield item_event("output_item.done", 0, item=ITEMS[0])


def message_events(item: str, place: int, *, ends_as: str | None = None) -> Iterator[Event]:
    """`ends_as`: the id that some servers give the same item when it is done."""
    final = {**ITEMS[1], "id": ends_as or item}
    begun: Event = {**final, "id": item, "status": "in_progress", "content": []}
    where: dict[str, object] = {"item_id": item, "content_index": 0}
    yield item_event("output_item.added", place, item=begun)
    yield item_event("content_part.added", place, **where, part={**PART, "text": ""})
    for word in TEXT:
        told: Event = {"delta": word, "logprobs": [], "obfuscation": "zz"}
        yield item_event("output_text.delta", place, **where, **told)
    where["item_id"] = ends_as or item
    yield item_event("output_text.done", place, **where, text=PART["text"], logprobs=[])
    yield item_event("content_part.done", place, **where, part=PART)
    yield item_event("output_item.done", place, item=final)


def call_events(
    place: int, final: Event, *pieces: str, ends_as: str | None = None
) -> Iterator[Event]:
    begun = {**final, "status": "in_progress", "arguments": ""}
    yield item_event("output_item.added", place, item=begun)
    for piece in pieces:
        told = {"item_id": final["id"], "delta": piece, "obfuscation": "w"}
        yield item_event("function_call_arguments.delta", place, **told)
    done = {**final, "id": ends_as or final["id"]}
    whole = {"item_id": done["id"], "name": final["name"], "arguments": final["arguments"]}
    yield item_event("function_call_arguments.done", place, **whole)
    yield item_event("output_item.done", place, item=done)


def responses_events() -> list[Event]:
    return numbered(
        [
            {"type": "response.created", "response": response("in_progress")},
            {"type": "response.in_progress", "response": response("in_progress")},
            *thought_events("rs_1"),
            *message_events("msg_2", 1),
            *call_events(2, ITEMS[2], '{"city":', '"Köln","days":', "3}"),
            *call_events(3, ITEMS[3], '{"path":"/tmp', '/a b"', ',"deep":true}'),
            {
                "type": "response.completed",
                "response": response("completed", ITEMS, RESPONSES_USAGE),
            },
        ]
    )


# Messages


def message(usage: Event, **more: object) -> Event:
    begun = {"id": "msg_01", "type": "message", "role": "assistant", "model": CLAUDE}
    return {
        **begun,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


CACHED = {"cache_creation_input_tokens": 512, "cache_read_input_tokens": 1024}
BEGUN_USAGE: Event = {
    "input_tokens": 4,
    **CACHED,
    "cache_creation": {"ephemeral_5m_input_tokens": 512, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 1,
    "service_tier": "standard",
}
FINAL_USAGE: Event = {
    "input_tokens": 276,
    **CACHED,
    "output_tokens": 89,
    "output_tokens_details": {"thinking_tokens": 21},
}
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h=="
REDACTED: Event = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix="}
PING: Event = {"type": "ping"}


def block(index: int, start: Event, *deltas: Event) -> list[Event]:
    where = {"index": index}
    return [
        {"type": "content_block_start", **where, "content_block": start},
        *[{"type": "content_block_delta", **where, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", **where},
    ]


def input_deltas(*pieces: str) -> list[Event]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def text_deltas(*words: str) -> list[Event]:
    return [{"type": "text_delta", "text": word} for word in words]


def used(index: int, call_id: str, name: str, *pieces: str) -> list[Event]:
    start: Event = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return block(index, start, *input_deltas("", *pieces))


def message_end(reason: str, usage: Event) -> list[Event]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": usage},
        {"type": "message_stop"},
    ]


def anthropic_events() -> list[Event]:
    thinking: Event = {"type": "thinking", "thinking": "", "signature": ""}
    thoughts = [{"type": "thinking_delta", "thinking": word} for word in THOUGHT]
    first = block(0, thinking, *thoughts, {"type": "signature_delta", "signature": SIGNATURE})
    return [
        {"type": "message_start", "message": message(BEGUN_USAGE)},
        first[0],
        PING,
        *first[1:],
        *block(1, REDACTED),
        *block(2, {"type": "text", "text": ""}, *text_deltas(*TEXT)),
        *used(3, "toolu_A1", "get_weather", '{"city": "K', 'öln", "days"', ": 3}"),
        *used(4, "toolu_B2", "list_files", '{"path": "/tmp/a b", ', '"deep": true}'),
        *message_end("tool_use", FINAL_USAGE),
    ]


def anthropic_whole() -> Event:
    content = [
        {"type": "thinking", "thinking": "".join(THOUGHT), "signature": SIGNATURE},
        REDACTED,
        {"type": "text", "text": "".join(TEXT)},
        {"type": "tool_use", "id": "toolu_A1", "name": "get_weather", "input": WEATHER},
        {"type": "tool_use", "id": "toolu_B2", "name": "list_files", "input": FILES},
    ]
    return message(FINAL_USAGE, content=content, stop_reason="tool_use")


# Gemini

GEMINI_USAGE: Event = {
    "promptTokenCount": 1812,
    "totalTokenCount": 1840,
    "cachedContentTokenCount": 1024,
    "thoughtsTokenCount": 21,
}
GEMINI_PARTS: list[Event] = [
    {"functionCall": {"id": "fn-A1", "name": "get_weather", "args": WEATHER}},
    {"functionCall": {"id": "fn-B2", "name": "list_files", "args": FILES}},
]
SIGNED = {**GEMINI_PARTS[0], "thoughtSignature": "CpwBAdHtim9kZXI="}
EMPTY_SIGNED: Event = {"text": "", "thoughtSignature": "EnQKcgEIbmQ="}


def gemini_event(*parts: Event, usage: Event | None = None, **more: object) -> Event:
    content = {"parts": list(parts), "role": "model"}
    return {
        "candidates": [{"content": content, "index": 0, **more}],
        "usageMetadata": usage or GEMINI_USAGE,
        "modelVersion": GEMINI,
        "responseId": "r-77",
    }


def gemini_events() -> list[Event]:
    # The last event leaves out a count that the ones before it had.
    counts = {"promptTokenCount": 1812, "candidatesTokenCount": 68, "totalTokenCount": 1901}
    last: Event = {**counts, "cachedContentTokenCount": 1024}
    return [
        *[gemini_event({"text": word, "thought": True}) for word in THOUGHT],
        *[gemini_event({"text": word}) for word in TEXT],
        gemini_event(SIGNED, GEMINI_PARTS[1]),
        gemini_event(EMPTY_SIGNED, usage=last, finishReason="STOP"),
    ]


def gemini_whole() -> Event:
    parts: list[Event] = [
        {"text": "".join(THOUGHT), "thought": True},
        {"text": "".join(TEXT)},
        SIGNED,
        GEMINI_PARTS[1],
        EMPTY_SIGNED,
    ]
    counts = {"promptTokenCount": 1812, "candidatesTokenCount": 68, "totalTokenCount": 1901}
    usage: Event = {**counts, "cachedContentTokenCount": 1024, "thoughtsTokenCount": 21}
    return gemini_event(*parts, usage=usage, finishReason="STOP")


# Quirks, by their number in the list they were collected in


def without_ids() -> list[Event]:
    """42: calls with an empty id."""
    return [
        *chat_call(0, "", "get_weather", '{"city":"Köln"}'),
        *chat_call(1, "", "list_files", "{}"),
        chat_chunk({}, "tool_calls"),
    ]


def null_types() -> list[Event]:
    """43: a delta whose type is null, and events whose choices are null, empty or missing."""
    call = {"index": 0, "id": "call_1", "type": "function"}
    rest = {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": '"x"}'}}
    bare = {name: part for name, part in chat_chunk({}).items() if name != "choices"}
    return [
        {**bare, "choices": None},
        chat_chunk(
            {"tool_calls": [{**call, "function": {"name": "list_files", "arguments": '{"path":'}}]}
        ),
        {**bare, "choices": []},
        chat_chunk({"tool_calls": [rest]}),
        bare,
        chat_chunk({}, "tool_calls"),
    ]


def cut_call() -> list[Event]:
    """44: the pieces parse, but nobody said that they were all."""
    return list(chat_call(0, "call_1", "list_files", '{"path":"/a"}'))


def two_messages() -> list[Event]:
    """45: a second message begins after the first has ended."""
    return [
        {"type": "message_start", "message": message(BEGUN_USAGE)},
        *block(0, {"type": "text", "text": ""}, *text_deltas("First.")),
        *message_end("end_turn", FINAL_USAGE),
        {"type": "message_start", "message": message(BEGUN_USAGE, id="msg_02")},
        *block(0, {"type": "text", "text": ""}, *text_deltas("Second.")),
        *message_end("end_turn", FINAL_USAGE),
    ]


def parallel_call() -> list[Event]:
    """46: a made-up call that holds several."""
    uses = [
        {"recipient_name": "functions.get_weather", "parameters": WEATHER},
        {"recipient_name": "functions.list_files", "parameters": FILES},
    ]
    whole = compact({"tool_uses": uses})
    pieces = (whole[:40], whole[40:])
    return [*chat_call(0, "call_P", "parallel", *pieces), chat_chunk({}, "tool_calls")]


def rotated_ids() -> list[Event]:
    """47: items whose ids are others at their end than at their beginning."""
    ended = [{**ITEMS[1], "id": "msg_zz"}, {**ITEMS[2], "id": "fc_zz"}]
    return numbered(
        [
            {"type": "response.created", "response": response("in_progress")},
            *message_events("msg_aa", 0, ends_as="msg_zz"),
            *call_events(1, ITEMS[2], '{"city":"Köln"', ',"days":3}', ends_as="fc_zz"),
            {
                "type": "response.completed",
                "response": response("completed", ended, RESPONSES_USAGE),
            },
        ]
    )


def errors() -> dict[str, str]:
    """48: an error inside an answer that began with 200."""
    said: Event = {"message": "Overloaded", "type": "overloaded_error", "code": 529}
    begun: Event = {"type": "message_start", "message": message(BEGUN_USAGE)}
    spoken = block(0, {"type": "text", "text": ""}, *text_deltas("Ich"))[:2]
    created: Event = {"type": "response.created", "response": response("in_progress")}
    failed: Event = {
        "type": "error",
        "code": "server_error",
        "message": "Overloaded",
        "param": None,
    }
    return {
        "openai-chat": lines([chat_chunk({"content": "Ich"}), {"error": said}]),
        "openai-responses": named(
            numbered([created, *[*message_events("msg_2", 0)][:3], failed]),
        ),
        "anthropic": named([begun, *spoken, {"type": "error", "error": said}]),
        "gemini": lines([gemini_event({"text": "Ich"}), {"error": {**said, "code": 503}}], "\r\n"),
    }


def cumulative_usage() -> list[Event]:
    """49: the counts of each event are totals, and the real input comes late."""
    first: Event = {"input_tokens": 0, "output_tokens": 1}
    between: Event = {"input_tokens": 40, "output_tokens": 5, "cache_read_input_tokens": 8}
    last: Event = {"input_tokens": 40, "output_tokens": 9, "cache_read_input_tokens": None}
    return [
        {"type": "message_start", "message": message(first)},
        *block(0, {"type": "text", "text": "Da"}, *text_deltas(".")),
        {"type": "message_delta", "delta": {"stop_reason": None}, "usage": between},
        *message_end("end_turn", last),
    ]


def server_tool() -> list[Event]:
    """The provider's own tool: its input comes in pieces and goes back whole."""
    start: Event = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {},
    }
    found: Event = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    return [
        {"type": "message_start", "message": message(BEGUN_USAGE)},
        *block(0, start, *input_deltas("", '{"query": ', '"Köln"}')),
        *block(1, found),
        *block(2, {"type": "text", "text": ""}, *text_deltas("Nichts.")),
        *message_end("end_turn", FINAL_USAGE),
    ]


def float_arguments() -> list[Event]:
    """32: whole numbers come as floats."""
    call = {"name": "get_weather", "args": {"city": "Köln", "days": 3.0}}
    return [gemini_event({"functionCall": call}, finishReason="STOP")]


def odd_chunks() -> list[Event]:
    """35: an event without candidates, one with empty parts, an unknown finish reason."""
    return [
        {"usageMetadata": GEMINI_USAGE, "modelVersion": GEMINI, "responseId": "r-77"},
        gemini_event({"text": ""}),
        {**gemini_event(), "candidates": [{"content": {}, "index": 0}]},
        gemini_event({"text": "Gut."}, finishReason="SOMETHING_NEW"),
    ]


def signed_end() -> list[Event]:
    """30: a signature on an empty text at the end."""
    return [gemini_event({"text": "Gut."}), gemini_event(EMPTY_SIGNED, finishReason="STOP")]


def recordings() -> dict[str, str]:
    """Every file and what stands in it."""
    gemini = [json.dumps(event, ensure_ascii=False, indent=1) for event in gemini_events()]
    streams = {
        "openai-chat": chat_stream(chat_events()),
        "openai-responses": named(responses_events()),
        "anthropic": named(anthropic_events()),
        "gemini": lines(gemini_events(), "\r\n"),
        "openai-chat.q42": chat_stream(without_ids()),
        "openai-chat.q43": chat_stream(null_types()),
        "openai-chat.q44": lines(cut_call()),
        "openai-chat.q46": chat_stream(parallel_call()),
        "openai-responses.q47": named(rotated_ids()),
        "anthropic.q45": named(two_messages()),
        "anthropic.q49": named(cumulative_usage()),
        "anthropic.server-tool": named(server_tool()),
        "gemini.q30": lines(signed_end(), "\r\n"),
        "gemini.q32": lines(float_arguments(), "\r\n"),
        "gemini.q35": lines(odd_chunks(), "\r\n"),
        **{f"{wire}.q48": text for wire, text in errors().items()},
    }
    return {
        **{f"{name}.sse": text for name, text in streams.items()},
        "openai-chat.json": pretty(chat_whole()),
        "openai-responses.json": pretty(response("completed", ITEMS, RESPONSES_USAGE)),
        "anthropic.json": pretty(anthropic_whole()),
        "gemini.json": pretty(gemini_whole()),
        "gemini-array.json": "[" + ",\r\n".join(gemini) + "]\n",
    }


def write(folder: Path = FOLDER) -> None:
    for name, text in recordings().items():
        (folder / name).write_bytes(text.encode())


if __name__ == "__main__":
    write()

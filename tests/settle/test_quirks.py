"""What providers and servers were seen to send, each case named by what has to come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from mentis.errors import UsageError
from mentis.settle.readers import read_all, reader_for
from mentis.values.action import Action
from mentis.values.part import MediaPart, ReasoningPart, TextPart
from mentis.values.reply import CallDelta, Reply, Usage
from mentis.values.tool import ToolDeclaration

LOOK = ToolDeclaration(
    "look",
    "",
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "list": {"type": "array", "items": {"type": ["integer", "null"]}},
        },
    },
)
HEAR = ToolDeclaration("hear", "")


def read(
    wire: str, *events: Mapping[str, object], tools: Sequence[ToolDeclaration] | None = None
) -> Reply:
    return read_all(reader_for(wire, tools=tools), [json.dumps(event) for event in events])


def codes(reply: Reply) -> list[str]:
    return [error.code for error in reply.errors]


def noted(reply: Reply) -> list[str]:
    return [note.code for note in reply.notes]


# Chat Completions


def chat(
    delta: Mapping[str, object], finish: str | None = None, **rest: object
) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **rest}


def call(**fields: object) -> dict[str, object]:
    name, arguments = fields.pop("name", None), fields.pop("arguments", "")
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"tool_calls": [{"index": 0, "function": function, **fields}]}


def test_a_call_without_an_id_gets_one_that_stays_the_same() -> None:
    events = [chat(call(id="", name="look", arguments="{}")), chat({}, "tool_calls", id="c-1")]
    first, again = read("openai-chat", *events), read("openai-chat", *events)
    assert first.actions[0].call_id.startswith("call_")
    assert first.actions == again.actions
    assert noted(first) == ["made-call-id"]
    assert first.parts[0] == again.parts[0]


def test_two_calls_with_one_id_are_told_apart() -> None:
    pair = [{"index": n, "id": "same", "function": {"name": "look"}} for n in (0, 1)]
    reply = read("openai-chat", chat({"tool_calls": pair}, "tool_calls"))
    assert len({action.call_id for action in reply.actions}) == 2


def test_calls_that_all_have_index_zero_are_told_apart_by_their_ids() -> None:
    reply = read(
        "openai-chat",
        chat(call(id="a", name="look", arguments='{"n":1}')),
        chat(call(id="b", name="look", arguments='{"n":2}'), "tool_calls"),
    )
    assert [action.payload for action in reply.actions] == [{"n": 1}, {"n": 2}]


def test_an_id_and_a_name_repeated_in_every_piece_do_not_pile_up() -> None:
    reply = read(
        "openai-chat",
        chat(call(id="a", name="look", arguments='{"n"')),
        chat(call(id="a", name="look", arguments=":1}", type=None), "tool_calls"),
    )
    assert reply.actions == (Action("look", {"n": 1}, "native", "a"),)


@pytest.mark.parametrize("choices", [None, [], [None], [{"index": 0, "delta": None}]])
def test_choices_may_be_missing_null_or_empty(choices: object) -> None:
    reply = read("openai-chat", {"choices": choices}, chat({"content": "x"}, "stop"))
    assert (reply.text, reply.errors) == ("x", ())


def test_a_call_is_never_complete_because_its_pieces_happen_to_parse() -> None:
    begun = chat(call(id="a", name="look", arguments="{}"))
    reply = read("openai-chat", begun)
    assert (reply.actions, codes(reply)) == ((), ["unfinished-call"])
    assert (reply.errors[0].call_id, reply.errors[0].action) == ("a", "look")
    reply = read("openai-chat", chat(call(id="a", name="look")), chat({}, "length"))
    assert (reply.actions, codes(reply)) == ((), ["unfinished-call"])
    more = chat(call(arguments=' {"n": 1}'), "tool_calls")
    assert codes(read("openai-chat", begun, more)) == ["bad-arguments"]


def test_an_error_in_the_middle_stays_an_error_whatever_follows() -> None:
    reply = read(
        "openai-chat",
        chat({"content": "Half"}),
        {"error": {"message": "tool call failed", "status_code": 400}},
        chat({}, "stop"),
    )
    assert (reply.stop, reply.text, codes(reply)) == ("error", "Half", ["provider-error"])
    broken = {"finish_reason": "error", "error": {"message": "upstream", "code": 502}}
    assert read("openai-chat", {"choices": [broken]}).errors[0].message == "upstream"


def test_an_error_that_is_null_beside_an_answer_is_none() -> None:
    assert read("openai-chat", chat({"content": "x"}, "stop", error=None)).stop == "end"


def test_only_the_first_of_several_answers_counts() -> None:
    other = {"index": 1, "delta": {"content": "other"}}
    reply = read("openai-chat", chat({"content": "first"}), {"choices": [other]})
    assert (reply.text, noted(reply)) == ("first", ["other-choice"])


def test_reasoning_details_are_kept_for_their_issuer() -> None:
    detail = {"type": "reasoning.encrypted", "data": "xyz"}
    spoken = {"type": "reasoning.text", "text": "Hm."}
    reply = read(
        "openai-chat", chat({"reasoning_details": [spoken]}), chat({"reasoning_details": [detail]})
    )
    (part,) = reply.parts
    assert isinstance(part, ReasoningPart)
    assert part.text == reply.reasoning == "Hm."
    assert part.state is not None
    assert part.state.data == {"reasoning_details": [spoken, detail]}


def test_pieces_of_one_reasoning_detail_are_joined() -> None:
    first = {"type": "reasoning.text", "index": 0, "text": "Hm", "format": "a"}
    second = {"type": "reasoning.text", "index": 0, "text": ", yes.", "signature": None}
    signed = {"type": "reasoning.text", "index": 0, "text": "", "signature": "s"}
    other = {"type": "reasoning.encrypted", "index": 1, "data": "xyz"}
    details = (first, second, signed, other, other)
    reply = read("openai-chat", *[chat({"reasoning_details": [one]}) for one in details])
    (part,) = reply.parts
    assert isinstance(part, ReasoningPart)
    assert part.state is not None
    whole = {**first, "text": "Hm, yes.", "signature": "s"}
    assert part.state.data == {"reasoning_details": [whole, other, other]}


def test_content_in_parts_refusals_legacy_calls_and_objects_for_arguments_are_taken() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    reply = read(
        "openai-chat",
        chat({"content": [thinking, {"type": "text", "text": "Yes."}]}),
        chat({"refusal": " No."}),
        chat({"function_call": {"name": "look", "arguments": {"n": 1}}}, "function_call"),
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 3}}},
    )
    assert (reply.text, reply.reasoning) == ("Yes. No.", "Hm.")
    assert reply.actions[0].payload == {"n": 1}
    assert noted(reply) == ["refusal", "arguments-form", "made-call-id"]
    assert reply.usage == Usage(3)


def test_an_invented_parallel_call_is_taken_apart_only_when_all_of_it_was_offered() -> None:
    uses: list[dict[str, object]] = [
        {"recipient_name": "functions.look", "parameters": {"n": 1}},
        {"recipient_name": "hear", "parameters": {}},
    ]
    wrapper = chat(
        call(id="p", name="multi_tool_use.parallel", arguments=json.dumps({"tool_uses": uses})),
        "tool_calls",
    )
    reply = read("openai-chat", wrapper, tools=[LOOK, HEAR])
    assert reply.actions == (
        Action("look", {"n": 1}, "recovered", "p_0"),
        Action("hear", {}, "recovered", "p_1"),
    )
    assert noted(reply) == ["parallel-call"]
    whole = read("openai-chat", wrapper, tools=[LOOK])
    assert [action.type for action in whole.actions] == ["multi_tool_use.parallel"]


# Messages


def block(index: int, **content: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def piece(index: int, **delta: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


STARTED = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}}
STOPPED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


def test_thinking_without_a_signature_has_no_state_and_empty_thinking_with_one_is_kept() -> None:
    reply = read(
        "anthropic",
        STARTED,
        block(0, type="thinking", thinking="unsigned", signature=None),
        block(1, type="thinking", thinking=""),
        piece(1, type="signature_delta", signature="sig"),
        STOPPED,
    )
    unsigned, signed = reply.parts
    assert unsigned == ReasoningPart("unsigned")
    assert isinstance(signed, ReasoningPart)
    assert signed.text == ""
    assert signed.state is not None
    assert signed.state.data == {"type": "thinking", "signature": "sig"}


def test_text_may_stand_in_the_start_of_its_block_already() -> None:
    begun = block(0, type="text", text="He")
    reply = read("anthropic", STARTED, begun, piece(0, type="text_delta", text="llo"), STOPPED)
    assert reply.text == "Hello"


def test_a_second_message_is_never_mixed_into_the_first() -> None:
    first, second = block(0, type="text", text="first"), block(0, type="text", text="second")
    reply = read("anthropic", STARTED, first, STOPPED, STARTED, second)
    assert (reply.text, codes(reply)) == ("first", ["second-message"])
    reply = read("anthropic", STARTED, first, STARTED, second, STOPPED)
    assert (reply.text, codes(reply)) == ("second", ["second-message"])


def test_the_last_usage_counts_and_null_takes_nothing_away() -> None:
    later = {"input_tokens": 50, "cache_read_input_tokens": None, "output_tokens": 9}
    start = {"usage": {"input_tokens": 1, "cache_read_input_tokens": 7, "output_tokens": 1}}
    reply = read(
        "anthropic",
        {"type": "message_start", "message": start},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 4}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": later},
    )
    assert reply.usage == Usage(input=57, output=9, cache_read=7)


@pytest.mark.parametrize(
    ("reason", "stop", "told"),
    [
        ("end_turn", "end", []),
        ("stop_sequence", "end", []),
        ("max_tokens", "length", []),
        ("model_context_window_exceeded", "length", []),
        ("refusal", "filtered", ["refusal"]),
        ("pause_turn", "other", ["pause-turn"]),
        ("compaction", "other", ["compaction"]),
    ],
)
def test_stop_reasons_of_messages(reason: str, stop: str, told: list[str]) -> None:
    reply = read("anthropic", {"type": "message_delta", "delta": {"stop_reason": reason}})
    assert (reply.stop, noted(reply), reply.errors) == (stop, told, ())


def test_an_error_event_a_stray_piece_and_an_unknown_piece_do_not_crash() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    text = block(0, type="text", text="x")
    reply = read(
        "anthropic",
        STARTED,
        piece(4, type="text_delta", text="?"),
        text,
        piece(0, type="compaction_delta", content="..."),
        piece(0, type="citations_delta", citation={"cited_text": "c"}),
        overloaded,
    )
    assert (reply.stop, reply.text) == ("error", "x")
    assert codes(reply) == ["stray-delta", "provider-error"]
    assert noted(reply) == ["unknown-delta"]
    (part,) = reply.parts
    assert isinstance(part, TextPart)
    assert part.state is not None
    assert part.state.data == {"citations": [{"cited_text": "c"}]}


def test_blocks_of_server_tools_go_back_as_they_came() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}
    reply = read("anthropic", {"type": "message", "content": [search], "stop_reason": "pause_turn"})
    (part,) = reply.parts
    assert isinstance(part, ReasoningPart)
    assert part.state is not None
    assert part.state.data == search
    assert reply.actions == ()


def test_a_broken_or_cut_input_of_a_server_tool_is_told_and_not_sent_back() -> None:
    search = block(0, type="server_tool_use", id="s", name="web_search", input={})
    broken = piece(0, type="input_json_delta", partial_json='{"q": ')
    stop = {"type": "content_block_stop", "index": 0}
    reply = read("anthropic", STARTED, search, broken, stop)
    assert (reply.parts, [(e.code, e.raw) for e in reply.errors]) == (
        (),
        [("bad-arguments", '{"q": ')],
    )
    cut = read("anthropic", STARTED, search, broken)
    assert (cut.parts, noted(cut)) == ((), ["cut-input"])


def test_broken_and_odd_inputs_of_a_call_are_errors_with_their_text() -> None:
    used = block(0, type="tool_use", id="t", name="look", input={})
    broken = piece(0, type="input_json_delta", partial_json='{"n": ')
    reply = read("anthropic", STARTED, used, broken, {"type": "content_block_stop", "index": 0})
    assert [(e.code, e.raw, e.call_id) for e in reply.errors] == [("bad-arguments", '{"n": ', "t")]
    whole = {"type": "tool_use", "id": "t", "name": "look", "input": [1]}
    assert codes(read("anthropic", {"type": "message", "content": [whole]})) == ["bad-arguments"]


# Responses


def item(kind: str, place: int, **fields: object) -> dict[str, object]:
    return {"type": f"response.output_item.{kind}", "output_index": place, "item": fields}


COMPLETED = {"type": "response.completed", "response": {"status": "completed"}}


def test_items_whose_ids_change_on_the_way_are_told_apart_by_their_place() -> None:
    argument = "response.function_call_arguments.delta"
    reply = read(
        "openai-responses",
        item("added", 0, type="function_call", id="a", call_id="c0", name="look", arguments=""),
        item("added", 1, type="function_call", id="b", call_id="c1", name="hear", arguments=""),
        {"type": argument, "item_id": "rotated", "output_index": 1, "delta": "{}"},
        {"type": argument, "item_id": "again", "output_index": 0, "delta": '{"n":1}'},
        item(
            "done", 0, type="function_call", id="z", call_id="c0", name="look", arguments='{"n":1}'
        ),
        item("done", 1, type="function_call", id="y", call_id="c1", name="hear", arguments="{}"),
        COMPLETED,
    )
    assert reply.actions == (
        Action("look", {"n": 1}, "native", "c0"),
        Action("hear", {}, "native", "c1"),
    )


def test_an_empty_summary_and_the_phase_of_a_message_are_kept() -> None:
    reply = read(
        "openai-responses",
        item("done", 0, type="reasoning", id="rs", summary=[], encrypted_content="e"),
        item("done", 1, type="message", id="m", phase="final_answer", content=[]),
        COMPLETED,
    )
    states = [getattr(part, "state", None) for part in reply.parts]
    assert [state.data for state in states if state] == [
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
        {"type": "message", "id": "m", "phase": "final_answer"},
    ]


@pytest.mark.parametrize(
    ("response", "stop", "found"),
    [
        ({"status": "completed"}, "end", []),
        ({"status": "complete"}, "end", []),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            [],
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "filtered",
            [],
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "dusk"}},
            "other",
            ["unknown-stop"],
        ),
        ({"status": "incomplete", "incomplete_details": None}, "other", ["unknown-stop"]),
        ({"status": "failed", "error": {"message": "no"}}, "error", ["provider-error"]),
        ({"status": "cancelled"}, "cut_off", []),
    ],
)
def test_how_a_response_ended(response: dict[str, object], stop: str, found: list[str]) -> None:
    reply = read("openai-responses", {"type": "response.done", "response": response})
    assert (reply.stop, codes(reply)) == (stop, found)
    whole = read("openai-responses", {**response, "output": []})
    assert (whole.stop, codes(whole)) == (stop, found)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "It broke."},
        {"type": "error", "error": {"message": "It broke."}},
        {"error": {"message": "It broke."}},
    ],
)
def test_an_error_event_among_responses_is_an_error(event: dict[str, object]) -> None:
    reply = read("openai-responses", event)
    assert (reply.stop, reply.errors[0].message) == ("error", "It broke.")


def test_items_told_only_at_the_end_and_refusals_are_taken() -> None:
    refusal = {"type": "refusal", "refusal": "I will not."}
    message = {"type": "message", "id": "m", "content": [refusal]}
    reply = read(
        "openai-responses",
        {"type": "response.completed", "response": {"status": "completed", "output": [message]}},
    )
    assert reply.text == "I will not."
    reply = read("openai-responses", {"type": "response.refusal.delta", "delta": "No."}, COMPLETED)
    assert (reply.text, noted(reply)) == ("No.", ["refusal"])


def test_a_finished_item_wins_over_pieces_that_differ() -> None:
    text = {"type": "output_text", "text": "right"}
    reply = read(
        "openai-responses",
        {"type": "response.output_text.delta", "output_index": 0, "delta": "wrong"},
        item("done", 0, type="message", id="m", content=[text]),
        COMPLETED,
    )
    assert (reply.text, noted(reply)) == ("right", ["restated"])


# generateContent


def part(*parts: Mapping[str, object], **rest: object) -> dict[str, object]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **rest}]}


def test_a_signature_on_an_empty_text_is_kept_without_a_phantom_text() -> None:
    reply = read("gemini", part({"text": "Hi"}), part({"text": "", "thoughtSignature": "s"}))
    assert reply.text == "Hi"
    assert len(reply.parts) == 2


def test_a_signed_text_stays_a_part_of_its_own() -> None:
    reply = read(
        "gemini",
        part({"text": "a"}),
        part({"text": "b", "thought_signature": "s"}),
        part({"text": "c"}),
    )
    texts = [p.text for p in reply.parts if isinstance(p, TextPart)]
    assert (texts, reply.text) == (["a", "b", "c"], "abc")


def test_whole_numbers_that_came_as_floats_become_whole_where_the_schema_says_so() -> None:
    arguments = {"n": 3.0, "x": 2.0, "list": [1.0, None, 2.5]}
    answer = part({"functionCall": {"name": "look", "args": arguments}}, finishReason="STOP")
    reply = read("gemini", answer, tools=[LOOK])
    assert repr(reply.actions[0].payload) == "{'n': 3, 'x': 2.0, 'list': [1, None, 2.5]}"
    assert noted(reply) == ["made-call-id", "number-form"]


SILENT: list[dict[str, object]] = [
    {},
    {"candidates": None},
    {"candidates": [{"finishReason": "STOP"}]},
    {"candidates": [{"content": {}}]},
    {"candidates": [{"content": {"parts": [{}, {"text": ""}]}}]},
]


@pytest.mark.parametrize("event", SILENT)
def test_events_without_candidates_or_with_empty_parts_say_nothing(
    event: dict[str, object],
) -> None:
    reply = read("gemini", event, part({"text": "x"}))
    assert (reply.text, reply.errors, len(reply.parts)) == ("x", (), 1)


@pytest.mark.parametrize(
    ("reason", "stop", "found"),
    [
        ("MAX_TOKENS", "length", []),
        ("SAFETY", "filtered", []),
        ("MODEL_ARMOR", "filtered", []),
        ("MALFORMED_FUNCTION_CALL", "other", ["malformed-call"]),
        ("ECLIPSE", "other", ["unknown-stop"]),
        ("FINISH_REASON_UNSPECIFIED", "cut_off", []),
    ],
)
def test_finish_reasons(reason: str, stop: str, found: list[str]) -> None:
    reply = read("gemini", part(finishReason=reason, finishMessage="call:look{"))
    assert (reply.stop, codes(reply)) == (stop, found)


def test_a_blocked_prompt_has_no_answer_and_says_so() -> None:
    reply = read("gemini", {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (reply.stop, codes(reply)) == ("filtered", ["blocked-prompt"])


def test_counts_that_later_events_leave_out_stay() -> None:
    first = {"usageMetadata": {"promptTokenCount": 9, "cachedContentTokenCount": 4}}
    later = {"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2.0}}
    gone = {"usage_metadata": {"thoughts_token_count": 1, "candidatesTokenCount": None}}
    assert read("gemini", first, later, gone).usage == Usage(9, 3, 4, 0, 1)


def test_an_error_instead_of_an_event_is_an_error_also_inside_an_array() -> None:
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    assert read("gemini", part({"text": "x"}), error).stop == "error"
    array = json.dumps([part({"text": "x"}), error])
    reply = read_all(reader_for("gemini"), [array])
    assert (reply.text, reply.errors[0].message) == ("x", "overloaded")


def test_snake_case_calls_without_arguments_pictures_and_run_code_are_taken() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    reply = read(
        "gemini",
        part({"function_call": {"name": "hear"}}, code),
        part({"inlineData": {"mimeType": "image/png", "data": "aGk="}}, finish_reason="STOP"),
        part({"inlineData": {"mimeType": "image/png", "data": "!"}}),
        part({"functionCall": {"name": "look", "partialArgs": [], "willContinue": True}}),
    )
    assert [action.type for action in reply.actions] == ["hear"]
    assert reply.parts[-1] == MediaPart("image", "image/png", b"hi")
    assert codes(reply) == ["bad-media", "bad-arguments"]


def test_arguments_that_come_in_pieces_are_an_error_with_what_came() -> None:
    call = {"name": "look", "partialArgs": [{"jsonPath": "$.n", "numberValue": 3}]}
    reply = read("gemini", part({"functionCall": call}))
    assert (reply.actions, codes(reply)) == ((), ["bad-arguments"])
    assert json.loads(reply.errors[0].raw) == call


# All of them


def asked(wire: str, arguments: str) -> str:
    """A whole answer with one call, its arguments in the form of that wire."""
    quoted = json.dumps(arguments)
    return {
        "openai-chat": '{"choices":[{"message":{"tool_calls":[{"id":"c","function":'
        f'{{"name":"look","arguments":{quoted}}}}}]}},"finish_reason":"tool_calls"}}]}}',
        "openai-responses": '{"status":"completed","output":[{"type":"function_call",'
        f'"call_id":"c","name":"look","arguments":{quoted}}}]}}',
        "anthropic": '{"type":"message","stop_reason":"tool_use","content":[{"type":"tool_use",'
        f'"id":"c","name":"look","input":{arguments}}}]}}',
        "gemini": '{"candidates":[{"finishReason":"STOP","content":{"parts":[{"functionCall":'
        f'{{"id":"c","name":"look","args":{arguments}}}}}]}}}}]}}',
    }[wire]


WIRES = ["openai-chat", "openai-responses", "anthropic", "gemini"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "arguments",
    ['{"a":' * 200 + "1" + "}" * 200, '{"n": NaN}', '{"n": -Infinity}', '{"s": "\\ud83d"}', "[1]"],
    ids=["deep", "nan", "infinite", "half", "list"],
)
def test_arguments_that_cannot_be_kept_are_an_error_with_their_text(
    wire: str, arguments: str
) -> None:
    reply = read_all(reader_for(wire), [asked(wire, arguments)])
    assert (reply.actions, codes(reply)) == ((), ["bad-arguments"])
    assert reply.errors[0].raw.replace(" ", "") == arguments.replace(" ", "")
    assert reply.errors[0].call_id == "c"


@pytest.mark.parametrize("wire", WIRES)
def test_arguments_nested_10000_deep_are_an_error_with_their_text(wire: str) -> None:
    deep = '{"a":' * 10_000 + "1" + "}" * 10_000
    reply = read_all(reader_for(wire), [asked(wire, deep)])
    assert reply.actions == ()
    (error,) = reply.errors
    assert error.code in ("bad-arguments", "bad-event")
    assert deep in error.raw


@pytest.mark.parametrize("depth", [500, 1_200, 5_000])
@pytest.mark.parametrize("wire", WIRES)
def test_arguments_as_deep_as_only_some_pythons_read_are_an_error(wire: str, depth: int) -> None:
    reply = read_all(reader_for(wire), [asked(wire, '{"a":' * depth + "1" + "}" * depth)])
    assert reply.actions == ()
    assert codes(reply)[0] in ("bad-arguments", "bad-event")


@pytest.mark.parametrize("wire", WIRES)
def test_ten_megabytes_of_arguments_are_read_or_an_error(wire: str) -> None:
    long = "x" * 10_000_000
    reply = read_all(reader_for(wire), [asked(wire, json.dumps({"s": long}))])
    assert (reply.actions[0].payload, reply.errors) == ({"s": long}, ())
    broken = read_all(reader_for(wire), [asked(wire, f'{{"s": "{long}')])
    assert (broken.actions, codes(broken)[0][:4]) == ((), "bad-")
    assert long in broken.errors[0].raw


def test_a_format_nobody_answers_in_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        reader_for("live")
    assert "openai-chat" in caught.value.hint


def test_an_empty_call_of_the_old_kind_is_no_call() -> None:
    nothing = {"name": "", "arguments": ""}
    reply = read(
        "openai-chat",
        chat({"content": "Yes", "function_call": nothing, "tool_calls": None}),
        chat({"content": ".", "function_call": nothing}, finish="stop"),
    )
    assert (reply.text, reply.stop, reply.actions, reply.errors) == ("Yes.", "end", (), ())
    real = chat({"function_call": {"name": "act", "arguments": "{}"}}, finish="stop")
    assert [action.type for action in read("openai-chat", real).actions] == ["act"]


def test_a_call_of_gemini_that_comes_in_pieces_is_one_error_and_never_an_action() -> None:
    pieces = [
        {"name": "act", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}], "willContinue": True},
        {},
    ]
    for count in (1, 2, 3):  # also where it breaks off
        reply = read("gemini", *[part({"functionCall": one}) for one in pieces[:count]])
        assert (reply.actions, reply.parts) == ((), ())
        (error,) = reply.errors
        assert (error.code, "'act'" in error.message) == ("bad-arguments", True)
        assert [*map(json.loads, error.raw.splitlines())] == pieces[: min(count, 2)]
    whole = part({"functionCall": {"name": "act", "args": {"a": 1}}})
    reply = read("gemini", *[part({"functionCall": one}) for one in pieces], whole)
    assert [action.payload for action in reply.actions] == [{"a": 1}]


def test_a_picture_in_a_chat_answer_is_a_part_of_it() -> None:
    url = {"image_url": {"url": "data:image/png;base64,aGk="}}
    reply = read("openai-chat", chat({"content": "Here.", "images": [url]}, "stop"))
    assert reply.parts == (TextPart("Here."), MediaPart("image", "image/png", b"hi"))
    assert reply.notes == ()
    away = {"image_url": {"url": "https://example.org/a.png"}}
    told = read("openai-chat", chat({"content": "There.", "images": [away]}, "stop"))
    assert [(note.code, note.raw) for note in told.notes] == [
        ("image-address", "https://example.org/a.png")
    ]


def test_what_a_model_says_aloud_in_a_chat_answer_is_its_text_with_a_note() -> None:
    pieces = [{"id": "a", "transcript": "Hel"}, {"transcript": "lo."}, {"data": "aGk="}]
    reply = read("openai-chat", *[chat({"audio": one}) for one in pieces], chat({}, "stop"))
    assert (reply.text, noted(reply)) == ("Hello.", ["audio"])


def custom(**fields: object) -> dict[str, object]:
    return {"type": "custom_tool_call", "call_id": "c", "name": "look", **fields}


def test_a_custom_call_is_read_as_a_call_whose_arguments_are_what_was_said() -> None:
    whole = {"status": "completed", "output": [custom(input="three times")]}
    reply = read("openai-responses", whole, tools=[LOOK])
    (error,) = reply.errors
    assert (error.code, error.raw, error.call_id) == ("bad-arguments", "three times", "c")
    assert noted(reply) == ["custom-call"]
    delta = {"type": "response.custom_tool_call_input.delta", "output_index": 0}
    streamed = read(
        "openai-responses",
        item("added", 0, **custom(input="")),
        {**delta, "delta": '{"n"'},
        {**delta, "delta": ": 3}"},
        item("done", 0, **custom(input='{"n": 3}')),
        COMPLETED,
        tools=[LOOK],
    )
    assert [action.payload for action in streamed.actions] == [{"n": 3}]
    assert streamed.errors == ()


def test_a_picture_made_in_a_responses_answer_is_a_part_of_it() -> None:
    made = {"type": "image_generation_call", "id": "ig", "status": "completed", "result": "aGk="}
    whole = {"status": "completed", "output": [{**made, "output_format": "webp"}]}
    assert read("openai-responses", whole).parts == (MediaPart("image", "image/webp", b"hi"),)
    begun = item("added", 0, **{**made, "status": "in_progress", "result": None})
    assert read("openai-responses", begun).parts == ()
    done = item("done", 0, **made)
    assert read("openai-responses", begun, done).parts == (MediaPart("image", "image/png", b"hi"),)


def test_a_refusal_in_a_whole_responses_body_is_noted() -> None:
    said = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    reply = read("openai-responses", {"status": "completed", "output": [said]})
    assert (reply.text, noted(reply)) == ("No.", ["refusal"])


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_response_that_waits_at_its_provider_is_no_answer(status: str) -> None:
    reply = read("openai-responses", {"id": "r", "status": status, "output": []})
    assert (reply.stop, codes(reply)) == ("error", ["unfinished-response"])
    begun = {"type": f"response.{status}", "response": {"status": status}}
    assert read("openai-responses", begun).stop == "cut_off"


@pytest.mark.parametrize("in_whole", [True, False])
def test_arguments_that_came_with_a_block_of_anthropic_are_told_as_they_come(
    *, in_whole: bool
) -> None:
    block = {"type": "tool_use", "id": "t", "name": "look", "input": {"n": 3}}
    events: list[dict[str, object]] = [{"type": "message", "content": [block]}]
    if not in_whole:
        events = [
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
        ]
    reader = reader_for("anthropic")
    deltas = [delta for event in events for delta in reader.feed(json.dumps(event))]
    assert deltas == [CallDelta(0, "look"), CallDelta(0, "", '{"n": 3}')]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_an_error_that_is_called_a_detail_is_an_error(wire: str) -> None:
    for detail in ("no such model", {"message": "no such model"}, [{"msg": "no such model"}]):
        reply = read(wire, {"detail": detail})
        assert reply.stop == "error"
        assert [(e.code, e.message) for e in reply.errors] == [("provider-error", "no such model")]

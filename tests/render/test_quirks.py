"""Cases that other converters got wrong, by the number they have in the table of quirks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mentis.render.wires import render_for
from mentis.values.part import ProviderState, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from mentis.values.request import PromptRequest
from mentis.values.span import Span
from mentis.values.stability import Stability
from mentis.values.turn import Turn

from .conftest import LOOK_UP, NATIVE, ROUTES, WORDS, said
from .oracle import validate
from .rules import problems


def payload(wire: str, *turns: Turn, text: str = "So?", **route: object) -> dict[str, Any]:
    request = PromptRequest(conversation_history=turns, current_text=text)
    changed = replace(ROUTES[wire], **route)  # pyright: ignore[reportArgumentType]  # test data
    return json.loads(render_for(wire, request, changed).body())


def mine(wire: str, **data: object) -> ProviderState:
    return ProviderState(wire, ROUTES[wire].model, data)


@pytest.mark.parametrize("wire", NATIVE)
def test_9_a_last_turn_of_the_model_is_not_sent_where_it_cannot_go_on_from_it(wire: str) -> None:
    talk = (said("user", "Hi"), said("assistant", "Well,"))
    request = PromptRequest(conversation_history=talk, words=WORDS)
    rendering = render_for(wire, request, ROUTES[wire])
    assert [loss.code for loss in rendering.losses] == ["prefill"]
    assert b"[no new message]" in rendering.body()


def test_9_where_it_can_the_beginning_is_sent_without_blanks_at_its_end() -> None:
    route = replace(ROUTES["anthropic"], facts={"prefill": True})
    request = PromptRequest(conversation_history=(said("user", "Hi"), said("assistant", "Well, ")))
    rendering = render_for("anthropic", request, route)
    last = json.loads(rendering.body())["messages"][-1]
    assert (last["role"], last["content"][0]["text"]) == ("assistant", "Well,")
    assert [loss.code for loss in rendering.losses] == ["prefill-blanks"]


@pytest.mark.parametrize("state", [None, mine("anthropic", signature=""), mine("anthropic")])
def test_14_thinking_without_a_signature_is_dropped(state: ProviderState | None) -> None:
    sent = payload("anthropic", said("assistant", ReasoningPart("Hm.", state), "So."))
    assert [block["type"] for block in sent["messages"][0]["content"]] == ["text"]


def test_15_an_empty_thought_with_a_signature_is_kept() -> None:
    thought = ReasoningPart("", mine("anthropic", signature="s"))
    sent = payload("anthropic", said("assistant", thought, "So."))
    assert sent["messages"][0]["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": "s",
    }


def test_redacted_thinking_goes_back_as_it_came() -> None:
    thought = ReasoningPart("", mine("anthropic", type="redacted_thinking", data="d"))
    sent = payload("anthropic", said("assistant", thought, "So."))
    assert sent["messages"][0]["content"][0] == {"type": "redacted_thinking", "data": "d"}


def test_18_no_mark_on_empty_content() -> None:
    sent = payload("anthropic", said("user", "Hi"), said("assistant", " "))
    assert "cache_control" not in json.dumps(sent["messages"])


def test_21_items_of_another_provider_are_filtered() -> None:
    foreign = ProviderState("openai-responses", "gpt-5.6", {"id": "msg_1", "phase": "commentary"})
    sent = json.dumps(payload("anthropic", said("assistant", TextPart("So.", foreign))))
    assert "msg_1" not in sent
    assert "phase" not in sent


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_22_and_38_sampling_is_not_sent_where_it_is_refused(wire: str) -> None:
    assert "temperature" not in payload(wire, temperature=0.0)


def test_29_signatures_ride_on_their_parts_and_a_whole_unsigned_step_gets_one_stand_in() -> None:
    signed = ToolCallPart("a", "look_up", {}, mine("gemini", thoughtSignature="c2ln"))
    plain = [ToolCallPart(name, "look_up", {}) for name in "bc"]
    results = [ToolResultPart(name, "look_up", name) for name in "abc"]
    parallel = payload("gemini", said("user", "?"), said("assistant", signed, plain[0]))
    calls = parallel["contents"][1]["parts"]
    assert [call.get("thoughtSignature") for call in calls] == ["c2ln", None]
    unsigned = payload(
        "gemini", said("user", "?"), said("assistant", *plain), said("user", *results)
    )
    calls = unsigned["contents"][1]["parts"]
    assert [("thoughtSignature" in call) for call in calls] == [True, False]


def test_30_a_signature_on_an_empty_text_is_kept_and_adds_no_words() -> None:
    empty = TextPart("", mine("gemini", thoughtSignature="c2ln"))
    sent = payload("gemini", said("user", "Hi"), said("assistant", "So.", empty))
    assert sent["contents"][1]["parts"] == [
        {"text": "So."},
        {"text": "", "thoughtSignature": "c2ln"},
    ]


@pytest.mark.parametrize("echoed", [True, False])
def test_31_call_ids_are_echoed_or_left_out(echoed: bool) -> None:
    turns = (
        said("user", "?"),
        said("assistant", ToolCallPart("a", "look_up", {})),
        said("user", ToolResultPart("a", "look_up", "x")),
    )
    sent = payload("gemini", *turns, facts={"call_ids": echoed})
    call, answer = sent["contents"][1]["parts"][0], sent["contents"][2]["parts"][0]
    assert ("id" in call["functionCall"], "id" in answer["functionResponse"]) == (echoed, echoed)


def test_33_and_37_tool_settings_do_not_come_without_tools() -> None:
    for wire in NATIVE:
        names = {"tools", "tool_choice", "toolConfig", "parallel_tool_calls"}
        assert not names & set(payload(wire))


def test_39_and_40_reasoning_items_keep_id_content_and_an_empty_summary() -> None:
    state = mine("openai-responses", type="reasoning", id="rs_1", encrypted_content="e")
    sent = payload("openai-responses", said("assistant", ReasoningPart("", state), "So."))
    assert sent["input"][0] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "e",
    }


@pytest.mark.parametrize("data", [{"id": "rs_1"}, {"encrypted_content": "e"}])
def test_39_reasoning_that_cannot_be_read_back_is_dropped(data: dict[str, object]) -> None:
    state = mine("openai-responses", **data)
    sent = payload("openai-responses", said("assistant", ReasoningPart("Hm.", state), "So."))
    assert [item["type"] for item in sent["input"]] == ["message", "message"]


def test_39_reasoning_without_the_item_it_led_to_is_dropped() -> None:
    state = mine("openai-responses", id="rs_1", encrypted_content="e")
    sent = payload("openai-responses", said("assistant", "So.", ReasoningPart("Hm.", state)))
    assert [item["type"] for item in sent["input"]] == ["message", "message"]


def test_41_the_phase_of_a_message_is_preserved() -> None:
    text = TextPart("So.", mine("openai-responses", type="message", id="msg_1", phase="commentary"))
    item = payload("openai-responses", said("assistant", text))["input"][0]
    assert item["phase"] == "commentary"
    assert "id" not in item


def test_a_model_with_no_role_for_the_system_gets_its_text_tagged_in_a_user_message() -> None:
    sent = payload("openai-chat", model="o1-mini")
    assert all(message["role"] != "system" for message in sent["messages"])


def test_a_failed_result_says_so_where_the_format_can() -> None:
    turns = (
        said("user", "?"),
        said("assistant", ToolCallPart("a", "look_up", {})),
        said("user", ToolResultPart("a", "look_up", "no such word", failed=True)),
    )
    assert payload("anthropic", *turns)["messages"][2]["content"][0]["is_error"] is True
    answer = payload("gemini", *turns)["contents"][2]["parts"][0]["functionResponse"]
    assert answer["response"] == {"error": "no such word"}


def test_a_limit_below_what_can_be_asked_for_is_raised_and_noted() -> None:
    route = replace(ROUTES["openai-responses"], max_tokens=4)
    rendering = render_for("openai-responses", PromptRequest(current_text="Hi"), route)
    assert rendering.payload["max_output_tokens"] == 16
    assert [loss.code for loss in rendering.losses] == ["limit"]


def test_a_sonnet_that_ignores_system_messages_midway_gets_tagged_text() -> None:
    from .conftest import requests_for

    route = replace(ROUTES["anthropic"], model="claude-sonnet-5")
    sent = json.loads(render_for("anthropic", requests_for("anthropic")["chat"], route).body())
    assert all(message["role"] != "system" for message in sent["messages"])
    assert sent["messages"][-1]["content"][0]["text"].startswith("<system>\n")


def test_17_however_many_regions_there_are_at_most_four_marks_are_set() -> None:
    spans = tuple(
        Span(f"{number}. ", stability=stability)
        for number in range(5)
        for stability in (Stability.STABLE, Stability.SESSION)
    )
    request = PromptRequest(
        system_instruction=spans,
        context_summary=spans,
        tool_declarations=(LOOK_UP,),
        conversation_history=(said("user", "Hi"), said("assistant", "Hello")),
        current_text="So?",
    )
    body = render_for("anthropic", request, ROUTES["anthropic"]).body()
    assert body.count(b"cache_control") == 4


def test_reasoning_details_go_back_to_the_server_that_sent_them() -> None:
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0}]
    thought = ReasoningPart("Hm.", mine("openai-chat", reasoning_details=details))
    call = ToolCallPart("a", "look_up", {})
    answer = ToolResultPart("a", "look_up", "x")
    sent = payload("openai-chat", said("assistant", thought, call), said("user", answer))
    assert sent["messages"][0]["reasoning_details"] == details
    assert problems("openai-chat", sent) == []


def test_reasoning_details_that_led_to_nothing_are_left_out_with_a_loss() -> None:
    thought = ReasoningPart("Hm.", mine("openai-chat", reasoning_details=[{"text": "Hm."}]))
    request = PromptRequest(conversation_history=(said("assistant", thought),), current_text="So?")
    rendering = render_for("openai-chat", request, ROUTES["openai-chat"])
    assert b"Hm." not in rendering.body()
    assert [loss.code for loss in rendering.losses] == ["reasoning"]


USE: dict[str, object] = {
    "type": "server_tool_use",
    "id": "srv_1",
    "name": "web_search",
    "input": {"query": "x"},
}
FOUND: dict[str, object] = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


def test_what_a_server_tool_did_goes_back_as_it_came() -> None:
    parts = [ReasoningPart("", mine("anthropic", **block)) for block in (USE, FOUND)]
    sent = payload("anthropic", said("user", "?"), said("assistant", *parts, "So."))
    assert sent["messages"][1]["content"][:2] == [USE, FOUND]
    validate("anthropic", sent)


@pytest.mark.parametrize("half", [USE, FOUND])
def test_half_of_what_a_server_tool_did_is_left_out_with_a_loss(half: dict[str, object]) -> None:
    part = ReasoningPart("", mine("anthropic", **half))
    talk = (said("user", "?"), said("assistant", part, "So."))
    request = PromptRequest(conversation_history=talk, current_text="And?")
    rendering = render_for("anthropic", request, ROUTES["anthropic"])
    assert b"srv_1" not in rendering.body()
    assert [loss.code for loss in rendering.losses] == ["reasoning"]


def test_citations_are_not_sent_back_and_that_is_said() -> None:
    text = TextPart("So.", mine("anthropic", citations=[{"type": "char_location"}]))
    request = PromptRequest(conversation_history=(said("assistant", text),), current_text="And?")
    rendering = render_for("anthropic", request, ROUTES["anthropic"])
    assert [loss.code for loss in rendering.losses] == ["citations"]
    assert b"citations" not in rendering.body()

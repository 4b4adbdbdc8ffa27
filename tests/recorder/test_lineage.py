"""Sub-agents and handoffs of recorded agents are a tree, and nobody's session is another's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.home.create import create_home
from mentis.record.foreign_calls import CallOrigin, ForeignCall, foreign_calls
from mentis.record.record import open_record
from mentis.recorder.call_copy import CallCopy
from mentis.recorder.prompts import digest_prompt
from mentis.recorder.reading import read_call
from mentis.recorder.recording import open_recording
from mentis.recorder.report import report_calls, report_sessions
from mentis.recorder.sessions import CallPlace, PastCall, SessionBook
from mentis.surfaces.cli.recorded_sessions import session_tree
from mentis.values.action import Action

from .foreign import BEGAN, OPENAI, anthropic_call, call_copy, model, user

NAMED = {"metadata": {"user_id": json.dumps({"session_id": "s-1"})}}
PROMPT = "Find every place where the clock is read."


def fail(text: str) -> None:
    raise AssertionError(text)


def seen(tmp_path: Path, *calls: CallCopy) -> list[ForeignCall]:
    home = create_home(tmp_path / "house")
    with open_recording(home, "agent", tell=fail) as recording:
        for call in calls:
            recording.offer(call)
    with open_record(home, "recorded/agent", readonly=True) as record:
        return list(foreign_calls(record.store.entries(record.agent)))


def chat_call(
    messages: Sequence[dict[str, Any]],
    *,
    tool: str = "",
    arguments: dict[str, Any] | None = None,
    after: float = 0,
    **more: Any,  # noqa: ANN401  # members of the payload
) -> CallCopy:
    """Of Chat Completions, which names no session; its answer may ask for a tool."""
    said: dict[str, Any] = {"role": "assistant", "content": "Yes."}
    if tool:
        function = {"name": tool, "arguments": json.dumps(arguments or {})}
        said["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    answer = {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 4},
    }
    body = {"model": "gpt-5.2", "messages": list(messages), **more}
    headers = ((b"content-type", b"application/json"),)
    return call_copy(
        OPENAI, "/v1/chat/completions", json.dumps(body).encode(), json.dumps(answer).encode(),
        answer_headers=headers, after=after,
    )  # fmt: skip


def say(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def test_a_conversation_that_begins_with_what_a_tool_call_said_is_below_that_call(
    tmp_path: Path,
) -> None:
    helper = [say("You search.", "system"), say(PROMPT)]
    calls = seen(
        tmp_path,
        chat_call([say("hi")], tool="spawn_agent", arguments={"task": {"prompt": PROMPT}}),
        chat_call(helper, after=1),
        chat_call([*helper, say("x", "assistant"), say("y")], after=2),
        chat_call([say("quite another thing")], after=3),
    )
    asked = CallOrigin("spawn", "prompt", calls[0].session, 0, 0, "spawn_agent")
    assert [one.origin for one in calls] == [None, asked, None, None]
    assert len({one.session for one in calls}) == 3  # a child is a session, below its parent
    reports = report_sessions(calls)
    assert [one.parent for one in reports] == [None, reports[0].name, None]
    assert [label for label, _ in session_tree(reports)] == [
        "20261116-120000",
        "  20261116-120001 <- asked for by spawn_agent in entry 0",
        "20261116-120003",
    ]


def test_sub_agents_of_one_session_are_threads_below_the_call_that_started_each(
    tmp_path: Path,
) -> None:
    def sub(text: str, after: float) -> CallCopy:
        return anthropic_call({"messages": [user(text)], "system": text, **NAMED}, after=after)

    first, second = "Look at the tests of the store.", "Look at the guides, all of them."
    calls = seen(
        tmp_path,
        anthropic_call({"messages": [user("hi")], **NAMED}, tool="Task", given={"prompt": first}),
        sub(first, 1),
        anthropic_call(
            {"messages": [user("hi"), model("ok"), user("go")], **NAMED},
            tool="Task", given={"prompt": second}, after=2,
        ),
        sub(second, 3),
        sub("nobody asked for this one", 4),
    )  # fmt: skip
    assert {one.session for one in calls} == {"s-1"}
    told = [(one.thread, one.parent, one.origin and one.origin.entry) for one in calls]
    assert told == [(0, None, None), (1, 0, 0), (0, None, None), (2, 0, 2), (3, 0, None)]


def test_where_two_may_have_asked_nobody_is_named(tmp_path: Path) -> None:
    spawn: dict[str, Any] = {"tool": "spawn_agent", "arguments": {"prompt": PROMPT}}
    calls = seen(
        tmp_path,
        chat_call([say("one")], **spawn),
        chat_call([say("two")], after=1, **spawn),
        chat_call([say(PROMPT)], after=2),
    )
    assert (calls[2].origin, calls[2].parent) == (None, None)
    assert len({one.session for one in calls}) == 3


def test_a_conversation_that_is_handed_over_goes_on_beside_the_one_it_came_from(
    tmp_path: Path,
) -> None:
    def asked(system: str, *messages: dict[str, Any], **more: Any) -> CallCopy:  # noqa: ANN401
        body = {"instructions": system, "input": list(messages), "prompt_cache_key": "k"}
        return responses_call(body, **more)

    talk = [say("hi"), {"type": "function_call", "call_id": "c1", "name": "transfer_to_billing",
                        "arguments": "{}"}]  # fmt: skip
    done = {"type": "function_call_output", "call_id": "c1", "output": '{"assistant": "Billing"}'}
    back = {"type": "function_call", "call_id": "c2", "name": "transfer_to_desk",
            "arguments": "{}"}  # fmt: skip
    calls = seen(
        tmp_path,
        asked("You are the desk.", say("hi"), tool="transfer_to_billing"),
        asked("You are billing.", *talk, done, tool="transfer_to_desk", after=1),
        asked("You are the desk.", *talk, done, back, say("again"), after=2),
    )
    assert [(one.thread, one.parent) for one in calls] == [(0, None), (1, None), (0, None)]
    assert calls[1].origin == CallOrigin("handoff", "tool", "k", 0, 0, "transfer_to_billing")
    assert [one.kind for one in (calls[1].origin, calls[2].origin) if one] == ["handoff"] * 2


def responses_call(body: dict[str, Any], *, tool: str = "", after: float = 0) -> CallCopy:
    said: dict[str, Any] = {"type": "message", "role": "assistant",
                            "content": [{"type": "output_text", "text": "Yes."}]}  # fmt: skip
    if tool:
        said = {"type": "function_call", "call_id": "c1", "name": tool, "arguments": "{}"}
    answer = {"id": f"resp_{after}", "status": "completed", "output": [said],
              "usage": {"input_tokens": 50, "output_tokens": 5}}  # fmt: skip
    headers = ((b"content-type", b"application/json"),)
    sent = json.dumps({"model": "gpt-5.2", **body}).encode()
    return call_copy(
        OPENAI, "/v1/responses", sent, json.dumps(answer).encode(), answer_headers=headers,
        after=after,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("own", "told", "parent"),
    [
        # Codex: one cache key, threads by header. Claude Code: agents by header.
        ({"thread-id": "t-root"}, {"thread-id": "t-1", "x-codex-parent-thread-id": "t-root"}, 0),
        ({}, {"x-claude-code-agent-id": "a-1"}, 0),
    ],
)
def test_what_a_program_says_of_its_threads_counts(
    tmp_path: Path, own: dict[str, str], told: dict[str, str], parent: int
) -> None:
    def call(text: str, headers: dict[str, str], after: float) -> CallCopy:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        return anthropic_call({"messages": [user(text)], **NAMED}, headers=raw, after=after)

    calls = seen(tmp_path, call("hi", own, 0), call("look", told, 1), call("other", told, 2))
    assert [(one.thread, one.parent) for one in calls] == [(0, None), (1, parent), (1, None)]


def test_a_session_that_names_its_parent_is_below_it_only_if_that_was_recorded(
    tmp_path: Path,
) -> None:
    def call(text: str, session: str, parent: str, after: float) -> CallCopy:
        raw = [(b"x-session-id", session.encode()), (b"x-parent-session-id", parent.encode())]
        return anthropic_call({"messages": [user(text)]}, headers=raw, after=after)

    calls = seen(
        tmp_path, call("a", "ses_a", "", 0), call("b", "ses_b", "ses_a", 1),
        call("c", "ses_c", "ses_nobody", 2),
    )  # fmt: skip
    assert [one.parent for one in report_sessions(calls)] == [None, "ses_a", None]


@pytest.mark.parametrize(
    ("payload", "path", "what"),
    [
        ({"messages": [user("quota")], "max_tokens": 1}, "/v1/messages", "side_probe"),
        ({"messages": [user("quota")], "max_tokens": 100}, "/v1/messages", ""),
        ({"messages": [user("hi")], "system": "You are a title generator. Be brief."},
         "/v1/messages", "side_title"),
        ({"messages": [user("a"), model("b"), user("[SUGGESTION MODE: Suggest what the user might"
                                                   " type]")], "tools": [{"name": "x"}]},
         "/v1/messages", "side_suggestion"),
        ({"messages": [user("hi")]}, "/v1/messages/count_tokens?beta=true", "side_count"),
        ({"messages": [user("What is a quota?")]}, "/v1/messages", ""),
    ],
)  # fmt: skip
def test_calls_beside_a_conversation_are_labelled(
    tmp_path: Path, payload: dict[str, Any], path: str, what: str
) -> None:
    call = anthropic_call(payload)
    call.path = path
    (found,) = seen(tmp_path, call)
    assert found.what == what
    side = report_calls([found]).side
    assert [(one.what, one.calls) for one in side] == ([(what, 1)] if what else [])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "s-1", "s-2"]),  # the session it names, if any
            st.sampled_from(["one prompt here", "two prompts here", "three of them"]),
            st.sampled_from(["", "one prompt here", "two prompts here"]),  # asked of a tool
        ),
        max_size=8,
    )
)
def test_no_guess_merges_two_sessions_and_a_parent_was_there_before(
    calls: list[tuple[str, str, str]],
) -> None:
    book, places = SessionBook(), list[tuple[CallPlace, str]]()
    for number, (session, text, spawned) in enumerate(calls):
        more: dict[str, Any] = {"metadata": {"session_id": session}} if session else {}
        copy = chat_call([say("You help.", "system"), say(text)], after=number, **more)
        read = read_call(copy, ())
        assert read.wire is not None
        mark = digest_prompt(read.payload, read.wire)
        at = book.place(read, mark)
        past = PastCall(number, at.session, at.thread, read.wire, read.model, mark, BEGAN)
        book.add(past, [Action("Task", {"prompt": spawned})] if spawned else [])
        places.append((at, text))
        assert not session or at.session == session
        if at.origin is not None:
            assert at.origin.entry is not None
            assert at.origin.entry < number
            assert calls[at.origin.entry][2] == text
    for at, text in places:  # without a name, one opening is one session
        if at.by == "prefix" and at.session not in ("s-1", "s-2"):
            assert {t for other, t in places if other.session == at.session} == {text}

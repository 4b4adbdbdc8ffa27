"""Later turns see what was called and what came of it, and what a message answered."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.one_step import one_step

from mentis.app.agent import Agent
from mentis.codec.forms import to_json
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ports.act_handler import RecordingHandler
from mentis.record.stored_turns import answer_turns, question_turn
from mentis.values.action import Action, Outcome
from mentis.values.part import (
    ProviderState,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.request import ReplyTo
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust
from mentis.values.turn import Turn

STATE = ProviderState("anthropic", "m", {"signature": "s"})
CALL = ToolCallPart("c1", "look", {"at": "sky"}, STATE)
DONE = Outcome(Action("look", {"at": "sky"}, call_id="c1"), "done", text="blue")


def test_an_answer_is_kept_with_its_calls_its_state_and_its_results() -> None:
    thought = ReasoningPart("hm", STATE)
    reply = Reply("Let me see.", "tool_use", parts=(thought, TextPart("Let me see."), CALL))
    assert answer_turns(reply, [DONE], at_once=True) == (
        Turn("assistant", (thought, TextPart("Let me see."), CALL), Trust.SELF),
        Turn("user", (ToolResultPart("c1", "look", "blue"),), Trust.UNTRUSTED),
    )


def test_a_result_keeps_the_trust_of_what_was_answered() -> None:
    reply = Reply("", "tool_use", parts=(CALL,))
    for trust in Trust:
        (_, results) = answer_turns(reply, [replace(DONE, trust=trust)], at_once=True)
        assert results.parts == (ToolResultPart("c1", "look", "blue", trust=trust),)
        assert results.lineage is Trust.UNTRUSTED


@pytest.mark.parametrize(
    ("reason", "text", "told"),
    [
        ("ZeroDivisionError", "", "crashed: ZeroDivisionError"),
        ("exit code 1", "no such file", "crashed: exit code 1\nno such file"),
        ("", "", "crashed"),
    ],
)
def test_what_failed_is_told_with_its_state_its_reason_and_what_came(
    reason: str, text: str, told: str
) -> None:
    failed = Outcome(DONE.action, "crashed", reason=reason, text=text)
    (_, results) = answer_turns(Reply("", "tool_use", parts=(CALL,)), [failed], at_once=True)
    assert results.parts == (ToolResultPart("c1", "look", told, failed=True),)


def test_what_waits_has_not_failed_and_is_told_with_its_key() -> None:
    waits = Outcome(DONE.action, "waiting", reason="ask first", key="k1")
    (_, results) = answer_turns(Reply("", "tool_use", parts=(CALL,)), [waits], at_once=True)
    assert results.parts == (ToolResultPart("c1", "look", "waiting: ask first\nact: k1"),)


def test_a_call_that_was_never_judged_and_a_broken_thought_are_left_out() -> None:
    parts = (ReasoningPart("hm", STATE), TextPart("Let me"), CALL)
    reply = Reply("Let me", "interrupted", parts=parts)
    turn = Turn("assistant", (TextPart("Let me"),), Trust.SELF, "interrupted")
    assert answer_turns(reply, [], at_once=True) == (turn,)
    assert answer_turns(Reply("", "interrupted", parts=parts[::2]), [], at_once=True) == ()


def test_the_text_of_the_turn_is_the_text_of_the_reply_whatever_its_parts_are() -> None:
    reply = Reply("One.\n\nTwo.", "end", parts=(TextPart("One."), TextPart("Two."), CALL))
    for at_once in (True, False):
        said, _ = answer_turns(reply, [DONE], at_once=at_once)
        assert said.text == reply.text
        assert said.parts[-1] == CALL


def test_a_message_is_kept_with_what_it_answers() -> None:
    stimulus = Stimulus("Yes.", reply_to=ReplyTo("The blue\nbike?", author="Lena"))
    turn = question_turn(stimulus, "complete")
    assert turn.text == "> Lena: The blue\n> bike?\n\nYes."
    assert turn.lineage is Trust.UNTRUSTED
    assert question_turn(Stimulus("Yes."), "complete").lineage is Trust.OWNER


def test_the_lineage_of_an_answer_is_that_of_what_it_was_made_from() -> None:
    reply = Reply("It is blue.", "end", parts=(TextPart("It is blue."),))
    (said,) = answer_turns(reply, [], at_once=True, lineage=Trust.UNTRUSTED)
    assert said == Turn("assistant", (TextPart("It is blue."),), Trust.UNTRUSTED)


def test_a_guests_message_is_kept_as_untrusted() -> None:
    assert (
        question_turn(Stimulus("Hi", trust=Trust.UNTRUSTED), "complete").lineage is Trust.UNTRUSTED
    )


LOOK = ToolDeclaration("look", "Looks.", {"type": "object", "properties": {"at": {}}})
CALLING: dict[str, dict[str, Any]] = {
    "openai": {
        "choices": [
            {
                "delta": {
                    "content": "Let me see.",
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_1",
                            "function": {"name": "look", "arguments": '{"at": "sky"}'},
                        }
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ]
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "sky"}},
        ],
        "stop_reason": "tool_use",
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Let me see."},
                        {
                            "functionCall": {"name": "look", "args": {"at": "sky"}},
                            "thoughtSignature": "c2lnbmVk",
                        },
                    ],
                },
                "finishReason": "STOP",
            }
        ]
    },
}


WORDS: dict[str, dict[str, Any]] = {
    "openai": {"choices": [{"delta": {"content": "Blue."}, "finish_reason": "stop"}]},
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Blue."}],
        "stop_reason": "end_turn",
    },
    "gemini": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "Blue."}]}, "finishReason": "STOP"}
        ]
    },
}


class Server:
    """Answers with these events, one for each call, and keeps what it was sent."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self._events = list(events)
        self.sent: list[dict[str, Any]] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        self.sent.append(json.loads(rendering.body()))
        yield _once(json.dumps(self._events.pop(0)))


async def _once(event: str) -> AsyncIterator[str]:
    yield event


def _unmarked(messages: list[dict[str, Any]]) -> list[Any]:
    """Without the marks for a cache, which move on from turn to turn."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            members = cast("dict[str, object]", value).items()
            return {name: plain(member) for name, member in members if name != "cache_control"}
        return [plain(v) for v in cast("list[object]", value)] if isinstance(value, list) else value

    return [plain(message) for message in messages]


def _server(backend: str) -> Server:
    return Server(CALLING[backend], WORDS[backend], WORDS[backend])


@pytest.mark.anyio
@pytest.mark.parametrize("backend", sorted(CALLING))
async def test_the_next_request_holds_the_call_and_its_result(tmp_path: Path, backend: str) -> None:
    home = one_step(create_home(tmp_path / "home"))
    with (home / "mentis.toml").open("a") as file:
        file.write(f'\n[routes.default]\nbackend = "{backend}"\nmodel = "m"\n')
        file.write('url = "http://127.0.0.1:9/v1"\n')
    provider, look = _server(backend), RecordingHandler(LOOK, "it is blue")
    async with Agent.open(home, parts=Parts(provider=provider, handlers=(look,))) as agent:
        await agent.chat("What colour is the sky?")
        await agent.chat(Stimulus("And?", reply_to=ReplyTo("a quote", author="Lena")))
        await agent.chat("Thanks")
        assert agent.verify().intact
        assert [turn.role for turn in agent.history()][:3] == ["user", "assistant", "user"]
        lineages = [turn.lineage for turn in agent.history() if turn.role == "assistant"]
        # Only the first answer was made without a result or a quotation in sight.
        assert lineages == [Trust.SELF, Trust.UNTRUSTED, Trust.UNTRUSTED]
    assert len(look.handled) == 1
    for sent in provider.sent[1:]:
        body = json.dumps(sent)
        assert re.search(r"<untrusted (\w{12})>\\nit is blue\\n</untrusted \1>", body)
        assert '"sky' in body or '\\"sky' in body
        assert body.index("sky?") < body.index("Let me see.") < body.index("it is blue")
        assert "> Lena: a quote" in body
    key = "contents" if backend == "gemini" else "messages"
    earlier, later = (_unmarked(sent[key]) for sent in provider.sent[1:])
    assert later[: len(earlier) - 1] == earlier[:-1]
    if backend == "gemini":
        assert "c2lnbmVk" in json.dumps(provider.sent[-1])


@pytest.mark.anyio
async def test_a_result_that_was_changed_afterwards_is_found(tmp_path: Path) -> None:
    home = one_step(create_home(tmp_path / "home"))
    with (home / "mentis.toml").open("a") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    look = RecordingHandler(LOOK, "it is blue")
    async with Agent.open(home, parts=Parts(provider=_server("openai"), handlers=(look,))) as agent:
        await agent.chat("What colour is the sky?")
        assert agent.verify().intact
        forged = replace(agent.history()[2], parts=(ToolResultPart("call_1", "look", "green"),))
        with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
            statement = "UPDATE turns SET turn = ? WHERE number = 2"
            connection.execute(statement, (to_json(forged).decode(),))
        assert [finding.message for finding in agent.verify().findings] == [
            "the calls of this turn or their results are not in the conversation as they were"
        ]

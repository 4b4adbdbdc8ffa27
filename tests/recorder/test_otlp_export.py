"""A record as GenAI spans: what is written is what our own receiver reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import rounds
from tests.rounds import Rounds

from mentis import Agent, Parts, create_home, tool
from mentis.recorder.otlp import JSON, read_request, read_spans
from mentis.recorder.recording import open_recording
from mentis.recorder.trace_tree import TraceTree
from mentis.surfaces.cli.main import cli
from mentis.testing import HashEmbedder

from .foreign import MODEL, anthropic_call, user


@tool
def temperature(city: str) -> str:
    """How warm it is somewhere.

    Args:
        city: Where.
    """
    return f"17 degrees in {city}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = create_home(tmp_path / "home")
    with (made / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    return made


def exported(home: Path, file: Path, *more: str) -> list[dict[str, Any]]:
    """The requests in the file."""
    command = ["--home", str(home), "ledger", "export", str(file), "--format", "otel", *more]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def spans_in(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    scopes = [one for request in requests for one in request["resourceSpans"][0]["scopeSpans"]]
    return [span for scope in scopes for span in scope["spans"]]


@pytest.mark.anyio
async def test_turns_calls_and_acts_are_a_tree_with_the_same_ids_each_time(
    home: Path, tmp_path: Path
) -> None:
    said = "The secret of the lighthouse"
    provider = Rounds(
        rounds.calls(("a", "temperature", {"city": "Berlin"})), rounds.says("It is warm.")
    )
    parts = Parts(embedder=HashEmbedder())
    async with Agent.open(home, tools=[temperature], provider=provider, parts=parts) as agent:
        await agent.chat(said, session="kitchen")
        (entry,) = [one for one in agent.entries() if one.kind == "turn"]
    requests = exported(home, tmp_path / "spans.jsonl")
    assert requests == exported(home, tmp_path / "again.jsonl")
    root, *below = spans_in(requests)
    assert root["name"] == "invoke_agent ada"
    assert sorted(one["name"] for one in below) == ["chat m", "chat m", "execute_tool temperature"]
    assert {one["parentSpanId"] for one in below} == {root["spanId"]}
    assert {one["traceId"] for one in below} == {root["traceId"]}
    assert len({one["spanId"] for one in (root, *below)}) == 4
    assert {"key": "mentis.entry.hash", "value": {"stringValue": entry.hash}} in root["attributes"]
    assert said not in json.dumps(requests)
    read = read_spans(read_request(json.dumps(requests[0]).encode(), JSON), TraceTree("test"))
    assert read.rejected == 0
    assert [(one.request["model"], one.source.session) for one in read.calls] == [
        ("m", "kitchen")
    ] * 2
    assert [one.source.above for one in read.calls] == [("agent ada",)] * 2


def test_what_is_exported_of_a_recorded_agent_our_receiver_takes_as_the_same_calls(
    home: Path, tmp_path: Path
) -> None:
    told = {"metadata": {"session_id": "talk-1"}, "messages": [user("hi")]}
    broken = anthropic_call(told, after=9)
    broken.end, broken.status, broken.reason = "unreachable", 0, "ConnectError: nobody there"
    with open_recording(home, "agent", tell=pytest.fail) as recording:
        recording.offer(anthropic_call(told, fresh=10, read=2000, written=300))
        recording.offer(broken)
    requests = exported(home, tmp_path / "spans.jsonl", "--persona", "recorded/agent")
    read = read_spans(read_request(json.dumps(requests[0]).encode(), JSON), TraceTree("test"))
    first, second = read.calls
    answer: Any = first.answer
    assert (first.provider, first.request["model"], first.source.session, first.seconds) == (
        "anthropic",
        MODEL,
        "talk-1",
        1.5,
    )
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (2310, 7)
    assert usage["prompt_tokens_details"] == {"cached_tokens": 2000, "cache_write_tokens": 300}
    assert (second.answer, second.error) == (None, "ConnectError: nobody there")

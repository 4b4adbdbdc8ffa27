"""A recorder that repairs: what arrives, what is kept, and how many tokens a model reads for it."""

from __future__ import annotations

import json
from threading import Event
from typing import Any, BinaryIO

import httpx2
import pytest

from mentis.engines.embedded import path_of
from mentis.engines.engine import EngineKey, load_engine, release_engines
from mentis.recorder.call_copy import CallCopy, ListedCalls
from mentis.recorder.repair import Repairer
from mentis.recorder.targets import make_target
from mentis.settings.recorder import REPAIR_RULES, RepairRule

from .conftest import JSON, ProxyChoice, Received, running_proxy, upstream_server

LINE = "x-anthropic-billing-header: cc_version=2.1.0.abc; cc_entrypoint=cli; cch={};\n"
SYSTEM = "You are a helpful assistant. " + "Answer in one short sentence. " * 40


def asked(nonce: str, *messages: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    said = [{"role": roles[number % 2], "content": text} for number, text in enumerate(messages)]
    system = {"role": "system", "content": LINE.format(nonce) + SYSTEM}
    return {"model": "m", "max_tokens": 4, "temperature": 0, "messages": [system, *said]}


def call_twice(url: str, messages: str = "What is a bicycle?") -> list[bytes]:
    bodies = [asked("aaaaa", messages), asked("b1b1b1", messages, "It rolls.", "Is it fast?")]
    sent = [json.dumps(body, indent=2).encode() for body in bodies]
    for body in sent:
        answer = httpx2.post(f"{url}/v1/chat/completions", content=body, timeout=120)
        assert answer.status_code == 200
    return sent


def test_a_repaired_call_arrives_whole_and_its_copy_has_both_bodies() -> None:
    calls = ListedCalls()
    with upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        with running_proxy(targets, calls, ProxyChoice(repairer=Repairer(REPAIR_RULES))) as base:
            first, second = call_twice(f"{base}/stub")
    arrived = [one.body for one in upstream.received]
    assert arrived == [first, second.replace(b"b1b1b1", b"aaaaa")]
    assert upstream.received[1].header("content-length") == str(len(arrived[1]))
    assert [copy.request.content() for copy in calls.calls] == arrived
    originals = [copy.original.content() for copy in calls.calls if copy.original]
    assert originals == [second]


def test_a_repair_that_breaks_sends_what_the_program_said() -> None:
    class Broken(Repairer):
        def repair(self, call: CallCopy, body: bytes) -> None:
            raise KeyError("a mistake of ours")

    calls, heard = ListedCalls(), list[str]()
    with upstream_server() as upstream:
        targets = {"stub": make_target("stub", upstream.url)}
        proxy = running_proxy(targets, calls, ProxyChoice(repairer=Broken(()), tell=heard.append))
        with proxy as base:
            sent = call_twice(f"{base}/stub")
    assert [one.body for one in upstream.received] == sent
    assert heard == ["a call was not repaired: KeyError: 'a mistake of ours'"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "fewer"), [((), False), (("nonce",), True)], ids=["as it came", "repaired"]
)
def test_a_real_model_reads_fewer_tokens_of_a_repaired_prompt(
    rules: tuple[RepairRule, ...], fewer: bool
) -> None:
    """The embedded model, which keeps what it read and says how much of it was found again."""
    engine = load_engine(EngineKey(path_of("smollm2-135m"), 2048, 1), rules, lambda: None)
    read: list[tuple[int, int]] = []

    def answer(request: Received, out: BinaryIO) -> None:
        events: list[dict[str, Any]] = []

        def take(event: str) -> bool:
            events.append(json.loads(event))
            return False

        body = {**json.loads(request.body), "cache_prompt": True, "stream": True}
        engine.chat(json.dumps(body), take, Event().is_set)
        timings = next(one["timings"] for one in reversed(events) if "timings" in one)
        read.append((timings["prompt_n"], timings["cache_n"]))
        out.write(JSON % (2, b"{}"))

    try:
        with upstream_server() as upstream:
            upstream.answer = answer
            targets = {"stub": make_target("stub", upstream.url)}
            repairer = Repairer(rules) if rules else None
            with running_proxy(targets, ListedCalls(), ProxyChoice(repairer=repairer)) as base:
                call_twice(f"{base}/stub", f"What is a bicycle, {rules}?")
    finally:
        release_engines(rules)
    _, (prefilled, found) = read
    whole = prefilled + found
    # The nonce stands in the first line: without a repair hardly anything of the prompt is found.
    assert (prefilled < whole // 4) is fewer, read

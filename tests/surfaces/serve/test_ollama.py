"""The calls of Ollama's protocol, as its clients make them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rounds import Rounds, calls, says
from tests.surfaces.serve.served import PERSONA, make_home, serving
from tests.surfaces.serve.test_openai import PIXEL, README, TOOL, thinks, user


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


def test_what_clients_probe_is_answered(home: Path) -> None:
    with serving(home, Rounds()) as one:
        assert one.get("/api/version").json()["version"]
        (tag,) = one.get("/api/tags").json()["models"]
        assert tag["name"] == PERSONA
        shown = one.post("/api/show", {"model": f"{PERSONA}:latest"}).json()
        assert "tools" in shown["capabilities"]
        assert shown["model_info"]["mentis.context_length"] > 0
        missing = one.post("/api/show", {"model": "llama"})
        assert (missing.status_code, [*missing.json()]) == (404, ["error"])


def test_an_answer_comes_in_lines_unless_it_is_asked_for_whole(home: Path) -> None:
    with serving(home, Rounds(thinks("Hm.", "Good morning."), says("Good night."))) as one:
        said = [user("Hello!")]
        streamed = one.post("/api/chat", {"model": PERSONA, "messages": said})
        lines = [json.loads(line) for line in streamed.text.splitlines()]
        body = {"model": PERSONA, "messages": [user("Bye!")], "stream": False}
        whole = one.post("/api/chat", body).json()
    assert "".join(line["message"]["content"] for line in lines) == "Good morning."
    assert "".join(line["message"].get("thinking", "") for line in lines) == "Hm."
    assert [line["done"] for line in lines].count(True) == 1
    assert (lines[-1]["prompt_eval_count"], lines[-1]["eval_count"]) == (100, 10)
    assert whole["message"] == {"role": "assistant", "content": "Good night."}


def test_results_without_ids_are_those_of_the_calls_before_them(home: Path) -> None:
    with serving(home, Rounds(calls(README), says("It says hello."))) as one:
        asked = [user("What does it say?")]
        body = {"model": PERSONA, "messages": asked, "tools": [TOOL], "stream": False}
        first = one.post("/api/chat", body).json()["message"]
        assert first["tool_calls"][0]["function"]["arguments"] == {"path": "README.md"}
        going_on = [*asked, first, {"role": "tool", "tool_name": "Read", "content": "hello"}]
        last = one.post("/api/chat", {**body, "messages": going_on}).json()
        assert last["message"]["content"] == "It says hello."
        assert len(one.sessions()) == 1
        assert one.verify()


def test_an_image_is_shown_to_the_model(home: Path) -> None:
    with serving(home, Rounds(says("A dot."))) as one:
        message = {**user("What is it?"), "images": [PIXEL]}
        one.post("/api/chat", {"model": PERSONA, "messages": [message]})
    assert PIXEL in json.dumps(one.provider.sent[0])

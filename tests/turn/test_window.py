"""With `status.window = "model"` answers open with a window: withheld, judged, held to account."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from mentis.app.agent import Agent
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.guardian.examples import good_window
from mentis.ports.act_handler import RecordingHandler
from mentis.status.statuses import open_statuses
from mentis.turn.window import verdict_senses
from mentis.values.rendering import Rendering
from mentis.values.reply import AgainDelta, Delta, TextDelta
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_step")]

MAIL = ToolDeclaration("send_mail", "Sends a mail.", {"type": "object", "properties": {}})


class Model:
    """Answers in turn: words and names of tools to call, in small pieces."""

    def __init__(self, *answers: tuple[str, Sequence[str]]) -> None:
        self._answers = list(answers)
        self.sent: list[Rendering] = []

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        assert route.name
        self.sent.append(rendering)
        yield _events(*self._answers.pop(0))


async def _events(text: str, calls: Sequence[str]) -> AsyncIterator[str]:
    for start in range(0, len(text), 17):
        yield json.dumps({"choices": [{"delta": {"content": text[start : start + 17]}}]})
    told = [
        {"index": n, "id": f"c{n}", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(calls)
    ]
    delta = {"tool_calls": told} if told else {}
    end = "tool_calls" if told else "stop"
    yield json.dumps({"choices": [{"delta": delta, "finish_reason": end}]})


def window(*actions: str, cycle: int = 1, **changed: object) -> str:
    own = {"goal": "Answer Lena", "cycle": f"{cycle}/5", "actions": list(actions)}
    return f"```json\n{json.dumps({**good_window(), **own, **changed}, indent=1)}\n```\n\n"


def body(entry: object) -> dict[str, Any]:
    return cast("dict[str, Any]", cast("Any", entry).body)


def opened(tmp_path: Path, model: Model, *, mode: str = "model") -> tuple[Agent, RecordingHandler]:
    home = tmp_path / "home"
    if not home.exists():
        create_home(home)
        with (home / "mentis.toml").open("a") as file:
            file.write('\n[routes.default]\nurl = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
            file.write(f'\n[status]\nwindow = "{mode}"\n\n[correction]\ncalls = 2\n')
    mail = RecordingHandler(MAIL, "sent")
    return Agent.open(home, parts=Parts(provider=model, handlers=(mail,))), mail


async def test_the_window_is_withheld_judged_stamped_and_matched(tmp_path: Path) -> None:
    model = Model(
        (window("Send the mail to Lena", "Say so") + "It is sent.", ["send_mail"]),
        (window("Say so", cycle=2) + "Yes.", []),
    )
    agent, mail = opened(tmp_path, model)
    heard: list[Delta] = []
    async with agent:
        result = await agent.chat("Write to Lena", on_delta=heard.append)
        again = await agent.chat("Really?")
        history = agent.history()
        verdict = agent.verify()
        senses = verdict_senses(agent.entries()[: result.entry.index + 1])
    assert "".join(one.text for one in heard if isinstance(one, TextDelta)) == "It is sent."
    assert [turn.text for turn in history if turn.role == "assistant"] == ["It is sent.", "Yes."]
    told = body(result.entry)
    assert len(mail.handled) == 1
    assert told["claims"]["verdict"] == "match"
    assert told["judgement"]["persist"] == "commit"
    assert (told["window"]["goal"], told["state"]["cycle"]) == ("Answer Lena", 1)
    assert told["window"]["prev_window_hash"] == result.entry.prev
    assert verdict.intact
    # The next turn is told what came of it, and which step is next.
    payload = model.sent[1].body().decode()
    assert "window_verdict" in payload
    assert "2/5" in payload
    assert body(again.entry)["state"]["cycle"] == 2
    assert [dict(sense.payload)["match"] for sense in senses] == [["send_mail"]]
    with open_statuses(tmp_path / "home", readonly=True) as statuses:
        latest = statuses.latest(2, windows=True)
        assert [entry.index for entry in latest] == [result.entry.index, again.entry.index]
        assert (statuses.window(latest[0]) or {})["window_hash"] == result.entry.hash
        assert statuses.backend_state().cycle == "3/5"


async def test_a_model_that_claims_an_act_it_did_not_do_is_found_out(tmp_path: Path) -> None:
    model = Model(
        (window("Send the mail to Lena") + "I have sent it.", []),
        (window("Say so", cycle=2) + "Sorry.", []),
    )
    agent, mail = opened(tmp_path, model)
    async with agent:
        result = await agent.chat("Write to Lena")
        await agent.chat("Did you?")
    assert not mail.handled
    found = body(result.entry)["claims"]
    assert found["verdict"] == "unsupported"
    assert found["claims"][0]["why"] == "nothing of the kind was tried"
    payload = model.sent[1].body().decode()
    assert '\\"unsupported\\":[\\"send_mail\\"]' in payload


async def test_an_act_that_no_action_names_is_a_finding_of_the_window(tmp_path: Path) -> None:
    model = Model((window("Say hello") + "Hello.", ["send_mail"]))
    agent, mail = opened(tmp_path, model)
    async with agent:
        result = await agent.chat("Hello")
    assert mail.handled
    judged = body(result.entry)["judgement"]
    (found,) = judged["findings"]
    assert (found["rule"], found["level"]) == ("S2-W-AUTONOMY", "warn")
    assert "send_mail" in found["what"]
    assert "S2-W-AUTONOMY" not in judged["unjudged"]


async def test_a_turn_without_a_window_that_holds_asks_the_next_for_a_recovery(
    tmp_path: Path,
) -> None:
    red: dict[str, Any] = {"output_plan": ["Repair the chain"]}
    red["critical_summary"] = {"status": "RED"}
    model = Model(
        ("No window.", []),
        ("Still none.", []),
        (window("Start the recovery", **red) + "Sorry.", []),
        (window("Go on", cycle=2) + "Yes.", []),
    )
    agent, _ = opened(tmp_path, model)
    async with agent:
        skipped = await agent.chat("Hello")
        with open_statuses(tmp_path / "home", readonly=True) as statuses:
            assert statuses.backend_state().after_breach
        answered = await agent.chat("And now?")
        following = await agent.chat("Good")
    assert "window" not in body(skipped.entry)
    assert '\\"after_breach\\":true' in model.sent[2].body().decode()
    assert body(answered.entry)["window"]["critical_summary"] == {"status": "RED"}
    assert body(following.entry)["state"]["after_breach"] is False


async def test_what_every_window_should_carry_is_told_with_the_state(tmp_path: Path) -> None:
    model = Model((window("Say hello") + "Hello.", []), (window("Go", cycle=2) + "Yes.", []))
    agent, _ = opened(tmp_path, model)
    folder = tmp_path / "home" / "status" / "ada"
    async with agent:
        await agent.chat("Hello")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "persistent_context.json").write_text('{"team": "Größe"}', encoding="utf-8")
        (folder / "project_awareness.json").write_text("[", encoding="utf-8")
        await agent.chat("And now?")
    before, after = (one.body().decode() for one in model.sent)
    assert '\\"project_awareness\\":{\\"home\\":\\"home\\",\\"persona\\":\\"ada\\"' in before
    assert '{\\"default\\":\\"m\\"}' in before
    assert '\\"persistent_context\\":' not in before
    assert '\\"persistent_context\\":{\\"team\\":\\"Größe\\"}' in after
    assert '\\"unreadable\\":\\"project_awareness.json' in after


async def test_a_fork_does_not_hear_the_verdict_in_the_place_of_a_turn(tmp_path: Path) -> None:
    model = Model((window("`send_mail` to Lena") + "Done.", []), (window(cycle=2) + "Yes.", []))
    agent, _ = opened(tmp_path, model)
    async with agent:
        first = await agent.chat("Write to Lena")
        fork = agent.fork(first.entry.index, {"style": "Be brief."})
        forked = await agent.run_fork(fork, script=[window(cycle=2) + "Brief."])
        senses = verdict_senses(agent.entries())
        await agent.chat("Really?")
    assert "fork" in forked.entry.body
    assert [sense.payload["verdict"] for sense in senses] == ["unsupported"]
    assert "window_verdict" in model.sent[1].body().decode()


async def test_a_window_that_is_refused_is_asked_for_again_before_anything_is_done(
    tmp_path: Path,
) -> None:
    model = Model(
        (window("Send the mail").replace('"goal"', '"gaol"') + "Sent.", ["send_mail"]),
        (window("Send the mail") + "Sent now.", ["send_mail"]),
    )
    agent, mail = opened(tmp_path, model)
    heard: list[Delta] = []
    async with agent:
        result = await agent.chat("Write to Lena", on_delta=heard.append)
    assert any(isinstance(one, AgainDelta) and not one.keeps for one in heard)
    assert len(mail.handled) == 1
    assert (result.reply.text, len(result.model_calls)) == ("Sent now.", 2)
    assert body(result.entry)["window"]["goal"] == "Answer Lena"


async def test_an_answer_without_a_good_window_stands_once_no_call_is_left(tmp_path: Path) -> None:
    bad = window("Send the mail", confidence=7)
    model = Model((bad + "One.", ["send_mail"]), (bad + "Two.", ["send_mail"]))
    agent, mail = opened(tmp_path, model)
    async with agent:
        result = await agent.chat("Write to Lena")
        verdict = agent.verify()
    told = body(result.entry)
    assert "window" not in told
    assert told["judgement"]["persist"] == "quarantine"
    assert told["refused_window"]["confidence"] == 7
    assert (len(mail.handled), told["claims"]["verdict"], verdict.intact) == (1, "match", True)


async def test_an_answer_is_never_lost_in_a_window_that_cannot_be_read(tmp_path: Path) -> None:
    unclosed = window("Say so").replace("\n}\n```", "") + "The answer: 42."
    json_answer = json.dumps({"goal": "Trip", "actions": ["book"], "confidence": 1})
    doubled = window("Say so").replace('"goal"', '"goal": "x", "goal"', 1)
    answers = [(text, ()) for text in (*[unclosed] * 2, *[json_answer] * 2, *[doubled] * 2)]
    agent, _ = opened(tmp_path, Model(*answers))
    heard: list[Delta] = []
    async with agent:
        first = await agent.chat("What is it?", on_delta=heard.append)
        second = await agent.chat("Give me JSON")
        third = await agent.chat("And now?")
    assert first.reply.text.endswith("The answer: 42.")
    last = heard[next(n for n, one in enumerate(heard) if isinstance(one, AgainDelta)) :]
    assert "".join(one.text for one in last if isinstance(one, TextDelta)) == first.reply.text
    assert second.reply.text == json_answer
    # What nobody is told and nobody can read stands in the record as it was written.
    assert body(third.entry)["withheld"] == doubled.rstrip() + "\n"


async def test_without_the_setting_nothing_of_it_is_there(tmp_path: Path) -> None:
    model = Model((window("Say so") + "Hello.", []))
    agent, _ = opened(tmp_path, model, mode="off")
    async with agent:
        result = await agent.chat("Hello")
    assert result.reply.text.startswith("```json")
    assert not {"window", "claims", "judgement"} & set(result.entry.fields)
    assert "Open every answer" not in model.sent[0].body().decode()

"""`mentis tick`: one moment of thinking, from the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from mentis.settle.output_ir import write_output_ir
from mentis.values.json import JsonObject

from .conftest import Mentis

NOTHING: JsonObject = {}
ANSWER = write_output_ir(
    {
        "acts": [{"endpoint_id": "moon", "neural_signal_descriptor_id": "fly", "payload": NOTHING}],
        "goal-tree-patch": [
            {
                "op": "sprout",
                "parent_node_id": "user-root",
                "node_id": "umbrella",
                "summary": "Find the umbrella",
                "weight": 5,
            },
            {"op": "prune", "node_id": "user-root"},
        ],
        "l1-memory-patch": [{"op": "append", "value": "It rains."}],
    }
)


SPROUTED = {"parent": "user-root", "id": "umbrella", "text": "Find the umbrella", "weight": 5}


@pytest.fixture
def thinking(home: Path) -> Path:
    """A home whose primary plays a script, by text."""
    told = f"""
[routes.primary]
backend = "scripted"
replies = [{json.dumps(ANSWER)}, "I do not know."]
facts = {{native_tools = false}}
"""
    toml = home / "mentis.toml"
    toml.write_text(toml.read_text(encoding="utf-8") + told, encoding="utf-8")
    return home


def sensed(monkeypatch: pytest.MonkeyPatch, *senses: JsonObject) -> None:
    text = "\n".join(json.dumps(sense) for sense in senses)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_tick_shows_what_was_done_kept_and_dropped(
    mentis: Mentis, thinking: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensed(monkeypatch, {"text": "It rains."})
    done = mentis("--home", thinking, "tick", "--sense", "-", "--events", thinking / "events.jsonl")
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            f"did    sprout {json.dumps(SPROUTED)}",
            'not    prune {"id": "user-root"}: user-root holds all goals and stays',
            'did    append {"text": "It rains."}',
            "drop   acts 0: the catalogue has no act 'moon/fly'",
            "state  revision 1",
        ],
    )
    assert "recorded as entry" in done.err
    events = [json.loads(one) for one in (thinking / "events.jsonl").read_text().splitlines()]
    assert [one["event"] for one in events][:2] == ["tick_started", "input_ir_sense"]
    assert "cli/input" in events[1]["text"]
    assert mentis("--home", thinking, "status", "verify").code == 0


def test_a_tick_in_json_carries_report_state_and_the_senses_of_the_next(
    mentis: Mentis, thinking: Path
) -> None:
    told: Any = mentis("--home", thinking, "tick", "--json").json()
    assert told["state"]["revision"] == 1
    assert [one["stage"] for one in told["tick"]["report"]["stages"]][3] == "primary"
    assert [one["kind"] for one in told["senses"]] == ["draft.dropped"]
    assert isinstance(told["entry"], int)
    for command in (
        ("replay", str(told["entry"])),
        ("fork", str(told["entry"]), "--block", "style=/dev/null"),
    ):
        refused = mentis("--home", thinking, *command)
        assert (refused.code, "is a tick" in refused.err) == (1, True)
        assert "older" not in refused.err


def test_a_tick_that_comes_to_nothing_says_so_with_exit_code_1(
    mentis: Mentis, thinking: Path
) -> None:
    toml = (thinking / "mentis.toml").read_text(encoding="utf-8")
    (thinking / "mentis.toml").write_text(toml.replace("output-ir", "out"), encoding="utf-8")
    done = mentis("--home", thinking, "tick")
    assert done.code == 1
    assert "primary: failed: the output contract: no-root" in done.err
    assert "nothing came of it: primary_contract" in done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"kind": "x", "payload": {}, "trust": "owner"}', "--owner"),
        ("[1]", "a sense is a JSON object"),
        ("nonsense", "line 1: not JSON"),
        ('{"a":' * 9000 + "1" + "}" * 9000, "nested more than 200 levels deep"),
        ('{}\n{"a":' + "[" * 9000 + "]" * 9000 + "}", "nested more than 200 levels deep"),
        ('{"kind": "hibernate", "payload": {}}', "stops the loop"),
    ],
)
def test_what_is_no_sense_is_refused(mentis: Mentis, thinking: Path, given: str, said: str) -> None:
    (thinking / "sense.json").write_text(given, encoding="utf-8")
    done = mentis("--home", thinking, "tick", "--sense", thinking / "sense.json")
    assert done.code in (1, 2)
    assert said in done.err


def test_a_helper_that_keeps_failing_is_seen_in_the_health(mentis: Mentis, thinking: Path) -> None:
    toml = thinking / "mentis.toml"
    text = toml.read_text(encoding="utf-8")
    text += '\n[routes.sense_helper]\nbackend = "scripted"\nreplies = []\n'
    toml.write_text(text, encoding="utf-8")
    (thinking / "sense.json").write_text('{"text": "It rains."}', encoding="utf-8")
    for n in (1, 2, 3):
        done = mentis("--home", thinking, "tick", "--sense", thinking / "sense.json")
        assert ("alarm: sense_helper failed 3 times in a row" in done.err) == (n == 3)
    health = mentis("--home", thinking, "status", "health")
    assert "alarm: sense_helper failed 3 times in a row" in health.err
    told: Any = mentis("--home", thinking, "status", "health", "--json").json()
    assert [one["stage"] for one in told["alarms"]] == ["sense_helper"]

"""`mentis persona update` and `review`, on a model that calls tools in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Mentis

FACT = "# Memory\n\n- Lena plays the cello.\n"
REPLIES = [
    json.dumps({"actions": [{"type": "read_file", "payload": {"filename": "memory.md"}}]}),
    json.dumps(
        {"actions": [{"type": "write_file", "payload": {"filename": "memory.md", "content": FACT}}]}
    ),
    "I noted that.",
]


@pytest.fixture
def talked(mentis: Mentis, home: Path) -> Path:
    with (home / "mentis.toml").open("a") as file:
        file.write('\n[routes.persona_update]\nbackend = "scripted"\nmodel = "s"\n')
        file.write("facts = { native_tools = false }\nreplies = [\n")
        file.write("".join(f"  {json.dumps(reply)},\n" for reply in REPLIES) + "]\n")
        file.write('\n[persona_update]\nfrequency = "frequent"\nwindow_messages = 10\n')
    for text in ("I am Lena.", "I play the cello."):
        assert mentis("--home", home, "chat", text).code == 0
    return home


def test_an_update_is_made_by_hand_reviewed_accepted_and_undone(
    mentis: Mentis, talked: Path
) -> None:
    done = mentis("--home", talked, "persona", "update")
    assert done.code == 0, done.err
    assert "memory.md: revision 2" in done.err
    assert "read 4 messages" in done.err
    shown = mentis("--home", talked, "persona", "review")
    assert "+- Lena plays the cello." in shown.out
    found: Any = json.loads(mentis("--home", talked, "persona", "review", "--json").out)
    assert [(one["name"], one["number"]) for one in found] == [("memory", 2)]
    assert mentis("--home", talked, "persona", "review", "--accept").code == 2
    accepted = mentis("--home", talked, "persona", "review", "memory", "--accept", "-m", "true")
    assert accepted.code == 0, accepted.err
    recorded: Any = mentis("--home", talked, "ledger", "show", "--last", "1", "--json").json()
    (entry,) = recorded["entries"]
    assert accepted.err == f"memory.md: revision 2 is accepted [entry {entry['index']}]\n"
    assert "nothing is in review" in mentis("--home", talked, "persona", "review").err
    assert mentis("--home", talked, "persona", "undo", "memory").code == 0
    assert "cello" not in mentis("--home", talked, "persona", "files", "memory").out
    again = mentis("--home", talked, "persona", "update")
    assert again.code == 2
    assert "it takes 4" in again.err


def test_it_runs_after_a_chat_when_it_is_due_and_a_failure_shows_in_health(
    mentis: Mentis, talked: Path
) -> None:
    text = (talked / "mentis.toml").read_text()
    (talked / "mentis.toml").write_text(text.replace(f"  {json.dumps(REPLIES[2])},\n", ""))
    done = mentis("--home", talked, "chat", "On Tuesdays.")
    assert (done.code, done.out) == (0, "One.\n")
    assert "memory update failed" in done.err
    health = mentis("--home", talked, "status", "health", "--json")
    failed: Any = json.loads(health.out)["failed_updates"]
    assert [(one["session"], one["failure"]) for one in failed] == [("main", "route")]
    assert "the last memory update of session main failed" in (
        mentis("--home", talked, "status", "health").err
    )

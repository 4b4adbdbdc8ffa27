from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mentis.ports.clock import FixedClock
from mentis.settle.patches import patch
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.stores.states import States
from mentis.values.cognition import L1Entry
from mentis.values.tick import Append, Sprout
from mentis.values.trust import Trust

from .conftest import Mentis


def fill(home: Path) -> None:
    with Database(home / "mentis.db") as database:
        states = States(SqliteRevisions(database), FixedClock())
        agent = f"{home.name}/ada"
        ops = [Sprout("user-root", "coins", "Buy coins", 3, Trust.UNTRUSTED, review=True)]
        state = patch(states.load(agent), ops).state
        states.save(agent, state, expected=0, words="tick (review)")
        more = patch(state, (), [Append("It rains.")]).state
        states.save(agent, more, expected=1, words="tick")


def test_a_state_is_shown_compared_reviewed_and_taken_back(mentis: Mentis, home: Path) -> None:
    fill(home)

    def state(*args: str) -> Any:  # noqa: ANN401  # JSON
        done = mentis("--home", home, "state", *args, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    assert "goal coins [3]: Buy coins (review)" in mentis("--home", home, "state", "show").out
    assert [row["words"] for row in state("history")] == ["tick (review)", "tick"]
    assert f"+in mind {L1Entry('It rains.').hash[:8]}: It rains." in state("diff")["diff"]
    assert [one["name"] for one in state("review")] == ["coins"]
    assert state("accept", "coins", "-m", "I asked for it")["revision"] == 3
    assert state("review") == []
    entry = mentis("--home", home, "ledger", "show", "1", "--json")  # 0 binds the states so far
    assert "I asked for it" in entry.out, entry.err
    assert state("undo", "--to", "1")["l1_memory"] == []
    assert state("show", "--revision", "2")["l1_memory"][0]["text"] == "It rains."
    lines = mentis("--home", home, "state", "history").out
    assert "back to 1" in lines


def test_what_cannot_be_is_one_line_on_the_error_stream(mentis: Mentis, home: Path) -> None:
    nothing = mentis("--home", home, "state", "undo")
    assert (nothing.code, nothing.out) == (2, "")
    assert "there is nothing to undo" in nothing.err
    assert mentis("--home", home, "state", "show", "--revision", "9").code == 2
    assert mentis("--home", home, "state", "diff", "--", "-1").code == 2
    for name in ("history", "review"):
        quiet = mentis("--home", home, "state", name)
        assert (quiet.code, quiet.out) == (0, "")


def test_what_the_owner_adds_is_marked_and_can_be_taken_away_by_name(
    mentis: Mentis, home: Path
) -> None:
    goal = ("--goal", "polish", "--weight", "500", "Learn Polish")
    assert (
        "goal polish [500]: Learn Polish (owner)"
        in mentis("--home", home, "state", "add", *goal).out
    )
    added = mentis("--home", home, "state", "add", "Ida is my sister.")
    assert "Ida is my sister. (owner)" in added.out
    name = added.out.splitlines()[-1].split()[2].rstrip(":")
    assert "Ida" not in mentis("--home", home, "state", "rm", name).out
    assert mentis("--home", home, "state", "rm", "polish").code == 0
    assert mentis("--home", home, "state", "rm", "polish").code == 2
    assert mentis("--home", home, "state", "add", "x", "--under", "polish").code == 2

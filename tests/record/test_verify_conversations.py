"""Everything in a turn is bound by its entry, and what was erased is not mistaken for added."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger import keeping
from mentis.record.claims import TurnClaim
from mentis.record.erasure_turns import what_remains
from mentis.record.media_digest import media_digest
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.record.verify_turns import SessionTurns
from mentis.values.digest import digest
from mentis.values.entry import Verdict
from mentis.values.part import MediaPart, Part, ReasoningPart, TextPart, ToolResultPart
from mentis.values.recalled import Stimulus
from mentis.values.trust import Trust
from mentis.values.turn import Turn

pytestmark = pytest.mark.anyio
STATE: dict[str, object] = {"provider": "x", "model": "y", "data": {}}
RESULT = {"call_id": "c", "name": "pay", "text": "done", "failed": False, "kind": "tool_result"}
CALL: dict[str, object] = {
    "id": "c",
    "name": "pay",
    "arguments": {},
    "state": None,
    "kind": "tool_call",
}
WORDS = "my word is SECRETMARK"
NOTE = MediaPart("document", "text/plain", data=b"PAPERMARK", name="note.txt")


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """Said with an attachment, said plainly, a title, said anew; begun by itself elsewhere."""
    path = create_home(tmp_path / "home")
    replies = ScriptedProvider(["One.", "Two.", "Two again.", "Hello!"])
    async with Agent.open(path, parts=Parts(provider=replies)) as agent:
        await agent.chat(Stimulus(WORDS, attachments=(NOTE,)))
        await agent.chat("And this?")
        agent.set_title("A talk")
        await agent.regenerate()
        await agent.start_conversation(session="begun")
    return path


def verdict(home: Path) -> Verdict:
    (found,) = (one for one in verify_home(home) if one.agent == "home/ada")
    return found


def edit(home: Path, session: str, number: int, change: Callable[[Any], object]) -> str:
    """What stood there before."""
    with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
        select = "SELECT turn FROM turns WHERE session = ? AND number = ?"
        (before,) = connection.execute(select, (session, number)).fetchone()
        turn = json.loads(before)
        change(turn)
        update = "UPDATE turns SET turn = ? WHERE session = ? AND number = ?"
        connection.execute(update, (json.dumps(turn), session, number))
    return str(before)


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


# Each turn, all of it

EVERYWHERE: list[Callable[[Any], object]] = [
    lambda turn: turn.update(lineage="constitution"),
    lambda turn: turn.update(state="failed"),
    lambda turn: turn.update(state="pending"),
    lambda turn: turn.update(replaces=0),
    lambda turn: turn.update(until=1),
    lambda turn: turn["parts"].extend([CALL, RESULT]),
    lambda turn: turn["parts"].insert(0, RESULT),
    lambda turn: turn["parts"].insert(0, {"text": "plan", "state": STATE, "kind": "reasoning"}),
    lambda turn: turn["parts"][-1].update(state=STATE),
    lambda turn: turn["parts"].clear(),
]
ATTACHED: list[Callable[[Any], object]] = [
    lambda turn: turn["parts"][0].update(extracted="FORGED"),
    lambda turn: turn["parts"][0].update(name="other.txt"),
    lambda turn: turn["parts"][0].update(mime="text/html"),
    lambda turn: turn["parts"][0].update(metadata={"bytes": 1}),
    lambda turn: turn["parts"][0].update(url="https://example.org/x"),
]


async def test_nothing_of_any_turn_can_be_changed_unseen(home: Path) -> None:
    assert verdict(home).intact
    places = [("main", number) for number in range(7)] + [("begun", 0)]
    tried = [(place, change) for place in places for change in EVERYWHERE]
    for (session, number), change in [*tried, *((("main", 0), change) for change in ATTACHED)]:
        before = edit(home, session, number, change)
        assert not verdict(home).intact, (session, number, change)
        edit(home, session, number, lambda turn, was=before: turn.update(json.loads(was)))
    assert verdict(home).intact


QUESTION = Turn("user", (NOTE, TextPart("Why?")))
ANSWER = Turn("assistant", (TextPart("So."),), Trust.UNTRUSTED)
OLD = TurnClaim(
    index=0,
    number=0,
    message=digest(b"Why?"),
    answer=digest(b"So."),
    attached=(media_digest(NOTE),),
    asked=None,
    acted=(),
    stop="end",
)
FORGED = ToolResultPart("c", "pay", "done")


def with_part(turn: Turn, part: Part) -> Turn:
    return replace(turn, parts=(part, *turn.parts))


@pytest.mark.parametrize(
    "turns",
    [
        (with_part(QUESTION, FORGED), ANSWER),
        (with_part(QUESTION, ReasoningPart("x")), ANSWER),
        (replace(QUESTION, state="failed"), ANSWER),
        (replace(QUESTION, until=1), ANSWER),
        (replace(QUESTION, parts=(replace(NOTE, url="https://x.org"), TextPart("Why?"))), ANSWER),
        (QUESTION, with_part(ANSWER, NOTE)),
        (QUESTION, with_part(ANSWER, ReasoningPart("x"))),
        (QUESTION, replace(ANSWER, replaces=0)),
        (QUESTION, replace(ANSWER, state="failed")),
        (QUESTION, replace(ANSWER, lineage=Trust.OWNER)),
    ],
)
async def test_what_an_older_entry_implies_is_held_against_it(turns: tuple[Turn, ...]) -> None:
    assert SessionTurns([QUESTION, ANSWER]).check([OLD]) == []
    (finding,) = SessionTurns(turns).check([OLD])
    assert (finding.index, finding.attack) == (0, "edited")


async def test_what_an_older_entry_does_not_bind_is_said_and_not_broken() -> None:
    told = replace(QUESTION, lineage=Trust.UNTRUSTED)
    assert (SessionTurns([told, ANSWER]).check([OLD]), OLD.whole) == ([], False)
    left = replace(OLD, index=1, answer=None, stop="", failure=True)
    unanswered = replace(OLD, answer=None)
    failed = replace(QUESTION, state="failed")
    assert SessionTurns([failed]).check([unanswered, left]) == []  # it was left behind after that


# What was erased


async def test_with_a_turn_goes_what_was_said_in_it_and_its_place_stays(home: Path) -> None:
    with open_record(home) as record:
        record.erase(0, [], reason="asked for")
        assert record.remains() == ()
        sessions = {name: record.talk.turns(record.agent, name) for name in ("main", "begun")}
    assert WORDS.encode() not in everything(home)
    assert b"PAPERMARK" not in everything(home)
    assert [bool(turn.parts) for turn in sessions["main"]] == [False] * 2 + [True] * 5
    found = verdict(home)
    assert found.intact
    assert not any("in no entry" in note or "added turns" in note for note in found.notes)
    async with Agent.open(home, parts=Parts(provider=ScriptedProvider(["Good."]))) as agent:
        result = await agent.chat("Still there?")
    assert [turn.text for turn in result.composed.request.conversation_history] == [
        "And this?",
        "Two again.",
    ]


@pytest.mark.parametrize("session", ["main", "begun", "another"])
async def test_after_an_erasure_added_turns_are_still_found(home: Path, session: str) -> None:
    with open_record(home) as record:
        record.erase(0, [], reason="asked for")
        turn = Turn("user", (TextPart("I was never said."),))
        record.store.add_turn(record.agent, session, turn)
    assert [finding.attack for finding in verdict(home).findings] == ["inserted"]


async def test_what_is_left_of_an_erased_turn_is_bound_too(home: Path) -> None:
    with open_record(home) as record:
        record.erase(1, ["digests"], reason="asked for")
        assert verdict(home).intact
        record.store.add_turn(record.agent, "main", Turn("user", ()))
    assert not verdict(home).intact
    edit(home, "main", 2, lambda turn: turn.update(replaces=0))
    assert not verdict(home).intact


async def test_an_entry_erased_by_an_older_mentis_says_what_could_not_be_looked_for(
    home: Path,
) -> None:
    with open_record(home) as record:
        signer, ledger = record.require_sealing().signer(), record.signable_ledger()
        keeping.erase(ledger, 0, reason="then", signer=signer, stamp=record.stamp())
        found = verdict(home)
        assert found.intact
        assert any("entry 0 no longer says which session" in note for note in found.notes)
        assert any("turn 0 of session 'main' is in no entry" in note for note in found.notes)
        record.store.add_turn(record.agent, "evil", Turn("user", (TextPart("I was never said."),)))
    assert "inserted" in [finding.attack for finding in verdict(home).findings]


async def test_the_words_of_a_turn_remain_where_its_entry_can_still_be_compared(
    home: Path,
) -> None:
    with open_record(home) as record:
        entry = record.entry(0)
        assert record.turns_to_empty(entry, ["route"]) is None
        assert "session 'main'" in what_remains(entry, None)[0]
        record.erase(0, ["route"], reason="asked for")
    assert verdict(home).intact
    assert WORDS.encode() in everything(home)

"""The entry of a turn and the turns of the conversation are one, whatever comes between them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import StoreDamaged, StoreFull, StoreLocked
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.chain import make_stamp
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.record.conversations import ENDING, CarriedTalk, Ended
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.stores.memory import ConversationsInMemory, LedgerInMemory
from mentis.stores.sql_ledger import SqlLedger
from mentis.stores.sqlite.conversations import SqliteConversations
from mentis.values.ending import Ending
from mentis.values.entry import Draft, Verdict
from mentis.values.part import MediaPart, TextPart
from mentis.values.recalled import Stimulus
from mentis.values.turn import Turn

pytestmark = pytest.mark.anyio
KILLED = Path(__file__).with_name("killed_turns.py")
LATE = "not carried over into the conversation yet"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return create_home(tmp_path / "home")


def opened(home: Path, *replies: str) -> Agent:
    return Agent.open(home, parts=Parts(provider=ScriptedProvider(replies)))


def verdict(home: Path) -> Verdict:
    (found,) = verify_home(home)
    return found


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def said(text: str, role: Any = "assistant", **rest: Any) -> Turn:  # noqa: ANN401  # of a turn
    return Turn(role, (TextPart(text),), **rest)


def texts(turns: tuple[Turn, ...]) -> list[str]:
    return [f"{turn.text} {turn.state}" for turn in turns]


def busy(*_: object) -> None:
    raise StoreLocked("another process is writing", hint="try again")


def test_a_kill_after_any_write_of_a_turn_tears_nothing_apart(home: Path, tmp_path: Path) -> None:
    """What was left behind, an answer, a title, a thought and what followed it: each is recorded
    and in the conversation, or neither.
    """
    command = [sys.executable, str(KILLED), str(home), str(create_home(tmp_path / "scratch"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *lines, replayed = [json.loads(line) for line in done.stdout.splitlines()] or [None]
    writes = [line for line in lines if isinstance(line, str)]
    found: list[Any] = [line for line in lines if not isinstance(line, str)]
    assert writes == [
        "append", "carry",  # left behind
        "add", "append", "carry",  # said and answered
        "append", "carry", "append", "carry", "append", "carry",  # title, thought, message
    ], done.stderr  # fmt: skip
    assert len(found) == len(writes) + 1
    whole = found[-1]["found"]
    for write, one in zip([*writes, "end"], found, strict=True):
        assert (one["before"], one["after"]) == ([], True), one
        assert one["waiting"] == (write == "append"), one
        assert len(set(one["asked"])) == len(one["asked"]), one  # one entry for each message
        pending = ["said pending a"] if write == "add" else []
        there = len(one["found"]) - len(pending)
        assert one["found"] == [*whole[:there], *pending], one
        failed = [line.replace("pending", "failed") for line in pending]
        told = [*whole[:there], *failed, "said complete Still there?", "said complete Yes."]
        assert one["turns"] == told, one
    steps = [len(one["found"]) for one in found]
    assert steps == [1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6]
    assert replayed
    assert all(replayed)


WRITES = [(SqlLedger, "append"), (SqliteConversations, "add"), (SqliteConversations, "carry")]
ANSWERED, TITLED = (
    ["a complete", "One. complete"],
    ["a complete", "One. complete", "A talk complete"],
)
# Which write is refused, what is there then, and what is there before the next message. What comes
# before the record is lost as a whole, and what comes after it is only late.
REFUSED: list[tuple[str, list[str], list[str]]] = [
    ("add", [], []),
    ("append", ["a pending"], ["a failed"]),
    ("carry", TITLED, TITLED),
    ("append", ANSWERED, ANSWERED),
    ("carry", TITLED, TITLED),
]


@pytest.mark.parametrize("fault", [StoreLocked, StoreFull])
async def test_a_store_that_refuses_any_write_of_a_turn_loses_nothing_that_is_recorded(
    home: Path, fault: type[StoreLocked], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    left = 0

    def refusing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: object, **rest: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                refused.append(name)
                raise fault("not now", hint="later")
            return real(*args, **rest)

        return write

    for cls, name in WRITES:
        monkeypatch.setattr(cls, name, refusing(name, getattr(cls, name)))
    for place, (_, there, then) in enumerate(REFUSED, start=1):
        async with opened(home, "One.", "Two.") as agent:
            left, session = place, f"s{place}"
            with suppress(fault):
                await agent.chat("a", session=session)
                agent.set_title("A talk", session=session)
            assert agent.verify().intact, place
            assert texts(agent.history(session=session)) == there, place
            result = await agent.chat("b", session=session)
            assert agent.verify().intact, place
            last = ["b complete", f"{result.reply.text} complete"]
            assert texts(agent.history(session=session)) == [*then, *last], place
    assert refused == [name for name, _, _ in REFUSED]


async def test_a_ledger_on_a_server_and_turns_at_home_are_not_torn_apart(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home / "mentis.toml"
    chosen = '[ledger]\nstore = "postgres"\nschema_name = "carrying_test"\n'
    settings.write_text(settings.read_text().replace("[ledger]\n", chosen))
    monkeypatch.setenv("LEDGER_URL", postgres_url)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteConversations, "carry", busy)
        async with opened(home, "One.") as agent:
            await agent.chat("a")
            agent.set_title("A talk")
    found = verdict(home)
    assert (found.findings, sum(LATE in note for note in found.notes)) == ((), 2)
    async with opened(home, "Two.") as agent:
        result = await agent.chat("b")
        told = [turn.text for turn in result.composed.request.conversation_history]
        assert told == ["a", "One."]
        assert [turn.text for turn in agent.history()] == ["a", "One.", "A talk", "b", "Two."]
    found = verdict(home)
    assert (found.findings, found.notes) == ((), ())


async def test_what_waits_to_be_carried_over_is_bound_like_every_turn(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteConversations, "carry", busy)
    async with opened(home, "Yes.") as agent:
        await agent.chat("May I?")
    assert [note for note in verdict(home).notes if LATE in note]
    for wrong, attack in (
        ("replace(value, 'Yes.', 'No!!')", "edited"),
        ("replace(value, 'turns', 'tunes')", "unreadable"),
        ("'{}'", "unreadable"),
    ):
        with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
            kept = connection.execute("SELECT value FROM marks WHERE kind = ?", (ENDING,))
            (before,) = kept.fetchone()
            changed = f"UPDATE marks SET value = {wrong} WHERE kind = '{ENDING}'"  # noqa: S608  # of this test
            assert connection.execute(changed).rowcount == 1
        found = verdict(home)
        assert attack in [finding.attack for finding in found.findings], wrong
        async with opened(home, "So.") as agent:
            if attack == "unreadable":
                with pytest.raises(StoreDamaged, match="what a turn came to cannot be read"):
                    await agent.chat("And now?")
        with closing(sqlite3.connect(home / "mentis.db")) as connection, connection:
            connection.execute("UPDATE marks SET value = ? WHERE kind = ?", (before, ENDING))
    assert verdict(home).intact


@pytest.mark.parametrize("late", [False, True])
async def test_an_erased_turn_does_not_survive_in_what_was_to_be_carried_over(
    home: Path, monkeypatch: pytest.MonkeyPatch, *, late: bool
) -> None:
    note = MediaPart("document", "text/plain", data=b"PAPERMARK", name="note.txt")
    with monkeypatch.context() as patch:
        if late:
            patch.setattr(SqliteConversations, "carry", busy)
        async with opened(home, "It is ANSWERMARK.") as agent:
            await agent.chat(Stimulus("My word is ASKEDMARK.", attachments=(note,)))
    with open_record(home) as record:
        record.erase(0, [], reason="asked for")
        assert record.remains() == ()
        assert record.store.marks(record.agent, ENDING) == ()
    for words in (b"ANSWERMARK", b"ASKEDMARK", b"PAPERMARK"):
        assert words not in everything(home)
    found = verdict(home)
    assert (found.findings, found.notes) == ((), ())


# Two processes, in memory


class Process(ConversationsInMemory):
    """The conversations as one of several sees them; while it is `busy` nothing is carried over."""

    def __init__(self, shared: ConversationsInMemory) -> None:
        super().__init__()
        self._turns, self._carried, self._lock = shared._turns, shared._carried, shared._lock  # pyright: ignore[reportPrivateUsage]  # one store
        self.busy = False

    def carry(self, agent: str, session: str, ending: Ending) -> None:
        if self.busy:
            busy()
        super().carry(agent, session, ending)


STEPS = st.tuples(st.integers(0, 1), st.booleans(), st.sampled_from(["a", "b"]), st.booleans())


@given(st.lists(STEPS, max_size=12))
def test_whoever_reads_or_talks_next_finds_every_turn_where_it_was_said(
    steps: list[tuple[int, bool, str, bool]],
) -> None:
    shared, ledger, ids = ConversationsInMemory(), LedgerInMemory(), CountingIds()
    stamp = make_stamp(FixedClock().now, ids.salt)
    stores = [Process(shared), Process(shared)]
    talks = [CarriedTalk(store, ledger) for store in stores]
    model: dict[str, list[str]] = {"a": [], "b": []}
    for count, (who, late, session, titled) in enumerate(steps):
        stores[who].busy, talk, own = False, talks[who], model[session]
        if titled:
            number = len(talk.turns("x", session))
        else:
            number = talk.add("x", session, said(f"q{count}", "user", state="pending"))
            own.append(f"q{count} complete")
        turns = (said(f"a{count}"), said("same"))
        own.extend(texts(turns))
        state = None if titled else "complete"
        ended = Ended.new(session, number, ids, state=state, turns=turns)
        stores[who].busy = late
        talk.record("x", Draft("turn", "runtime", {}), stamp, ended=ended)
        for reader in talks:
            assert {name: texts(reader.turns("x", name)) for name in model} == model
            assert set(reader.sessions("x")) == {name for name in model if model[name]}
    for store in stores:
        store.busy = False
    gone = talks[0].settled("x")
    assert {mark.key for mark in gone} == {mark.key for mark in ledger.marks("x", ENDING)}
    assert talks[1].waiting("x") == ()
    assert {name: texts(shared.turns("x", name)) for name in model} == model

"""A recorded turn is put together again, byte for byte, whatever has changed since."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.errors import (
    LedgerError,
    MentisError,
    OptionError,
    ReplayError,
    StoreDamaged,
    UsageError,
)
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.chain import make_stamp
from mentis.memories.memories import open_memories
from mentis.ports.act_handler import RecordingHandler
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.screener import ListedScreener
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.record import rotation as record_rotation
from mentis.record.record import open_record
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.tools.acts import open_acts
from mentis.values.entry import Draft
from mentis.values.memories import MemoryDraft
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart
from mentis.values.recalled import Stimulus
from mentis.values.rendering import Rendering
from mentis.values.request import ReplyTo, RuntimeContext
from mentis.values.route import Route
from mentis.values.surroundings import Surroundings
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_step")]
ROUTE = """
[routes.default]
backend = "scripted"
model = "none"
context_tokens = 60000
{more}
[recall]
embedder = "off"
"""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SEND = ToolDeclaration("send", "Sends it.", TEXT, external_effects=True)
SECRET = b"s" * 32


def home_in(folder: Path, more: str = "") -> Path:
    home = create_home(folder / "home")
    with (home / "mentis.toml").open("a") as file:
        file.write(ROUTE.format(more=more))
    return home


def parts(*replies: str, secret: bytes = SECRET, **more: object) -> Parts:
    made: dict[str, object] = {
        "provider": ScriptedProvider(replies),
        "screener": ListedScreener({}),
        "secret": secret,
        **more,
    }
    return Parts(**made)  # pyright: ignore[reportArgumentType]  # each under its own name


def opened(home: Path, *replies: str, **more: object) -> Agent:
    return Agent.open(home, parts=parts(*replies, **more))  # pyright: ignore[reportArgumentType]  # as above


def call(name: str, /, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@contextmanager
def database(home: Path) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(home / "mentis.db")
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def kept(home: Path, kind: str) -> list[tuple[str, str]]:
    with database(home) as connection:
        return connection.execute(
            "SELECT key, value FROM marks WHERE kind = ? ORDER BY key", (kind,)
        ).fetchall()


class Silent:
    """Nobody may be asked."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        raise AssertionError(f"{route.name} was asked for {rendering.wire}")
        yield  # pyright: ignore[reportUnreachable]  # it has to be a generator


RICH: Sequence[str | Stimulus] = (
    "Hello, who are you?",
    Stimulus(
        "What is this?",
        author="Lena",
        attachments=(MediaPart("document", "text/plain", b"Some words", extracted="Some words"),),
        reply_to=ReplyTo("A <untrusted 123> quotation", author="Tom"),
        runtime_ctx=RuntimeContext(chat_type="group", interface_name="board"),
        surroundings=Surroundings(place="Bonn", recent=("Tom: see you",)),
        trust=Trust.UNTRUSTED,
    ),
    "Thank you.",
)


async def test_each_turn_is_the_same_bytes_after_everything_around_it_changed(
    tmp_path: Path,
) -> None:
    home = home_in(tmp_path)
    with Personas.open(home) as personas:
        personas.memory("ada").write("memory", "- Lena plays the cello.", words="told")
    async with opened(home, "One.", "Two.", "Three.") as agent:
        turns = [await agent.chat(message) for message in RICH]
    bodies = [turn.rendering.body() for turn in turns]
    with Prompts.open(home) as prompts:
        prompts.editor.save("style", variants={"default": {"content": "Other words."}})
    with Personas.open(home) as personas:
        personas.memory("ada").write("memory", "- Lena plays the harp.", words="no", force=True)
    (home / "profile.toml").write_text('name = "Somebody else"\n')
    toml = (home / "mentis.toml").read_text()
    (home / "mentis.toml").write_text(toml.replace("context_tokens = 60000", 'variant = "compact"'))
    later = FixedClock(datetime(2031, 5, 4, tzinfo=UTC) + timedelta(hours=7))
    async with opened(home, provider=Silent(), clock=later) as agent:
        replayed = [agent.replay(turn.entry.index) for turn in turns]
        now = agent.render("Thank you.").body()
    assert [one.identical for one in replayed] == [True] * 3
    assert [one.rendering.body() for one in replayed] == bodies
    assert [one.notes for one in replayed] == [()] * 3
    assert b"cello" in bodies[2]
    assert b"Other words" not in bodies[2]
    assert b"harp" in now


async def test_a_turn_with_options_of_its_own_is_replayed_with_them(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    chosen = CallOptions(top_p=0.5, temperature=0.0, stop=("END",), body={"metadata": {"a": "b"}})
    async with opened(home, "One.", "Two.") as agent:
        with_options = await agent.chat("Hello.", options=chosen)
        without = await agent.chat("Hello again.")
    assert b'"temperature":0.0,"top_p":0.5,"stop":["END"]' in with_options.rendering.body()
    assert b"top_p" not in without.rendering.body()
    async with opened(home, provider=Silent()) as agent:
        replayed = [agent.replay(index) for index in range(2)]
    assert [one.identical for one in replayed] == [True, True]
    assert replayed[0].rendering.body() == with_options.rendering.body()


async def test_options_that_cannot_be_sent_leave_no_turn(tmp_path: Path) -> None:
    async with opened(home_in(tmp_path), "One.") as agent:
        with pytest.raises(OptionError):
            await agent.chat("Hello.", options=CallOptions(body={"messages": []}))
        assert agent.history() == ()


async def test_a_turn_keeps_little_and_what_turns_share_is_kept_once(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    async with opened(home, "One.", "Two.", "Three.") as agent:
        await agent.chat("Hello")
        shared = kept(home, "inputs-part")
        await agent.chat("And now?")
    async with opened(home, "Three.") as agent:
        await agent.chat("And in a new process?")
    rows = kept(home, "inputs")
    assert kept(home, "inputs-part") == shared
    assert len(rows) == 3
    assert max(len(key) + len(value) for key, value in rows) < 1500
    assert sum(len(value) for _, value in shared) < 70_000
    assert not any("http" in value or str(home) in value for _, value in rows)


async def test_another_secret_makes_other_marks_and_replay_puts_those_of_then_back(
    tmp_path: Path,
) -> None:
    home = home_in(tmp_path)
    async with opened(home, "One.") as agent:
        result = await agent.chat(RICH[1])
    assert b"<untrusted " in result.rendering.body()
    async with opened(home, secret=b"t" * 32) as agent:
        replayed = agent.replay(0)
    assert replayed.identical
    assert replayed.rendering.body() == result.rendering.body()
    assert "another secret" in replayed.notes[0]


async def test_memories_are_named_and_not_copied_so_that_forgetting_one_is_final(
    tmp_path: Path,
) -> None:
    home, words = home_in(tmp_path), "Lena's cello is called Bertha"
    with open_memories(home, parts=parts()) as memories:
        one = (await memories.remember(MemoryDraft(words, trust=Trust.OWNER))).memory
    async with opened(home, "Bertha.") as agent:
        result = await agent.chat("What is Lena's cello called?")
        assert words.encode() in result.rendering.body()
        assert agent.replay(result.entry.index).identical
    assert words not in str([kept(home, kind) for kind in ("inputs", "inputs-part")])
    with open_memories(home, parts=parts()) as memories:
        memories.forget(one.id)
    async with opened(home) as agent:
        with pytest.raises(ReplayError, match=f"memory '{one.id}' was forgotten"):
            agent.replay(result.entry.index)


async def test_what_was_told_of_acts_is_told_again_as_it_was_then(tmp_path: Path) -> None:
    home = home_in(tmp_path, "[routes.default.facts]\nnative_tools = false\n[acts]\nask = ['send']")
    replies = (call("send", text="hi"), "Wait.", "Good.", "Yes.")
    send = RecordingHandler(SEND, "it went out")
    async with opened(home, *replies, handlers=(send,)) as agent:
        (waiting,) = (await agent.chat("Send it.")).outcomes
        await agent.chat("And?")
        with open_acts(home, parts=parts()) as acts:
            acts.approve(waiting.key, by="me")
        told = await agent.chat("And now?")
        last = await agent.chat("Thanks.")
        turns = [entry.index for entry in agent.entries() if entry.kind == "turn"]
        assert [agent.replay(index).identical for index in turns] == [True] * 4
    assert b"it went out" in told.rendering.body()
    assert b"it went out" in last.rendering.body()
    with open_record(home, parts=parts()) as record:
        outcomes = [entry for entry in record.last(50) if "result" in entry.body]
        for entry in outcomes:
            record.erase(entry.index, [], reason="asked for")
    assert kept(home, "inputs-news") == []
    async with opened(home) as agent:
        with pytest.raises(ReplayError, match=waiting.key):
            agent.replay(told.entry.index)
        assert not agent.replay(last.entry.index).identical


async def test_a_turn_that_failed_or_fell_back_or_was_corrected_is_replayed_as_well(
    tmp_path: Path,
) -> None:
    more = """fallback = ["second"]
[routes.second]
backend = "anthropic"
model = "claude-opus-5"
url = "http://127.0.0.1:9"
context_tokens = 60000
"""
    home = home_in(tmp_path, more)
    async with opened(home) as agent:
        with pytest.raises(MentisError):
            await agent.chat("Hello")
        (entry,) = agent.entries()
        replayed = agent.replay(entry.index)
        assert "failure" in str(entry.body["turn"])
        assert (replayed.identical, replayed.route.url) == (True, "")
    replies = (call("send"), call("send", text="now"))
    more = "[routes.default.facts]\nnative_tools = false\n"
    home = home_in(tmp_path / "other", more)
    async with opened(home, *replies, handlers=(RecordingHandler(SEND),)) as agent:
        result = await agent.chat("Send it.")
        replayed = agent.replay(result.entry.index)
    assert len(result.model_calls) == 2
    assert replayed.identical
    assert replayed.notes == ("the turn made 2 calls; this is the first",)


async def test_erasing_a_turn_takes_what_it_was_made_from_and_replay_says_so(
    tmp_path: Path,
) -> None:
    home = home_in(tmp_path)
    async with opened(home, "One.", "Two.") as agent:
        await agent.chat("A word nobody should read")
        await agent.chat("Another")
    with open_record(home, parts=parts()) as record:
        record.erase(0, ["digests"], reason="asked for")
    assert "nobody should read" not in str(kept(home, "inputs"))
    async with opened(home, "Three.") as agent:
        with pytest.raises(ReplayError, match=r"entry 0 .* `inputs` were erased"):
            agent.replay(0)
        with pytest.raises(
            ReplayError, match="a turn of session 'main' that it was told was erased"
        ):
            agent.replay(1)
        again = await agent.chat("And now?")
        assert agent.replay(again.entry.index).identical
        assert agent.verify().intact


async def test_what_is_no_turn_or_has_nothing_kept_is_refused_in_words(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    older = Draft("turn", "runtime", {"turn": {"session": "main"}, "digests": {"payload": "x"}})
    async with opened(home, "One.") as agent:
        await agent.chat("Hello")
        stamp = make_stamp(FixedClock().now, CountingIds().salt)
        with Database(home / "mentis.db") as store:
            drafts = [Draft("note", "test", {"said": "hi"}), older]
            SqliteLedger(store).append(agent.id, drafts, stamp)
        with pytest.raises(UsageError, match="entry 1 is no turn: it is a `note`"):
            agent.replay(1)
        with pytest.raises(ReplayError, match="entry 2 has no kept inputs") as refused:
            agent.replay(2)
        assert "older Mentis" in refused.value.hint
        for index in (3, -1):
            with pytest.raises(UsageError, match=f"no entry {index}"):
                agent.replay(index)


async def test_what_somebody_changed_is_never_called_the_same(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    async with opened(home, "One.", "Two.") as agent:
        await agent.chat("Hello there")
        await agent.chat("And now?")
    with database(home) as connection:
        connection.execute("UPDATE turns SET turn = replace(turn, 'Hello there', 'Hello where')")
    async with opened(home) as agent:
        replayed = agent.replay(1)
        assert replayed.apart is not None
        start, end = replayed.apart.start, replayed.apart.end
        assert start <= replayed.rendering.body().index(b"Hello where") < end
        assert "Hello where" in [span.text for span in replayed.apart.spans]
        assert (replayed.request, replayed.payload) == (False, False)
        assert agent.replay(0).identical
    with database(home) as connection:
        connection.execute("UPDATE marks SET value = replace(value, 'Hello there', 'Hello here')")
    async with opened(home) as agent:
        with pytest.raises(StoreDamaged, match="kept inputs"):
            agent.replay(0)
    with database(home) as connection:
        connection.execute("UPDATE ledger SET body = replace(body, 'main', 'mein') WHERE idx = 1")
    async with opened(home) as agent:
        with pytest.raises(LedgerError, match="entry 1 is not what was recorded"):
            agent.replay(1)


async def test_a_turn_that_was_moved_out_is_replayed_until_its_segment_goes(
    tmp_path: Path,
) -> None:
    home = home_in(tmp_path)
    async with opened(home, "One.", "Two.", "Three.") as agent:
        for text in ("Hello", "And now?", "Bye"):
            await agent.chat(text)
    with open_record(home, parts=parts()) as record:
        record_rotation.rotate(record, 2)
    async with opened(home) as agent:
        assert [agent.replay(index).identical for index in range(3)] == [True] * 3
    later = FixedClock(datetime.now(UTC) + timedelta(days=9))
    days = {**os.environ, "MENTIS_LEDGER__KEEP_SEGMENTS_DAYS": "3"}
    with open_record(home, parts=parts(clock=later, environ=days)) as record:
        assert len(record_rotation.expire(record).files) == 1
    assert len(kept(home, "inputs")) == 1
    async with opened(home) as agent:
        with pytest.raises(UsageError, match="no entry 0"):
            agent.replay(0)
        assert agent.replay(2).identical


async def test_in_every_wire_format_and_with_what_goes_wrong_on_the_way(tmp_path: Path) -> None:
    models = {
        "openai": "gpt-5.6",
        "openai-responses": "gpt-5.6",
        "anthropic": "claude-opus-5",
        "gemini": "gemini-3-flash",
    }
    more = "".join(
        f'[routes.{name}]\nbackend = "{name}"\nmodel = "{model}"\nurl = "http://127.0.0.1:9"\n'
        "context_tokens = 60000\n"
        for name, model in models.items()
    )
    home = home_in(tmp_path, more)
    for number, name in enumerate(models):
        held = parts("A", "B")
        async with Agent.open(home, route=name, parts=held) as agent:
            # Only the first understands the answers of a script; the others fail, on the record.
            with suppress(MentisError):
                await agent.chat(RICH[1])
            replayed = agent.replay(number)
            assert replayed.identical, name
            provider = held.provider
            assert isinstance(provider, ScriptedProvider)
            assert replayed.rendering.body() == provider.sent[0].body()

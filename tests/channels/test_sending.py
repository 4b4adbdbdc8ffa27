"""A message goes out once: rate limits are obeyed, what nobody knows is told and not repeated."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.channels.log import ChannelLog
from mentis.channels.split import split_text
from mentis.errors import ChannelFailed, MentisError, StoreLocked
from mentis.ports.channel_adapter import ScriptedChannel
from mentis.values.channel import ChannelAbilities

from .rooms import living, make_home, pair_owner, private

pytestmark = pytest.mark.anyio


async def test_a_platform_that_says_later_is_asked_later(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    busy = ChannelFailed("too many requests", sent="later", retry_after=0.05)
    adapter = ScriptedChannel([private("Hi.")], failures=[busy, busy])
    async with living(home, adapter, ["Hello."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        assert len(rooms.entries("put off")) == 2
        assert (len(rooms.entries("sending")), len(rooms.entries("sent"))) == (3, 1)


async def test_what_may_have_been_sent_is_not_sent_again_and_the_room_is_told(
    tmp_path: Path,
) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    lost = ChannelFailed("the connection broke", sent="unknown")
    adapter = ScriptedChannel([private("Hi.")], failures=[lost])
    async with living(home, adapter, ["Hello."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        assert adapter.sent[0].text.startswith("I was interrupted while I sent an answer.")
        assert rooms.log.unknown() == 1


async def test_a_platform_that_knows_its_keys_is_sent_it_again(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    lost = ChannelFailed("the connection broke", sent="unknown", retry_after=0.05)
    abilities = ChannelAbilities(idempotent=True)
    adapter = ScriptedChannel([private("Hi.")], abilities=abilities, failures=[lost])
    async with living(home, adapter, ["Hello."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        assert (adapter.sent[0].text, rooms.log.unknown()) == ("Hello.", 0)


async def test_what_never_can_be_sent_is_recorded_with_the_reason(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    gone = ChannelFailed("the bot was removed", sent="never")
    adapter = ScriptedChannel([private("Hi."), private("Again.", 2)], failures=[gone])
    async with living(home, adapter, ["Hello.", "Still here."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        (unsent,) = rooms.entries("unsent")
        assert unsent.body["channel"]["reason"] == "the bot was removed"  # pyright: ignore[reportIndexIssue]
        assert adapter.sent[0].text == "Still here."


async def test_an_edit_of_a_message_that_is_gone_becomes_a_new_one(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    gone = ChannelFailed("message to edit not found", sent="never")
    adapter = ScriptedChannel([private("One?")], failures=[None, gone])
    async with living(home, adapter, ["1", "2"]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        adapter.say(private("Two?", 2, edit_of="m1"))
        await rooms.until(lambda: len(adapter.sent) == 2)
        await rooms.settled()
        assert (adapter.sent[1].text, adapter.sent[1].edits) == ("2", "")


async def test_two_processes_do_not_run_one_channel(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    async with living(home, ScriptedChannel()) as rooms:
        await rooms.until(lambda: bool(rooms.happened("running")))
        (second,) = rooms.agent.channels(adapters={"chat": ScriptedChannel()})
        with pytest.raises(MentisError, match="chat is run already by"):
            await second.run()


async def test_a_store_that_is_busy_for_a_while_ends_no_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    monkeypatch.setattr("mentis.channels.runner._AGAIN", 0.01)
    looks, real = iter([True] * 3), ChannelLog.receipts

    def busy(log: ChannelLog) -> object:
        if next(looks, False):
            raise StoreLocked("somebody writes")
        return real(log)

    monkeypatch.setattr(ChannelLog, "receipts", busy)
    adapter = ScriptedChannel()
    async with living(home, adapter, ["Hello."]) as rooms:
        await rooms.until(lambda: len(rooms.happened("failed")) == 3)
        adapter.say(private("Hi."))
        await rooms.until(lambda: len(adapter.sent) == 1)


async def test_a_record_in_postgresql_holds_the_same(tmp_path: Path, postgres_url: str) -> None:
    home = make_home(tmp_path / "home")
    settings = home / "mentis.toml"
    name = f"rooms_{token_hex(4)}"
    lines = ['store = "postgres"', f'url = "{postgres_url}"', f'schema_name = "{name}"']
    chosen = "\n".join(["[ledger]", *lines, ""])
    settings.write_text(settings.read_text("utf-8").replace("[ledger]\n", chosen), "utf-8")
    pair_owner(home)
    adapter = ScriptedChannel([private("One."), private("One."), private("Two.\x00", 2)])
    async with living(home, adapter, ["First.", "Second."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 2)
        await rooms.settled()
        assert [one.text for one in adapter.sent] == ["First.", "Second."]
        assert rooms.agent.verify().intact


@given(
    st.text(st.sampled_from("ab .\n😀é"), max_size=200),
    st.integers(min_value=2, max_value=40),
)
def test_pieces_fit_and_only_white_space_is_lost(text: str, longest: int) -> None:
    pieces = split_text(text, longest)
    assert all(len(piece.encode("utf-16-le")) // 2 <= longest for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())

"""A room is a session: who is answered in it, as whose words theirs count, and what is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mentis.channels.log import RoomReceipt
from mentis.errors import ProviderUnreachable
from mentis.settings.channels import ChannelSettings
from mentis.testing import ScriptedChannel, ScriptedProvider
from mentis.values.channel import ChannelAbilities, ChannelFile
from mentis.values.part import MediaPart
from mentis.values.rendering import Rendering
from mentis.values.request import ReplyTo
from mentis.values.route import Route
from mentis.values.trust import Trust

from .rooms import OWNER, answered, in_group, living, make_home, pair_owner, private

pytestmark = pytest.mark.anyio
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f"
    b"\x15\xc4\x89\x00\x00\x00\rIDATx\xdac\xfc\xcf\xc0P\x0f\x00\x04\x85\x01\x80\x84\xa9\x8c!\x00"
    b"\x00\x00\x00IEND\xaeB`\x82"
)


class Unreachable(ScriptedProvider):
    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        raise ProviderUnreachable("nobody is there")
        yield


async def test_the_owners_message_is_answered_in_the_session_of_the_room(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    adapter = ScriptedChannel([private("Good morning.")])
    async with living(home, adapter, ["Good morning, Ann."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        (answer,) = adapter.sent
        assert (answer.room, answer.text) == (OWNER, "Good morning, Ann.")
        assert adapter.typed == [OWNER]
        (session,) = rooms.agent.session_names()
        assert session.startswith("chat-")
        asked, said = rooms.agent.history(session=session)
        assert (asked.text, asked.lineage, asked.author) == ("Good morning.", Trust.OWNER, "")
        assert said.text == "Good morning, Ann."
        assert rooms.agent.verify().intact


async def test_a_group_is_answered_when_the_agent_is_named_and_guests_keep_their_names(
    tmp_path: Path,
) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    chatter = in_group("Nobody in particular.", 1)
    named = in_group("Agent, hello!", 2, mentioned=True)
    owners = in_group("And me?", 3, mentioned=True, sender=OWNER, name="Ann")
    adapter = ScriptedChannel([chatter, named, owners])
    rooms = await answered(home, adapter, "Hello, Bob.", "And you.")
    assert [(one.text, one.reply_to) for one in adapter.sent] == [
        ("Hello, Bob.", "g2"),
        ("And you.", "g3"),
    ]
    (ignored,) = rooms.happened("ignored")
    assert (ignored.message, ignored.reason) == ("g1", "nobody named the agent")
    sent = rooms.prompts[-1]
    assert b"Bob (guest)" in sent
    assert b"Ann (guest)" in sent  # everybody in a group reads what the owner is told there


@pytest.mark.parametrize(
    ("settings", "told"),
    [({}, 0), ({"guests": '"everywhere"'}, 1), ({"guests": '"nowhere"'}, 0)],
)
async def test_a_stranger_in_a_private_room_is_answered_only_where_that_is_wanted(
    tmp_path: Path, settings: dict[str, str], told: int
) -> None:
    home = make_home(tmp_path / "home", **settings)
    adapter = ScriptedChannel([private("Hi.", sender="13", name="Eve")])
    rooms = await answered(home, adapter, "Hello.")
    assert len(adapter.sent) == told
    assert len(rooms.happened("ignored")) == 1 - told


async def test_only_the_code_makes_somebody_the_owner_and_only_once(tmp_path: Path) -> None:
    from mentis.homes import open_channels

    home = make_home(tmp_path / "home", guests='"everywhere"')
    channels = open_channels(home)
    code = channels.pair("chat")
    asked = [
        private("AAAA-BBBB", 1, sender="13", room_name="Eve"),
        in_group(code, 2, mentioned=True),
        private(code.lower(), 3),
        private(code, 4, sender="13"),
        private("Who am I?", 5),
    ]
    adapter = ScriptedChannel(asked)
    rooms = await answered(home, adapter, *["Fine."] * 4)
    assert channels.owners.of("chat").owner == OWNER
    assert [one.message for one in rooms.happened("paired")] == ["m3"]
    assert "From now on I know you as my owner here." in [one.text for one in adapter.sent]
    asked_last = rooms.prompts[-1]
    assert b"Who am I?" in asked_last
    assert [one.message for one in rooms.happened("received")] == ["m1", "g2", "m4", "m5"]
    assert code.encode() not in b"".join(
        path.read_bytes() for path in channels.owners.path.parent.iterdir() if path.is_file()
    )


async def test_a_message_that_comes_twice_is_answered_once(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    await answered(home, ScriptedChannel([private("One."), private("One.")]), "Only one.")
    again = ScriptedChannel([private("One."), private("Two.", 2)])
    async with living(home, again, ["The second."]) as rooms:
        await rooms.until(lambda: len(again.sent) == 1)
        await rooms.settled()
        assert [one.text for one in again.sent] == ["The second."]
        assert len(rooms.entries("received")) == 2


async def test_attachments_come_along_and_what_cannot_be_had_is_told(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    files = (
        ChannelFile("a", "dot.png", "image/png", len(PNG)),
        ChannelFile("b", "large.bin", "", 10**9),
        ChannelFile("c", "junk.zip"),
    )
    adapter = ScriptedChannel(
        [private("Look.", files=files)], files={"a": PNG, "c": b"PK\x03\x04\x00\x00"}
    )
    async with living(home, adapter, ["A dot."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        await rooms.settled()
        (session,) = rooms.agent.session_names()
        asked = rooms.agent.history(session=session)[0]
        (image,) = [part for part in asked.parts if isinstance(part, MediaPart)]
        assert (image.kind, image.mime, image.data) == ("image", "image/png", PNG)
        assert "[large.bin: it is larger than 20000000 bytes]" in asked.text
        assert "[junk.zip: junk.zip is no image" in asked.text
        assert (
            rooms.log.attachments(RoomReceipt("channel/chat/42/m1", 0, private(""), (image,)))[
                0
            ].data
            == b""
        )  # nothing is left of it beside the session


async def test_an_edit_says_the_last_message_anew_and_changes_the_answer(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    adapter = ScriptedChannel([private("Two and two?")])
    async with living(home, adapter, ["Four.", "Six.", "Yes."]) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        adapter.say(private("Three and three?", 2, edit_of="m1"))
        await rooms.until(lambda: len(adapter.sent) == 2)
        await rooms.settled()
        answer = adapter.sent[1]
        assert (answer.text, answer.edits) == ("Six.", "sent-1")
        (session,) = rooms.agent.session_names()
        assert rooms.agent.sessions()[0].replaced == 2
        assert rooms.agent.history(session=session)[2].replaces == 0
        # Somebody wrote since: the earlier one stays as it was answered.
        adapter.say(private("And you?", 3))
        adapter.say(private("Nine?", 4, edit_of="m1"))
        await rooms.until(lambda: bool(rooms.happened("passed over")))


async def test_a_guests_edit_does_not_become_the_owners_words(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    asked = [in_group("One.", 1, mentioned=True), in_group("Two.", 2, mentioned=True, edit_of="g1")]
    adapter = ScriptedChannel()
    async with living(home, adapter, ["First.", "Second."]) as rooms:
        for count, message in enumerate(asked, 1):
            adapter.say(message)
            await rooms.until(lambda count=count: len(adapter.sent) == count)
        (session,) = rooms.agent.session_names()
        said_anew = rooms.agent.history(session=session)[2]
        assert (said_anew.text, said_anew.lineage) == ("Two.", Trust.UNTRUSTED)
        assert said_anew.author == "Bob"


async def test_a_quotation_travels_with_the_message(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    adapter = ScriptedChannel([private("This?", reply_to=ReplyTo("Buy milk.", author="Ann"))])
    rooms = await answered(home, adapter, "Yes.")
    assert b"> Ann: Buy milk." in rooms.prompts[0]


async def test_a_long_answer_is_split_where_a_reader_would_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    abilities = ChannelAbilities(longest=100)
    adapter = ScriptedChannel([private("Tell.")], abilities=abilities)
    words = "\n\n".join(f"Paragraph {n} has a few words in it." for n in range(12))
    await answered(home, adapter, words)
    assert all(len(one.text) <= 100 for one in adapter.sent)
    assert "\n\n".join(one.text for one in adapter.sent) == words


async def test_an_answer_that_fails_is_tried_again_and_then_told(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", tries="1")
    pair_owner(home)
    adapter = ScriptedChannel([private("Hello?"), in_group("Hello?", 2, mentioned=True)])
    async with living(home, adapter, provider=Unreachable()) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 2)
        await rooms.settled()
        assert len(rooms.happened("failed")) == 2
    texts = {one.room: one.text for one in adapter.sent}
    assert texts[OWNER].startswith("I could not answer: ")
    assert texts["-100"].removeprefix("I could not answer: ").isascii()
    assert " " not in texts["-100"].removeprefix("I could not answer: ")  # a guest: the code alone


async def test_in_quiet_hours_messages_wait(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", quiet='"00:00-23:59"')
    pair_owner(home)
    adapter = ScriptedChannel([private("Sleep well.")])
    async with living(home, adapter, ["Thank you."]) as rooms:
        await rooms.until(lambda: len(adapter.taken) == 1)
        if datetime.now().astimezone().strftime("%H:%M") < "23:58":
            assert len(rooms.log.receipts()) == 1
            assert adapter.sent == []


async def test_in_quiet_hours_they_are_answered_without_a_sound_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    home = make_home(tmp_path / "home", quiet='"00:00-23:59"', quiet_mode='"silent"')
    pair_owner(home)
    adapter = ScriptedChannel([private("Sleep well.")])
    await answered(home, adapter, "Thank you.")
    assert adapter.sent[0].quiet == (datetime.now().astimezone().strftime("%H:%M") < "23:59")


@pytest.mark.parametrize(
    ("clock", "left"), [("21:59", 0), ("22:00", 9 * 3600), ("06:59", 60), ("07:00", 0)]
)
def test_quiet_hours_may_go_over_midnight(clock: str, left: int) -> None:
    chosen = ChannelSettings(kind="matrix", key_env="K", quiet="22:00-07:00")
    hour, minute = map(int, clock.split(":"))
    assert chosen.quiet_left(datetime(2026, 3, 1, hour, minute, tzinfo=UTC)) == left


async def test_where_too_many_wait_the_room_is_told_once(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", waiting="1", quiet='"00:00-23:59"')
    pair_owner(home)
    adapter = ScriptedChannel([private(f"{n}", n) for n in range(4)])
    async with living(home, adapter, ["Late."]) as rooms:
        await rooms.until(lambda: len(adapter.taken) == 4)
        await rooms.until(lambda: len(adapter.sent) == 1)
        assert adapter.sent[0].text.startswith("Too many messages")
        assert len(rooms.entries("refused")) == 3


async def test_what_the_agent_says_by_itself_goes_to_the_room(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    pair_owner(home)
    adapter = ScriptedChannel([private("I am off.")])
    replies = ["They left. [afterthought_ok]", "Come back soon."]
    provider = ScriptedProvider(["Goodbye.", *replies])
    async with living(home, adapter, provider=provider) as rooms:
        await rooms.until(lambda: len(adapter.sent) == 1)
        (session,) = rooms.agent.session_names()
        thought = await rooms.agent.afterthought(session=session)
        assert thought.followup is not None
        await rooms.until(lambda: len(adapter.sent) == 2)
        assert adapter.sent[1].text == "Come back soon."
        await rooms.settled()
        assert len(adapter.sent) == 2

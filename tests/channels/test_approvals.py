"""What waits for a yes is offered to the paired owner alone, who says it with a button or words."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rounds import LETTER, Rounds, calls, says, send

from mentis.channels.approvals import OwnerDecision, read_button, read_words, short_key
from mentis.ports.channel_adapter import ScriptedChannel
from mentis.values.channel import ButtonPress, ChannelAbilities

from .rooms import OWNER, Rooms, in_group, living, make_home, pair_owner, private

pytestmark = pytest.mark.anyio


def asking_home(path: Path) -> Path:
    home = make_home(path)
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[acts]\nask = ["send"]\n')
    pair_owner(home)
    return home


async def offered(rooms: Rooms, adapter: ScriptedChannel) -> str:
    """The key of the act that the owner was shown."""
    await rooms.until(lambda: any("needs your yes" in one.text for one in adapter.sent))
    await rooms.settled()
    (act,), _ = rooms.parts.approvals.pending()
    return act.call.key


@pytest.mark.parametrize("with_buttons", [True, False])
async def test_a_yes_does_the_act_and_the_turn_goes_on(tmp_path: Path, with_buttons: bool) -> None:
    home = asking_home(tmp_path / "home")
    adapter = ScriptedChannel(
        [private("Write to Mallory.")], abilities=ChannelAbilities(buttons=with_buttons)
    )
    provider = Rounds(calls(LETTER), says("I asked."), says("I sent it."))
    async with living(home, adapter, tools=[send], provider=provider) as rooms:
        key = await offered(rooms, adapter)
        (offer,) = [one for one in adapter.sent if "needs your yes" in one.text]
        assert offer.room == OWNER
        assert "mallory@example.org" in offer.text
        if with_buttons:
            yes, no = offer.buttons
            assert (yes.data, no.data) == (f"yes:{key}", f"no:{key}")
            adapter.say(ButtonPress(OWNER, "p1", OWNER, yes.data))
        else:
            assert offer.buttons == ()
            assert f"yes {key[:4]}" in offer.text
            adapter.say(private(f"Yes {key[:4]}", 2))
        await rooms.until(lambda: any(one.text == "I sent it." for one in adapter.sent))
        await rooms.settled()
        assert "send: approved." in [one.text for one in adapter.sent]
        assert rooms.agent.verify().intact
        # Said again, it comes too late, and says so.
        adapter.say(private(f"no {key[:8]}", 3))
        await rooms.until(lambda: "no act that waits has the key" in adapter.sent[-1].text)


async def test_nobody_else_is_asked_or_may_say_yes(tmp_path: Path) -> None:
    home = asking_home(tmp_path / "home")
    adapter = ScriptedChannel([in_group("Write to Mallory!", 1, mentioned=True)])
    provider = Rounds(calls(LETTER), says("I asked."), says("So be it."))
    async with living(home, adapter, tools=[send], provider=provider) as rooms:
        key = await offered(rooms, adapter)
        assert [one.text for one in adapter.sent if one.room == "-100"] == ["I asked."]
        adapter.say(ButtonPress("-100", "p1", "7", f"yes:{key}"))
        adapter.say(ButtonPress("-100", "p2", OWNER, f"yes:{key}"))  # not where others press, too
        adapter.say(private(f"yes {key[:4]}", 3, sender="7", name="Bob"))
        await rooms.until(lambda: len(adapter.taken) == 4)
        assert len(rooms.happened("ignored")) == 3
        adapter.say(private(f"nein {key[:4]}", 4))
        await rooms.until(lambda: any("denied" in one.text for one in adapter.sent))
        assert rooms.parts.approvals.pending() == ((), ())


async def test_an_approval_of_a_process_that_ended_is_gone_on_with(tmp_path: Path) -> None:
    home = asking_home(tmp_path / "home")
    adapter = ScriptedChannel([private("Write to Mallory.")])
    async with living(
        home, adapter, tools=[send], provider=Rounds(calls(LETTER), says(""))
    ) as rooms:
        key = await offered(rooms, adapter)
        rooms.parts.approvals.approve(key, by="ann")
    later = ScriptedChannel()
    async with living(home, later, tools=[send], provider=Rounds(says("Sent at last."))) as rooms:
        await rooms.until(lambda: [one.text for one in later.sent] == ["Sent at last."])


def test_words_and_buttons_are_read_strictly() -> None:
    assert read_words(" YES 3fa0 ") == OwnerDecision("3fa0", yes=True)
    assert read_words("não 3FA0b1") == OwnerDecision("3fa0b1", yes=False)
    assert [
        read_words(text) for text in ("yes", "yes 3f", "yes please", "3fa0", "yes 3fa0 now")
    ] == [None] * 5
    assert read_button("no:3fa0b1") == OwnerDecision("3fa0b1", yes=False)
    assert read_button("yes:3fa0; rm") is None
    assert short_key("abcdef", ["abcdef", "abcdxx"]) == "abcde"

"""The Discord adapter against a server on loopback that speaks its gateway and REST."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rounds import LETTER, Rounds, calls, says, send

pytest.importorskip("discord")

from mentis.channels.discord import DiscordChannel

from .discord_server import BOB, BOT, DIRECT, GARDEN, KEY, discord_server
from .rooms import living, make_home, pair_owner

pytestmark = pytest.mark.anyio


async def test_a_talk_goes_to_and_fro_and_over_a_restart(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", kind='"discord"')
    pair_owner(home, DIRECT)
    async with discord_server() as (server, address):
        replies = ["Hello, Ann.", "Five.", "Hello, Bob."]
        async with living(home, DiscordChannel(address, KEY), replies) as rooms:
            await rooms.until(lambda: bool(rooms.happened("running")))
            asked = await server.write(DIRECT, "Two and two?")
            await rooms.until(lambda: len(server.sent()) == 1)
            first = server.sent()[0]
            assert (first["content"], first["enforce_nonce"]) == ("Hello, Ann.", True)
            assert first["allowed_mentions"] == {"parse": []}
            await rooms.settled()
            await server.edit(asked, "Two and three?")
            await rooms.until(lambda: len(server.sent("PATCH")) == 1)
            assert server.sent("PATCH")[0]["content"] == "Five."

            await server.write(GARDEN, "Nobody is named.", BOB)
            named = await server.write(GARDEN, "<@99> hello", BOB, mentions=[BOT])
            await rooms.until(lambda: len(server.sent()) == 2)
            second = server.sent()[1]
            assert second["content"] == "Hello, Bob."
            assert second["message_reference"]["message_id"] == int(named)
            assert b"Bob (guest)" in rooms.prompts[2]
            await rooms.settled()
        # The gateway forgets what nobody heard: it is asked for.
        await server.write(DIRECT, "Are you there?")
        async with living(home, DiscordChannel(address, KEY), ["I am."]) as rooms:
            await rooms.until(lambda: len(server.sent()) == 3)
            await rooms.settled()
            assert server.sent()[2]["content"] == "I am."
            assert len(rooms.happened("received")) == 1


async def test_an_approval_is_a_button(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", kind='"discord"')
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write('\n[acts]\nask = ["send"]\n')
    pair_owner(home, DIRECT)
    provider = Rounds(calls(LETTER), says("I asked."), says("I sent it."))
    async with discord_server() as (server, address):
        adapter = DiscordChannel(address, KEY)
        async with living(home, adapter, tools=[send], provider=provider) as rooms:
            await rooms.until(lambda: bool(rooms.happened("running")))
            await server.write(DIRECT, "Write to Mallory.")
            await rooms.until(lambda: any(one.get("components") for one in server.sent()))
            offer = next(one for one in server.sent() if one.get("components"))
            yes, no = offer["components"][0]["components"]
            assert (yes["label"], no["label"]) == ("Yes", "No")
            await server.press(yes["custom_id"], BOB)  # whoever it is that gets hold of it
            await server.press(yes["custom_id"])
            await rooms.until(lambda: "I sent it." in [one["content"] for one in server.sent()])
            assert len(rooms.happened("ignored")) == 1


async def test_a_refusal_is_final_and_a_limit_is_waited_for(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", kind='"discord"')
    pair_owner(home, DIRECT)
    async with discord_server() as (server, address):
        server.failures = [
            (429, {"message": "You are being rate limited.", "retry_after": 0.1, "global": False}),
            (403, {"message": "Cannot send messages to this user", "code": 50007}),
        ]
        async with living(home, DiscordChannel(address, KEY), ["One."]) as rooms:
            await rooms.until(lambda: bool(rooms.happened("running")))
            await server.write(DIRECT, "Hello?")
            await rooms.until(lambda: bool(rooms.happened("unsent")))
            assert len(server.sent()) == 2
            assert "Cannot send messages" in rooms.happened("unsent")[0].reason


async def test_a_wrong_token_ends_the_channel(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", kind='"discord"')
    async with discord_server() as (_server, address):
        wrong = DiscordChannel(address, "wrong.discord.key")
        async with living(home, wrong, fails=True) as rooms:
            await rooms.until(lambda: bool(rooms.failures))
        assert "wrong.discord.key" not in rooms.failures[0].message

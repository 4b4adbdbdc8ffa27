"""The Matrix adapter against a real homeserver: Synapse, run as a process of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

pytest.importorskip("nio")

from mentis.channels.matrix import MatrixChannel
from mentis.errors import ChannelFailed
from mentis.values.channel import RoomAnswer

from .rooms import living, make_home, pair_owner
from .synapse import Person, synapse

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def bodies(person: Person, room: str, of: str) -> list[str]:
    return [one["content"]["body"] for one in person.read(room) if one["sender"] == of]


async def test_rooms_of_a_homeserver_are_sessions_also_over_a_restart(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", kind='"matrix"', url='"http://127.0.0.1:1"')
    with synapse(tmp_path / "synapse") as address:
        ada, ann, bob = (Person(address, name) for name in ("ada", "ann", "bob"))

        def adapter() -> MatrixChannel:
            return MatrixChannel(address, ada.id, ada.token, poll=1)

        replies = ["Hello, Ann.", "Five.", "Hello, Bob."]
        async with living(home, adapter(), replies) as rooms:
            await rooms.until(lambda: bool(rooms.happened("running")))
            direct = await run_sync(partial(ann.room, ada.id, direct=True))
            pair_owner(home, direct, owner=ann.id)
            await rooms.until(lambda: ada_is_in(ann, direct, ada.id))
            asked = await run_sync(ann.write, direct, "Two and two?", 1)
            await rooms.until(lambda: bodies(ann, direct, ada.id) == ["Hello, Ann."])
            await rooms.settled()
            new = {"msgtype": "m.text", "body": "Two and three?"}
            edit = {"m.new_content": new}
            edit["m.relates_to"] = {"rel_type": "m.replace", "event_id": asked}
            await run_sync(partial(ann.write, direct, "* Two and three?", 2, **edit))
            await rooms.until(lambda: bodies(ann, direct, ada.id)[-1:] == ["* Five."])
            await rooms.settled()
            relation = ann.read(direct)[-1]["content"]["m.relates_to"]
            assert relation["rel_type"] == "m.replace"

            garden = await run_sync(partial(ann.room, ada.id, bob.id, name="Garden"))
            await run_sync(bob.join, garden)
            await rooms.until(lambda: ada_is_in(ann, garden, ada.id))
            await run_sync(bob.write, garden, "Nobody is named.", 3)
            named = {"m.mentions": {"user_ids": [ada.id]}}
            await run_sync(partial(bob.write, garden, "Hello there!", 4, **named))
            await rooms.until(lambda: bodies(bob, garden, ada.id) == ["Hello, Bob."])
            await rooms.settled()
            assert b"bob (guest)" in rooms.prompts[2]
        # While nobody was there, two messages came; the next process answers them, and no other.
        await run_sync(ann.write, direct, "Are you there?", 5)
        await run_sync(partial(bob.write, garden, "And now?", 6, **named))
        async with living(home, adapter(), ["Again."] * 2) as rooms:
            await rooms.until(lambda: bodies(ann, direct, ada.id)[-1] == "Again.")
            await rooms.until(lambda: bodies(bob, garden, ada.id)[-1] == "Again.")
            await rooms.settled()
            assert len(rooms.happened("received")) == 2
            assert rooms.agent.verify().intact


def ada_is_in(person: Person, room: str, ada: str) -> bool:
    return ada in person.members(room)


async def test_one_key_is_one_message_and_a_limit_is_told(tmp_path: Path) -> None:
    with synapse(tmp_path / "synapse", rate=0.2, burst=2) as address:
        ada, ann = Person(address, "ada"), Person(address, "ann")
        room = ann.room(ada.id, direct=True)
        ada.join(room)
        adapter = MatrixChannel(address, ada.id, ada.token)
        first = await adapter.send(RoomAnswer(room, "Once.", "key-1"))
        assert await adapter.send(RoomAnswer(room, "Once.", "key-1")) == first
        assert bodies(ann, room, ada.id) == ["Once."]

        async def send_many() -> None:
            for number in range(10):
                await adapter.send(RoomAnswer(room, "More.", f"more-{number}"))

        with pytest.raises(ChannelFailed) as failed:
            await send_many()
        assert failed.value.sent == "later"
        assert failed.value.retry_after > 0
        with pytest.raises(ChannelFailed) as failed:
            await adapter.send(RoomAnswer("!nowhere:localhost", "Lost.", "key-2"))
        assert failed.value.sent in ("never", "later")
        await adapter.aclose()


async def test_a_wrong_token_ends_the_channel(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", kind='"matrix"')
    with synapse(tmp_path / "synapse") as address:
        ada = Person(address, "ada")
        wrong = MatrixChannel(address, ada.id, "syt_wrong", poll=1)
        async with living(home, wrong, fails=True) as rooms:
            await rooms.until(lambda: bool(rooms.failures))
        assert "syt_wrong" not in rooms.failures[0].message

"""Follows the record: what the agent says by itself goes to its room, what waits for a yes to its
owner, and a turn that got its yes goes on.
"""

from __future__ import annotations

from functools import partial

from anyio import to_thread

from mentis.act.entries import APPROVED, waiting_act
from mentis.errors import MentisError

from .approvals import offer_buttons, offer_text, short_key
from .parts import ChannelAgent, ChannelParts

_LOOK = 1.0  # seconds between two looks: one number is read, so seldom enough to cost nothing


class Follower:
    def __init__(self, agent: ChannelAgent, parts: ChannelParts, decided: list[str]) -> None:
        """`decided` are sessions in which a person has decided on something."""
        self._agent, self._parts, self._log = agent, parts, parts.log
        self._decided = decided
        self._next, self._looked, self._offered = 0, -1, ""

    async def run(self) -> None:
        self._next = await to_thread.run_sync(self._log.seen)
        self._decided += await to_thread.run_sync(self._approved)
        while True:
            await to_thread.run_sync(self._look)
            await self._go_on()
            await self._parts.to_follow.wait(_LOOK)

    def _approved(self) -> list[str]:
        """Where an earlier process was given a yes and did not come to the act. It blocks."""
        record = self._parts.record
        marks = record.ledger.marks(record.agent, APPROVED)
        return [waiting_act(mark).call.session for mark in marks]

    async def _go_on(self) -> None:
        sessions = dict.fromkeys(filter(None, self._decided))
        self._decided.clear()
        for session in sessions:
            try:
                await self._agent.resume(session=session)
            except MentisError as error:  # the next turn of that session tells of it
                self._parts.tell("failed", reason=f"{session}: {error.message}")
        if sessions:
            await to_thread.run_sync(self._look)

    def _look(self) -> None:
        """It blocks."""
        owner = self._parts.owner().room
        count = self._log.count()
        if (count, owner) == (self._looked, self._offered):
            return
        self._looked, self._offered = count, owner
        self._tell_unasked()
        if owner:
            self._offer(owner)

    def _tell_unasked(self) -> None:
        rooms = {room.session: room.room for room in self._log.rooms()}
        found, self._next = self._log.unasked_turns(self._next, rooms)
        for entry, session in found:
            text, images = self._log.words_of(entry)
            name = f"turn/{entry.index}"
            whole = f"channel/{self._parts.name}/said/{name}"
            answers = self._parts.pieces(whole, rooms[session], text, images=images)
            self._log.see(name, answers, entry)
            self._parts.to_send.ring()

    def _offer(self, owner: str) -> None:
        """Every act that waits, once, to the owner alone."""
        parts, (waiting, _) = self._parts, self._parts.approvals.pending()
        keys = [act.call.key for act in waiting]
        for act in waiting:
            name = f"offer/{act.call.key}"
            text = offer_text(act, parts.language, short_key(act.call.key, keys))
            buttons = offer_buttons(act, parts.language)
            whole = f"channel/{parts.name}/said/{name}"
            answers = parts.pieces(whole, owner, text, buttons=buttons, notice=True)
            say = partial(self._log.say, name, answers, room=owner, act=act.call.key)
            if say():
                parts.to_send.ring()

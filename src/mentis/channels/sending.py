"""Sends what is to be sent, one after the other: an intent, the platform, what came of it.

What may have been sent is sent once more only where the platform takes it for the same message.
Elsewhere nobody knows, and the room is told so.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial

from anyio import sleep, to_thread

from mentis.errors import ChannelFailed

from .log import OutgoingAnswer
from .parts import ChannelParts

_SHORTEST, _LONGEST, _MINUTE = 1.0, 300.0, 60.0  # seconds


class Sender:
    def __init__(self, parts: ChannelParts) -> None:
        self._parts, self._log = parts, parts.log
        self._sent: deque[float] = deque()  # when, in the last minute
        self._failures = 0

    async def run(self) -> None:
        while True:
            for one in await to_thread.run_sync(self._log.outgoing):
                if not await self._send(one):
                    break  # what comes after it stays behind it
            else:
                await self._parts.to_send.wait(_MINUTE)

    async def _send(self, one: OutgoingAnswer) -> bool:
        """Whether it is over with this one; else it was waited for, and comes again."""
        again = self._parts.adapter.abilities.idempotent
        if one.begun and not again:  # by a process that was killed
            await self._leave_unknown(one, "the process ended while it was sent")
            return True
        await self._pace()
        if not one.begun:
            await to_thread.run_sync(self._log.begin, one)
        try:
            sent = await self._parts.adapter.send(one.answer)
        except ChannelFailed as error:
            return await self._failed(replace(one, begun=True), error)
        await to_thread.run_sync(partial(self._log.end, one, "sent", message=sent))
        self._failures = 0
        self._parts.tell("sent", room=one.answer.room, message=sent)
        return True

    async def _failed(self, one: OutgoingAnswer, error: ChannelFailed) -> bool:
        parts, idempotent = self._parts, self._parts.adapter.abilities.idempotent
        if error.sent == "later" or (error.sent == "unknown" and idempotent):
            self._failures += 1
            if error.sent == "later":
                await to_thread.run_sync(self._log.put_back, one, error.message)
            parts.tell("put off", room=one.answer.room, reason=error.message)
            backoff = min(_SHORTEST * 2.0 ** min(self._failures, 10), _LONGEST)
            await sleep(error.retry_after or backoff)
            return False
        if error.sent == "unknown":
            await self._leave_unknown(one, error.message)
        else:
            anew = [_without_edit(one)] if one.answer.edits else []
            end = partial(self._log.end, one, "unsent", then=anew, reason=error.message)
            await to_thread.run_sync(end)
            parts.tell("unsent", room=one.answer.room, reason=error.message)
        return not (error.sent == "never" and one.answer.edits)  # the new one is the next

    async def _leave_unknown(self, one: OutgoingAnswer, reason: str) -> None:
        """It is not sent again; the room is told that it may be missing, unless that was all."""
        parts, answer = self._parts, one.answer

        def leave() -> None:
            text, name = parts.notice("unsure"), f"{answer.key}/unsure"
            then = [] if one.notice else parts.pieces(name, answer.room, text, notice=True)
            self._log.end(one, "unknown", then=then, reason=reason)

        await to_thread.run_sync(leave)
        parts.tell("unknown", room=answer.room, reason=reason)
        parts.to_send.ring()

    async def _pace(self) -> None:
        """No more in a minute than the settings have."""
        clock = self._parts.record.clock
        while self._sent and clock.monotonic() - self._sent[0] >= _MINUTE:
            self._sent.popleft()
        if len(self._sent) >= self._parts.settings.per_minute:
            await sleep(_MINUTE - (clock.monotonic() - self._sent.popleft()))
        self._sent.append(clock.monotonic())


def _without_edit(one: OutgoingAnswer) -> OutgoingAnswer:
    """What was to be changed is not there any more: a message of its own."""
    answer = replace(one.answer, edits="", key=f"{one.answer.key}/anew")
    return replace(one, order=f"{one.order}/anew", begun=False, answer=answer)

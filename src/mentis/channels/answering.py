"""Answers what has a receipt: rooms side by side, in a room one message after the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from anyio import create_task_group, sleep, to_thread
from anyio.abc import TaskGroup

from mentis.errors import BadInput, ChannelFailed, Defect, MentisError, UserError
from mentis.turn.turn import TurnResult
from mentis.values.channel import RoomMessage
from mentis.values.entry import Entry
from mentis.values.recalled import Stimulus

from .log import RoomReceipt, came_to_nothing, said_before, session_of
from .parts import ChannelAgent, ChannelParts, is_owners
from .people import RoomPolicy

_TYPING, _BACKOFF, _LONGEST = 4.0, 2.0, 3600.0  # seconds


class Answerer:
    def __init__(self, agent: ChannelAgent, parts: ChannelParts, busy: set[str]) -> None:
        """`busy` are the rooms where it is at a message: others look there, too."""
        self._agent, self._parts, self._log = agent, parts, parts.log
        self._busy = busy
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}

    async def run(self) -> None:
        failure: MentisError | None = None
        async with create_task_group() as tasks:
            try:
                while True:
                    await self._parts.to_answer.wait(await self._begin_due(tasks))
            except MentisError as error:  # as it is, and what was begun comes to its end
                failure = error
        if failure is not None:
            raise failure

    async def _begin_due(self, tasks: TaskGroup) -> float:
        """Begin the next message of every room that is free; how long there is nothing to do."""
        clock, chosen = self._parts.record.clock, self._parts.settings
        quiet = chosen.quiet_left(clock.now())
        if quiet > 0 and chosen.quiet_mode == "wait":
            return min(quiet, 60.0)  # the clock may be set meanwhile
        due, firsts = _LONGEST, dict[str, RoomReceipt]()
        for receipt in await to_thread.run_sync(self._log.receipts):
            firsts.setdefault(receipt.message.room, receipt)
        for room, receipt in firsts.items():
            later = self._not_before.get(receipt.key, 0.0) - clock.monotonic()
            if room not in self._busy and later > 0:
                due = min(due, later)
            elif room not in self._busy:
                self._busy.add(room)
                tasks.start_soon(self._answer, receipt)
        return due

    async def _answer(self, receipt: RoomReceipt) -> None:
        try:
            await self._try(receipt)
        except MentisError as error:  # not even that could be written: it is there still
            self._put_off(receipt, error)
        finally:
            self._busy.discard(receipt.message.room)
            self._parts.to_answer.ring()

    async def _try(self, receipt: RoomReceipt) -> None:
        failures = self._failures
        try:
            await self._answer_one(receipt)
        except UserError as error:  # the message, a setting, a budget: trying again is no use
            await self._give_up(receipt, error, tried=not isinstance(error, BadInput))
        except MentisError as error:
            failures[receipt.key] = failures.get(receipt.key, 0) + 1
            if failures[receipt.key] >= self._parts.settings.tries:
                await self._give_up(receipt, error, tried=True)
            else:
                self._put_off(receipt, error)
        except Exception as error:  # noqa: BLE001  # one message must not end all rooms, each time
            defect = Defect(f"{type(error).__name__}: {error}")
            await self._give_up(receipt, defect, tried=True)

    def _put_off(self, receipt: RoomReceipt, error: MentisError) -> None:
        wait = _BACKOFF ** max(self._failures.get(receipt.key, 0), 1)
        self._not_before[receipt.key] = self._parts.record.clock.monotonic() + wait
        self._parts.tell_of("failed", receipt.message, error.message)

    async def _answer_one(self, receipt: RoomReceipt) -> None:
        log, message = self._log, receipt.message
        # Of a process that was killed before it could send the answer, or one that failed before.
        entry, again = await to_thread.run_sync(log.turn_of, receipt.key), None
        if entry is not None and came_to_nothing(entry):
            entry, again = None, said_before(entry)
        if message.edit_of and entry is None and again is None:
            again = await to_thread.run_sync(self._edited, message)
            if again is None:
                reason = "only the last message is said anew"
                settle = partial(log.settle, receipt, "passed over", (), reason=reason)
                await to_thread.run_sync(settle)
                self._parts.tell_of("passed over", message, reason)
                return
        waits = False
        if entry is None:
            stimulus = await to_thread.run_sync(self._stimulus, receipt, again)
            result = await self._chat(stimulus, message)
            entry, waits = result.entry, bool(result.pending)
        await to_thread.run_sync(partial(self._settle, receipt, entry, waits=waits))

    def _edited(self, message: RoomMessage) -> int | None:
        """The number of the message that was edited, if nobody wrote since. It blocks."""
        entry = self._log.turn_of(self._log.first_key(message), edits=True)
        if entry is None or came_to_nothing(entry):
            return None
        last = self._log.last_message(session_of(entry))
        return last if last is not None and last == said_before(entry) else None

    def _stimulus(self, receipt: RoomReceipt, again: int | None) -> Stimulus:
        """It blocks."""
        parts, message = self._parts, receipt.message
        policy = RoomPolicy(parts.name, parts.settings, parts.owner())
        text = "\n".join([message.text, *receipt.lost]).strip()
        told = policy.stimulus(replace(message, text=text), delivery=receipt.key)
        return replace(told, attachments=self._log.attachments(receipt), replaces=again)

    async def _chat(self, stimulus: Stimulus, message: RoomMessage) -> TurnResult:
        """The turn, while the room sees that somebody writes."""
        session, failure = self._parts.room_of(message).session, None
        result: TurnResult | None = None
        async with create_task_group() as tasks:
            tasks.start_soon(self._show_typing, message.room)
            try:
                result = await self._agent.chat(stimulus, session=session)
            except MentisError as error:  # as it is, not as one of a group
                failure = error
            tasks.cancel_scope.cancel()
        if result is None:
            raise failure or ChannelFailed("the answer was broken off")
        if came_to_nothing(result.entry):
            raise ChannelFailed("the answer was broken off")
        return result

    async def _show_typing(self, room: str) -> None:
        while True:
            try:
                await self._parts.adapter.show_typing(room)
            except ChannelFailed:
                return  # it is a courtesy
            await sleep(_TYPING)

    def _settle(self, receipt: RoomReceipt, entry: Entry, *, waits: bool) -> None:
        """It blocks."""
        parts, log, message = self._parts, self._log, receipt.message
        text, images = log.words_of(entry)
        if waits and not text and message.room != parts.owner().room:
            text = parts.notice("waits")
        edits = ""
        if message.edit_of and parts.adapter.abilities.edits:
            edits = log.sent_id(f"{log.first_key(message)}/answer/0")
        name = f"{receipt.key}/answer"
        reply_to = "" if message.private else message.edit_of or message.id
        answers = parts.pieces(
            name, message.room, text, images=images, reply_to=reply_to, edits=edits
        )
        log.settle(receipt, "answered", answers, turn=entry.index)
        self._failures.pop(receipt.key, None)
        parts.tell_of("answered", message, "" if answers else "it said nothing")
        parts.to_send.ring()
        parts.to_follow.ring()

    async def _give_up(self, receipt: RoomReceipt, error: MentisError, *, tried: bool) -> None:
        """Whoever asked is told that no answer comes; the owner also why."""
        parts, message = self._parts, receipt.message

        def settle() -> None:
            known = is_owners(parts.owner(), message.sender, private=message.private)
            reason = error.message if known else error.code
            text = parts.notice("failed" if tried else "refused", reason=reason)
            name = f"{receipt.key}/answer"
            answers = parts.pieces(name, message.room, text, notice=True)
            self._log.settle(receipt, "failed", answers, reason=error.code)

        await to_thread.run_sync(settle)
        self._failures.pop(receipt.key, None)
        parts.tell_of("failed", message, error.message)
        parts.to_send.ring()

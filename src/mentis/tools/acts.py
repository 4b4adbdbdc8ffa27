"""The one service of acts: what waits for a person, what was decided, what was done, for one agent.

Looking and deciding need nothing but the ledger. Running opens the tools of the home, does what was
approved and looks after what a process that is gone left open.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from anyio import to_thread

from mentis.act import entries
from mentis.act.approvals import Approvals
from mentis.act.entries import ApprovalDecision, OpenAct
from mentis.act.releases import release_result, withheld_result
from mentis.codec.forms import to_object
from mentis.errors import BadInput, HomeError, StoreDamaged, UsageError
from mentis.home.closing import Closeable
from mentis.home.parts import Parts
from mentis.home.server import open_blobs
from mentis.ledger.recipes import holds
from mentis.ports.blob_store import BlobStore
from mentis.record.act_owners import open_owners
from mentis.record.act_stories import ActStory, act_stories
from mentis.record.record import Record, open_record
from mentis.recovery.acts import RecoveryResult
from mentis.stores.files.accepted_acts import AcceptedFile
from mentis.stores.files.key_folder import config_folder
from mentis.values.act import WaitingAct
from mentis.values.action import Outcome
from mentis.values.entry import Entry
from mentis.values.value import Value

from .acting import open_act_runner
from .record_ground import ground_of

T = TypeVar("T")
_MOST_WORDS = 2000


@dataclass(frozen=True, slots=True)
class InFlight(Value):
    """An act that was begun and has no outcome. Not `alive`: the process that began it is gone."""

    act: OpenAct
    alive: bool
    since: str = ""
    entry: int | None = None


@dataclass(frozen=True, slots=True)
class ActRun(Value):
    """What came of acts outside of a turn, and what could not be looked after, in words.

    `elsewhere` was approved, and what does it is not here: the program that has it does it.
    """

    expired: tuple[WaitingAct, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    faults: tuple[str, ...] = ()
    elsewhere: tuple[WaitingAct, ...] = ()


def open_acts(
    home: str | Path,
    persona: str | None = None,
    parts: Parts | None = None,
    *,
    readonly: bool = False,
) -> Acts:
    """The service for one persona of a home; use it as a context manager.

    `readonly` is for looking only: it works where nothing can be written.
    """
    parts = parts or Parts()
    return Acts(open_record(home, persona, parts, readonly=readonly), parts)


class Acts(Closeable):
    """Its methods block, but for `run`: an async caller runs them in a worker thread."""

    def __init__(self, record: Record, parts: Parts) -> None:
        self._record = record
        self._parts = parts
        self._ledger = record.ledger
        self._blobs: BlobStore = open_blobs(record.home, record.database)
        self._owners = open_owners(
            record.home, record.ledger, record.clock, record.agent, judging=False
        )
        self._approvals = Approvals(
            record.ledger,
            record.stamp(),
            AcceptedFile(config_folder(record.environ), record.home.path),
            agent=record.agent,
            clock=record.clock,
            ids=record.ids,
            genuine=holds,
        )

    @property
    def agent(self) -> str:
        return self._record.agent

    def pending(self) -> tuple[tuple[WaitingAct, ...], tuple[StoreDamaged, ...]]:
        """What waits, oldest first, as it would be done; and what of it cannot be read."""
        return self._approvals.pending()

    def pending_data(self) -> dict[str, object]:
        """The same as JSON, with what nobody decided in time apart."""
        found, faults = self.pending()
        now = self._record.clock.now()
        late = [act for act in found if datetime.fromisoformat(act.expires) <= now]
        return {
            "agent": self.agent,
            "pending": [to_object(act) for act in found if act not in late],
            "expired": [to_object(act) for act in late],
            "faults": [fault.as_problem() for fault in faults],
        }

    def find(self, key: str) -> WaitingAct:
        """What waits under this key, or under one that begins like this; else UsageError."""
        return self._approvals.find(key)

    def approve(
        self, key: str, *, by: str, words: str = "", shown: WaitingAct | None = None
    ) -> WaitingAct:
        """Let it be done. Nothing is done yet: `run` does it, or the next turn. With `shown` only
        if it is still that.
        """
        return self._approvals.approve(key, by=_name(by), words=_words(words), shown=shown)

    def deny(self, key: str, *, by: str, words: str = "") -> WaitingAct:
        """Never do it, also when it was approved and is not begun; the next turn is told so, with
        the words.
        """
        return self._approvals.deny(key, by=_name(by), words=_words(words))

    def expire(self) -> tuple[WaitingAct, ...]:
        """Give up what nobody decided in time."""
        return self._approvals.expire(self._record.clock.now())

    def approved_acts(self) -> tuple[tuple[WaitingAct, ...], tuple[StoreDamaged, ...]]:
        """What a person said yes to and nobody has begun; and what of it cannot be read."""
        return entries.read_all(
            self._ledger.marks(self.agent, entries.APPROVED), entries.waiting_act
        )

    def open(self) -> tuple[tuple[InFlight, ...], tuple[StoreDamaged, ...]]:
        """What was begun and has no outcome yet, here or in another process; and what of it cannot
        be read.
        """
        acts, faults = entries.read_all(
            self._ledger.marks(self.agent, entries.OPEN), entries.open_act
        )
        return tuple(self._in_flight(act) for act in acts), faults

    def log(
        self, *, last: int | None = None, state: str | None = None, name: str | None = None
    ) -> tuple[ActStory, ...]:
        """What the ledger tells of each act, oldest first; of `last` the newest only."""
        found = [
            story
            for story in act_stories(self._ledger.entries(self.agent))
            if state in (None, story.state) and name in (None, story.type)
        ]
        return tuple(found[-last:] if last else found)

    def log_data(
        self, *, last: int | None = None, state: str | None = None, name: str | None = None
    ) -> dict[str, object]:
        """The same as JSON, with what is being done now."""
        open_, faults = self.open()
        return {
            "acts": [to_object(one) for one in self.log(last=last, state=state, name=name)],
            "open": [to_object(one) for one in open_],
            "faults": [fault.as_problem() for fault in faults],
        }

    def story(self, key: str) -> ActStory:
        """All of one act, by its key or the beginning of it; else UsageError."""
        known = {story.key: story for story in self.log()}
        if key in known:
            return known[key]
        matching = [one for one in known if key and one.startswith(key)]
        if len(matching) == 1:
            return known[matching[0]]
        raise _unknown(key, matching)

    def result(self, key: str) -> str:
        """The whole of what an act answered, also of one too large for the record."""
        story = self.story(key)
        if not any(step.stage == "outcome" for step in story.steps):
            raise UsageError(
                f"act {story.key} has no result: it is {story.state}",
                hint=f"`mentis acts show {story.key[:8]}` says how far it came",
                key=story.key,
            )
        if not story.blob:
            return story.text
        content = self._blobs.read(story.blob)
        if content is None:
            raise UsageError(
                f"the result of act {story.key} is not kept any more ({story.blob})",
                hint="the record has its beginning: `mentis acts show` prints it",
                key=story.key,
            )
        return content.decode(errors="replace")

    def withheld(self, key: str) -> ActStory:
        """The act with this key, or with one that begins like this, if screening withheld what came
        of it and nobody has released that; else UsageError.
        """
        story = self.story(key)
        withheld_result(story.key, self._genuine)
        return story

    def release(self, key: str, *, by: str, words: str = "") -> Outcome:
        """Let a result be told that screening withheld, once you have looked at it (`result`): the
        next turn is told, between marks and as released, or the turn that asked, with
        `agent.resume`. UsageError where nothing was withheld.
        """
        record, withheld = self._record, withheld_result(self.story(key).key, self._genuine)
        decided = ApprovalDecision(record.ids.new_id(), _name(by), _words(words))
        return release_result(
            self._ledger,
            record.stamp(),
            self._blobs,
            withheld,
            decided=decided,
            limit=record.settings.model.acts.inline_bytes,
        )

    def _genuine(self, delivery: str) -> Entry | None:
        entry = self._ledger.find_delivery(self.agent, delivery)
        return entry if entry is not None and holds(entry) else None

    async def run(self, keys: Collection[str] | None = None) -> ActRun:
        """Do what was approved, and look after what expired or was left open; of `keys` only those.

        What comes of it is recorded, and told in the next turn.
        """
        expired = () if keys is not None else await to_thread.run_sync(self.expire)
        acting = open_act_runner(ground_of(self._record, self._parts))
        try:
            await acting.tools.start()
            recovery = (await acting.bench()).recovery
            left = RecoveryResult() if keys is not None else await recovery.recover()
            here, elsewhere = await to_thread.run_sync(acting.doable, keys)
            done = await recovery.run_approved(here)
        finally:
            await acting.aclose()
        return ActRun(
            expired, left.outcomes + done.outcomes, left.faults + done.faults, elsewhere=elsewhere
        )

    def close(self) -> None:
        self._record.close()

    def _in_flight(self, act: OpenAct) -> InFlight:
        delivery = entries.delivery(act.call.key, "intent", act.call.attempt)
        entry = self._ledger.find_delivery(self.agent, delivery)
        since, index = (entry.time, entry.index) if entry else ("", None)
        return InFlight(act, self._alive(act.owner), since, index)

    def _alive(self, owner: str) -> bool:
        try:
            return self._owners.alive(owner)
        except HomeError:  # where nothing can be written no lock can be tried: it may be there
            return True


def _name(by: str) -> str:
    if by.strip():
        return by.strip()[:200]
    raise BadInput("a decision needs a name", hint="say who decides")


def _words(words: str) -> str:
    if len(words) <= _MOST_WORDS:
        return words
    raise BadInput(
        f"the words have {len(words)} characters, and {_MOST_WORDS} are kept", hint="say it shorter"
    )


def _unknown(key: str, matching: Sequence[str]) -> UsageError:
    if len(matching) > 1:
        message = f"{len(matching)} acts have a key that begins with {key!r}"
        return UsageError(message, hint=f"give more of it: {', '.join(matching[:3])}", key=key)
    return UsageError(
        f"no act has the key {key!r}", hint="`mentis acts log --last 50` lists them", key=key
    )

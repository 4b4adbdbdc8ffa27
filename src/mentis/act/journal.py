"""The journal of acts in the ledger: asked for, begun and ended, written before and after.

An intent is on disk before the act begins, with a mark that says it is open; the outcome takes the
mark away in the same transaction. So an act is open exactly while nobody has said what came of it.
These methods block; the dispatcher calls them in worker threads, where outcomes that come together
share one sync.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TypeAlias, assert_never, cast

from mentis.errors import BadInput, MentisError, NotCanonical, StoreConflict, StoreDamaged
from mentis.ports.accepted_acts import AcceptedActs
from mentis.ports.blob_store import BlobStore
from mentis.ports.entries import Stamp
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.screener import Screener
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct
from mentis.values.action import Outcome
from mentis.values.digest import Digest
from mentis.values.entry import Before, Draft, Entry
from mentis.values.json import JsonObject
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.part import MediaPart
from mentis.values.trust import Trust
from mentis.values.value import Value

from . import entries
from .approvals import check_bound
from .briefs import brief, clean, cut, join_reasons, short
from .screening import is_withheld, screen_outcome, withheld_text

_MOST_MEDIA = 16
Written: TypeAlias = tuple[Draft, tuple[Mark, ...]]
# The marks that keep the media of an outcome for as long as its turn has not ended.
OnMedia: TypeAlias = Callable[[Outcome], Sequence[Mark]]


@dataclass(frozen=True, slots=True)
class ActIntent(Value):
    """To be done once this is on disk. `approved`: it waited, and a person said yes."""

    call: ActCall
    spec: ActSpec
    digest: Digest
    decision: Decision | None = None
    approved: bool = False


@dataclass(frozen=True, slots=True)
class SettledAct(Value):
    """Never begun, and why. `approved`: a person had said yes, so that its mark goes as well."""

    call: ActCall
    outcome: Outcome
    decision: Decision | None = None
    digest: Digest = ""
    endpoint: str = ""
    approved: bool = False


Asked: TypeAlias = ActIntent | WaitingAct | SettledAct


@dataclass(frozen=True, slots=True)
class Sizes(Value):
    """How large a result may be to stand in the record itself, and to be kept at all."""

    inline_bytes: int = 8 * 1024
    result_bytes: int = 32 * 1024 * 1024


class Journal:
    def __init__(
        self,
        ledger: LedgerStore,
        stamp: Stamp,
        blobs: BlobStore,
        *,
        agent: str,
        owner: str,
        sizes: Sizes | None = None,
        accepted: AcceptedActs | None = None,
        screener: Screener | None = None,
    ) -> None:
        """Without `accepted` nothing that was approved is done, and nothing is tried again; without
        a `screener` every result from outside is withheld.
        """
        self.agent = agent
        self.owner = owner
        self.lease: Lease | None = None  # the owner's: once it is another's nothing is begun
        self._ledger = ledger
        self._stamp = stamp
        self._blobs = blobs
        self._sizes = sizes or Sizes()
        self._accepted = accepted
        self._screener = screener
        self._owed_lock = Lock()
        self._owed: dict[str, Written] = {}  # endings that could not be recorded yet, by key

    def begin(
        self,
        asked: Sequence[Asked],
        *,
        marks: Sequence[Mark] = (),
        lease: Lease | None = None,
    ) -> tuple[MentisError | None, ...]:
        """All of it in one append, with `marks`. For each what kept it out: it must not be done.

        What cannot be written down at all (BadInput, NotCanonical) does not keep out the others.
        With a `lease` it is begun under that one. To end what was begun none is
        needed: it was done, whoever has the lease by then.
        """
        self.catch_up()
        written = [self._written(one) for one in asked]
        append = partial(self._append, also=marks, lease=lease or self.lease)
        fault = append([one for one in written if not isinstance(one, MentisError)])
        if isinstance(fault, BadInput | NotCanonical):
            written = [self._tried(one) for one in written]
            fault = append([one for one in written if not isinstance(one, MentisError)])
        faults = tuple(one if isinstance(one, MentisError) else fault for one in written)
        self._use_up(one for one, kept_out in zip(asked, faults, strict=True) if kept_out is None)
        return faults

    def end(
        self,
        ended: Sequence[tuple[ActIntent, Outcome]],
        *,
        news: bool = False,
        on_media: OnMedia | None = None,
    ) -> tuple[Outcome, ...]:
        """The outcomes as they are recorded, all in one append; what comes from outside is
        screened, large results are kept apart. With the marks that `on_media` makes of those that
        have media.

        One that cannot be recorded says so; its act stays open until `catch_up` has recorded it.
        """
        screened = [(begun, screen_outcome(self._screener, outcome)) for begun, outcome in ended]
        if news:  # the next turn is told in words
            screened = [(begun, self._apart(outcome)) for begun, outcome in screened]
        kept = [(begun, self._kept(outcome)) for begun, outcome in screened]
        endings = {begun.call.key: _ending(begun, outcome, news=news) for begun, outcome in kept}
        also = [m for _, one in kept if on_media and one.media for m in on_media(one)]
        fault = self._append(list(endings.values()), also=also)
        if fault is None:
            self.catch_up()
        elif _passes(fault) or len(endings) > 1:  # of several, one may have kept out the others
            with self._owed_lock:
                self._owed |= endings
        return tuple(note_unrecorded(outcome, fault) if fault else outcome for _, outcome in kept)

    def receive(self, outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
        """Results that the caller brings, as they may be told: screened, and large ones cut."""
        screened = (screen_outcome(self._screener, outcome) for outcome in outcomes)
        return tuple(self._kept(outcome) for outcome in screened)

    @property
    def is_owing(self) -> bool:
        """Whether there are endings that could not be recorded."""
        return bool(self._owed)

    def catch_up(self) -> MentisError | None:
        """Record the endings that could not be recorded before; or what still keeps them out."""
        with self._owed_lock:
            for key, ending in list(self._owed.items()):
                fault = self._append([ending])  # each alone: one must not keep out the others
                if fault is not None and _passes(fault):
                    return fault
                del self._owed[key]
        return None

    def give_up(self, act: entries.OpenAct, outcome: Outcome) -> MentisError | None:
        """The outcome of an act that another process began and never ended."""
        draft = entries.outcome_draft(
            act.call, outcome, spec_digest=act.spec, endpoint=act.endpoint
        )
        marks = (entries.closed_mark(act.call.key), entries.news_mark(act.call.key, outcome))
        return self._append([(draft, marks)])

    def open(self) -> tuple[tuple[entries.OpenAct, ...], tuple[StoreDamaged, ...]]:
        """What was begun and not ended, by whomever; and what of it cannot be read."""
        return entries.read_all(self._ledger.marks(self.agent, entries.OPEN), entries.open_act)

    def is_bound(self, act: entries.OpenAct) -> bool:
        """Whether its intent says the same: the mark beside it is bound by nothing."""
        call = act.call
        name = entries.delivery(call.key, "intent", call.attempt)
        entry = self._ledger.find_delivery(self.agent, name)
        if entry is None or "payload" not in entry.body:  # rotated away, or erased
            return False
        ended = entries.delivery(call.key, "outcome", call.attempt)
        if self._ledger.find_delivery(self.agent, ended) is not None:
            return False
        if not act.seal or act.seal != self._seal(call, act.spec):
            return False
        told = cast("JsonObject", entry.body["act"])
        payload = entries.payload_digest(cast("JsonObject", entry.body["payload"]))
        asked = entries.payload_digest(call.action.payload)
        said = told.get("type"), told.get("spec"), told.get("attempt"), payload
        return said == (call.action.type, act.spec, call.attempt, asked)

    def approved_acts(self) -> tuple[tuple[WaitingAct, ...], tuple[StoreDamaged, ...]]:
        """What a person said yes to and nobody has begun; and what of it cannot be read, or is not
        what the record says was approved.
        """

        def read_bound(mark: Mark) -> WaitingAct:
            act = entries.waiting_act(mark)
            check_bound(self._ledger, self.agent, act, "approved")
            self._refuse_unaccepted(act)
            return act

        return entries.read_all(self._ledger.marks(self.agent, entries.APPROVED), read_bound)

    def _refuse_unaccepted(self, act: WaitingAct) -> None:
        """A database says what it likes: only a yes that is kept outside of the home counts."""
        key, what = act.call.key, entries.waiting_digest(act)
        if self._accepted is None or not self._accepted.is_accepted(self.agent, key, what):
            raise StoreDamaged(
                f"act {key} is marked as approved, and nobody here said yes to it as it stands:"
                f" deny it with `mentis acts deny {key}`",
                hint="have it asked for again",
                key=key,
            )

    def _use_up(self, asked: Iterable[Asked]) -> None:
        """A yes is to doing it once."""
        for one in asked:
            if self._accepted is not None and not isinstance(one, WaitingAct) and one.approved:
                with suppress(MentisError):  # its intent stands: it cannot be begun again
                    self._accepted.forget(self.agent, one.call.key)

    def _seal(self, call: ActCall, digest: Digest) -> str:
        """Empty when there is no secret to be had: it is not tried again then."""
        if self._accepted is None:
            return ""
        try:
            return self._accepted.seal(entries.sealed_text(call, digest))
        except MentisError:
            return ""

    def _append(
        self,
        written: Sequence[Written],
        *,
        also: Sequence[Mark] = (),
        lease: Lease | None = None,
    ) -> MentisError | None:
        if not written:
            return None
        drafts = [draft for draft, _ in written]
        marks = [*also, *(mark for _, marks in written for mark in marks)]
        stamped: set[str] = set()

        def stamp(agent: str, head: Before | None, draft: Draft) -> Entry:
            entry = self._stamp(agent, head, draft)
            stamped.add(entry.hash)
            return entry

        try:
            made = self._ledger.append(self.agent, drafts, stamp, lease=lease, marks=marks)
        except MentisError as fault:
            return fault
        # A delivery that was known is somebody else's: they did it, and their marks stand.
        known = next((entry for entry in made if entry.hash not in stamped), None)
        return None if known is None else _taken(known)

    def _written(self, asked: Asked) -> Written | MentisError:
        try:
            match asked:
                case ActIntent():
                    return self._intent(asked)
                case WaitingAct():
                    return entries.waiting_draft(asked), (entries.waiting_mark(asked),)
                case SettledAct():
                    return _settled(asked)
                case _:
                    assert_never(asked)
        except BadInput as fault:
            return fault

    def _intent(self, begun: ActIntent) -> Written:
        call, spec = begun.call, begun.spec
        draft = entries.intent_draft(call, spec, begun.digest, begun.decision, owner=self.owner)
        seal = self._seal(call, begun.digest) if spec.declaration.idempotent else ""
        mark = entries.open_mark(call, spec, begun.digest, self.owner, seal=seal)
        return draft, (mark, entries.begun_mark(call.key)) if begun.approved else (mark,)

    def _tried(self, written: Written | MentisError) -> Written | MentisError:
        """Stamped and thrown away: one of several is refused, and this says which."""
        if isinstance(written, MentisError):
            return written
        try:
            self._stamp(self.agent, None, written[0])
        except (BadInput, NotCanonical) as fault:
            return fault
        return written

    def _kept(self, outcome: Outcome) -> Outcome:
        if is_withheld(outcome):
            return self._withheld(outcome)
        outcome = self._bounded(outcome)
        size, limit = len(outcome.text.encode()), self._sizes.inline_bytes
        if size <= limit:
            return outcome if outcome.blob else replace(outcome, size=size)
        blob, notes = self._keep_apart(outcome.text)
        reason = short(join_reasons(outcome.reason, *notes))
        text = brief(outcome.text, limit=limit, size=size, blob=blob)
        return replace(outcome, text=text, reason=reason, blob=blob, size=size)

    def _bounded(self, outcome: Outcome) -> Outcome:
        """With as many of its media as there is room for; of the others a note."""
        room, kept = self._sizes.result_bytes, list[MediaPart]()
        for part in outcome.media:
            room -= len(part.data or b"")
            if room < 0 or len(kept) == _MOST_MEDIA:
                break
            kept.append(part)
        if len(kept) == len(outcome.media):
            return outcome
        note = f"only {len(kept)} of {len(outcome.media)} media are kept: all are too much"
        reason = short(join_reasons(outcome.reason, note))
        return replace(outcome, media=tuple(kept), reason=reason)

    def _apart(self, outcome: Outcome) -> Outcome:
        """For whoever is told outside of a turn: media as blobs, and what they are in the text."""
        if not outcome.media:
            return outcome
        lines = [
            json.dumps({**fields, "blob": self._keep_bytes(part.data or b"")})
            for part, fields in zip(
                outcome.media, entries.media_fields(outcome)["media"], strict=True
            )
        ]
        text = "\n".join(filter(None, (outcome.text, *lines)))
        return replace(outcome, text=text, media=())

    def _keep_bytes(self, content: bytes) -> Digest:
        try:
            return self._blobs.keep(content)
        except MentisError:
            return ""  # its digest stands beside it, and says what is missing

    def _withheld(self, outcome: Outcome) -> Outcome:
        """All the words of the tool are for the owner; what is told instead is ours."""
        outcome = self._apart(outcome)
        words = "\n".join(filter(None, (outcome.reason, outcome.text)))
        size = len(words.encode())
        blob, notes = self._keep_apart(words)
        text, reason = withheld_text(outcome, size, blob), short(join_reasons(*notes))
        return replace(outcome, text=text, reason=reason, trust=Trust.RUNTIME, blob=blob, size=size)

    def _keep_apart(self, text: str) -> tuple[Digest, list[str]]:
        """Where the whole is kept, as far as it can be, and what there is to say of that."""
        notes, content, most = list[str](), text.encode(), self._sizes.result_bytes
        if len(content) > most:
            notes.append(f"only the first {most} of {len(content)} bytes are kept")
            content = cut(text, most).encode()
        try:
            return self._blobs.keep(content), notes
        except MentisError as fault:
            return "", [*notes, f"the whole of it could not be kept: {fault.message}"]


def _ending(begun: ActIntent, outcome: Outcome, *, news: bool) -> Written:
    call = begun.call
    draft = entries.outcome_draft(
        call, outcome, spec_digest=begun.digest, endpoint=begun.spec.endpoint
    )
    closed = entries.closed_mark(call.key)
    return draft, (closed, entries.news_mark(call.key, outcome)) if news else (closed,)


def _settled(asked: SettledAct) -> Written:
    call, outcome = asked.call, asked.outcome
    # A name made of anything at all is recorded as far as it can be said.
    action = replace(call.action, type=short(clean(call.action.type)[0]), payload={})
    draft = entries.outcome_draft(
        replace(call, action=action),
        outcome,
        spec_digest=asked.digest,
        endpoint=asked.endpoint,
        decision=asked.decision,
    )
    if not asked.approved:
        return draft, ()
    return draft, (entries.begun_mark(call.key), entries.news_mark(call.key, outcome))


def _passes(fault: MentisError) -> bool:
    """Whether it may be recorded later: not what has no form, nor what is recorded already."""
    return not isinstance(fault, BadInput | NotCanonical | StoreConflict)


def _taken(known: Entry) -> StoreConflict:
    return StoreConflict(
        f"`{known.delivery}` of agent `{known.agent}` is entry {known.index} already",
        hint="somebody else was faster; look at what came of it",
        agent=known.agent,
        index=known.index,
    )


def note_unrecorded(outcome: Outcome, fault: MentisError) -> Outcome:
    """What happened, happened, and the record does not say so."""
    note = f"this could not be recorded: {fault.message}"
    return replace(outcome, reason=short(join_reasons(outcome.reason, note)))

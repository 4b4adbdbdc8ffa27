"""One draft on its way in: recorded and acknowledged, put aside with its reason, or spooled."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import cast

from mentis.codec.canon import canonical
from mentis.codec.forms import to_object
from mentis.errors import (
    BadInput,
    HomeUnwritable,
    LeaseHeld,
    MentisError,
    StoreConflict,
    StoreError,
    StoreLocked,
    StoreTooNew,
    WindowRefused,
)
from mentis.ledger.chain import make_stamp
from mentis.ledger.channel.consumer import RECEIVED, OnAdded, OnRefused, find_known
from mentis.ledger.channel.folder import delivery_of, new_delivery
from mentis.ledger.channel.health import offline
from mentis.ledger.channel.operations import added_line
from mentis.ledger.channel.quarantine import write_aside
from mentis.ledger.channel.secrecy import refuse_keys
from mentis.ledger.channel.writer import write_draft
from mentis.ledger.guardian.draft import read_draft
from mentis.ledger.guardian.judge import judge_draft
from mentis.ledger.guardian.rules_health import SPOOL
from mentis.ledger.recipes import check_recipe
from mentis.record.window_operations import judge_receipt
from mentis.record.window_stamp import WindowStamp, refusal, refuse_fallen
from mentis.record.window_state import BREACH, UNSURE, WINDOW, derive_state, shown_window
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.guardian import GuardianProfile, GuardianState, Receipt, Routes
from mentis.values.json import JsonObject
from mentis.values.status import WindowResult

from .desk import StatusWorkspace

# Who stamps is writing to the store, so the direct ways are open.
DIRECT = Routes(watcher=False, cli=True, tool=True)
NONE_UP = Routes(watcher=False, cli=False)
_FORGED = frozenset({"S2-FAKE-TIME", "S2-FAKE-TRIGTIME", "S2-HASH-DRAFT", "S2-DECEIT"})
_TRIES = 10


@dataclass(frozen=True, slots=True)
class Arrival:
    """A draft as it came, the window read from it, and the rules it is judged by."""

    content: bytes
    window: JsonObject
    source: str
    profile: GuardianProfile
    delivery: str | None = None

    @property
    def draft(self) -> Draft:
        received = {"digest": digest(self.content), "bytes": len(self.content)}
        body = {WINDOW: self.window, RECEIVED: received}
        return Draft(WINDOW, self.source, body, delivery=self.delivery)


def read_data(data: bytes | Mapping[str, object]) -> tuple[bytes, JsonObject]:
    """The bytes of a draft and the window in them; NotCanonical says what cannot be read, where."""
    content = data if isinstance(data, bytes) else canonical(dict(data))
    return content, read_draft(content)


def add_window(desk: StatusWorkspace, arrival: Arrival) -> WindowResult:
    profile = arrival.profile
    try:
        refuse_keys(arrival.draft, desk.keys)
    except BadInput as error:
        put_aside(desk, error, arrival)
        raise
    try:
        refuse_fallen(arrival.window, GuardianState(), profile)
        return _record(desk, arrival)
    except WindowRefused as error:
        put_aside(desk, error, arrival)
        try:
            record_breach(desk, error, arrival.source, arrival.delivery)
        except (StoreError, HomeUnwritable) as fault:
            error.facts["breach"] = f"not recorded: {fault.message}"
        raise
    except (StoreConflict, LeaseHeld, StoreTooNew):
        raise
    except (StoreError, HomeUnwritable) as fault:
        if SPOOL in profile.settles:
            return _spool(desk, arrival, fault)
        judgement = judge_draft(arrival.window, GuardianState(routes=NONE_UP), profile)
        error = refusal(judgement, arrival.window)
        put_aside(desk, error, arrival)
        raise error from fault


def _record(desk: StatusWorkspace, arrival: Arrival) -> WindowResult:
    if known := _known(desk, arrival):
        return known
    stamp = WindowStamp(
        desk.follower,
        arrival.profile,
        DIRECT,
        clock=desk.clock,
        ids=desk.ids,
    )
    tries = _TRIES
    while True:
        tries -= 1
        try:
            (entry,) = desk.store.append(desk.agent, [arrival.draft], stamp)
            if entry.index < stamp.before:  # somebody was faster with the same delivery
                return _replayed(desk, entry)
            return _acknowledged(desk, entry, stamp, arrival.profile)
        except StoreLocked as locked:
            if not tries or not locked.facts.get("moved"):
                raise
        except (StoreConflict, WindowRefused):
            # Somebody was faster with the same delivery, or it is refused indeed.
            if known := _known(desk, arrival):
                return known
            raise


def _known(desk: StatusWorkspace, arrival: Arrival) -> WindowResult | None:
    if arrival.delivery is None:
        return None
    entry = find_known(desk.store, desk.agent, arrival.delivery, digest(arrival.content))
    if entry is None:
        return None
    return _replayed(desk, entry)


def _replayed(desk: StatusWorkspace, entry: Entry) -> WindowResult:
    """Nothing was added, and the receipt does not say that anything was."""
    count = desk.store.count(desk.agent)
    receipt = Receipt("", count, count, verified=_verified(desk, entry))
    return WindowResult(entry, None, entry.index + 1, receipt, shown_window(entry), known=True)


def _acknowledged(
    desk: StatusWorkspace, entry: Entry, stamp: WindowStamp, profile: GuardianProfile
) -> WindowResult:
    """Three proofs: the line is in the log, the chain is one longer, the entry verifies there."""
    line = added_line(entry)
    with suppress(MentisError):  # then the line is not in the log, and the receipt says so
        desk.folder.make()
    desk.log.write("added", result="SUCCESS", message=line, source=entry.source, hash=entry.hash)
    kept = desk.store.find(desk.agent, entry.index)
    receipt = Receipt(
        log_line="" if desk.log.fault else line,
        before=stamp.before,
        after=_count_without_others(desk, entry),
        verified=kept is not None and kept.hash == entry.hash and _verified(desk, kept),
    )
    if not receipt.acknowledged:
        record_doubt(desk, entry, receipt)
    judgement = stamp.judgement
    if judgement is not None:
        kept_findings = judge_receipt(receipt, profile)
        judgement = replace(judgement, kept=(*judgement.kept, *kept_findings))
    return WindowResult(entry, judgement, entry.index + 1, receipt, shown_window(entry))


def record_doubt(desk: StatusWorkspace, entry: Entry, receipt: Receipt) -> None:
    """Whether a window was kept is unsure: the next one is told by the record, whoever takes it."""
    body = {"entry": entry.index, "hash": entry.hash, "receipt": to_object(receipt)}
    stamp = make_stamp(desk.clock.now, desk.ids.salt, desk.clock.uptime)
    with suppress(StoreError, HomeUnwritable):  # the answer itself says that it is unsure
        desk.store.append(desk.agent, [Draft(UNSURE, entry.source, body)], stamp)


def doubts_of_files(desk: StatusWorkspace, on_added: OnAdded | None) -> OnAdded:
    """The same for windows that came as files, when their line could not be logged."""

    def added(entry: Entry, line: str) -> None:
        if desk.log.fault:
            record_doubt(desk, entry, Receipt("", entry.index, entry.index + 1))
        if on_added is not None:
            on_added(entry, line)

    return added


def _count_without_others(desk: StatusWorkspace, entry: Entry) -> int:
    """What others added meanwhile is not counted; the same draft once more is nobody else's."""
    count = desk.store.count(desk.agent)
    later = desk.store.entries(desk.agent, start=entry.index + 1)
    counted = takewhile(lambda one: one.index < count, later)  # more may have come since
    return count - sum(one.body.get(RECEIVED) != entry.body.get(RECEIVED) for one in counted)


def _verified(desk: StatusWorkspace, entry: Entry) -> bool:
    """Whether it derives to its hash and follows the one before it, as the store has them now."""
    start = max(0, entry.index - 1)
    expected = [entry.hash] if entry.index == 0 else [entry.prev, entry.hash]
    stored = list(islice(desk.store.hashes(desk.agent, start=start), len(expected)))
    return stored == expected and not any(check_recipe(entry, None))


def _spool(desk: StatusWorkspace, arrival: Arrival, fault: MentisError) -> WindowResult:
    state = GuardianState(known=False, routes=NONE_UP)
    judgement = judge_draft(arrival.window, state, arrival.profile)
    name = write_draft(
        desk.folder,
        arrival.content,
        clock=desk.clock,
        ids=desk.ids,
        delivery=arrival.delivery,
        source=arrival.source,
    )
    desk.log.write("spooled", delivery=name, source=arrival.source, error=fault.message)
    health = offline(fault, desk.folder)
    receipt = Receipt("", 0, 0, verified=None)
    return WindowResult(None, judgement, 0, receipt, spooled=name, health=health)


def put_aside(desk: StatusWorkspace, error: MentisError, arrival: Arrival) -> None:
    """Keep the draft in quarantine with this reason; the error's facts name the file."""
    desk.folder.make()
    why = {
        "time": desk.time(),
        "event": "refused",
        "source": arrival.source,
        "delivery": arrival.delivery,
        **error.as_problem(),
    }
    label = new_delivery(desk.clock.now, desk.ids)
    folder, keys = desk.folder.quarantine, desk.keys.values()
    target = write_aside(folder, arrival.content, label=label, why=why, secrets=keys)
    desk.log.write("refused", result="FAIL", error=error.message, aside=target.name)
    error.facts["quarantine"] = target.name
    error.hint = f"{error.hint}; the draft is kept in {desk.folder.quarantine.name}/{target.name}"


def record_breach(
    desk: StatusWorkspace, error: MentisError, source: str, delivery: str | None
) -> None:
    """A refused draft is a breach, and on record: the next window is a recovery. Each that made
    something up is recorded; of others one, until that is answered.
    """
    if not isinstance(error, WindowRefused):
        return
    attempts = error.facts.get("attempts")
    rules = cast("list[str]", error.facts.get("rules", []))
    if attempts and _FORGED & set(rules):
        body = {"reason": "a draft made up what only the ledger writes", "attempts": attempts}
    elif derive_state(desk.store, desk.agent).after_breach:
        return
    else:
        body = {"reason": "a draft was refused", "rules": rules, "draft": error.facts["draft"]}
    draft = Draft(
        BREACH,
        source,
        body,
        ruleset=str(error.facts["profile"]),
        # No draft can be delivered under such a name, and each that made something up has its own.
        delivery=None if delivery is None else f"{BREACH}/{delivery}/{error.facts['draft']}",
    )
    stamp = make_stamp(desk.clock.now, desk.ids.salt, desk.clock.uptime)
    desk.store.append(desk.agent, [draft], stamp)


def breaches_of_files(desk: StatusWorkspace, source: str) -> OnRefused:
    """The same for drafts that come as files, told before they go to quarantine."""

    def record_refusal(name: str, error: MentisError) -> None:
        told = str(error.facts.get("source", source))
        record_breach(desk, error, told, delivery_of(name))

    return record_refusal

"""The guardian's state, read from the ledger: each window keeps the state it met.

So the state after the last window follows from that one entry and what came after it; older ones
are read only where windows say nothing of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import cast

from mentis.errors import StoreLocked
from mentis.ledger.guardian.rules_stamped import FORGED_PLACES
from mentis.ledger.guardian.state import after_breach, next_state, with_receipt
from mentis.ledger.origin import KIND as IMPORT
from mentis.ledger.origin import OriginPlace, window_of
from mentis.ledger.statements import REPAIR, ROLLBACK
from mentis.ports.entries import Entries
from mentis.record.backwards import backwards
from mentis.values.entry import Before, Entry, Head
from mentis.values.guardian import GuardianState, Receipt
from mentis.values.json import JsonObject
from mentis.values.tally import Tally

WINDOW = "window"
TURN = "turn"  # may carry a window of the model's own
BREACH = "breach"
_JUDGED = "judgement"
_CYCLE = re.compile(r"([1-5])/5")
UNSURE = "unacknowledged"  # after a window of which nobody knows whether it was kept
# After one of these the next window is a recovery.
_BREACHES = (BREACH, REPAIR, ROLLBACK)


def shown_window(entry: Entry) -> JsonObject | None:
    """The window of an entry with its hash in it, which is the entry's; None when it has none."""
    window = window_of(entry)
    if window is None or entry.kind not in (WINDOW, TURN):
        return window
    return {**window, "window_hash": entry.hash}


def state_fields(state: GuardianState) -> JsonObject:
    """The part of a state that a window's entry keeps."""
    return {
        "step": state.step,
        "cycle": state.cycle,
        "known": state.known,
        "since_audit": state.since_audit,
        "after_breach": state.after_breach,
    }


def derive_state(store: Entries, agent: str) -> GuardianState:
    """The state the next window meets; its routes are for the caller to say."""
    head = store.head(agent)
    if head is None:
        return GuardianState()
    telling, whole = _telling(store, agent, head)
    state = GuardianState(known=whole)
    for entry in telling:
        if _carries(entry):
            kept = _kept_state(entry)
            state = _counted(kept or state, entry)
        elif entry.kind == UNSURE:
            state = with_receipt(state, Receipt())
        else:
            state = after_breach(state)
    return replace(state, head=head.hash, head_time=head.time)


class WindowStateFollower:
    """The state at the head of a chain, for whoever stamps there: derived once, then carried on."""

    def __init__(self, store: Entries, agent: str) -> None:
        self._store = store
        self._agent = agent
        self._state: GuardianState | None = None

    def at(self, head: Before | None) -> GuardianState:
        wanted = None if head is None else head.hash
        if self._state is None or self._state.head != wanted:
            self._state = derive_state(self._store, self._agent)
        if self._state.head != wanted:
            # Entries of the same transaction cannot always be read before it is committed.
            raise StoreLocked(
                f"the ledger of `{self._agent}` is being written by others",
                hint="try again",
                moved=True,
            )
        return self._state

    def pass_by(self, entry: Entry) -> None:
        """An entry that says nothing of windows stands before the next one."""
        if self._state is not None:
            self._state = replace(self._state, head=entry.hash, head_time=entry.time)

    def go_on(self, entry: Entry) -> None:
        """What was stamped comes next. If it is not kept, the next look finds another head."""
        if self._state is not None:
            state = _counted(self._state, entry)
            self._state = replace(state, head=entry.hash, head_time=entry.time)


def _counted(state: GuardianState, entry: Entry) -> GuardianState:
    if not state.known:
        # Counting begins anew, with a number no step had.
        state = replace(state, known=True, step=entry.index + 1, cycle=1)
    window = shown_window(entry) or {}
    if entry.kind == IMPORT:
        return _continued(state, window)
    state = next_state(state, window)
    return after_breach(state) if _made_up(entry) else state


def _continued(state: GuardianState, window: JsonObject) -> GuardianState:
    """Counting goes on where an imported history ended. What it asks for was asked elsewhere: it
    owes no audit here, and answers no breach.
    """
    told = _CYCLE.fullmatch(str(window.get("cycle")))
    at = replace(state, cycle=int(told[1])) if told else state
    after = next_state(at, window)
    asked = {name: getattr(state, name) for name in ("since_audit", "after_breach", "receipt")}
    return replace(after, **asked)


def _made_up(entry: Entry) -> bool:
    """Whether its draft brought a time or a hash, which the ledger has overwritten."""
    attempts = entry.body.get("attempts")
    places = [one.get("where") for one in _objects(attempts)]
    return any(place in FORGED_PLACES for place in places)


def _objects(value: object) -> list[JsonObject]:
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return [cast("JsonObject", one) for one in listed if isinstance(one, Mapping)]


def _kept_state(entry: Entry) -> GuardianState | None:
    kept = entry.body.get("state")
    if not isinstance(kept, Mapping):
        return None
    told = cast("Mapping[str, object]", kept)
    return GuardianState(
        step=_number(told.get("step")),
        cycle=_number(told.get("cycle")),
        known=told.get("known") is True,
        since_audit=_number(told.get("since_audit")),
        after_breach=told.get("after_breach") is True,
    )


def _carries(entry: Entry) -> bool:
    """Whether it holds a window that counts; one that was erased still does."""
    return entry.kind in (WINDOW, IMPORT) or (entry.kind == TURN and WINDOW in entry.fields)


def _breaks(entry: Entry) -> bool:
    """Whether it is a breach, or a turn that was to open with a window and has none that holds. One
    that others overtook is nobody's fault, and a fork nobody's turn.
    """
    if entry.kind in _BREACHES:
        return True
    named = entry.fields
    refused = _JUDGED in named and WINDOW not in named
    return entry.kind == TURN and refused and "refusal" not in named and "fork" not in named


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _telling(store: Entries, agent: str, head: Head) -> tuple[list[Entry], bool]:
    """The windows, breaches and doubts from the last window on that keeps a state, oldest first.

    And whether that is all there is to know: false when the chain begins with older entries gone.
    """
    later: list[Entry] = []
    kinds = (WINDOW, IMPORT, UNSURE, *_BREACHES)
    for entry in store.last_of(agent, kinds, (WINDOW, _JUDGED), before=head.index + 1):
        if _carries(entry) or entry.kind == UNSURE or _breaks(entry):
            later.append(entry)
        if _carries(entry) and _kept_state(entry) is not None:
            return later[::-1], True
    return later[::-1], store.find(agent, 0) is not None


def with_origins(tally: Tally, places: Sequence[OriginPlace]) -> Tally:
    """The counts with imported windows under the time and the source they had where they come from.

    The header of an entry says when it came here, which stays the order of the chain.
    """
    if not places:
        return tally
    sources = Counter(tally.sources)
    sources[IMPORT] -= len(places)
    sources.update(place.source or IMPORT for place in places)
    times = [place.timestamp for place in places if place.timestamp]
    if tally.kinds.get(IMPORT) != tally.kept:
        times += [time for time in (tally.oldest, tally.newest) if time]
    told = [time for _, time in sorted(filter(None, map(_moment, times)))]
    return replace(
        tally,
        oldest=told[0] if told else tally.oldest,
        newest=told[-1] if told else tally.newest,
        sources={name: sources[name] for name in sorted(sources) if sources[name] > 0},
    )


def _moment(time: str) -> tuple[datetime, str] | None:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC), time


def latest_windows(store: Entries, agent: str, count: int) -> tuple[Entry, ...]:
    """The last entries that carry a window, oldest first."""
    head = store.head(agent)
    if head is None or count <= 0:
        return ()
    found = (e for e in backwards(agent, store, head.index + 1) if window_of(e) is not None)
    return tuple(islice(found, count))[::-1]

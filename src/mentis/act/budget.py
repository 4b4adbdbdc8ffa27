"""How many acts there may be: in one turn, in an hour, of one name in an hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias, cast

from mentis.ports.clock import Clock, read_clock
from mentis.values.entry import Entry
from mentis.values.measured import ClockReading, MeasuredTimeline, is_settling, reading_of
from mentis.values.timeline import is_regressed
from mentis.values.value import Value

# When, the key, the name. Without a key it is only what the clocks said; and with the name
# `_SETTLED` that this is right.
Heard: TypeAlias = tuple[ClockReading, str, str]
_SETTLED = "settled"
_HOUR = timedelta(hours=1)
_FEW = 256  # acts; twice as many as there were are sorted by their time, and the old ones forgotten


@dataclass(frozen=True, slots=True)
class ActBudget(Value):
    """0 is no limit. `of_act` is by name and by the hour."""

    per_turn: int = 0
    per_hour: int = 0
    of_act: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def by_hour(self) -> bool:
        """Whether the hour has to be counted at all."""
        return self.per_hour > 0 or any(most > 0 for most in self.of_act.values())

    def allows(self, spent: ActCounts) -> bool:
        """Whether one more act of any name breaks no limit of the hour."""
        if 0 < self.per_hour <= spent.in_hour:
            return False
        return not any(0 < most <= spent.of_act.get(name, 0) for name, most in self.of_act.items())


@dataclass(frozen=True, slots=True)
class ActCounts(Value):
    """What was let through or set to wait so far."""

    in_turn: int = 0
    in_hour: int = 0
    of_act: Mapping[str, int] = field(default_factory=dict[str, int])


def exceeded_limit(budget: ActBudget, spent: ActCounts, name: str) -> str:
    """Which limit one more act of this name would break; "" if none."""
    if 0 < budget.per_turn <= spent.in_turn:
        return f"{_acts(budget.per_turn)} allowed in one turn, and there were {spent.in_turn}"
    if 0 < budget.per_hour <= spent.in_hour:
        return f"{_acts(budget.per_hour)} allowed in an hour, and there were {spent.in_hour}"
    most, had = budget.of_act.get(name, 0), spent.of_act.get(name, 0)
    if 0 < most <= had:
        return f"{name!r} is allowed {_times(most)} in an hour, and there were {had}"
    return ""


def _acts(count: int) -> str:
    return "1 act is" if count == 1 else f"{count} acts are"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


class ActTally:
    """Counts the acts of the last hour, each once by its key: those that were let through here, and
    those of others once it has learned of them.
    """

    def __init__(self, clock: Clock, begun: Iterable[Heard] = ()) -> None:
        self._clock = clock
        self._heard: list[Heard] = []
        self._moments: dict[str, float] = {}  # by key: heard of when, on the clock nobody sets
        self._names: dict[str, str] = {}  # by key: of which act
        self._totals: Counter[str] = Counter()  # of these, by name
        self._many = _FEW
        self.learn(begun)

    def note(self, key: str, name: str) -> None:
        self.learn([(read_clock(self._clock), key, name)])

    def learn(self, begun: Iterable[Heard]) -> None:
        """Count these too, as far as they are not counted yet."""
        moment = self._clock.monotonic()
        for one in begun:
            _, key, name = one
            if key not in self._moments:
                self._put(one)
            if key and key not in self._moments:
                self._moments[key], self._names[key] = moment, name
                self._totals[name] += 1

    def spent(self, in_turn: int, budget: ActBudget, *, without: str = "") -> ActCounts:
        """The counts, as far as the budget asks for them: while all that were heard of break no
        limit, it does not matter which of them are of the last hour.
        """
        if not budget.by_hour:
            return ActCounts(in_turn)
        if len(self._names) <= self._many:
            all_heard = self._all_heard(in_turn, without)
            if budget.allows(all_heard):
                return all_heard
        return self.counts(in_turn, without=without)

    def counts(self, in_turn: int, *, without: str = "") -> ActCounts:
        """Of the last hour. `without`: the act with this key is not counted against itself."""
        return _counted(in_turn, self._last_hour(), without)

    def _all_heard(self, in_turn: int, without: str) -> ActCounts:
        names = self._totals.copy()
        if without in self._names:
            names[self._names[without]] -= 1
        return ActCounts(in_turn, names.total(), names)

    def _last_hour(self) -> dict[str, str]:
        """By key, the names of those that count."""
        now = read_clock(self._clock)
        hour = MeasuredTimeline[tuple[str, str]](now.shown - _HOUR + timedelta.resolution, now)
        for reading, key, name in self._heard:
            if name == _SETTLED and not key:
                hour.settle(reading)
            else:
                hour.add(reading, *([(key, name)] if key else ()))
        counted = dict(act for _, act in hour.dated_items())
        self._forget(counted)
        self._many = max(_FEW, 2 * len(self._names))
        return counted

    def _put(self, one: Heard) -> None:
        """Of what the clock showed between two acts only the earliest matters."""
        last = self._heard[-1] if self._heard else None
        if any(one[1:]) or (last is not None and any(last[1:])):
            self._heard.append(one)
        elif last is not None and one[0].shown < last[0].shown:
            self._heard[-1] = one

    def _forget(self, counted: Collection[str]) -> None:
        """What counts no more would count again if the clock goes back, so it is kept an hour."""
        since = self._clock.monotonic() - _HOUR.total_seconds()
        old = {key for key, moment in self._moments.items() if moment <= since} - set(counted)
        if not old:
            return
        heard, self._heard = self._heard, []
        for one in heard:
            if one[1] not in old:
                self._put(one)
        for key in old:
            self._totals[self._names.pop(key)] -= 1
            del self._moments[key]


def _counted(in_turn: int, acts: Mapping[str, str], without: str) -> ActCounts:
    names = Counter(name for key, name in acts.items() if key != without)
    return ActCounts(in_turn, names.total(), names)


def begun_in(entries: Iterable[Entry]) -> Iterator[Heard]:
    """When which act was first heard of, as the ledger tells it: a retry is no new act.

    Between them what the clock showed where it had gone back: nothing before that happened later.
    """
    known: set[object] = set()
    for entry in entries:
        told = entry.body.get("act") if entry.kind == "act" else None
        act = cast("Mapping[str, object]", told if isinstance(told, Mapping) else {})
        if act.get("stage") in ("intent", "waiting") and act.get("key") not in known:
            known.add(act.get("key"))
            yield reading_of(entry), str(act.get("key")), str(act.get("type"))
        elif is_settling(entry):
            yield reading_of(entry), "", _SETTLED
        elif is_regressed(entry):
            yield reading_of(entry), "", ""

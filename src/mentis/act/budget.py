"""How many acts there may be: in one turn, in an hour, of one name in an hour."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias, cast

from mentis.values.entry import Entry
from mentis.values.value import Value

Heard: TypeAlias = tuple[datetime, str, str]  # when, the key, the name
_HOUR = timedelta(hours=1)


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


@dataclass(frozen=True, slots=True)
class Spent(Value):
    """What was let through or set to wait so far."""

    in_turn: int = 0
    in_hour: int = 0
    of_act: Mapping[str, int] = field(default_factory=dict[str, int])


def exceeded(budget: ActBudget, spent: Spent, name: str) -> str:
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


class Tally:
    """Counts the acts of the last hour, each once by its key: those that were let through here, and
    those of others once it has learned of them.
    """

    def __init__(self, now: Callable[[], datetime], begun: Iterable[Heard] = ()) -> None:
        self._now = now
        self._begun = deque[Heard]()
        self._keys = set[str]()
        self._names = Counter[str]()
        self.learn(begun)

    def note(self, key: str, name: str) -> None:
        self.learn([(self._now(), key, name)])

    def learn(self, begun: Iterable[Heard]) -> None:
        """Count these too, as far as they are not counted yet."""
        for one in begun:
            _, key, name = one
            if key in self._keys:
                continue
            late = bool(self._begun) and one < self._begun[-1]
            self._begun.append(one)
            self._keys.add(key)
            self._names[name] += 1
            if late:
                self._begun = deque(sorted(self._begun))

    def spent(self, in_turn: int, *, without: str = "") -> Spent:
        """`without`: the act with this key is not counted against itself."""
        since = self._now() - _HOUR
        while self._begun and self._begun[0][0] <= since:
            _, key, name = self._begun.popleft()
            self._keys.discard(key)
            self._names[name] -= 1
        if without not in self._keys:
            return Spent(in_turn, len(self._begun), self._names)
        names = self._names - Counter(name for _, key, name in self._begun if key == without)
        return Spent(in_turn, len(self._begun) - 1, names)


def begun_in(entries: Iterable[Entry]) -> Iterator[Heard]:
    """When which act was first heard of, as the ledger tells it: a retry is no new act."""
    known: set[object] = set()
    for entry in entries:
        told = entry.body.get("act") if entry.kind == "act" else None
        if not isinstance(told, Mapping):
            continue
        act = cast("Mapping[str, object]", told)
        if act.get("stage") in ("intent", "waiting") and act.get("key") not in known:
            known.add(act.get("key"))
            yield datetime.fromisoformat(entry.time), str(act.get("key")), str(act.get("type"))

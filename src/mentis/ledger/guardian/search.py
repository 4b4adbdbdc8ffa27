"""Searches the abstraction for a window that no rule blocks, with the rules' own predicates.

Each rule is run on concrete windows for every value of the dimensions it reads, and which those are
is observed, not declared. That table is exact, so the search through all points is exhaustive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import cast

from mentis.values.guardian import GuardianProfile, GuardianState
from mentis.values.json import JsonObject

from .case import Case, Rule
from .judge import run_rule
from .profiles import level_of
from .space import (
    BUILD,
    FIELDS,
    STATE_FIELDS,
    Point,
    base_window,
    dimensions,
    state_at,
)

# A rule that reads so much is run on what the search has found, instead of being tabled.
_MOST_POINTS = 60_000


class _Watched(Mapping[str, object]):
    """The window at a point, made as it is read; `seen` gets the dimensions that were."""

    def __init__(self, base: JsonObject, point: Point, seen: set[str], holder: str = "") -> None:
        self._base = base
        self._point = point
        self._seen = seen
        self._holder = holder

    def __getitem__(self, key: str) -> object:
        pointer = self._holder + key
        if pointer in BUILD:
            self._seen.update(FIELDS[pointer])
            return BUILD[pointer](self._point)
        if self._holder or not isinstance(self._base[key], dict):
            return self._base[key]
        inner = cast("JsonObject", self._base[key])
        return _Watched(inner, self._point, self._seen, f"{key}/")

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


class _WatchedState:
    """A state that remembers the same."""

    def __init__(self, point: Point, seen: set[str]) -> None:
        self._state = state_at(point)
        self._seen = seen

    def __getattr__(self, name: str) -> object:
        self._seen.update(STATE_FIELDS.get(name, ()))
        return getattr(self._state, name)


@dataclass(frozen=True, slots=True)
class Table:
    """What one rule says at every point it can tell apart: the points where it blocks."""

    rule: str
    dims: tuple[str, ...]
    blocked: frozenset[tuple[object, ...]]
    evaluated: int


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
    """What a table still says once the situation is given: blocked values of what is open."""

    number: int
    open: tuple[str, ...]
    blocked: frozenset[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Space:
    """A profile's dimensions and tables; `wide` are the rules too wide for a table."""

    profile: GuardianProfile
    dims: Mapping[str, tuple[object, ...]]
    tables: tuple[Table, ...]
    wide: tuple[Rule, ...]
    base: JsonObject
    cuts: dict[tuple[object, ...], _Cut] = field(default_factory=dict[tuple[object, ...], _Cut])
    alike: dict[tuple[object, ...], _Cut] = field(default_factory=dict[tuple[object, ...], _Cut])
    answers: dict[frozenset[_Cut], Point | None] = field(
        default_factory=dict[frozenset[_Cut], "Point | None"]
    )

    @property
    def size(self) -> int:
        return prod(len(values) for values in self.dims.values())

    @property
    def evaluations(self) -> int:
        return sum(table.evaluated for table in self.tables)


def build_space(profile: GuardianProfile, rules: Iterable[Rule]) -> Space:
    """Run every rule that may block on all it can tell apart."""
    dims = dimensions(profile)
    tables: list[Table] = []
    wide: list[Rule] = []
    for rule in rules:
        if rule.check is None or level_of(profile, rule) == "off":
            continue
        table = _table(rule, profile, dims)
        if table is None:
            wide.append(rule)
        elif table.blocked:
            tables.append(table)
    return Space(profile, dims, tuple(tables), tuple(wide), base_window(profile))


def _table(
    rule: Rule, profile: GuardianProfile, dims: Mapping[str, tuple[object, ...]]
) -> Table | None:
    plain = {name: values[0] for name, values in dims.items()}
    known: tuple[str, ...] = ()
    base = base_window(profile)
    while True:
        seen: set[str] = set(known)
        blocked: set[tuple[object, ...]] = set()
        points = 0
        for values in product(*(dims[name] for name in known)):
            points += 1
            point = {**plain, **dict(zip(known, values, strict=True))}
            if _blocks(rule, WindowTrial(base, point, profile), seen):
                blocked.add(values)
            if len(seen) > len(known):
                break
        if len(seen) == len(known):
            return Table(rule.id, known, frozenset(blocked), points)
        known = tuple(name for name in dims if name in seen)
        if prod(len(dims[name]) for name in known) > _MOST_POINTS:
            return None


@dataclass(frozen=True, slots=True)
class WindowTrial:
    base: JsonObject
    point: Point
    profile: GuardianProfile


def _blocks(rule: Rule, trial: WindowTrial, seen: set[str]) -> bool:
    """Whether the rule blocks the concrete window at a point; `seen` gets what it read."""
    state = cast("GuardianState", _WatchedState(trial.point, seen))
    window = _Watched(trial.base, trial.point, seen)
    case = Case(window, state, trial.profile)
    level = level_of(trial.profile, rule)
    return any(finding.level == "block" for finding in run_rule(rule, case, level))


def blocks(rule: Rule, window: JsonObject, point: Point, profile: GuardianProfile) -> bool:
    """Whether the rule blocks this window."""
    case = Case(window, state_at(point), profile)
    return any(f.level == "block" for f in run_rule(rule, case, level_of(profile, rule)))


def solve(
    space: Space, given: Point, tables: Sequence[Table] | None = None
) -> dict[str, object] | None:
    """A point that agrees with `given` and that no table blocks, or None when there is none."""
    asked = space.tables if tables is None else tables
    cuts = frozenset(cut for table in asked if (cut := _cut(space, table, given)).blocked)
    # Situations in which the rules leave the same open have the same answer.
    if cuts not in space.answers:
        space.answers[cuts] = _answer(space, given, sorted(cuts, key=lambda cut: cut.number))
    answer = space.answers[cuts]
    return None if answer is None else {**answer, **given}


def _answer(space: Space, given: Point, cuts: Sequence[_Cut]) -> Point | None:
    domains = _narrowed(space, given, cuts)
    if domains is None:
        return None
    joint = [cut for cut in cuts if len(cut.open) > 1]
    point = {name: values[0] for name, values in domains.items()}
    for group in _groups(joint):
        free = [name for name in domains if name in group]
        tied = [cut for cut in joint if cut.open[0] in group]
        if not _extend(point, free, domains, _by_last(tied, free)):
            return None
    return point


def _groups(cuts: Sequence[_Cut]) -> list[set[str]]:
    """Dimensions that rules tie together, directly or through others: one search for each."""
    groups: list[set[str]] = []
    for cut in cuts:
        meeting = [group for group in groups if group & set(cut.open)]
        groups = [group for group in groups if group not in meeting]
        groups.append(set(cut.open).union(*meeting))
    return groups


def _cut(space: Space, table: Table, given: Point) -> _Cut:
    fixed = [(number, given[name]) for number, name in enumerate(table.dims) if name in given]
    key = (table.rule, *fixed)
    if key not in space.cuts:
        left = [number for number, name in enumerate(table.dims) if name not in given]
        agreeing = (
            values for values in table.blocked if all(values[n] == value for n, value in fixed)
        )
        blocked = frozenset(tuple(values[number] for number in left) for values in agreeing)
        left_open = tuple(table.dims[number] for number in left)
        space.cuts[key] = space.alike.setdefault(
            (left_open, blocked), _Cut(len(space.alike), left_open, blocked)
        )
    return space.cuts[key]


def _narrowed(space: Space, given: Point, cuts: Sequence[_Cut]) -> dict[str, list[object]] | None:
    """The values each dimension has left after the rules that leave only it open."""
    domains = {name: list(values) for name, values in space.dims.items() if name not in given}
    for cut in cuts:
        if not cut.open:
            return None
        if len(cut.open) == 1:
            name = cut.open[0]
            domains[name] = [value for value in domains[name] if (value,) not in cut.blocked]
            if not domains[name]:
                return None
    return domains


def _by_last(cuts: Sequence[_Cut], free: Sequence[str]) -> Mapping[str, list[_Cut]]:
    """Each by the last of its dimensions that is chosen: then it can be asked."""
    place = {name: number for number, name in enumerate(free)}
    asked: dict[str, list[_Cut]] = {name: [] for name in free}
    for cut in cuts:
        asked[max(cut.open, key=place.__getitem__)].append(cut)
    return asked


def _extend(
    point: dict[str, object],
    free: Sequence[str],
    domains: Mapping[str, Sequence[object]],
    asked: Mapping[str, Sequence[_Cut]],
) -> bool:
    """Choose a value for the first dimension and go on; take the next when that leads nowhere."""
    if not free:
        return True
    name = free[0]
    for value in domains[name]:
        point[name] = value
        if any(tuple(point[n] for n in cut.open) in cut.blocked for cut in asked[name]):
            continue
        if _extend(point, free[1:], domains, asked):
            return True
    return False

"""Proves that a profile can be obeyed: for every type of window, in every situation, some window.

Where there is none, the fewest rules that cannot hold together there are found by leaving out one
after the other. A profile with such a conflict that it does not declare is never activated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from mentis.errors import ProfileConflict
from mentis.values.guardian import GuardianProfile
from mentis.values.json import JsonObject

from .judge import draft_rules
from .profiles import SHIPPED, digest_of
from .search import Space, Table, blocks, build_space, solve
from .space import RISKS, SITUATION, WORDS, Point, situation_words, window_at
from .table import RULES

_MANY_RISKS = (3, 4)


@dataclass(frozen=True, slots=True)
class RuleConflict:
    """Rules that cannot hold together. `name` is that of a known conflict, or empty.

    `situation` and `type` are the plainest in which it was met, `cells` how often it was.
    """

    rules: tuple[str, ...]
    situation: str
    type: str
    cells: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One situation with one type of window, and a window that holds there, if there is one."""

    given: Point
    window: JsonObject | None

    @property
    def situation(self) -> str:
        return situation_words(self.given)

    @property
    def type(self) -> str:
        return str(self.given["type"])

    @property
    def plain(self) -> bool:
        """Nothing is the matter, or one thing only."""
        troubles = sum(bool(self.given[name]) for name in WORDS)
        many = self.given["risks"] in _MANY_RISKS
        return troubles + many <= 1 and (many or self.given["risks"] == 0)


@dataclass(frozen=True, slots=True)
class ProfileProof:
    """What the search found: `points` stand for all windows, `evaluated` were run by the rules."""

    profile: str
    digest: str
    points: int
    evaluated: int
    cells: tuple[Cell, ...]
    conflicts: tuple[RuleConflict, ...]

    @property
    def satisfied_cells(self) -> int:
        return sum(cell.window is not None for cell in self.cells)

    @property
    def undeclared_conflicts(self) -> tuple[RuleConflict, ...]:
        """The conflicts that the profile does not declare."""
        return tuple(conflict for conflict in self.conflicts if not conflict.name)


@dataclass(slots=True)
class _Conflicts:
    """The conflicts met so far, each with the cells it was met in."""

    space: Space
    tables: dict[frozenset[str], tuple[Table, ...]] = field(
        default_factory=dict[frozenset[str], tuple[Table, ...]]
    )
    first: dict[frozenset[str], Point] = field(default_factory=dict[frozenset[str], Point])
    cells: dict[frozenset[str], int] = field(default_factory=dict[frozenset[str], int])

    def meet(self, given: Point) -> None:
        """Name every conflict of a cell: those met before, then what is left without them."""
        left = list(self.space.tables)
        for rules, tables in self.tables.items():
            if solve(self.space, given, tables) is None:
                self.count(rules, given)
                left = [table for table in left if table.rule not in rules]
        while solve(self.space, given, left) is None:
            core = _smallest(self.space, given, left)
            rules = frozenset(table.rule for table in core)
            self.tables[rules] = core
            self.count(rules, given)
            left = [table for table in left if table.rule not in rules]

    def count(self, rules: frozenset[str], given: Point) -> None:
        self.first.setdefault(rules, given)
        self.cells[rules] = self.cells.get(rules, 0) + 1

    def in_order(self) -> Iterator[RuleConflict]:
        """The smallest first."""
        names = {frozenset(known.rules): known.name for known in self.space.profile.known}
        for rules in sorted(self.first, key=lambda rules: (len(rules), sorted(rules))):
            given = self.first[rules]
            yield RuleConflict(
                tuple(sorted(rules)),
                situation_words(given),
                str(given["type"]),
                self.cells[rules],
                names.get(rules, ""),
            )


def _smallest(space: Space, given: Point, tables: Sequence[Table]) -> tuple[Table, ...]:
    """Rules that cannot hold together, of which none can be left out."""
    core = list(tables)
    for table in tables:
        fewer = [one for one in core if one is not table]
        if solve(space, given, fewer) is None:
            core = fewer
    return tuple(core)


_KEPT: dict[str, ProfileProof] = {}


def prove(profile: GuardianProfile) -> ProfileProof:
    """Search everything. The result depends on the profile's content only, and is kept by it."""
    key = digest_of(profile)
    if key not in _KEPT:
        _KEPT[key] = _prove(profile, key)
    return replace(_KEPT[key], profile=profile.name)


def _prove(profile: GuardianProfile, key: str) -> ProfileProof:
    space = build_space(profile, draft_rules(RULES))
    conflicts = _Conflicts(space)
    cells = tuple(_judged(space, given, conflicts) for given in _situations(profile))
    told = tuple(conflicts.in_order())
    return ProfileProof(profile.name, key, space.size, space.evaluations, cells, told)


def _situations(profile: GuardianProfile) -> Iterator[Point]:
    """Every situation with every type, the plainest first."""
    values = [RISKS if name == "risks" else (False, True) for name in SITUATION]
    points = [dict[str, int](zip(SITUATION, one, strict=True)) for one in product(*values)]
    points.sort(key=lambda point: (sum(bool(point[name]) for name in WORDS), point["risks"]))
    for point in points:
        for kind in profile.types:
            yield {**point, "type": kind}


def _judged(space: Space, given: Point, conflicts: _Conflicts) -> Cell:
    point = solve(space, given)
    if point is None:
        conflicts.meet(given)
        return Cell(given, None)
    # What is too wide for a table is asked about the window itself.
    window = window_at(point, space.base)
    broken = [rule.id for rule in space.wide if blocks(rule, window, point, space.profile)]
    for rule in broken:
        conflicts.count(frozenset({rule}), given)
    return Cell(given, None if broken else window)


def activate(profile: GuardianProfile) -> GuardianProfile:
    """The profile, once it is proved that it can be obeyed; ProfileConflict otherwise."""
    if profile == SHIPPED.get(profile.name):
        return profile  # the tests of every release prove these
    undeclared = prove(profile).undeclared_conflicts
    if not undeclared:
        return profile
    worst = undeclared[0]
    raise ProfileConflict(
        f"guardian profile {profile.name!r} cannot be obeyed: {' and '.join(worst.rules)}"
        f" {'leave' if len(worst.rules) > 1 else 'leaves'} no {worst.type} window"
        f" ({worst.situation})",
        hint="warn instead of block for one of them, or settle the conflict;"
        f" `mentis guardian prove --profile {profile.name}` shows them all",
        profile=profile.name,
        rules=list(worst.rules),
        situation=worst.situation,
        type=worst.type,
        conflicts=len(undeclared),
    )

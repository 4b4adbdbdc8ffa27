"""The examination: takes calls one after another, and knows in the end what was paid for what.

Everything it remembers has a limit, so that the longest log takes no more memory than a short one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from heapq import heappush, heappushpop
from pathlib import PurePath
from typing import TypeAlias

from .bodies import BodyBook
from .breaks import LONG_LIFE, SHORT_LIFE, LastCall, LogBreak, last_call, usage_break
from .calls import BreakCause, Evidence, LoggedCall
from .carried import Carried, CarriedCost
from .prices import CallParts, LogTariff, extra_cost, log_tariff, price_parts
from .report import BreakGroup, LogGroup, LogSession, SizePoint
from .scenarios import CompactScenario, ExaminedCall, LifeScenario, Scenario
from .tally import LogTally

_MOST_THREADS, _MOST_SEEN, _MOST_NAMES = 2048, 65_536, 1000
_MOST_POINTS = 240
_DAY = 24 * 60 * 60
TOP_SESSIONS, _TOP_BREAKS = 20, 5
COMPACT_AT = 100_000
OTHER_NAMES = "(others)"
_MOST_CELLS = 4096
# Program, model, day, project, whether it is a sub-agent's, whether it was after a change.
_Cell: TypeAlias = tuple[str, str, float, str, bool, bool]


@dataclass(slots=True)
class _Session:
    program: str
    project: str
    file: str
    first: float
    label: str = ""
    last: float = 0.0
    usd: float = 0.0
    calls: int = 0
    tokens: int = 0
    peak: int = 0
    lost: int = 0
    every: int = 1  # so many calls make a point
    points: list[SizePoint] = field(default_factory=list[SizePoint])

    def add_point(self, size: int, read: int) -> None:
        if self.calls % self.every:
            return
        self.points.append(SizePoint(size, read))
        if len(self.points) >= _MOST_POINTS:
            self.points = self.points[::2]
            self.every *= 2

    def told(self, name: str) -> LogSession:
        return LogSession(
            name,
            self.program,
            self.project,
            self.label,
            self.file,
            self.first,
            self.last,
            self.usd,
            self.calls,
            self.tokens,
            self.peak,
            self.lost,
            tuple(self.points),
        )


@dataclass(slots=True)
class _Thread:
    last: LastCall | None = None
    carried: Carried = field(default_factory=Carried)


@dataclass(slots=True)
class _Breaks:
    count: int = 0
    tokens: int = 0
    usd: float = 0.0
    evidence: dict[Evidence, int] = field(default_factory=dict[Evidence, int])
    dearest: list[tuple[float, int, int, LogBreak]] = field(
        default_factory=list[tuple[float, int, int, LogBreak]]
    )


@dataclass(slots=True)
class Examination:
    """`since` splits the sums in two: what was asked before a change, and after it."""

    scenarios: tuple[Scenario, ...] = ()
    since: float = 0.0
    total: LogTally = field(default_factory=LogTally)
    before: LogTally = field(default_factory=LogTally)
    after: LogTally = field(default_factory=LogTally)
    programs: dict[str, LogTally] = field(default_factory=dict[str, LogTally])
    models: dict[str, LogTally] = field(default_factory=dict[str, LogTally])
    days: dict[str, LogTally] = field(default_factory=dict[str, LogTally])
    projects: dict[str, LogTally] = field(default_factory=dict[str, LogTally])
    carried: dict[str, CarriedCost] = field(default_factory=dict[str, CarriedCost])
    excess: dict[str, CarriedCost] = field(default_factory=dict[str, CarriedCost])
    compact: CompactScenario = field(default_factory=lambda: CompactScenario(COMPACT_AT))
    hour: LifeScenario = field(default_factory=lambda: LifeScenario(LONG_LIFE))
    minutes: LifeScenario = field(default_factory=lambda: LifeScenario(SHORT_LIFE))
    side: LogTally = field(default_factory=LogTally)
    repeated: int = 0
    session_count: int = 0
    untold: int = 0  # calls that did not say what they used
    prices: set[str] = field(default_factory=set[str])
    _bodies: BodyBook = field(default_factory=BodyBook)
    _threads: OrderedDict[tuple[str, str], _Thread] = field(
        default_factory=OrderedDict[tuple[str, str], _Thread]
    )
    _sessions: OrderedDict[str, _Session] = field(default_factory=OrderedDict[str, _Session])
    _dearest: list[tuple[float, int, LogSession]] = field(
        default_factory=list[tuple[float, int, LogSession]]
    )
    _closed: int = 0
    _cells: dict[_Cell, LogTally] = field(default_factory=dict[_Cell, LogTally])
    _counting: tuple[Scenario, ...] = ()
    _tariffs: set[str] = field(default_factory=set[str])
    _seen: OrderedDict[int, None] = field(default_factory=OrderedDict[int, None])
    _breaks: dict[BreakCause, _Breaks] = field(default_factory=dict[BreakCause, _Breaks])

    def __post_init__(self) -> None:
        self._counting = (*self.scenarios, self.compact, self.hour, self.minutes)

    def take(self, call: LoggedCall) -> None:
        broke = None
        named = call.session, call.thread
        compared = False
        if call.body is not None:
            placed = self._bodies.place(call, call.body)
            named = placed.session, placed.thread
            broke, compared = placed.broke, placed.compared
            call = replace(call, session=named[0], body=None)
        thread = self._thread(named)
        last, thread.last = thread.last, last_call(call, thread.last)
        if self._is_repeated(call):
            self.repeated += 1
            return
        if not (call.usage.input or call.usage.output):
            self.untold += 1
            return
        tariff = log_tariff(call.backend, call.model, call.usage.input)
        parts = price_parts(tariff, call.usage, call.long_writes)
        broke = self._break(call, broke, last, compared=compared)
        if broke is not None:
            broke = replace(broke, session=call.session, usd=extra_cost(tariff, call, broke.tokens))
        gap = max(0.0, call.time - last.time) if last and last.time and call.time else 0.0
        before = last.input if last else 0
        self._sum(ExaminedCall(call, named, tariff, parts, parts.total, broke, gap, before))
        self._carry(thread, call, parts)

    def end(self) -> None:
        while self._threads:
            _, thread = self._threads.popitem()
            thread.carried.close(self.carried, self.excess)
        while self._sessions:
            self._close_session()
        self._sum_cells()

    def sessions(self) -> tuple[LogSession, ...]:
        """The dearest of them."""
        return tuple(one for *_, one in sorted(self._dearest, key=lambda e: (-e[0], -e[1])))

    def breaks(self) -> tuple[BreakGroup, ...]:
        found = [
            BreakGroup(
                cause,
                one.count,
                one.tokens,
                one.usd,
                dict(one.evidence),
                tuple(entry[3] for entry in sorted(one.dearest, reverse=True, key=lambda e: e[:3])),
            )
            for cause, one in self._breaks.items()
        ]
        return tuple(sorted(found, key=lambda one: (-one.usd, -one.tokens)))

    def _is_repeated(self, call: LoggedCall) -> bool:
        if not call.key:
            return False
        key = hash((call.program, call.key))
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > _MOST_SEEN:
            self._seen.popitem(last=False)
        return False

    def _thread(self, named: tuple[str, str]) -> _Thread:
        found = self._threads.get(named)
        if found is None:
            found = self._threads[named] = _Thread()
            if len(self._threads) > _MOST_THREADS:
                _, gone = self._threads.popitem(last=False)
                gone.carried.close(self.carried, self.excess)
        else:
            self._threads.move_to_end(named)
        return found

    def _break(
        self, call: LoggedCall, broke: LogBreak | None, last: LastCall | None, *, compared: bool
    ) -> LogBreak | None:
        known = call.known
        if known is not None:
            return LogBreak(
                known.cause,
                known.tokens,
                "bytes" if known.byte >= 0 else "usage",
                call.place,
                model=call.model,
                time=call.time,
                where=known.where,
                pointer=known.pointer,
                byte=known.byte,
            )
        if last is None or call.judged:
            return broke
        counted = usage_break(last, call)
        if broke is None:
            # Another model has a cache of its own: no body of it is there to compare with.
            return counted if not compared or last.model != call.model else None
        if counted is not None and counted.evidence == "provider" and broke.evidence == "usage":
            return replace(broke, cause=counted.cause, evidence="provider", said=counted.said)
        return replace(broke, said=counted.said) if counted is not None else broke

    def _sum(self, one: ExaminedCall) -> None:
        call, tariff, parts, broke = one.call, one.tariff, one.parts, one.broke
        if tariff.told not in self._tariffs:
            self._tariffs.add(tariff.told)
            self.prices.add(tariff.told if not tariff.known else _table_of(tariff.told))
        key = (
            call.program,
            call.model,
            call.time // _DAY,
            call.project,
            bool(one.thread[1]),
            call.time >= self.since,
        )
        tally = self._cells.get(key)
        if tally is None:
            if len(self._cells) >= _MOST_CELLS:
                self._sum_cells()
            tally = self._cells[key] = LogTally()
        tally.add(call, tariff, parts)
        if broke is not None:
            tally.add_break(broke)
            self._note_break(broke)
        for scenario in self._counting:
            scenario.take(one)
        self._note_session(call, parts, tariff, broke)

    def _sum_cells(self) -> None:
        """Each call is counted once; the sums by this and that are made of it now and then."""
        for (program, model, day, project, is_side, is_after), tally in self._cells.items():
            into = [
                self.total,
                _named(self.programs, program),
                _named(self.models, model or "(not told)"),
                _named(self.days, _day(day)),
                _named(self.projects, project or "(not told)"),
            ]
            if self.since:
                into.append(self.after if is_after else self.before)
            if is_side:
                into.append(self.side)
            for one in into:
                one.add_all(tally)
        self._cells.clear()

    def _note_break(self, broke: LogBreak) -> None:
        group = self._breaks.setdefault(broke.cause, _Breaks())
        group.count += 1
        group.tokens += broke.tokens
        group.usd += broke.usd
        group.evidence[broke.evidence] = group.evidence.get(broke.evidence, 0) + 1
        entry = (broke.usd, broke.tokens, -group.count, broke)
        if len(group.dearest) < _TOP_BREAKS:
            heappush(group.dearest, entry)
        else:
            heappushpop(group.dearest, entry)

    def _note_session(
        self, call: LoggedCall, parts: CallParts, tariff: LogTariff, broke: LogBreak | None
    ) -> None:
        found = self._sessions.get(call.session)
        if found is None:
            found = _Session(call.program, call.project, call.place.file, call.time)
            self._sessions[call.session] = found
            self.session_count += 1
            if len(self._sessions) > _MOST_THREADS:
                self._close_session()
        else:
            self._sessions.move_to_end(call.session)
        found.label = call.label or found.label
        found.first = min(found.first, call.time) if call.time else found.first
        found.last = max(found.last, call.time)
        found.usd += parts.total if tariff.known else call.usd or 0.0
        found.tokens += call.usage.input + call.usage.output
        found.peak = max(found.peak, call.usage.input)
        found.lost += broke.tokens if broke else 0
        if not call.thread:
            found.add_point(call.usage.input, call.usage.cache_read)
        found.calls += 1

    def _close_session(self) -> None:
        name, found = self._sessions.popitem(last=False)
        size = found.usd or found.tokens / 1e12  # by tokens where no price is known
        self._closed += 1
        entry = size, -self._closed, found.told(name)
        if len(self._dearest) < TOP_SESSIONS:
            heappush(self._dearest, entry)
        else:
            heappushpop(self._dearest, entry)

    def _carry(self, thread: _Thread, call: LoggedCall, parts: CallParts) -> None:
        if "compacted" in call.events or "cleared" in call.events:
            thread.carried.close(self.carried, self.excess)
        thread.carried.read(call.usage.input, call.usage.cache_read, parts.read)
        thread.carried.add(call.added, call.excess)


def _named(tallies: dict[str, LogTally], name: str) -> LogTally:
    found = tallies.get(name)
    if found is None:
        name = name if len(tallies) < _MOST_NAMES else OTHER_NAMES
        found = tallies.setdefault(name, LogTally())
    return found


@lru_cache(maxsize=64)
def _day(days: float) -> str:
    moment = datetime.fromtimestamp(days * _DAY, UTC)
    return moment.date().isoformat() if days else "(no time)"


def _table_of(told: str) -> str:
    """Which table a price is from, without the price."""
    return told.partition("(")[2].rstrip(")") or told


def groups_of(tallies: dict[str, LogTally], *, by_name: bool = False) -> tuple[LogGroup, ...]:
    made = [LogGroup(name, tally.sum()) for name, tally in tallies.items()]
    if by_name:
        return tuple(sorted(made, key=lambda one: one.name))
    return tuple(sorted(made, key=lambda one: (-one.sum.usd, -one.sum.usage.input, one.name)))


def short_file(file: str) -> str:
    """The name of a file with its folder: enough to know it by."""
    return "/".join(PurePath(file).parts[-2:])

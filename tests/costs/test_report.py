"""Sums over a record are the same whatever they are sorted by."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.ask.recorded_calls import calls_in
from mentis.costs.entry_costs import pricing_on, read_costs
from mentis.costs.record_reader import RecordReader
from mentis.costs.report import CostQuestion, cost_report
from mentis.costs.why import explain_turn
from mentis.record.source import EntrySource
from mentis.values.cost import Cost, CostKey, add_costs
from mentis.values.entry import Entry
from mentis.values.route import Route

PRICED = Route("default", "openai", "m", facts={"input_price": 3, "output_price": 7})
TOKENS = st.integers(0, 5000)
USAGE = st.fixed_dictionaries(
    {
        "input": TOKENS,
        "output": TOKENS,
        "cache_read": TOKENS,
        "cache_write": TOKENS,
        "reasoning": TOKENS,
    }
)
ROUTE = st.sampled_from(
    [
        {"name": "default", "backend": "openai", "model": "m"},
        {"name": "dear", "backend": "openai", "model": "nobody-knows-its-price"},
        {"name": "script", "backend": "scripted", "model": "s"},
    ]
)
Body = dict[str, object]
SESSION = st.sampled_from(["main", "other"])


@st.composite
def call_bodies(draw: st.DrawFn) -> Body:
    return {"route": draw(ROUTE), draw(st.sampled_from(["usage", "planned"])): draw(USAGE)}


CALLS = st.lists(call_bodies(), min_size=1, max_size=4)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[str, Body]:
    """A turn with one call or several, with calls that nobody answered, a tick, or a lone call."""
    match draw(st.sampled_from(["turn", "several", "tick", "call"])):
        case "turn":
            return "turn", {"turn": {"session": draw(SESSION)}, **draw(call_bodies())}
        case "several":
            turn = {"session": draw(SESSION), "inner": "title"}
            return "turn", {"turn": turn, "calls": draw(CALLS), "unanswered": draw(CALLS)}
        case "tick":
            return "turn", {"tick": {}, "calls": draw(CALLS)}
        case _:
            return "call", {"call": {"what": "call"}, **draw(call_bodies())}


DRAFTS = st.lists(drafts(), max_size=12)


class Source:
    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def entries(self) -> Iterator[Entry]:
        return iter(self._entries)


def reader_of(agent: str, entries: Sequence[Entry]) -> RecordReader:
    @contextmanager
    def snapshot() -> Generator[EntrySource]:
        yield cast("EntrySource", Source(entries))

    def backwards(before: int | None) -> Iterator[Entry]:
        return reversed(entries[:before])

    return RecordReader(agent, snapshot, entries.__getitem__, backwards, (PRICED,))


def record(agent: str, told: Sequence[tuple[str, Body]]) -> list[Entry]:
    return [
        Entry(
            agent,
            index,
            f"2026-03-{1 + index % 3:02}T12:00:00.000000Z",
            "runtime",
            kind,
            None,
            None,
            dict.fromkeys(body, "0"),
            "",
            body=body,
        )
        for index, (kind, body) in enumerate(told)
    ]


@given(DRAFTS, DRAFTS)
def test_every_way_to_sum_up_comes_to_the_sum_over_the_entries(
    own: list[tuple[str, Body]], others: list[tuple[str, Body]]
) -> None:
    records = {name: record(name, told) for name, told in (("h/ada", own), ("h/bob", others))}
    readers = [reader_of(name, entries) for name, entries in records.items()]
    calls = [call for entries in records.values() for one in entries for call in calls_in(one)]
    for by in cast("tuple[CostKey, ...]", get_args(CostKey)):
        report = cost_report(readers, CostQuestion(by, dearest=3))
        summed = add_costs(group.cost for group in report.groups)
        assert (summed.calls, summed.usage) == (report.total.calls, report.total.usage)
        assert (summed.usd or 0) == (report.total.usd or 0)
        assert (summed.unpriced, summed.planned) == (report.total.unpriced, report.total.planned)
        assert report.total.calls == len(calls)
        assert report.total.usage.input == sum(call.usage.input for call in calls)
        assert report.total.usage.output == sum(call.usage.output for call in calls)
        assert report.total.unpriced == sum(call.route == "dear" for call in calls)


@given(DRAFTS.filter(bool))
def test_the_step_before_is_found_without_reading_the_whole_record(
    told: list[tuple[str, Body]],
) -> None:
    entries = record("h/ada", told)
    reader = reader_of("h/ada", entries)
    whole = read_costs("h/ada", entries, pricing_on(reader.routes))
    assert whole.turns

    def refused() -> AbstractContextManager[EntrySource]:
        pytest.fail("the whole record was read")

    for index in whole.turns:
        found = explain_turn(replace(reader, snapshot=refused), index)
        assert found.before == whole.before.get((index, 1))


def test_a_sum_of_nothing_costs_nothing_and_a_sum_of_unknowns_is_unknown() -> None:
    assert add_costs(()) == Cost()
    unknown = Cost(1, usd=None, unpriced=1)
    assert add_costs((unknown, unknown)).usd is None
    assert add_costs((unknown, Cost(1, usd=Decimal(2)))).usd == 2


@pytest.mark.parametrize("odd", [{"usd": "NaN"}, {"usd": -1}, {"usd": "much"}, {}, "free", None])
def test_a_price_in_an_entry_that_is_none_is_worked_out_anew(odd: object) -> None:
    used = {"input": 1_000_000, "output": 0}
    place = {"name": "default", "backend": "openai", "model": "m"}
    body: Body = {"call": {}, "route": place, "usage": used, "price": odd}
    told: Body = {**body, "price": {"usd": "0.25"}}
    paid = [
        cost_report([reader_of("h/calls", record("h/calls", [("call", one)]))], CostQuestion())
        for one in (body, told)
    ]
    assert [one.total.usd for one in paid] == [3, Decimal("0.25")]


def test_the_newest_turns_are_counted_without_reading_the_record_from_its_beginning() -> None:
    """By the entries that were asked for; with an end, from the turns before it."""
    place = {"name": "default", "backend": "openai", "model": "m"}
    turn: Body = {"turn": {"session": "main"}, "route": place, "usage": {"input": 10, "output": 1}}
    drafts_of: list[tuple[str, Body]] = [("turn", turn), ("act", {})]
    entries = [
        replace(entry, time=f"2026-03-01T{entry.index // 60:02}:{entry.index % 60:02}:00.000000Z")
        for entry in record("h/ada", drafts_of * 500)
    ]
    asked = list[int]()

    def backwards(before: int | None) -> Iterator[Entry]:
        for entry in reversed(entries[:before]):
            asked.append(entry.index)
            yield entry

    reader = replace(reader_of("h/ada", entries), backwards=backwards)
    found = cost_report([reader], CostQuestion("turn", newest=5, dearest=5, quick=True))
    assert [one.name for one in found.groups] == [f"entry {n}" for n in (990, 992, 994, 996, 998)]
    assert found.partial
    assert min(asked) > 900
    assert "first" not in {turn.loss and turn.loss.cause for turn in found.turns}
    until = datetime(2026, 3, 1, 1, 40, tzinfo=UTC)
    earlier = cost_report([reader], CostQuestion("turn", until=until, newest=2))
    assert [one.name for one in earlier.groups] == ["entry 96", "entry 98"]
    since = datetime(2026, 3, 1, 16, 36, tzinfo=UTC)
    later = cost_report([reader], CostQuestion("turn", since=since, newest=50))
    assert [one.name for one in later.groups] == ["entry 996", "entry 998"]
    assert not later.partial
    whole = cost_report([reader], CostQuestion(newest=1000))
    assert (whole.total.calls, whole.partial) == (500, False)


def test_the_call_before_a_turn_is_found_without_reading_the_record_from_its_beginning() -> None:
    place = {"name": "default", "backend": "openai", "model": "m"}
    told: list[tuple[str, Body]] = [
        (
            "turn",
            {
                "turn": {"session": f"s{number % 20}", "number": number},
                "route": place,
                "usage": {"input": 10, "output": 1},
            },
        )
        for number in range(600)
    ]
    entries, asked = record("h/ada", told), list[int]()

    def backwards(before: int | None) -> Iterator[Entry]:
        for entry in reversed(entries[:before]):
            asked.append(entry.index)
            yield entry

    reader = replace(reader_of("h/ada", entries), backwards=backwards)
    assert explain_turn(reader, 590).before == (570, 1)
    assert min(asked) > 500
    assert explain_turn(reader, None).turn.entry == 599
    assert min(asked) > 500
    assert explain_turn(reader, 0).before is None
    assert explain_turn(reader, 10).before is None


def test_what_was_expected_of_the_cache_is_told_beside_what_was_found() -> None:
    place = {"name": "default", "backend": "openai", "model": "m"}
    used = {"input": 900, "output": 1, "cache_read": 700}
    step = ["history", 4000, 880, "d", "", False, 0, False, False]
    footprint = {"route": "default", "model": "m", "expected": 800, "input": 900, "steps": [step]}
    own: Body = {"turn": {}, "route": place, "usage": used, "cache": [footprint]}
    foreign: Body = {
        "call": {"session": "s"},
        "route": place,
        "usage": used,
        "cache": {"before": 0, "lost": 50},
    }
    entries = record("h/ada", [("turn", own), ("call", foreign), ("turn", {**own, "cache": []})])
    turns = cost_report([reader_of("h/ada", entries)], CostQuestion()).turns
    told = {turn.entry: (turn.calls[0].expected, turn.calls[0].counted) for turn in turns}
    assert told == {0: (800, 880), 1: (750, None), 2: (None, None)}

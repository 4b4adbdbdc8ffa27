"""Bill: what calls cost by day, turn or whatever else, where a cache was lost, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import cast, get_args
from urllib.parse import urlencode

from anyio import to_thread

from mentis.app.home_costs import home_costs
from mentis.app.home_turns import agents_on_record
from mentis.costs.cost_data import (
    cost_data,
    cost_report_data,
    loss_data,
    usd_data,
)
from mentis.costs.moments import read_moment
from mentis.costs.predictions import PredictedCall, Predictions, predictions_of
from mentis.costs.report import CostQuestion
from mentis.errors import BadInput, RequestRefused
from mentis.home.identity import RECORDED
from mentis.values.cost import (
    Cost,
    CostGroup,
    CostKey,
    CostReport,
    TurnCost,
)
from mentis.web.application import Door
from mentis.web.problems import with_status

from .bill_turn import HOME, turn_page, turn_path
from .columns import columns_of
from .pages import PageCall, PageData, Pages
from .words import count as count_words
from .words import dollars

ALL = "all"  # instead of a moment: from the beginning on
_NEWEST, _NEWEST_BLOCKS = 25, 20  # turns that are counted unless a time is named
_ROWS, _SPIKES, _DAYS = 50, 8, 120
_TABS: tuple[tuple[CostKey, str], ...] = (
    ("day", "Day"),
    ("turn", "Turn"),
    ("session", "Conversation"),
    ("route", "Route"),
    ("model", "Model"),
    ("block", "Block"),
    ("kind", "Kind"),
)
_PERIODS = (("", "Newest"), ("7d", "7 days"), ("30d", "30 days"), (ALL, "Everything"))


def bill_doors(pages: Pages) -> list[Door]:
    """The chart, and one turn of it."""
    return [
        *pages.doors(HOME, "bill.html", bill_page),
        *pages.doors(f"{HOME}/{RECORDED}{{agent}}/{{entry}}", "bill_turn.html", turn_page),
        *pages.doors(f"{HOME}/{{persona}}/{{entry}}", "bill_turn.html", turn_page),
    ]


@dataclass(frozen=True, slots=True)
class BillFilters:
    """What the address asks for."""

    by: CostKey
    agent: str
    since: str
    until: str

    def link(self, **other: str) -> str:
        """The same page, asked otherwise."""
        asked = {"by": self.by, "agent": self.agent, "since": self.since, "until": self.until}
        given = {name: value for name, value in (asked | other).items() if value}
        if given.get("by") == "day":
            del given["by"]
        return f"{HOME}?{urlencode(given)}" if given else HOME

    @property
    def is_windowed(self) -> bool:
        """Whether only the newest turns are counted, so that a long record is not read."""
        return not self.since or self.by in ("turn", "block")

    def question(self) -> CostQuestion:
        newest = _NEWEST_BLOCKS if self.by == "block" else _NEWEST
        try:
            since = read_moment(self.since) if self.since not in ("", ALL) else None
            until = read_moment(self.until, end=True) if self.until else None
        except BadInput as error:
            raise with_status(error, 422) from error
        shown = newest if self.is_windowed else 0
        return CostQuestion(self.by, since, until, newest, shown, quick=True)


async def bill_page(call: PageCall) -> PageData:
    """Sums, their chart, and the turns in which a cache was lost."""
    known = await call.served.pool.personas(call.token)
    agents = await to_thread.run_sync(_agents, call, known)
    filters = _filters(call, agents)
    return await to_thread.run_sync(_bill, call, filters, agents)


def _filters(call: PageCall, agents: Sequence[PageData]) -> BillFilters:
    given = call.request.query_params
    by = given.get("by", "day")
    if by not in get_args(CostKey):
        names = ", ".join(get_args(CostKey))
        raise RequestRefused(f"nothing is summed up by {by[:40]!r}", hint=names, status=422)
    agent = given.get("agent", "") or call.token.agent
    if agent and agent not in [one["value"] for one in agents]:
        raise RequestRefused(f"nothing is known of {agent[:80]!r}", hint="see all", status=404)
    since, until = given.get("since", "")[:40], given.get("until", "")[:40]
    return BillFilters(cast("CostKey", by), agent, since, until)


def _agents(call: PageCall, known: Sequence[str]) -> list[PageData]:
    """Whose costs this visitor may choose: the personas, and programs that were recorded."""
    own = [{"value": name, "label": name} for name in known]
    if call.token.agent:
        return cast("list[PageData]", own)
    found = agents_on_record(call.served.pool.path, parts=call.served.parts)
    others = [{"value": one, "label": one} for one in found if one.startswith(RECORDED)]
    return cast("list[PageData]", [*own, *others])


def _bill(call: PageCall, filters: BillFilters, agents: list[PageData]) -> PageData:
    look = partial(
        home_costs,
        call.served.pool.path,
        persona=filters.agent or None,
        alone=bool(call.token.agent),
        parts=call.served.parts,
    )
    question = filters.question()
    report = look(question)
    turns = sorted(report.turns, key=lambda turn: turn.time)
    paid = any(group.cost.usd for group in report.groups)
    predicted = predictions_of(turns)
    return {
        **{name: value for name, value in cost_report_data(report).items() if name != "turns"},
        "filters": {
            "by": filters.by,
            "agent": filters.agent,
            "since": filters.since,
            "until": filters.until,
        },
        "agent_choices": agents,
        "everybody": not call.token.agent,
        "tabs": [
            {"label": label, "href": filters.link(by=by), "here": by == filters.by}
            for by, label in _TABS
        ],
        "periods": [
            {
                "label": label,
                "href": filters.link(since=since, until=""),
                "here": since == filters.since and not filters.until,
            }
            for since, label in _PERIODS
        ],
        "paid": paid,
        "rows": _rows(report, turns, filters, paid=paid),
        "more": _more(report, filters.by),
        "from": turns[0].time if turns and filters.is_windowed else "",
        "counted": len(turns),
        "everything": "" if filters.by in ("turn", "block") else filters.link(since=ALL, until=""),
        "older": _older(report, turns, filters),
        "lost": _lost(turns),
        "spikes": [_spike(turn) for turn in _spikes(turns)],
        "predicted": _predicted(predicted),
        "top": _top(report, filters.by, paid=paid),
    }


# Sums


def _rows(
    report: CostReport, turns: Sequence[TurnCost], filters: BillFilters, *, paid: bool
) -> list[PageData]:
    """Each sum with its column, in the order in which it is drawn."""
    by, timed = filters.by, filters.by in ("day", "turn")
    shown = _shown(report, by)
    sizes = [_size(group, paid=paid) for group in shown]
    if timed:
        lost = _lost_sizes(shown, turns, by, paid=paid)
        columns, _ = columns_of(sizes, lost)
        places: list[PageData] = [
            {name: getattr(one, name) for name in ("x", "y", "width", "height", "lost", "known")}
            for one in columns
        ]
    else:
        most = max((size or 0.0 for size in sizes), default=0.0)
        places = [{"share": _share(size, most), "known": size is not None} for size in sizes]
    named = {(turn.agent, f"entry {turn.entry}"): turn for turn in turns}
    return [
        {
            "name": group.name,
            "agent": group.agent,
            **cost_data(group.cost),
            **place,
            **_target(group, named, filters),
        }
        for group, place in zip(shown, places, strict=True)
    ]


def _shown(report: CostReport, by: CostKey) -> Sequence[CostGroup]:
    """The last days with those between them, all turns, or the dearest of anything else."""
    if by == "turn" or not report.groups:
        return report.groups
    if by != "day":
        return report.groups[:_ROWS]
    known = {group.name: group for group in report.groups}
    first, last = (date.fromisoformat(report.groups[place].name) for place in (0, -1))
    count = min((last - first).days, _DAYS - 1)
    days = [(last - timedelta(days=back)).isoformat() for back in range(count, -1, -1)]
    return [known.get(day) or CostGroup(day, Cost()) for day in days]


def _size(group: CostGroup, *, paid: bool) -> float | None:
    """What is drawn: money, or tokens where none of it is known to cost any."""
    if not paid:
        return float(group.cost.tokens)
    unknown = group.cost.usd is None or (not group.cost.usd and group.cost.unpriced)
    return None if unknown else float(group.cost.usd or 0)


def _more(report: CostReport, by: CostKey) -> int:
    """Sums that are not shown."""
    shown = {group.name for group in _shown(report, by)}
    return 0 if by == "turn" else sum(group.name not in shown for group in report.groups)


def _share(size: float | None, most: float) -> float:
    return round(100 * (size or 0.0) / most, 2) if most else 0.0


def _lost_sizes(
    groups: Sequence[CostGroup], turns: Sequence[TurnCost], by: CostKey, *, paid: bool
) -> list[float]:
    sums: dict[tuple[str, str], float] = {}
    for turn in turns:
        if turn.loss is not None:
            key = ("", turn.time[:10]) if by == "day" else (turn.agent, f"entry {turn.entry}")
            lost = float(turn.loss.usd or 0) if paid else float(turn.loss.tokens)
            sums[key] = sums.get(key, 0.0) + lost
    return [sums.get((group.agent, group.name), 0.0) for group in groups]


def _target(
    group: CostGroup, turns: Mapping[tuple[str, str], TurnCost], filters: BillFilters
) -> PageData:
    """Where a sum leads: a day to its turns, a turn to itself."""
    if filters.by == "day":
        return {"href": filters.link(by="turn", since=group.name, until=group.name), "time": ""}
    turn = turns.get((group.agent, group.name))
    if filters.by == "turn" and turn is not None:
        return {"href": turn_path(turn), "time": turn.time, "session": turn.session}
    return {"href": "", "time": "", "session": ""}


def _older(report: CostReport, turns: Sequence[TurnCost], filters: BillFilters) -> str:
    """The same, up to where this ends."""
    shown = report.partial and turns
    return filters.link(until=turns[0].time) if shown else ""


def _top(report: CostReport, by: CostKey, *, paid: bool) -> str:
    """The number at the top of the chart, in words."""
    sizes = [_size(group, paid=paid) for group in _shown(report, by)]
    _, top = columns_of(sizes, [0.0] * len(sizes))
    return dollars(Decimal(str(top))) if paid else f"{count_words(round(top))} tokens"


# What was lost, and what was foreseen


def _lost(turns: Sequence[TurnCost]) -> PageData:
    lost = [turn.loss for turn in turns if turn.loss is not None and turn.loss.tokens]
    known = [one.usd for one in lost if one.usd is not None]
    return {
        "turns": len(lost),
        "tokens": sum(one.tokens for one in lost),
        "usd": usd_data(sum(known, Decimal(0)) if known or not lost else None),
    }


def _spikes(turns: Sequence[TurnCost]) -> list[TurnCost]:
    """The turns whose cache lost most, the dearest first."""
    lost = [turn for turn in turns if turn.loss is not None and turn.loss.tokens]
    lost.sort(key=lambda turn: (turn.loss.usd or 0, turn.loss.tokens), reverse=True)  # pyright: ignore[reportOptionalMemberAccess]
    return lost[:_SPIKES]


def _spike(turn: TurnCost) -> PageData:
    return {
        "href": turn_path(turn),
        "entry": turn.entry,
        "agent": turn.agent,
        "time": turn.time,
        "session": turn.session,
        "cost": cost_data(turn.whole),
        "loss": loss_data(turn.loss),
        "fix": turn.fix,
    }


def _predicted(found: Predictions) -> PageData:
    off = (*found.with_verdict("less"), *found.with_verdict("unforeseen"))
    most = sorted(off, key=_distance, reverse=True)
    return {
        "calls": len(found.calls),
        "expected": found.expected,
        "read": found.read,
        "counted": found.counted,
        "reported": found.reported,
        "as_expected": len(found.with_verdict("as-expected")),
        "less": len(found.with_verdict("less")),
        "unforeseen": len(found.with_verdict("unforeseen")),
        "off": [
            {
                "href": turn_path(one.turn),
                "time": one.turn.time,
                "agent": one.turn.agent,
                "model": one.call.model,
                "expected": one.call.expected,
                "read": one.call.usage.cache_read,
                "verdict": one.verdict,
            }
            for one in most[:_SPIKES]
        ],
    }


def _distance(one: PredictedCall) -> int:
    return abs((one.call.expected or 0) - one.call.usage.cache_read)

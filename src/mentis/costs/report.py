"""The report of costs: sums under names, and the dearest turns with what to do about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal

from mentis.ask.prices import tariff_of
from mentis.engines.counters import counter_for
from mentis.turn.replay.replay import Replay
from mentis.values.cost import (
    CallCost,
    Cost,
    CostGroup,
    CostKey,
    CostReport,
    PromptPiece,
    RecordedPrompt,
    TurnCost,
    add_costs,
)
from mentis.values.entry import Entry
from mentis.values.reply import Usage
from mentis.values.route import Route
from mentis.values.words import entries_of, quantity

from .entry_costs import AgentCosts, pricing_on, read_costs
from .fixes import cheapest_fix
from .losses import find_loss
from .newest import moment_of, newest_entries
from .pieces import pieces_of, pieces_of_parts, priced_pieces
from .record_reader import RecordReader

ANSWER = "(answer)"
UNKNOWN = "(not known)"
_ORDERED: tuple[CostKey, ...] = ("day", "turn")  # by time; the others by cost


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """What is asked for: sums `by` what, of entries in which time, and how many dear turns. A time
    without a zone is one of UTC. `newest`: only so many turns, the last ones; 0 stands for all.
    `quick`: where a cache was lost is told from the entries alone, without making prompts again.
    `session`: only this one.
    """

    by: CostKey = "day"
    since: datetime | None = None
    until: datetime | None = None
    dearest: int = 5
    newest: int = 0
    quick: bool = False
    session: str = ""

    def covers(self, turn: TurnCost) -> bool:
        if self.session and turn.session != self.session:
            return False
        time = datetime.fromisoformat(turn.time)
        after = self.since is None or time >= _in_zone(self.since)
        return after and (self.until is None or time < _in_zone(self.until))


def _in_zone(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def cost_report(
    readers: Sequence[RecordReader],
    question: CostQuestion,
    *,
    beside: Sequence[RecordReader] = (),
) -> CostReport:
    """The costs of these records together; of those `beside`, what these asked for is shown and
    not counted. Nothing is asked or written. It blocks.
    """
    read = [_read(reader, question) for reader in (*readers, *beside)]
    known = {reader.agent: reader for reader, _ in read}
    costs = {reader.agent: found for reader, found in read}
    own = [costs[reader.agent].turns.values() for reader in readers]
    turns = [turn for each in own for turn in each if question.covers(turn)]
    turns.sort(key=lambda turn: turn.time)
    partial = any(costs[reader.agent].partial for reader in readers)
    if question.newest and len(turns) > question.newest:
        turns, partial = turns[-question.newest :], True
    groups = _groups(turns, question.by, known)
    dearest = sorted(_tree(turns, costs), key=_dearness, reverse=True)[: question.dearest]
    explaining = _offline(known) if question.quick else known
    return CostReport(
        tuple(reader.agent for reader in readers),
        question.by,
        add_costs(turn.cost for turn in turns),
        tuple(groups),
        tuple(_explained(one, costs, explaining) for one in dearest if one.whole.calls),
        tuple(_notes(turns, costs)),
        partial,
    )


def _read(reader: RecordReader, question: CostQuestion) -> tuple[RecordReader, AgentCosts]:
    """The costs, and a reader that has what was read of the record at hand."""
    price = pricing_on(reader.routes)
    if not question.newest:
        with reader.snapshot() as source:
            return reader, read_costs(reader.agent, source.entries(), price)
    since = None if question.since is None else _in_zone(question.since)
    until = None if question.until is None else _in_zone(question.until)
    entries, older = newest_entries(reader, question.newest, since=since, until=until)
    costs = read_costs(reader.agent, entries, price)
    costs.partial = older and (since is None or not entries or moment_of(entries[0]) >= since)
    held = {entry.index: entry for entry in entries}

    def find(index: int) -> Entry:
        return held.get(index) or reader.find(index)

    return replace(reader, find=find), costs


def _offline(readers: Mapping[str, RecordReader]) -> dict[str, RecordReader]:
    return {agent: replace(reader, replay=None) for agent, reader in readers.items()}


def _dearness(turn: TurnCost) -> tuple[Decimal, bool, int]:
    """What costs nothing comes after that of which nobody knows what it costs."""
    whole = turn.whole
    return whole.usd or Decimal(0), whole.unpriced > 0, whole.tokens - whole.usage.cache_read


# Sums


def _groups(
    turns: Sequence[TurnCost], by: CostKey, readers: Mapping[str, RecordReader]
) -> list[CostGroup]:
    found: dict[tuple[str, str], list[Cost]] = {}
    for turn in turns:
        shares = _blocks(turn, readers[turn.agent]) if by == "block" else _shares(turn, by)
        for agent, name, cost in shares:
            found.setdefault((agent, name), []).append(cost)
    groups = [CostGroup(name, add_costs(costs), agent) for (agent, name), costs in found.items()]
    if by in _ORDERED:
        return groups
    return sorted(groups, key=lambda one: (-(one.cost.usd or 0), -one.cost.tokens, one.name))


def _shares(turn: TurnCost, by: CostKey) -> Iterator[tuple[str, str, Cost]]:
    names: dict[str, Callable[[CallCost], str]] = {
        "day": lambda _: turn.time[:10],
        "session": lambda _: turn.session or f"({turn.kind})",
        "route": lambda call: call.route,
        "model": lambda call: call.model,
        "agent": lambda _: turn.agent,
        "turn": lambda _: f"entry {turn.entry}",
        "kind": lambda _: turn.kind,
    }
    for call in turn.calls:
        yield turn.agent if by in ("session", "turn") else "", names[by](call), call.cost


def _blocks(turn: TurnCost, reader: RecordReader) -> Iterator[tuple[str, str, Cost]]:
    """The first call of a step by its prompt, put together again; of others nobody knows."""
    for call in turn.calls:
        rebuilt = _prompt(turn, call, reader)
        if rebuilt is None or call.planned:
            yield "", UNKNOWN, call.cost
            continue
        pieces, answer = told_pieces(rebuilt, call, reader.route(turn.entry))
        shares = [Usage(p.tokens, cache_read=p.cached, cache_write=p.written) for p in pieces]
        for piece, usage in zip(pieces, shares, strict=True):
            yield "", piece.name, Cost(0, usage, piece.usd)
        # The call itself is counted once, with its answer.
        yield "", ANSWER, replace(call.cost, usage=_without(call.usage, shares), usd=answer)


def _prompt(turn: TurnCost, call: CallCost, reader: RecordReader) -> Replay | RecordedPrompt | None:
    """Parts of one kind of a foreign prompt go by one name, or there would be one for each."""
    told = reader.told(turn.entry)
    if isinstance(told, RecordedPrompt):
        return replace(told, parts=tuple(replace(one, name=one.group) for one in told.parts))
    rebuilt = reader.rebuild(turn.entry, call.step) if call.number == 1 else None
    return rebuilt if isinstance(rebuilt, Replay) else None


def told_pieces(
    rebuilt: Replay | RecordedPrompt, call: CallCost | None, asked: Route
) -> tuple[tuple[PromptPiece, ...], Decimal | None]:
    """The pieces of a prompt with their shares, and the share of the answer. `asked` is the route
    of a recorded agent's call; a replay knows its own.
    """
    usage = None if call is None or call.planned else call.usage
    if isinstance(rebuilt, Replay):
        route = rebuilt.route
        pieces = pieces_of(rebuilt.rendering, counter_for(route.model), usage)
    else:
        route = asked
        pieces = pieces_of_parts(rebuilt.parts, counter_for(route.model), usage)
    if call is None or usage is None:
        return pieces, None
    return priced_pieces(pieces, call, tariff_of(route, usage))


def _without(usage: Usage, shares: Sequence[Usage]) -> Usage:
    rest = (
        getattr(usage, each.name) - sum(getattr(one, each.name) for one in shares)
        for each in fields(Usage)
    )
    return Usage(*rest)


# The dearest


def _tree(turns: Sequence[TurnCost], costs: Mapping[str, AgentCosts]) -> list[TurnCost]:
    """Turns that others asked for, under those; each stands once."""
    inner = {one for turn in turns for one in costs[turn.agent].asked.get(turn.entry, ())}
    roots = [turn for turn in turns if (turn.agent, turn.entry) not in inner]
    return [_with_inner(turn, costs, frozenset()) for turn in roots]


def _with_inner(
    turn: TurnCost, costs: Mapping[str, AgentCosts], above: frozenset[tuple[str, int]]
) -> TurnCost:
    above = above | {(turn.agent, turn.entry)}
    found: list[TurnCost] = []
    for agent, index in costs[turn.agent].asked.get(turn.entry, ()):
        asked = costs[agent].turns.get(index) if agent in costs else None
        if asked is None:
            found.append(TurnCost(agent, index, "", "", "turn", (), elsewhere=True))
        elif (agent, index) not in above:
            found.append(_with_inner(asked, costs, above))
    return replace(turn, inner=tuple(found)) if found else turn


def _explained(
    turn: TurnCost, costs: Mapping[str, AgentCosts], readers: Mapping[str, RecordReader]
) -> TurnCost:
    """With its greatest loss, and what to do."""
    reader, before = readers[turn.agent], costs[turn.agent].before
    steps = [(turn.entry, call.step) for call in turn.calls if call.number == 1]
    losses = [find_loss(reader, place, before.get(place)) for place in steps]
    unsaid = "first" if costs[turn.agent].partial else ""  # the one before was not looked at
    found = [one for one in losses if one is not None and one.cause != unsaid]
    found.sort(key=lambda one: -one.tokens)
    loss = found[0] if found else None
    return replace(turn, loss=loss, fix=cheapest_fix(turn, loss, reader.routes))


def _notes(turns: Iterable[TurnCost], costs: Mapping[str, AgentCosts]) -> Iterator[str]:
    calls = [call for turn in turns for call in turn.calls]
    if planned := sum(call.planned for call in calls):
        yield (
            f"{quantity(planned, 'call')} reported no usage: the most that was planned for them"
            " is counted"
        )
    unknown = {call.price: None for call in calls if call.usd is None}
    yield from (f"unknown price: {told}" for told in unknown)
    if emptied := sum(read.emptied for read in costs.values()):
        yield f"of {entries_of(emptied)} it is not known what it used: that was erased"

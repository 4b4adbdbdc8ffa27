"""A beat: a moment of the agent's own, with nobody waiting. What it thinks goes to nobody.

The occasion is a block of the library, `beat_KIND`; which kind it is, chance decides by the weights
in the settings. Each beat is a turn of the session `beats` and ends in an entry, also one that
failed or was broken off: together they are the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Literal, TypeAlias, cast

from anyio import CancelScope, current_time, to_thread

from mentis.ask.ask import OnDelta
from mentis.ask.budgets import spending_in
from mentis.ask.models import Models
from mentis.errors import BudgetReached, SettingsError, UsageError
from mentis.home.identity import Identity
from mentis.ports.chance import Chance
from mentis.ports.entries import LOOKED_BACK
from mentis.record.agent_record import AgentRecord
from mentis.settings.beats import BeatSettings
from mentis.settings.settings import Settings
from mentis.turn.agent_parts import AgentParts
from mentis.turn.beside import builder_for, require_text
from mentis.turn.snapshot import TurnSnapshot
from mentis.turn.turn import TurnResult, run_turn
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.library import Library
from mentis.values.measured import (
    CLOCK,
    ClockReading,
    MeasuredTimeline,
    age_of,
    day_of,
    is_settling,
    reading_of,
)
from mentis.values.recalled import Stimulus
from mentis.values.request import RuntimeContext
from mentis.values.session import BEATS
from mentis.values.trust import Trust
from mentis.values.value import Value

from .schedule import BeatSchedule

SESSION, INNER = BEATS, "beat"
_PREFIX = "beat_"
_AT_ONCE = 64
_DAY = timedelta(days=1)
Timed: TypeAlias = tuple[datetime, Entry]  # the time it counts at
BeatState: TypeAlias = Literal["done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Beat(Value):
    kind: str
    result: TurnResult


@dataclass(frozen=True, slots=True)
class BeatRecord(Value):
    """One line of the log. `text` is the thought, where it is still kept."""

    index: int
    time: str
    kind: str
    state: BeatState
    failure: str = ""
    tokens: int = 0
    text: str = ""


def choose(weights: Mapping[str, float], chance: Chance) -> str:
    """One of the kinds, each as often as its weight says; one without weight is never drawn."""
    kinds = [(kind, weight) for kind, weight in weights.items() if weight > 0]
    if not kinds:
        raise UsageError(
            "no kind of beat has a weight", hint="set beats.weights, or name a kind of beat"
        )
    drawn = chance.between(0.0, sum(weight for _, weight in kinds))
    for kind, weight in kinds:
        drawn -= weight
        if drawn < 0:
            return kind
    return kinds[-1][0]


def kinds_in(library: Library) -> tuple[str, ...]:
    """Those that the library has an occasion for."""
    ids = (block.id for block in library.blocks if block.target == "message")
    return tuple(one.removeprefix(_PREFIX) for one in ids if one.startswith(_PREFIX))


def check_weights(settings: Settings, library: Library) -> None:
    """Refuse a weight that somebody set for a kind that is not there."""
    known = kinds_in(library)
    for kind in settings.model.beats.weights:
        origin = settings.origins.get(("beats", "weights", kind))
        if origin is not None and kind not in known:
            error = _unknown(kind, known)
            raise SettingsError(
                f"{origin}: beats.weights: {error.message}", hint=error.hint, kind=kind
            )


async def make_beat(
    parts: AgentParts, kind: str | None, *, chance: Chance, on_delta: OnDelta, reading: CancelScope
) -> Beat:
    """Have one now, of that kind or of one that is drawn, within what beats may use in a day."""
    present = await to_thread.run_sync(parts.look)
    chosen = present.settings.model.beats
    await to_thread.run_sync(_check_day, parts.record, chosen)
    drawn = choose(chosen.weights, chance) if kind is None else kind
    stimulus = _occasion(parts.who, parts.models, present, drawn)
    reading.deadline = current_time() + chosen.seconds
    small = parts.limited(chosen.tokens)
    result = await run_turn(small, stimulus, session=SESSION, on_delta=on_delta, reading=reading)
    return Beat(drawn, result)


def beat_schedule_of(record: AgentRecord, chosen: BeatSettings) -> BeatSchedule:
    """When the next beat is due on the clock that only goes on, as the record says. It blocks."""
    if not chosen.enabled:
        return BeatSchedule()
    wait = (due_at(record, chosen) - record.now()).total_seconds()
    return BeatSchedule(record.clock.monotonic() + max(0.0, wait))


def due_at(record: AgentRecord, chosen: BeatSettings) -> datetime:
    """An interval after the last one; the next day, where this one's beats are used up."""
    now = record.reading()
    shown, today = now.shown, day_of(now.shown)
    interval = timedelta(seconds=chosen.interval)
    beats = _since(record, min(today, shown - interval), now)
    due = max(time for time, _ in beats) + interval if beats else shown
    return max(due, today + _DAY) if _used_up(beats, chosen, now) else due


def beat_log(record: AgentRecord, count: int) -> tuple[BeatRecord, ...]:
    """The last beats, the oldest first, as far back as the record is looked through. It blocks."""
    beats = _beats(record.latest(LOOKED_BACK, kind="turn"))[-count:]
    turns = record.turns(SESSION) if beats else ()
    texts = {digest(turn.text.encode()): turn.text for turn in turns}
    return tuple(_record(entry, texts) for entry in beats)


def _unknown(kind: str, known: Sequence[str]) -> UsageError:
    close = get_close_matches(kind, known, n=1)
    own = f"mentis prompts new {_PREFIX}{kind} --target message --position user_message"
    return UsageError(
        f"there is no kind of beat {kind!r}",
        hint=f"did you mean {close[0]!r}?"
        if close
        else f"there are {', '.join(known)}; to make one: {own}",
    )


def _occasion(who: Identity, models: Models, present: TurnSnapshot, kind: str) -> Stimulus:
    known = kinds_in(present.library)
    if kind not in known:
        raise _unknown(kind, known)
    built = builder_for(who, models, present).build_beat(
        kind, models.route.variant, present.variables
    )
    outside = any(span.trust is Trust.UNTRUSTED for span in built.spans)
    return Stimulus(
        require_text(built, f"{_PREFIX}{kind}"),
        trust=Trust.UNTRUSTED if outside else Trust.OWNER,
        inner=INNER,
        mode="beat",
        runtime_ctx=RuntimeContext(beat_type=kind),
    )


def _check_day(record: AgentRecord, chosen: BeatSettings) -> None:
    now = record.reading()
    name = _used_up(_since(record, day_of(now.shown), now), chosen, now)
    if name:
        raise BudgetReached(
            f"this day's beats have used up beats.{name}: {getattr(chosen, name)}",
            hint=f"raise beats.{name}, or wait for the next day (UTC)",
            budget=name,
        )


def _used_up(beats: Sequence[Timed], chosen: BeatSettings, now: ClockReading) -> str:
    """The name of the limit that is reached, if one is."""
    today = [one for time, one in beats if time >= day_of(now.shown)]
    if chosen.day_beats and len(today) >= chosen.day_beats:
        return "day_beats"
    if chosen.day_tokens and _tokens(today, now) >= chosen.day_tokens:
        return "day_tokens"
    return ""


def _since(record: AgentRecord, since: datetime, now: ClockReading) -> list[Timed]:
    """All beats from then on: backwards through the record, until it is older."""
    count = _AT_ONCE
    while True:
        latest = record.latest(count, kind="turn")
        if len(latest) < count or _is_before(latest[0], since, now):
            return _timed(latest, since, now, _settled(record))
        count *= 4


def _is_before(entry: Entry, since: datetime, now: ClockReading) -> bool:
    """By the wall clock as the record has it, and by the time that has passed: a day at least."""
    age = age_of(reading_of(entry), now)
    return datetime.fromisoformat(entry.time) < since and age > max(_DAY, now.shown - since)


def _settled(record: AgentRecord) -> Entry | None:
    """The last entry with which somebody said that the clock is right."""
    return next(filter(is_settling, reversed(record.latest(_AT_ONCE, kind=CLOCK))), None)


def _timed(
    turns: Sequence[Entry], since: datetime, now: ClockReading, settled: Entry | None
) -> list[Timed]:
    """The beats among these turns, each with the time it counts at.

    Turns of a later day that no other turn follows were made with a wrong clock, nobody knows when.
    They hold up no beat: one that was put off leaves no entry, so nothing would ever follow them.
    """
    readings = [reading_of(turn) for turn in turns]
    known, tomorrow = len(turns), day_of(now.shown) + _DAY
    while known and readings[known - 1].shown >= tomorrow:
        if now.boot and readings[known - 1].boot == now.boot:
            break  # measured: it is known when that was
        known -= 1
    timeline = MeasuredTimeline[Entry](since, now, by_day=True)
    for turn, reading in zip(turns[:known], readings, strict=False):
        if settled is not None and turn.index > settled.index:
            timeline.settle(reading_of(settled))
            settled = None
        timeline.add(reading, *_beats([turn]))
    if settled is not None:
        timeline.settle(reading_of(settled))
    return timeline.dated_items()


def _beats(entries: Iterable[Entry]) -> list[Entry]:
    """Without forks of them, which only show."""
    found = (entry for entry in entries if "fork" not in entry.body)
    return [entry for entry in found if _facts(entry).get("mode") == "beat"]


def _tokens(beats: Iterable[Entry], now: ClockReading) -> int:
    return spending_in(beats, now, priced=False).agent_tokens


def _record(entry: Entry, texts: Mapping[str, str]) -> BeatRecord:
    facts, bound = _facts(entry), _object(entry, "digests")
    failure, stop = str(facts.get("failure", "")), facts.get("stop")
    state: BeatState = "failed" if failure else "done"
    return BeatRecord(
        entry.index,
        entry.time,
        str(facts.get("beat", "")),
        "interrupted" if stop == "interrupted" and not failure else state,
        failure,
        _tokens([entry], reading_of(entry)),
        texts.get(str(bound.get("answer")), ""),
    )


def _facts(entry: Entry) -> Mapping[str, object]:
    return _object(entry, "turn")


def _object(entry: Entry, name: str) -> Mapping[str, object]:
    found = entry.body.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}

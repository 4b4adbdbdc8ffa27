"""Why a turn came out as it did: what its model was told, what not, and what had changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from mentis.ask.recorded_calls import RecordedCall, calls_in, object_in, objects_in
from mentis.errors import MentisError, UsageError
from mentis.turn.replay.replay import Replay
from mentis.values.cost import CacheLoss, CallCost, OmittedPiece, TurnExplanation
from mentis.values.entry import Entry
from mentis.values.trace import Trace

from .entry_costs import TALK, AgentCosts, Place, pricing_on, read_costs, turn_cost
from .fixes import cheapest_fix
from .losses import find_change, find_loss
from .record_reader import RecordReader
from .report import told_pieces

_WHY = {"room": "the route has no room for them", "review": "they wait for their owner"}


def explain_turn(reader: RecordReader, index: int | None, step: int = 1) -> TurnExplanation:
    """One call of a recorded turn, of the last where none is named, from its entry and its replay.
    It blocks.
    """
    read = _read_until(reader, index)
    index = _last(read) if index is None else index
    if index is None:
        raise UsageError(
            f"{reader.agent} has asked no model yet", hint='say something: mentis chat "Hello"'
        )
    entry = reader.find(index)
    turn = turn_cost(entry, pricing_on(reader.routes))
    steps = max((call.step for call in turn.calls), default=1)
    if not turn.calls and "turn" not in entry.fields:
        raise UsageError(
            f"entry {index} is a `{entry.kind}`: no model was asked in it",
            hint="`mentis cost` lists the turns that cost most; `mentis ledger show` all entries",
        )
    if step > steps:
        raise UsageError(f"entry {index} has no step {step}", hint=f"it has {steps}, from 1 on")
    call = next((one for one in turn.calls if (one.step, one.number) == (step, 1)), None)
    made = TurnExplanation(turn, step, steps, call, notes=tuple(_entry_notes(entry)))
    place, before = (index, step), read.before.get((index, step))
    loss = None if call is None else find_loss(reader, place, before)
    made = replace(made, before=before, loss=loss, changed=_change(reader, place, before))
    made = replace(made, fix=cheapest_fix(turn, loss, reader.routes))
    rebuilt = reader.rebuild(index, step)
    if not isinstance(rebuilt, Replay):
        why = rebuilt.message if isinstance(rebuilt, MentisError) else "nobody here can replay it"
        return replace(made, omitted=tuple(_told_omitted(entry)), notes=(*made.notes, why))
    pieces, answer = told_pieces(rebuilt, call)
    return replace(
        made,
        rebuilt=True,
        identical=rebuilt.identical,
        pieces=pieces,
        answer_usd=answer,
        omitted=tuple(_omitted(rebuilt)),
        notes=(*made.notes, *_replay_notes(rebuilt)),
    )


def _read_until(reader: RecordReader, index: int | None) -> AgentCosts:
    """The record up to an entry, or all of it: which steps follow which, at no price."""
    with reader.snapshot() as source:
        found = source.entries()
        if index is not None:
            found = takewhile(lambda entry: entry.index <= index, found)
        return read_costs(reader.agent, found, _unpriced)


def _last(read: AgentCosts) -> int | None:
    """The newest turn of a conversation; where there is none, whatever asked a model last."""
    talks = [one.entry for one in read.turns.values() if one.kind in TALK]
    return max(talks or read.turns, default=None)


def _unpriced(call: RecordedCall) -> CallCost:
    return CallCost(
        call.route, call.model, call.usage, None, "", step=call.step, number=call.number
    )


def _change(reader: RecordReader, place: Place, before: Place | None) -> CacheLoss | None:
    return None if before is None else find_change(reader, place, before)


def _replay_notes(rebuilt: Replay) -> Iterator[str]:
    if not rebuilt.identical:
        yield "what is shown is not, to the byte, what was sent then"
    yield from rebuilt.notes


def _omitted(rebuilt: Replay) -> Iterator[OmittedPiece]:
    """What matters most comes first: what had no room, what was kept out, what stepped down."""
    trace = rebuilt.composed.trace
    for cut in trace.cuts:
        yield OmittedPiece("cut", cut.what, cut.reason, cut.tokens)
    if trace.filtered:
        yield OmittedPiece("screened", f"memories: {trace.filtered}", "screening kept them out")
    for step in trace.degraded:
        yield OmittedPiece("degraded", step.part, step.reason)
    for loss in rebuilt.rendering.losses:
        yield OmittedPiece("lost", loss.code, loss.message)
    for one in trace.unresolved:
        yield OmittedPiece("unresolved", f"{{{{{one.placeholder}}}}} in {one.block}", one.policy)
    for one in rebuilt.composed.candidates:
        if not one.chosen:
            yield OmittedPiece("tool", f"{one.kind} {one.name}", one.reason)
    yield from _skipped_blocks(trace)


def _skipped_blocks(trace: Trace) -> Iterator[OmittedPiece]:
    for block in trace.blocks:
        if not block.included and not block.elsewhere:
            yield OmittedPiece("block", block.block, block.reason)


def _told_omitted(entry: Entry) -> Iterator[OmittedPiece]:
    """As far as the entry itself says it: a tick does."""
    tick = object_in(entry.body.get("tick"))
    for one in objects_in(tick.get("left_out")):
        lines = f"{one.get('lines')} lines of {one.get('section')}"
        yield OmittedPiece("cut", lines, _WHY.get(str(one.get("why")), ""))
    for one in objects_in(tick.get("degraded")):
        yield OmittedPiece("degraded", str(one.get("part", "")), str(one.get("reason", "")))


def _entry_notes(entry: Entry) -> Iterator[str]:
    """Routes that did not answer, corrections, and how the turn ended where that is not plain."""
    for passed in objects_in(object_in(entry.body.get("route")).get("after")):
        yield f"route {passed.get('route')} did not answer: {passed.get('message')}"
    corrected = sum(call.number > 1 for call in calls_in(entry))
    if corrected:
        yield f"its answers were corrected or asked for again {corrected} times"
    turn = object_in(entry.body.get("turn"))
    if turn.get("failure"):
        yield f"it failed: {turn['failure']}"
    if caller := object_in(turn.get("caller")):
        yield f"{caller.get('agent')} asked for it, session {caller.get('session')}"

"""Why a turn came out as it did: what its model was told, what not, and what had changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile

from mentis.ask.recorded_calls import CALL, RecordedCall, calls_in, object_in, objects_in
from mentis.errors import MentisError, UsageError
from mentis.record.foreign_calls import ForeignCall, foreign_call
from mentis.turn.replay.replay import Replay
from mentis.values.cost import (
    CacheLoss,
    CallCost,
    OmittedPiece,
    RecordedPrompt,
    TurnCost,
    TurnExplanation,
)
from mentis.values.entry import Entry
from mentis.values.trace import Trace

from .entry_costs import (
    TALK,
    CacheLine,
    Place,
    cache_line,
    pricing_on,
    session_of,
    turn_cost,
)
from .fixes import cheapest_fix
from .losses import change_context, find_change, find_loss
from .record_reader import RecordReader
from .report import told_pieces

_LOOKED_BACK = 2000  # entries; what was sent longer ago is in no cache any more
_FAILED = 400  # the first status that says so
_NOT_SAID = OmittedPiece("unknown", "", "the program decides that itself, and does not say")
_WHY = {"room": "the route has no room for them", "review": "they wait for their owner"}


def explain_turn(reader: RecordReader, index: int | None, step: int = 1) -> TurnExplanation:
    """One call of a recorded turn, of the last where none is named, from its entry and its replay.
    It blocks.
    """
    index = _last(reader) if index is None else index
    if index is None:
        raise UsageError(
            f"{reader.agent} has asked no model yet", hint='say something: mentis chat "Hello"'
        )
    entry = reader.find(index)
    turn = turn_cost(entry, pricing_on(reader.routes))
    foreign = foreign_call(entry)
    steps = max((call.step for call in turn.calls), default=1)
    asked = foreign.model if foreign is not None else "turn" in entry.fields
    if not turn.calls and not asked:
        erased = foreign is None and "call" in entry.fields and "call" not in entry.body
        why = "what went by in it was erased" if erased else "no model was asked in it"
        raise UsageError(
            f"entry {index} is a `{entry.kind}`: {why}",
            hint="`mentis cost` lists the turns that cost most; `mentis ledger show` all entries",
        )
    if step > steps:
        raise UsageError(f"entry {index} has no step {step}", hint=f"it has {steps}, from 1 on")
    call = next((one for one in turn.calls if (one.step, one.number) == (step, 1)), None)
    made = TurnExplanation(turn, step, steps, call, notes=tuple(_entry_notes(entry)))
    place = index, step
    if foreign is not None:
        before = None if foreign.before is None else (foreign.before, 1)
    else:
        before = None if call is None else _step_before(reader, turn, call)
    loss = None if call is None else find_loss(reader, place, before)
    made = replace(made, before=before, loss=loss, fix=cheapest_fix(turn, loss, reader.routes))
    if foreign is not None:
        return _explain_foreign(reader, made, foreign)
    if before is not None:
        changed = find_change(reader, place, before)
        context = None if changed is None else change_context(reader, place, before)
        made = replace(made, changed=changed, context=context)
    rebuilt = reader.rebuild(index, step)
    if not isinstance(rebuilt, Replay):
        why = rebuilt.message if isinstance(rebuilt, MentisError) else "nobody here can replay it"
        return replace(made, omitted=tuple(_told_omitted(entry)), notes=(*made.notes, why))
    pieces, answer = told_pieces(rebuilt, call, rebuilt.route)
    return replace(
        made,
        rebuilt=True,
        identical=rebuilt.identical,
        pieces=pieces,
        answer_usd=answer,
        omitted=tuple(_omitted(rebuilt)),
        notes=(*made.notes, *_replay_notes(rebuilt)),
    )


def _explain_foreign(
    reader: RecordReader, made: TurnExplanation, call: ForeignCall
) -> TurnExplanation:
    """A call of a recorded agent, from the body that was kept of it."""
    notes = [*made.notes, *_foreign_notes(call)]
    made = replace(made, omitted=(_NOT_SAID,))
    if made.before is not None and reader.foreign is not None:
        entries = reader.find(call.entry), reader.find(made.before[0])
        if (found := reader.foreign.change(*entries)) is not None:
            changed = CacheLoss("changed", 1, found.where, found.pointer, found.byte)
            made = replace(made, changed=changed, context=(found.was, found.now))
    told = reader.told(call.entry)
    if not isinstance(told, RecordedPrompt):
        why = told.message if isinstance(told, MentisError) else "nobody here can read it"
        return replace(made, notes=(*notes, why))
    if not told.identical:
        notes.append(
            "secrets were taken out of what was kept: it is not, to the byte, what was sent"
        )
    pieces, answer = told_pieces(told, made.call, reader.route(call.entry))
    return replace(
        made,
        rebuilt=True,
        identical=told.identical,
        pieces=pieces,
        answer_usd=answer,
        notes=tuple(notes),
    )


def _foreign_notes(call: ForeignCall) -> Iterator[str]:
    if call.origin is not None:
        who = f"session {call.origin.session}, thread {call.origin.thread}"
        entry = "" if call.origin.entry is None else f", entry {call.origin.entry}"
        done = "handed over by" if call.origin.kind == "handoff" else "asked for by"
        yield f"its thread was {done} {who}{entry}"
    if call.end != "answered" or call.status >= _FAILED:
        yield f"it was not answered: {call.end}, status {call.status}"
    for rule in dict.fromkeys(call.repairs):
        yield f"it was repaired on its way ({rule}): `mentis replay {call.entry} --original`"


def _last(reader: RecordReader) -> int | None:
    """The newest turn of a conversation; where there is none, whatever asked a model last."""
    newest = None
    for entry in _entries_before(reader, None):
        turn = turn_cost(entry, _unpriced)
        if turn.calls and turn.kind in (*TALK, CALL):
            return turn.entry
        newest = turn.entry if newest is None and turn.calls else newest
    return newest


def _step_before(reader: RecordReader, turn: TurnCost, call: CallCost) -> Place | None:
    """The step that the cache of this one goes on from: the last of the same session, route and
    model, among the entries that are near enough for a cache.
    """
    wanted = cache_line(turn, call)
    earlier = [one for one in turn.calls if one.step < call.step]
    for one, line in _lines(replace(turn, calls=tuple(earlier))):
        if line == wanted:
            return turn.entry, one.step
    for entry in islice(_entries_before(reader, turn.entry), _LOOKED_BACK):
        if entry.kind not in ("turn", CALL) or session_of(entry) != turn.session:
            continue
        other = turn_cost(entry, _unpriced)
        for one, line in _lines(other):
            if line == wanted:
                return other.entry, one.step
    return None


def _lines(turn: TurnCost) -> Iterator[tuple[CallCost, CacheLine]]:
    """The first call of each step, the last step first."""
    for call in reversed(turn.calls):
        if call.number == 1:
            yield call, cache_line(turn, call)


def _entries_before(reader: RecordReader, before: int | None) -> Iterator[Entry]:
    """The newest first; of a record that was rotated, then what is in its segments."""
    last = before
    for entry in reader.backwards(before):
        last = entry.index
        yield entry
    if last:
        with reader.snapshot() as source:
            older = list(takewhile(lambda entry: entry.index < last, source.entries()))
        yield from reversed(older)


def _unpriced(call: RecordedCall) -> CallCost:
    return CallCost(
        call.route, call.model, call.usage, None, "", step=call.step, number=call.number
    )


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
            kind = "memory" if one.kind == "memory" else "tool"
            yield OmittedPiece(kind, f"{one.kind} {one.name}", one.reason)
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

"""Acts as a person reads them: what one would do, in full, and what became of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from .shown import behind_bar, fold_line, json_line, room, safe

if TYPE_CHECKING:
    from mentis.record.act_stories import ActStep, ActStory
    from mentis.tools.acts import InFlight
    from mentis.values.act import TaintedValue, WaitingAct
    from mentis.values.action import Outcome

KEY = 8  # characters of a key that are shown; any beginning that is unique finds it
_SHORT = 60
_MOST_SAID = 300
_MOST_ARGUMENTS = 160
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")


def waiting_lines(act: WaitingAct, *, now: datetime) -> Iterator[str]:
    """What it would do, and why it waits; nothing of it is left out."""
    call = act.call
    yield f"{safe(call.action.type)}  {safe(call.key)}"
    yield _fact("from", act.source)
    if act.where:
        yield from _told("runs or calls", act.where)
    effects = "yes, others will see it" if act.external_effects else "no"
    yield _fact("reaches outside", effects)
    yield _fact("asked", f"{moment(act.since)} in {call.mode}, session {call.session or '-'}")
    yield _fact("expires", f"{moment(act.expires)} ({_left(act.expires, now)})")
    yield from _told("waits for you", f"{act.decision.reason} (rule {act.decision.rule or '-'})")
    yield from argument_lines(call.action.payload, act.decision.tainted)


def argument_lines(
    payload: Mapping[str, object] | None, tainted: Sequence[TaintedValue] = ()
) -> Iterator[str]:
    """Every argument, whole, each with where its untrusted values came from."""
    if not payload:
        yield _fact("arguments", "none" if payload is not None else "not in the record")
        payload = {}
    else:
        yield "  arguments:"
    for name, value in payload.items():
        yield from _argument(name, value)
        for one in tainted:
            if _top(one.path) == name:
                where = "" if one.path.count("/") == 1 else f"{one.path} "
                yield from _warned(f"{where}came from untrusted text: {one.source}")
    for one in tainted:
        if _top(one.path) not in payload:
            yield from _warned(f"{one.path} came from untrusted text: {one.source}: {one.value}")


def story_lines(story: ActStory) -> Iterator[str]:
    """One act from being asked for to what it came to."""
    yield f"{safe(story.type) or '(erased)'}  {safe(story.key)}"
    yield _fact("state", story.state)
    yield _fact("from", story.source or "-")
    yield _fact("asked", f"in {story.mode or '-'}, session {story.session or '-'}")
    if story.lineage == "untrusted":
        yield _fact("made from", "untrusted text, among others")
    if story.erased:
        yield _fact("erased", ", ".join(story.erased))
    yield from argument_lines(story.payload, story.tainted)
    for step in story.steps:
        yield from _step(step)
    if (turn := story.turn) is not None:
        answered = f"{safe(turn.agent)}, entry {turn.entry}, session {safe(turn.session)}"
        yield _fact("answered by", answered)
    if story.text:
        yield _fact("result", f"{story.size} bytes{', kept as a file' if story.blob else ''}")
        yield from behind_bar(story.text)


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    yield f"{safe(outcome.action.type)}  {safe(outcome.key)}: {outcome.state}"
    if outcome.reason:
        yield from _told("reason", outcome.reason)
    if outcome.text:
        yield from behind_bar(outcome.text)


def said_lines(outcome: Outcome) -> Iterator[str]:
    """In a conversation: what came of it in a line."""
    told = outcome.reason or outcome.text
    yield from result_lines(outcome.action.type, outcome.state, told, outcome.key)


def result_lines(name: str, state: str, told: str, key: str) -> Iterator[str]:
    """The beginning of a result, and how to see all of it."""
    yield from fold_line(result_line(name, state, told), room() - 2)
    if len(told) > _MOST_SAID and state != "waiting":
        yield f"  all of it: mentis acts result {safe(key[:KEY])}"


def result_line(name: str, state: str, told: str) -> str:
    more = f"… ({len(told)} characters)" if len(told) > _MOST_SAID else ""
    return safe(" ".join(filter(None, (f"<- {name}:", state, f"{told[:_MOST_SAID]}{more}"))))


def call_line(name: str, arguments: str | Mapping[str, object]) -> str:
    """A call with the beginning of its arguments; as a text they are none that can be read."""
    told = arguments
    if not isinstance(told, str):
        told = ", ".join(f"{one}={json_line(value)}" for one, value in told.items())
    told = told if len(told) <= _MOST_ARGUMENTS else f"{told[:_MOST_ARGUMENTS]}…"
    return safe(f"-> {name}({told})")


def due_lines(outcome: Outcome, session: str) -> Iterator[str]:
    """What a person, or the caller, has to do before it can go on."""
    name, key = safe(outcome.action.type), safe(outcome.key[:KEY])
    if outcome.state == "waiting":
        yield f"{name} waits for you: mentis acts approve {key} --continue, or deny"
    elif outcome.state == "deferred":
        form = json_line({outcome.action.call_id: "..."})
        where = "" if session == "main" else f" --session {safe(session)}"
        yield f"{name} is yours to execute: mentis chat{where} --results FILE, with {form}"


def flight_line(one: InFlight) -> str:
    call = one.act.call
    told = "being done" if one.alive else "left open by a process that is gone"
    return f"{safe(call.action.type)}  {safe(call.key[:KEY])}: {told}, since {moment(one.since)}"


def moment(time: str) -> str:
    """To the second: what comes after it helps nobody decide."""
    return f"{time[:19].replace('T', ' ')}Z" if time else "-"


def _argument(name: str, value: object) -> Iterator[str]:
    told = name if _PLAIN.fullmatch(name) else json_line(name)
    if isinstance(value, str) and ("\n" in value or len(value) > _SHORT):
        yield f"    {told} ="
        yield from behind_bar(value, indent=6)
        return
    line = json_line(value)
    if len(line) <= _SHORT:
        yield f"    {told} = {line}"
        return
    yield f"    {told} ="
    yield from behind_bar(json.dumps(value, ensure_ascii=False, indent=2), indent=6)


def _warned(text: str) -> Iterator[str]:
    first, *rest = fold_line(safe(text), room() - 8)
    yield f"      ! {first}"
    yield from (f"      ! {line}" for line in rest)


def _step(step: ActStep) -> Iterator[str]:
    again = f" (attempt {step.attempt})" if step.attempt > 1 else ""
    by = f" by {safe(step.by)}" if step.by else ""
    state = f": {step.state}" if step.state else ""
    yield f"  {moment(step.time)}  entry {step.entry}  {step.stage}{again}{by}{state}"
    for words in (step.reason, step.words):
        if words:
            yield from behind_bar(words, indent=6)


def _told(label: str, text: str) -> Iterator[str]:
    if len(text) <= _SHORT and "\n" not in text:
        yield _fact(label, text)
        return
    yield f"  {label}:"
    yield from behind_bar(text)


def _fact(label: str, text: str) -> str:
    return f"  {label}: {safe(text)}"


def _top(path: str) -> str:
    return path.lstrip("/").split("/", 1)[0].replace("~1", "/").replace("~0", "~")


def _left(expires: str, now: datetime) -> str:
    try:
        seconds = (datetime.fromisoformat(expires) - now).total_seconds()
    except ValueError:
        return "?"
    if seconds <= 0:
        return "over"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"in {hours} h" if hours else f"in {minutes} min"

"""`mentis tick`."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from mentis.codec.strict_json import is_json, read_outside
from mentis.errors import BadInput

from .options import call_parts, given_text, home_option, home_path, persona_option, route_option
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.app.agent import Agent
    from mentis.tick.cortex import TickResult
    from mentis.tick.events import Emit
    from mentis.values.cognition import Sense
    from mentis.values.tick import OpReport, TickReport

_HINT = "give one JSON object, a list of them, or one a line"
_DEEPEST = 200  # what the reader of values takes


@click.command(epilog='For example: echo \'{"text": "It rains."}\' | mentis tick --sense -')
@click.option(
    "--sense",
    "file",
    type=click.File("r", encoding="utf-8"),
    help="What it senses, as JSON: one object, a list, or one object a line; - is standard input.",
)
@click.option("--owner", is_flag=True, help="The senses are your own words, and so trusted.")
@click.option("--strict", is_flag=True, help="Discard an answer that breaks the contract.")
@click.option(
    "--events",
    metavar="FILE",
    help="Add every event to a file, one line of JSON each; - is stderr.",
)
@persona_option
@route_option
@home_option
@prints_report
def tick(
    *,
    file: TextIO | None,
    owner: bool,
    strict: bool,
    events: str | None,
    persona: str | None,
    route: str,
) -> Report:
    """Let an agent think for one moment, with what it senses.

    It may act, change its goals and keep something in mind. Without --sense it looks at its goals
    and moves by itself. What came of earlier acts is sensed, too. An object with `kind`, `payload`
    and, if you like, `endpoint` and `id` is a sense; any other object is the payload of one. Exit
    code 1 when the tick came to nothing.
    """
    import anyio

    from mentis.app.agent import Agent
    from mentis.tick.cortex import tick_data

    senses = _read(given_text(None, file) or "", owner=owner)

    async def run() -> TickResult:
        async with Agent.open(home_path(), persona=persona, route=route, parts=call_parts()) as one:
            with listening(events, one) as emit_event:
                return await one.tick(senses, strict=strict or None, emit=emit_event)

    done = anyio.run(run)
    return Report(tick_data(done), _lines(done), code=1 if done.tick.report.noop else 0)


@contextmanager
def listening(path: str | None, agent: Agent) -> Generator[Emit]:
    from mentis.tick.events import JsonLines, silent

    if path is None:
        yield silent
        return
    with _opened(path) as stream:
        yield JsonLines(stream, agent.clock, agent=agent.id, secrets=agent.secrets())


@contextmanager
def _opened(path: str) -> Generator[TextIO]:
    if path == "-":
        yield sys.stderr
        return
    try:
        stream = Path(path).open("a", encoding="utf-8")  # noqa: SIM115  # closed below
    except OSError as error:
        hint = "name a file that can be written"
        raise BadInput(f"{path}: {error.strerror}", hint=hint) from error
    with stream:
        yield stream


def _read(text: str, *, owner: bool) -> tuple[Sense, ...]:
    from mentis.loop.given import given_senses

    return given_senses(_objects(text), endpoint="cli", owner=owner)


def _objects(text: str) -> list[dict[str, object]]:
    """One JSON value, or one a line."""
    if not text.strip():
        return []
    try:
        whole = read_outside(text, what="the senses", hint=_HINT, max_depth=_DEEPEST)
        found = cast("list[object]", whole) if isinstance(whole, list) else [whole]
    except BadInput as error:
        if is_json(error):
            raise
        lines = [(number, one) for number, one in enumerate(text.splitlines(), 1) if one]
        found = [
            read_outside(one, what=f"line {number}", hint=_HINT, max_depth=_DEEPEST)
            for number, one in lines
        ]
    for one in found:
        if not isinstance(one, dict):
            raise BadInput("a sense is a JSON object", hint='for example {"text": "It rains."}')
    return cast("list[dict[str, object]]", found)


def _lines(done: TickResult) -> Iterator[Text]:
    report = done.tick.report
    for act, outcome in zip(done.tick.acts, done.outcomes, strict=False):
        said = outcome.reason or outcome.text
        yield f"act    {act.endpoint}/{act.name} {json.dumps(act.payload, ensure_ascii=False)}"
        yield f"       {outcome.state}{f': {said}' if said else ''}"
    for one in (*report.goal_ops, *report.memory_ops):
        yield _operation(one)
    for one in report.dropped:
        yield f"drop   {one.section} {one.index}: {one.reason}"
    unsaved = f", not saved: {done.unsaved}" if done.unsaved else ""
    yield f"state  revision {done.state.revision}{unsaved}"
    for one in report.stages:
        if one.state in ("fallback", "failed", "timeout"):
            yield Note(f"{one.stage}: {one.state}: {one.reason}")
    yield from _gap_lines(report)
    for one in done.alarms:
        yield Note(f"alarm: {one.stage} failed {one.failures} times in a row: {one.reason}")
        if one.hint:
            yield Note(f"  {one.hint}")
    if report.noop:
        yield Note(f"nothing came of it: {report.noop}")
    if done.entry is not None:
        yield Note(f"recorded as entry {done.entry.index}")


def _gap_lines(report: TickReport) -> Iterator[Text]:
    """What the primary was not told, and where its answer broke the contract."""
    for one in report.left_out:
        why = "in review" if one.why == "review" else "no room"
        yield Note(f"not told: {one.lines} lines of {one.section} ({why})")
    for one in report.violations:
        yield Note(f"contract: {one.code} {one.detail}")


def _operation(one: OpReport) -> str:
    from mentis.codec.forms import to_object

    hidden = ("op", "lineage", "review")
    told = {k: v for k, v in to_object(one.op).items() if k not in hidden and v not in (None, "")}
    mark = " (review)" if one.op.review else ""
    done = "" if one.applied and not one.reason else f": {one.reason}"
    return (
        f"{'did' if one.applied else 'not':<6} {one.op.op} "
        f"{json.dumps(told, ensure_ascii=False)}{mark}{done}"
    )

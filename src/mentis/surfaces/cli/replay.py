"""`mentis replay`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .explain import explained_lines
from .options import MAX_INDEX, Number, home_option, home_path, persona_option, step_option
from .recorded_sessions import RECORDED, replay_recorded
from .report import Note, Report, Text, json_wanted, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.turn.replay.replay import FirstDifference, Replay


@click.command(epilog="For example: mentis replay 12 --explain")
@click.argument("entry", type=Number(0, MAX_INDEX))
@click.option("--body", is_flag=True, help="Print the exact bytes of the body, and nothing else.")
@click.option(
    "--original",
    is_flag=True,
    help="Of a recorded call that was repaired: the body that the program itself sent.",
)
@click.option("--explain", is_flag=True, help="Also say which blocks were told, and why.")
@step_option
@persona_option
@home_option
@prints_report
def replay(
    entry: int,
    *,
    body: bool,
    original: bool,
    explain: bool,
    step: int,
    persona: str | None,
) -> Report:
    """Rebuild the prompt of a recorded turn, and compare every byte.

    The prompt is built again from what was kept of the turn. Nothing is sent: a replay is offline.
    The result is compared with the digests that the entry binds, and the exit code is 1 unless
    every byte is the same. A turn that used tools has several steps; of one that was corrected,
    this is the first call. To change something and go on, use `mentis fork`. For a recorded agent
    (--persona recorded/NAME) the body is what was kept of the call.
    """
    if body and (explain or json_wanted()):
        raise click.UsageError("--body prints nothing else: no --explain or --json with it")
    if persona is not None and persona.startswith(RECORDED):
        if explain or step != 1:
            raise click.UsageError("what another program chose is not known: see `mentis why`")
        return replay_recorded(persona, entry, original=original, body=body)
    if original:
        raise click.UsageError("--original is of recorded calls that were repaired")
    from mentis.app.agent import Agent
    from mentis.turn.replay.replay_data import replay_data

    agent = Agent.open(home_path(), persona=persona)
    try:
        replayed = agent.replay(entry, step=step)
    finally:
        agent.close()
    data = replay_data(replayed, explain=explain)
    text = _body(replayed) if body else _lines(replayed, explain=explain)
    return Report(data, text, code=0 if replayed.identical else 1)


def replay_line(replayed: Replay) -> str:
    """In one line: whether it is the same, and where it is not."""
    where = f"entry {replayed.index}, session {replayed.session}"
    if replayed.identical:
        body = replayed.rendering.body()
        return f"{where}: byte-identical, {len(body)} bytes, {replayed.rendering.digest}"
    if replayed.payload:
        return f"{where}: the bytes sent are the same; what is known of where they came from is not"
    return f"{where}: not the same{_place(replayed.apart)}"


def _place(apart: FirstDifference | None) -> str:
    if apart is None:
        return ""
    from mentis.ask.caching import span_name

    found = dict.fromkeys(span_name(span) for span in apart.spans) or (span_name(None),)
    place = f"bytes {apart.start} to {apart.end}"
    return f": the first difference is in {place}, in {' or '.join(found)}"


def _body(replayed: Replay) -> Iterator[Text]:
    yield replayed.rendering.body()
    if not replayed.identical:
        yield Note(replay_line(replayed))


def _lines(replayed: Replay, *, explain: bool) -> Iterator[Text]:
    yield replay_line(replayed)
    for note in replayed.notes:
        yield Note(note)
    if not explain:
        return
    rows = [
        (block.block, "yes" if block.included else "no", str(block.tokens.tokens), block.reason)
        for block in replayed.composed.trace.blocks
        if not block.elsewhere
    ]
    yield TextTable(("block", "in", "tokens", "why"), rows, right=("tokens",))
    yield from explained_lines(replayed.composed)

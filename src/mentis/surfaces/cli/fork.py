"""`mentis fork`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import click

from mentis.errors import BadInput, UsageError

from .files import read_text
from .options import (
    MAX_INDEX,
    Number,
    call_parts,
    home_option,
    home_path,
    persona_option,
    step_option,
)
from .recorded_sessions import RECORDED
from .replay import replay_line
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from mentis.turn.replay.fork import Fork, ForkPreview, PromptCost
    from mentis.turn.turn import TurnResult


@click.command(epilog="For example: mentis fork 12 --block style=style.md")
@click.argument("entry", type=Number(0, MAX_INDEX))
@click.option(
    "--block",
    "blocks",
    multiple=True,
    required=True,
    metavar="ID=FILE",
    help="The block to change, and the file with its new text. May be repeated.",
)
@click.option("--live", is_flag=True, help="Go on: send it to the provider of that turn.")
@click.option(
    "--script",
    metavar="FILE",
    help="Go on with this answer: a text, or a .json file with a list of answers.",
)
@click.option("--force", is_flag=True, help="Also change the constitution.")
@step_option
@persona_option
@home_option
@prints_report
def fork(
    entry: int,
    *,
    blocks: tuple[str, ...],
    live: bool,
    script: str | None,
    step: int,
    force: bool,
    persona: str | None,
) -> Report:
    """Change one block of a recorded turn, and see the difference.

    The difference is shown up to the first call. Nothing is sent and nothing is written, unless
    you ask for it with --live or --script. Then the answer is a turn of its own, in a session
    `fork-ENTRY`, and its entry names this one. What the answer asks for is never done.
    """
    if live and script is not None:
        raise click.UsageError("a fork goes on with --live or with --script, not with both")
    if persona is not None and persona.startswith(RECORDED):
        raise UsageError(
            f"{persona} is another program: its prompts are not made of blocks of ours",
            hint=f"`mentis replay {entry} --body --persona {persona}` prints the call, to be edited"
            " and sent by hand",
        )
    texts = dict(_block(given) for given in blocks)
    replies = None if script is None else _script(script)
    import anyio

    async def run() -> tuple[Fork, TurnResult | None]:
        from mentis.app.agent import Agent

        async with Agent.open(home_path(), persona=persona, parts=call_parts()) as agent:
            made = agent.fork(entry, texts, step=step, force=force)
            if not live and replies is None:
                return made, None
            return made, await agent.run_fork(made, live=live, script=replies)

    made, result = anyio.run(run)
    from mentis.turn.replay.replay_data import fork_data

    def text() -> Iterator[Text]:
        yield from _lines(made.shown)
        if result is not None:
            yield from _answer_lines(result)

    return Report(fork_data(made.shown, result), text())


def _block(given: str) -> tuple[str, str]:
    name, found, file = given.partition("=")
    if not found or not name or not file:
        raise UsageError(f"--block {given!r} is not ID=FILE", hint="for example style=style.md")
    return name, read_text(file).rstrip("\n")


def _script(file: str) -> list[str]:
    text = read_text(file)
    if not file.endswith(".json"):
        return [text.rstrip("\n")]
    from mentis.codec.strict_json import read_outside

    found = read_outside(text, what=file)
    replies = cast("list[object]", found) if isinstance(found, list) else []
    if not replies or not all(isinstance(reply, str) for reply in replies):
        raise BadInput(f"{file} holds no list of texts", hint='for example ["Good morning!"]')
    return cast("list[str]", replies)


def _lines(shown: ForkPreview) -> Iterator[Text]:
    yield Note(replay_line(shown.before))
    for difference in shown.differences:
        yield (difference.diff).removesuffix("\n")
    if not shown.differences:
        yield "the prompt is the same"
    for note in shown.notes:
        yield Note(note)
    yield Note(f"prompt: {_count(shown.was)} tokens as it was, {_count(shown.now)} forked")
    yield Note(f"cost of reading it: {_cost(shown.was)} as it was, {_cost(shown.now)} forked")
    if shown.forecast.broken is not None:
        from .plan import broken_lines

        yield from broken_lines(shown.forecast.broken)


def _count(priced: PromptCost) -> str:
    total = priced.total
    return str(total.tokens) if total.exact else f"~{total.tokens}"


def _cost(priced: PromptCost) -> str:
    from .plan import price_text

    return price_text(priced.cost)


def _answer_lines(result: TurnResult) -> Iterator[Text]:
    yield result.reply.text
    for action in result.reply.actions:
        payload = json.dumps(dict(action.payload), ensure_ascii=False)
        yield Note(f"asked for and not done: {action.type} {payload}")
    yield Note(f"[entry {result.entry.index}, session {result.session}, {result.entry.hash[:12]}]")

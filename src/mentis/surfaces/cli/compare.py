"""`mentis compare`, and `mentis eval answers`, which measures one side alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from mentis.errors import UsageError
from mentis.values.words import quantity

from .asking import confirm
from .files import read_text
from .options import Number, call_parts, home_option, home_path, persona_option
from .output import say
from .report import Report, json_wanted, prints_report

if TYPE_CHECKING:
    from mentis.app.agent import Agent
    from mentis.compare.checks import OwnCheck
    from mentis.values.comparison import CompareCase, ComparePlan, CompareSide, Comparison

F = TypeVar("F", bound=Callable[..., object])
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_KEYS = ("route", "model", "prompts")
_CLEAR_LINE = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class MessageChoice:
    """What the options say of the messages and their checks."""

    messages: str
    repeat: int | None
    contains: tuple[str, ...]
    regex: tuple[str, ...]
    functions: Path | None
    keep: str | None
    replay: Path | None

    def cases(self) -> tuple[CompareCase, ...]:
        """Those of the file, with the checks that every answer has to pass."""
        from mentis.compare.cases import make_cases, read_cases
        from mentis.values.comparison import AnswerCheck

        where = "<stdin>" if self.messages == "-" else self.messages
        found = read_cases(read_text(self.messages), where)
        every = [AnswerCheck("contains", one) for one in self.contains]
        every += [AnswerCheck("regex", one) for one in self.regex]
        return make_cases([replace(one, checks=(*one.checks, *every)) for one in found], where)

    def own_checks(self) -> dict[str, OwnCheck]:
        from mentis.compare.checks import load_functions

        return {} if self.functions is None else load_functions(self.functions)


@dataclass(frozen=True, slots=True)
class SideChoice:
    """Which sides are compared, and what is shown."""

    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    plan: bool = False
    answers: bool = False
    yes: bool = field(default=False, kw_only=True)


def message_options(command: F) -> F:
    """The options that `mentis compare` and `mentis eval answers` share."""
    for add in reversed(
        (
            click.argument("messages", type=click.Path(dir_okay=False, allow_dash=True)),
            click.option(
                "--repeat",
                type=Number(1, 1000),
                help="How often to ask each message; by default once, of saved answers all.",
            ),
            click.option(
                "--contains",
                multiple=True,
                metavar="TEXT",
                help="Text that every answer must contain.",
            ),
            click.option("--regex", multiple=True, help="Pattern that must match in every answer."),
            click.option(
                "--functions", type=_FILE, help="Your own checks: a Python file, which is run."
            ),
            click.option(
                "--keep", type=click.Path(dir_okay=False), help="Save the answers to this file."
            ),
            click.option("--replay", type=_FILE, help="Judge saved answers; no model is asked."),
            click.option("--answers", is_flag=True, help="Print the answers, too."),
            click.option("--yes", is_flag=True, help="Agree to the price."),
        )
    ):
        command = add(command)
    return command


@click.command(epilog="For example: mentis compare talk.jsonl --b block:style=brief.md --repeat 5")
@message_options
@click.option("--a", "a", multiple=True, metavar="KEY=VALUE", help="How A answers.")
@click.option("--b", "b", multiple=True, metavar="KEY=VALUE", help="How B answers.")
@click.option("--plan", is_flag=True, help="Show only prompts and price; no model is asked.")
@persona_option
@home_option
@prints_report
def compare(
    *,
    persona: str | None,
    a: tuple[str, ...],
    b: tuple[str, ...],
    plan: bool,
    answers: bool,
    yes: bool,
    **given: object,
) -> Report:
    """Answer messages in two ways, check each answer, compare pass rates.

    KEY=VALUE is route=NAME, model=NAME, prompts=FILE (a zip from `mentis prompts export`, or the
    folder of a prompt set) or block:ID=FILE, and may be repeated. Without --a, side A is the home
    as it is.

    Each line of MESSAGES (a file, or - for standard input) is a text, or JSON with checks for its
    answers: {"message": "Who are you?", "contains": "Ada", "lacks": "assistant", "regex": "...",
    "schema": {...}, "function": "polite"}.

    Every message is asked outside of any conversation, and acts that an answer asks for are not
    done. You are asked before anything costs money, and those calls are recorded. --keep saves the
    answers to a file; --replay judges them again, even with other checks, and spends nothing.
    """
    if not b:
        raise click.UsageError(
            "say what B is: --b route=NAME, model=NAME, prompts=FILE or block:ID=FILE"
            " (mentis eval answers measures one alone)"
        )
    sides = SideChoice(a, b, plan, answers, yes=yes)
    return compare_report(MessageChoice(**given), sides, persona)  # pyright: ignore[reportArgumentType]  # by their names


def compare_report(choice: MessageChoice, sides: SideChoice, persona: str | None) -> Report:
    """Say what it would cost, ask where it costs, and show what came out."""
    import anyio

    from mentis.compare.compare_data import comparison_data, plan_data

    from .compare_show import comparison_lines, plan_lines

    planned, found = anyio.run(_run, choice, sides, persona)
    if found is None:
        return Report(plan_data(planned), plan_lines(planned))
    return Report(comparison_data(found), comparison_lines(found, answers=sides.answers))


async def _run(
    choice: MessageChoice, sides: SideChoice, persona: str | None
) -> tuple[ComparePlan, Comparison | None]:
    from mentis.app.agent import Agent
    from mentis.compare.checks import check_functions

    cases, functions = choice.cases(), choice.own_checks()
    check_functions(cases, functions)
    a, b = side_of(sides.a), side_of(sides.b) if sides.b else None
    replay = choice.replay or ""
    async with Agent.open(home_path(), persona=persona, parts=call_parts()) as agent:
        planned = await agent.plan_comparison(cases, a, b, repeat=choice.repeat, replay=replay)
        if sides.plan:
            return planned, None
        if not replay:
            _agree(planned, yes=sides.yes)
        compare = partial(_counting, agent, cases, a, b)
        return planned, await compare(
            repeat=choice.repeat,
            functions=functions,
            keep=choice.keep or "",
            replay=replay,
            confirm=True,
        )


async def _counting(agent: Agent, *asked: object, **how: object) -> Comparison:
    """With the number of answers so far on a terminal, where nothing else is told meanwhile."""
    shown = sys.stderr.isatty() and not json_wanted()

    def tell(done: int, of: int) -> None:
        if shown:
            click.echo(f"{_CLEAR_LINE}{done} of {of} answers", err=True, nl=False)

    try:
        return await agent.compare(*asked, **how, on_answer=tell)  # pyright: ignore[reportArgumentType]  # handed on
    finally:
        if shown:
            click.echo(_CLEAR_LINE, err=True, nl=False)


def _agree(plan: ComparePlan, *, yes: bool) -> None:
    models = " and ".join(dict.fromkeys(f"{one.model} on {one.route}" for one in plan.sides))
    asked = f"{models}: {quantity(plan.calls, 'call')}"
    if plan.free:
        say(f"{asked}, at no cost")
        return
    unknown = next((one.price for one in plan.sides if one.usd is None), "")
    price = f"at a price that is not known ({unknown})"
    if plan.usd is not None:
        price = f"for at most ${plan.usd:.4f}"
    say(f"{asked}, {price}")
    if not yes:
        confirm("Go on?")


def side_of(given: tuple[str, ...]) -> CompareSide:
    """One side, from its KEY=VALUE options."""
    from mentis.values.comparison import CompareSide

    blocks, chosen = dict[str, str](), dict[str, str]()
    for one in given:
        key, found, value = one.partition("=")
        if not found or not value:
            raise UsageError(f"{one!r} is not KEY=VALUE", hint="for example route=small")
        if key.startswith("block:"):
            blocks[key.removeprefix("block:")] = read_text(value).rstrip("\n")
        elif key in _KEYS:
            chosen[key] = value
        else:
            raise UsageError(
                f"{key!r} is no part of a side", hint=f"one of {', '.join(_KEYS)}, block:ID"
            )
    return CompareSide(**chosen, blocks=blocks)

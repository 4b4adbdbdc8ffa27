"""`mentis why --cause`: the price first, then what the answer hangs on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mentis.values.words import quantity

from .asking import confirm
from .options import call_parts, home_path
from .output import say
from .report import Note, Report, Text
from .shown import safe

if TYPE_CHECKING:
    from mentis.values.cause import CausePlan, TurnCauses, UnitCause

_BAR = 24


@dataclass(frozen=True, slots=True)
class CauseChoice:
    """What the options of the command say."""

    blocks: int
    samples: int
    route: str
    yes: bool


def run_cause(turn: int | None, step: int, persona: str | None, choice: CauseChoice) -> Report:
    """Say what it would cost, ask where it costs, and show what came out."""
    import anyio

    from mentis.causes.cause_data import causes_data

    async def run() -> TurnCauses:
        from mentis.app.agent import Agent

        async with Agent.open(home_path(), persona=persona, parts=call_parts()) as agent:
            blocks, samples, route = choice.blocks, choice.samples, choice.route
            plan = agent.plan_cause(turn, step=step, blocks=blocks, samples=samples, route=route)
            _agree(plan, yes=choice.yes)
            return await agent.cause(
                plan.entry,
                step=plan.step,
                blocks=blocks,
                samples=samples,
                route=route,
                confirm=True,
            )

    found = anyio.run(run)
    return Report(causes_data(found), causes_lines(found))


def _agree(plan: CausePlan, *, yes: bool) -> None:
    asked = f"{plan.model} on {plan.route} is asked {quantity(plan.calls, 'time')}"
    if plan.free:
        say(f"{asked}, at no cost")
        return
    price = f"at a price that is not known ({plan.price})"
    if plan.usd is not None:
        price = f"for at most ${plan.usd:.4f}"
    say(f"{asked}, {price}")
    if not yes:
        confirm("Go on?")


def causes_lines(found: TurnCauses) -> Iterator[Text]:
    """The answer, then each piece with a bar: what it loses without it."""
    plan = found.plan
    yield f'entry {plan.entry}, step {plan.step}: "{_short(found.answer)}"'
    yield _measured(found)
    yield ""
    yield from _table(found)
    for note in found.notes:
        yield Note(note)
    if plan.skipped:
        names = ", ".join(safe(unit.name) for unit in plan.skipped)
        yield Note(f"not left out: {names}")
    yield Note(
        f"{found.prefilled:,} tokens of prompts read, {found.reused:,} reused from the cache"
    )
    if found.usd:
        yield Note(f"cost: ${found.usd:.4f}")


def _measured(found: TurnCauses) -> str:
    if found.plan.method == "logprob":
        tokens = quantity(found.answer_tokens, "token")
        return (
            f"log-probability of this answer, {tokens}: {found.value:.2f}."
            " By how much it falls when a piece is left out:"
        )
    return (
        f"new answers share {found.value:.0%} of its words (apart by {found.spread:.0%})."
        " By how much that falls when a piece is left out:"
    )


def _table(found: TurnCauses) -> Iterator[str]:
    most = max((one.fall for one in found.causes), default=0.0)
    room = max(shutil.get_terminal_size().columns - _BAR - 40, 12)
    width = min(max(len(one.unit.name) for one in found.causes), room)
    for one in found.causes:
        filled = round(_BAR * max(one.fall, 0.0) / most) if most > 0 else 0
        bar = ("#" * filled).ljust(_BAR)
        name = safe(one.unit.name)[:width].ljust(width)
        yield f"{name}  {bar}  {_fall(found, one):>8}  {_tokens(one)}".rstrip()


def _fall(found: TurnCauses, one: UnitCause) -> str:
    return f"{one.fall:.2f}" if found.plan.method == "logprob" else f"{one.fall:.0%}"


def _tokens(one: UnitCause) -> str:
    told = [
        f"{safe(each.token.strip() or repr(each.token))} {each.fall:.1f}" for each in one.tokens
    ]
    return ", ".join(told[:2]) if one.fall > 1 else ""


def _short(text: str) -> str:
    line = safe(" ".join(text.split()))
    return line if len(line) <= 100 else f"{line[:97]}..."

"""The plan of finding what an answer hangs on: what is asked, and what that may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import get_args

from mentis.ask.attempt import render_request
from mentis.ask.calls import planned_usage
from mentis.ask.prices import call_price
from mentis.errors import RouteError, UsageError
from mentis.facts.abilities import abilities, wire_of
from mentis.facts.ability import AnswerScores
from mentis.ports.token_counter import TokenCounter
from mentis.turn.replay.replay import Replay
from mentis.values.cause import CauseMethod, CausePlan
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.request import PromptRequest
from mentis.values.route import Route

from .leave_outs import LeaveOut, leave_outs
from .resampling import words_of

SAMPLES = 3  # new answers for each prompt, where none can be scored


@dataclass(frozen=True, slots=True)
class CauseQuestion:
    """A recorded answer and the request that it answers, for the route that is to judge it.

    `blocks` is how many units are left out at most, 0 for all; `samples` how many new answers are
    asked for with each prompt, where none can be scored.
    """

    agent: str
    entry: int
    step: int
    request: PromptRequest
    answer: str
    route: Route
    blocks: int = 0
    samples: int = SAMPLES
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedCauses:
    """A plan with what it takes to carry it out."""

    plan: CausePlan
    question: CauseQuestion
    whole: Rendering
    units: tuple[LeaveOut, ...]
    how: AnswerScores


def prepare_causes(question: CauseQuestion, counter: TokenCounter) -> PreparedCauses:
    """Nobody is asked. UsageError where there are no words to score, or nothing to leave out."""
    if not question.answer.strip():
        raise UsageError(
            f"step {question.step} of entry {question.entry} was answered without words",
            hint="it may have called tools: name the step with the answer that you ask about",
        )
    whole = render_request(question.request, question.route)
    found = leave_outs(question.request, whole, counter)
    if not found:
        raise UsageError(
            f"nothing of what entry {question.entry} was told can be left out",
            hint="there are no blocks, messages or results in it",
        )
    chosen = _likeliest(found, question.answer, question.blocks or len(found))
    how = _scores(question.route)
    method: CauseMethod = "logprob" if how else "overlap"
    each = 1 if how else question.samples
    prompt = counter.count(whole.body().decode()).tokens
    calls, usage = (
        each * (len(chosen) + 1),
        _call_usage(question, prompt, counter, scored=bool(how)),
    )
    price = call_price(question.route, usage)
    usd = None if price.usd is None else Decimal(str(price.usd)) * calls
    plan = CausePlan(
        question.agent,
        question.entry,
        question.step,
        method,
        question.route.name,
        question.route.model,
        tuple(one.unit for one in chosen),
        tuple(one.unit for one in found if one not in chosen),
        calls,
        Usage(usage.input * calls, usage.output * calls),
        usd,
        price.told,
        question.notes,
    )
    return PreparedCauses(plan, question, whole, chosen, how)


def cause_notes(replayed: Replay, judge: str) -> tuple[str, ...]:
    """What has to be known to read the falls: the prompt, the form, and who judges."""
    notes = () if replayed.identical else ("the prompt is not, to the byte, what was sent then",)
    bound = "response_format" in replayed.rendering.payload
    notes += ("the answer was held to a form: its words alone are scored",) if bound else ()
    other = judge and judge != replayed.route.name
    return (*notes, f"route {judge!r} judges, and did not write the answer") if other else notes


def check_consent(plan: CausePlan, *, confirm: bool, max_usd: Decimal | None) -> None:
    """UsageError where it costs something that nobody agreed to."""
    if plan.free or (confirm and max_usd is None):
        return
    if max_usd is not None and plan.usd is not None and plan.usd <= max_usd:
        return
    most = "at an unknown price" if plan.usd is None else f"for at most ${plan.usd:.4f}"
    raise UsageError(
        f"this asks {plan.model} on route {plan.route!r} {plan.calls} times, {most}",
        hint="agree to it (confirm), name a price that covers it (max_usd), leave out fewer"
        " (blocks), or let a model of this machine judge (route)",
        calls=plan.calls,
        usd=None if plan.usd is None else format(plan.usd, "f"),
    )


def _scores(route: Route) -> AnswerScores:
    """How the route scores an answer. Only one wire can say it."""
    how = abilities(route).answer_scores
    if how not in get_args(AnswerScores):
        raise RouteError(
            f"routes.{route.name}.facts: answer_scores is {how!r}",
            hint=f"there are: {', '.join(repr(one) for one in get_args(AnswerScores))}",
        )
    return how if wire_of(route) == "openai-chat" else ""


def _likeliest(found: Sequence[LeaveOut], answer: str, most: int) -> tuple[LeaveOut, ...]:
    """Those that share most words with the answer, and of others the later ones, as they stand."""
    words = words_of(answer)

    def shared(one: LeaveOut) -> tuple[int, int]:
        return (words & words_of(one.text)).total(), one.place

    ranked = sorted(found, key=shared, reverse=True)[:most]
    return tuple(one for one in found if one in ranked)


def _call_usage(
    question: CauseQuestion, prompt: int, counter: TokenCounter, *, scored: bool
) -> Usage:
    """Of one call: a scored answer is as long as it is, and a new one as long as it may be."""
    if not scored:
        return planned_usage(prompt, question.route)
    return Usage(prompt, counter.count(question.answer).tokens + 1)

"""Asking again: what an answer got wrong is found, put into words and sent, within one budget.

`settle` decides, and the words are blocks of the library; here the two are brought together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mentis.compose.builders import Builder
from mentis.compose.quoted import as_data
from mentis.errors import MentisError
from mentis.settle.correction import (
    AskedMessage,
    Correction,
    Failure,
    Stop,
    failures_of,
    plan_correction,
    without_repeats,
)
from mentis.values.action import Action, Outcome, OutcomeState
from mentis.values.reply import AgainDelta, Reply

from .output import output_failures
from .run import TurnRun
from .window import window_failures

# What came to one of these has not happened, so it may be asked for again.
_NOTHING_HAPPENED: tuple[OutcomeState, ...] = ("invalid", "not_found")


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """An answer, what the rules say against it, and what of it may be done."""

    reply: Reply
    failures: tuple[Failure, ...]
    actions: tuple[Action, ...]


def judge(run: TurnRun) -> JudgedReply:
    """Hold the answer against the rules, before anything of it is done."""
    tried = [o.action for o in run.outcomes if o.state not in _NOTHING_HAPPENED]
    reply = without_repeats(run.attempt.reader.finish(), tried)
    rules = run.parts.models.rules
    failures = tuple(failure for rule in rules for failure in rule(reply))
    failures += output_failures(run.form, reply, run.attempt.answering)
    opening = run.attempt.opening
    whole = None if opening is None else opening.whole
    if not run.steps:  # in a later step it may open the answer, and need not
        failures += window_failures(whole, run.present.window, run.corrections)
    if any(not failure.call_id for failure in failures):
        return JudgedReply(reply, failures, ())
    barred = {failure.call_id for failure in failures}
    allowed = tuple(action for action in reply.actions if action.call_id not in barred)
    return JudgedReply(reply, failures, allowed)


def asks_again(run: TurnRun, judged: JudgedReply, outcomes: Sequence[Outcome]) -> AgainDelta | None:
    """Close this answer, and open the call that corrects it; None when there is to be none."""
    failures = (*judged.failures, *failures_of(judged.reply, outcomes))
    failed = tuple(failure.message for failure in failures)
    decided = _decide(run, judged, failures)
    if isinstance(decided, str):
        run.inquiry.close(judged.reply, failed=failed, then=decided)
        return None
    text = _words(run, decided)
    try:
        again = run.correction(text) if text else None
    except MentisError as refusal:  # it does not fit, or cannot be said there
        run.inquiry.close(judged.reply, failed=failed, then=refusal.code)
        return None
    run.inquiry.close(judged.reply, failed=failed, then=decided.block if again else "no-block")
    if again is None:
        return None
    run.corrections = decided.attempts
    run.inquiry.go_on(again)
    return AgainDelta(failed, keeps=decided.block == "correction_partial")


def _decide(run: TurnRun, judged: JudgedReply, failures: tuple[Failure, ...]) -> Correction | str:
    """What to ask for, or why nothing is; the empty word when nothing failed."""
    tools = (*run.attempt.offered, *run.attempt.answering)
    if failures and not tools and not judged.failures:
        return "no-tools"  # there is nothing the model could have done right
    asked = AskedMessage(run.stimulus.text, tools)
    planned = plan_correction(judged.reply, failures, asked=asked, attempts=run.corrections)
    if not isinstance(planned, Stop):
        return planned
    return "" if planned.reason == "nothing-failed" else planned.reason


def _words(run: TurnRun, correction: Correction) -> str:
    who, present = run.parts.who, run.present
    builder = Builder(
        present.library,
        who.persona,
        who.profile,
        run.parts.record.now(),
        policies=present.policies,
    )
    values = as_data(correction.values)
    return builder.build_correction(correction.block, run.attempt.route.variant, values).text

"""In an open conversation: a person is asked about what waits, and the turn goes on with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from mentis.errors import MentisError

from .acts_show import due_lines, result_lines, waiting_lines
from .answer_show import AnswerPrinter
from .asking import login
from .options import home_path
from .output import say, show_error
from .turn_show import show_end

if TYPE_CHECKING:
    from mentis.ask.ask import OnDelta
    from mentis.tools.acts import Acts
    from mentis.turn.turn import TurnResult
    from mentis.values.action import Outcome

    from .talk import Talk

NOTHING_TO_RESUME = "nothing is gone on with: somebody wrote since, and the next turn tells it"
_YES, _NO, _LATER = ("y", "yes"), ("", "n", "no"), ("l", "later")


def read_line(prompt: str) -> str:
    """A line from the terminal; the prompt is talk, so it stays out of redirected data."""
    if sys.stdout.isatty():
        return input(prompt)
    with redirect_stdout(sys.stderr):
        return input(prompt)


class TurnMaker(Protocol):
    """A turn that is still to be made."""

    def __call__(self, *, on_delta: OnDelta | None) -> TurnResult: ...


def hold_turn(
    talk: Talk,
    turn: TurnMaker,
    *,
    persona: str | None,
    go_on: bool,
    show: Callable[[], AnswerPrinter] = AnswerPrinter,
) -> None:
    """A turn, and, as long as one waits for a yes, the turn that goes on with what came of it.

    Each is shown by a printer that `show` makes.
    """
    with show() as printer:
        result: TurnResult | None = turn(on_delta=printer)
    while result is not None:
        ask = bool(result.pending) and result.stop != "interrupted"
        show_end(result, printer, asked=ask)
        if not ask or not _decide(talk, result.pending, persona) or not go_on:
            return
        with show() as printer:
            result = talk.resume(session=result.session, on_delta=printer)
    say(NOTHING_TO_RESUME)


def _decide(talk: Talk, pending: Sequence[Outcome], persona: str | None) -> bool:
    """Ask about each, and have done what was approved; whether anything was decided."""
    from mentis.tools.acts import open_acts

    with open_acts(home_path(), persona) as acts:
        answers = {one.key: _ask(acts, one) for one in pending}
        approved = [key for key, answer in answers.items() if answer == "yes"]
        if approved:
            # By the agent that is open: its servers may know what the act is about.
            talk.wait_for(talk.agent.deliverable_outcomes)
        for key in approved:
            story = acts.story(key)
            for line in result_lines(story.type, story.state, story.text or story.reason, key):
                say(f"  {line}")
    return any(answer != "later" for answer in answers.values())


def _ask(acts: Acts, outcome: Outcome) -> str:
    """Whoever decides sees all of it first."""
    try:
        act = acts.find(outcome.key)
        for line in waiting_lines(act, now=datetime.now(UTC)):
            say(line)
        answer = _read_answer()
        if answer == "yes":
            acts.approve(outcome.key, by=login(), shown=act)
        elif answer == "no":
            acts.deny(outcome.key, by=login())
            say(f"denied: {outcome.key}")
        else:
            for line in due_lines(outcome, act.call.session):
                say(line)
    except MentisError as error:  # somebody decided it elsewhere, or it expired
        show_error(error)
        return "elsewhere"
    return answer


def _read_answer() -> str:
    while True:
        try:
            said = read_line("do it? [y/N/later] ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            say("")
            return "later"
        for answer, words in (("yes", _YES), ("no", _NO), ("later", _LATER)):
            if said in words:
                return answer
        say("y does it, n (or nothing) refuses it for good, later leaves it waiting")

"""A turn that is over, as a person reads it and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mentis.values.rendering import Loss
from mentis.values.trace import Degradation

from .acts_show import due_lines, said_lines
from .answer_show import AnswerPrinter
from .output import emit_json, say
from .plan import cached_lines
from .report import show
from .window_show import window_lines

if TYPE_CHECKING:
    from mentis.turn.steps import TurnStop
    from mentis.turn.turn import TurnResult

    from .talk import Talk

_said: set[Degradation | Loss] = set()
_UNSENT = ("option", "sampling", "tool-choice")
_LIMITS: dict[TurnStop, str] = {
    "max_steps": "it ended at the limit of steps (turn.max_steps)",
    "budget": "it ended at a budget (budgets)",
    "context": "it ended because the results have no room in the context",
}


def finish(talk: Talk, result: TurnResult, printer: AnswerPrinter | None) -> int:
    """Show the end of a turn, as JSON where nothing was printed; the exit code of the command."""
    from mentis.turn.turn_data import parsed_output, turn_data

    if printer is None:
        emit_json(turn_data(result))
    else:
        show_end(result, printer)
    if parsed_output(result) == ():
        say(f"there is no final answer: the turn stopped with {result.stop!r}")
        return talk.exit_code(result) or 1
    return talk.exit_code(result)


def show_end(result: TurnResult, printer: AnswerPrinter, *, asked: bool = False) -> None:
    """Everything about the turn that its words do not say. `asked`: about what waits for a yes,
    the person is asked right after it.
    """
    _say_losses(result)
    for passed in result.passed_over:
        say(f"route {passed.route} did not answer: {passed.message} [{passed.failure}]")
    if result.repeats is not None:
        say(f"nobody answered: this is the answer of entry {result.repeats}, once more")
    for problem in result.reply.errors:
        say(f"in the answer: {problem.message} [{problem.code}]")
    unsaid = [one for one in result.outcomes if one.key not in printer.keys]
    for line in (line for one in unsaid for line in said_lines(one)):
        say(line)
    for line in window_lines(result.entry):
        say(line)
    for cached in result.caching:
        show(cached_lines(cached))
    _say_due(result, asked=asked)
    if printer.receipt:
        say(_receipt(result), dim=True)


def _say_due(result: TurnResult, *, asked: bool) -> None:
    if limit := _LIMITS.get(result.stop):
        say(f"{limit}; what came of its calls is told in the next turn")
    due = [one for one in result.outcomes if not (asked and one.state == "waiting")]
    for line in (line for one in due for line in due_lines(one, result.session)):
        say(line)


def _say_losses(result: TurnResult) -> None:
    """Each is said once, not every turn."""
    for step in result.composed.trace.degraded:
        if step.part != "embedder" and step not in _said:
            _said.add(step)
            say(f"{step.part}: {step.reason}")
    for loss in result.rendering.losses:
        if loss.code in _UNSENT and loss not in _said:
            _said.add(loss)
            say(f"not sent: {loss.message} [{loss.code}]")


def _receipt(result: TurnResult) -> str:
    reply, entry = result.reply, result.entry
    stop = reply.stop if result.stop == "answer" else result.stop
    words = [f"entry {entry.index}", entry.hash[:12], f"stop: {stop}"]
    if len(result.steps) > 1:
        words.append(f"{len(result.steps)} steps")
    if reply.usage is not None:
        usage = reply.usage
        words.append(f"{usage.input} tokens in ({usage.cache_read} cached), {usage.output} out")
    if reply.stop == "interrupted" and reply.text:
        words.append("the part above is kept")
    return f"[{', '.join(words)}]"

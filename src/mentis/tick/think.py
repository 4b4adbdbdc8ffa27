"""The middle of a tick: the primary is asked, and what it says is held against the contract."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from mentis.compose.input_ir import InputIr, render_senses
from mentis.settle.output_ir import evidence, refusal, scan_output_ir
from mentis.values.tick import OutputIr, StageReport, Violation
from mentis.values.value import Value

from .fitting import count_unseen
from .run import TickRun
from .stages import PrimaryAnswer, PrimaryDrafts, PrimaryInput

FAILED, LATE, BROKEN = "primary_failed", "primary_timeout", "primary_contract"
CUT, FAULT = "interrupted", "conclude_failed"
UNHEARD = (FAILED, LATE, CUT)  # nobody has taken in what there was to sense: it comes again
_NONE = OutputIr()


@dataclass(frozen=True, slots=True)
class PrimaryDecision(Value):
    """The three sections as text, or the same as tool calls said it."""

    output: OutputIr
    text: str
    drafts: PrimaryDrafts | None = None


async def think(run: TickRun, ir: InputIr) -> PrimaryDecision | None:
    """What the primary decided; None when nothing came that can be used, and `run.noop` why."""
    occasion = PrimaryInput(ir, run.catalogue, plain=_plain(run))
    until = run.deadline.primary()
    found = await run.guard("primary", until, partial(run.stages.primary, occasion))
    if isinstance(found, StageReport):
        run.fail(found)
        run.noop = LATE if found.state == "timeout" else FAILED
        return None
    first = count_unseen(found.left_out)
    found, uncorrected = await _corrected(run, occasion, found)
    run.unseen = min(first, count_unseen(found.left_out))
    run.left_out = (*run.left_out, *found.left_out)
    for one in found.left_out:
        run.tell("input_ir_cut", section=one.section, lines=one.lines, why=one.why)
    if found.drafts is None and not found.text.strip():
        run.fail(StageReport("primary", "failed", "it said nothing", found.route))
        run.noop = FAILED
        return None
    run.reports["primary"] = StageReport("primary", "model", uncorrected, found.route)
    if found.drafts is None:
        return _read(run, found)
    return _called(run, found, found.drafts)


def _plain(run: TickRun) -> str:
    """The senses without the words of a helper, where it has put them into its own."""
    if all(one.stage != "sense_helper" for one in run.reworded):
        return ""
    return render_senses(run.senses, run.catalogue.senses)


async def _corrected(
    run: TickRun, occasion: PrimaryInput, found: PrimaryAnswer
) -> tuple[PrimaryAnswer, str]:
    """The last answer that counts, and why it is not a better one. All that is asked again is
    asked within the time of the primary; what comes to nothing leaves the answer before it.
    """
    until = run.deadline.primary()
    while found.again is not None:
        run.tell("primary_asked_again", failures=list(found.again.failures))
        once_more = partial(run.stages.primary, replace(occasion, again=found.again))
        better = await run.guard("primary", until, once_more)
        if isinstance(better, StageReport):
            reason = f"not corrected: {better.reason}"
            run.tell("stage_failed", stage="primary_correction", reason=better.reason)
            return found, reason
        found = better
    return found, ""


def _called(run: TickRun, found: PrimaryAnswer, drafts: PrimaryDrafts) -> PrimaryDecision | None:
    """Calls are the whole answer; words beside them reach nobody."""
    run.violations = drafts.violations
    if said := evidence(found.text):
        run.violations = (Violation("text-outside", said), *drafts.violations)
    if run.violations:
        run.tell("contract_violated", codes=[one.code for one in run.violations])
    if run.violations and run.limits.strict:
        return _refused(run, found, ", ".join(one.code for one in run.violations))
    return PrimaryDecision(_NONE, found.text, drafts)


def _read(run: TickRun, found: PrimaryAnswer) -> PrimaryDecision | None:
    output = scan_output_ir(found.text)
    run.violations = output.violations
    if output.violations:
        run.tell("contract_violated", codes=[one.code for one in output.violations])
    if broken := refusal(output, strict=run.limits.strict):
        return _refused(run, found, broken)
    return PrimaryDecision(output, found.text)


def _refused(run: TickRun, found: PrimaryAnswer, broken: str) -> None:
    run.fail(StageReport("primary", "failed", f"the output contract: {broken}", found.route))
    run.noop = BROKEN

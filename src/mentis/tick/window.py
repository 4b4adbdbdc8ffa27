"""The window of a tick: asked of the primary, and judged before anything of its answer is done.

A tick that decides nothing has nothing to announce: no window is missed then, and none corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mentis.compose.quoted import as_data
from mentis.settle.correction import AskedMessage, Attempts, Stop, plan_correction
from mentis.settle.output_ir import SECTIONS, refusal, scan_output_ir
from mentis.settle.window import split_window
from mentis.turn.window import BLOCK, asks_for_window, window_failures, window_values
from mentis.values.reply import Reply
from mentis.values.route import Route
from mentis.values.written import dump

from .asking import TickAsker, block_of
from .stages import PrimaryAnswer, PrimaryCorrection, PrimaryInput

CORRECTION = "cortex_correction"
TOOL = BLOCK  # the tool that hands a window over has the name of what it is


@dataclass(frozen=True, slots=True)
class TickWindow:
    """Whether one route is asked for a window, and with which values."""

    asking: TickAsker
    values: Mapping[str, object]
    asked: bool

    @classmethod
    def of(cls, asking: TickAsker, route: Route, block: str, *, tools: bool) -> TickWindow:
        values, degraded = window_values(asking.present.window, route, tools=tools)
        asking.degraded.extend(one for one in degraded if one not in asking.degraded)
        if not values:
            return cls(asking, values, asked=False)
        spans = asking.prompt(block or block_of("primary"), route, values).spans
        return cls(asking, values, asks_for_window(spans))

    def again(
        self, occasion: PrimaryInput, thought: PrimaryAnswer, reply: Reply, route: Route
    ) -> PrimaryCorrection | None:
        """What asks for a better window, if this one is refused and something is decided. The
        words of the reply have the window; they are noted for the record.
        """
        idle = decides_nothing(thought)
        there = bool(split_window(reply.text).withheld)
        whole = reply.text if there or (self.asked and not idle) else None
        asked = None if idle or not self.asked else self.asking.present.window
        attempts = self._attempts(occasion)
        failures = window_failures(whole, asked, attempts)
        then, again = "", None
        if failures:
            planned = plan_correction(reply, failures, asked=AskedMessage(""), attempts=attempts)
            if isinstance(planned, Stop):
                then = planned.reason
            else:
                text = self.asking.correction(CORRECTION, route, as_data(planned.values))
                told = tuple(failure.message for failure in failures)
                again = (
                    PrimaryCorrection(text, route, planned.attempts, told) if text.strip() else None
                )
                then = CORRECTION if again else "no-block"
        self.asking.mark(whole, failed=len(failures), then=then)
        return again

    def _attempts(self, occasion: PrimaryInput) -> Attempts:
        if occasion.again is not None:
            return occasion.again.attempts
        return Attempts(self.asking.present.settings.model.correction.calls)


def handed_over(reply: Reply) -> tuple[Reply, str]:
    """The reply without the call that hands a window over, and its words with that before them."""
    call = next((one for one in reply.actions if one.type == TOOL), None)
    if call is None:
        return reply, reply.text
    rest = replace(reply, actions=tuple([one for one in reply.actions if one is not call]))
    given = call.payload.get("window", call.payload)
    return rest, f"```json\n{dump(given).decode(errors='replace')}\n```\n\n{reply.text}"


def decides_nothing(thought: PrimaryAnswer) -> bool:
    drafts = thought.drafts
    if drafts is not None:
        return not (drafts.acts or drafts.goal_ops or drafts.memory_ops or drafts.dropped)
    output = scan_output_ir(thought.text)
    bodies = [(output.body(name) or "").strip() for name in SECTIONS]
    return not refusal(output, strict=False) and all(body in ("", "[]") for body in bodies)


def is_usable(thought: PrimaryAnswer) -> bool:
    """Whether an answer can take the place of an earlier one."""
    if thought.drafts is not None:
        return not decides_nothing(thought)
    return not refusal(scan_output_ir(thought.text), strict=False)

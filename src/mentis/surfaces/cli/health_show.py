"""The health of an agent as text: a checklist with what to do, then the ways into its record."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .output import printable
from .report import Note, Text

if TYPE_CHECKING:
    from mentis.app.home_checks import HealthCheck
    from mentis.app.home_health import AgentHealth
    from mentis.values.status import BackendState


def health_lines(found: AgentHealth) -> Iterator[Text]:
    health = found.health
    beside = checklist_sum(found.checks)
    yield f"{health.status}  {health.reason}{f' ({beside})' if beside else ''}"
    yield from checklist_lines(found.checks)
    yield "ways into the record:"
    for route in health.routes:
        yield f"  {'up  ' if route.up else 'down'}  {route.route}: {route.reason}"
    for one in health.findings:
        yield Note(f"{one.rule}: {one.what}; {one.hint}")
    yield from _window_notes(found.state)
    for one in found.alarms:
        reason = printable(one.reason)
        yield Note(f"alarm: {one.stage} failed {one.failures} times in a row: {reason}")
        if one.hint:
            yield Note(f"  {one.hint}")
    for one in found.failed_updates:
        yield Note(
            f"the last memory update of session {one.session} failed: {one.failure}"
            f" (entry {one.entry}); it is tried again, or: mentis persona update"
        )


def _window_notes(state: BackendState) -> Iterator[Note]:
    audit = "an audit is due" if state.audit_due else "no audit due"
    yield Note(f"next window: {state.step_id}, cycle {state.cycle}, {audit}")
    if state.after_breach:
        yield Note("a breach came before: the next window is a recovery")
    if state.unsure:
        yield Note("whether the last window was kept is unsure: the next one is YELLOW")


def checklist_lines(checks: Sequence[HealthCheck]) -> Iterator[str]:
    """Folded on a terminal, whole in a pipe."""
    names = max((len(one.name) for one in checks), default=0)
    behind = " " * (names + 10)
    for one in checks:
        texts = [printable(one.reason), *([f"do: {printable(one.remedy)}"] if one.remedy else [])]
        first, *rest = (line for text in texts for line in _folded(text, len(behind)))
        yield f"  {one.state:<4}  {one.name:<{names}}  {first}"
        yield from (f"{behind}{line}" for line in rest)


def checklist_sum(checks: Sequence[HealthCheck]) -> str:
    """Empty where all is well."""
    failing = sum(one.state == "fail" for one in checks)
    wanting = sum(one.state == "warn" for one in checks)
    found = [f"{failing} failing"] if failing else []
    return ", ".join([*found, f"{wanting} to look at"] if wanting else found)


def _folded(text: str, indent: int) -> list[str]:
    if not sys.stdout.isatty():
        return [text]
    width = max(shutil.get_terminal_size().columns - indent, 20)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]

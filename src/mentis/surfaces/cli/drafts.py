"""Shared by commands about windows: opening the service, telling a judgement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .options import home_path
from .report import Note, Text

if TYPE_CHECKING:
    from mentis.status.statuses import Statuses
    from mentis.values.guardian import Judgement

MOST_HISTORY = 256 * 1024 * 1024


def open_service(persona: str | None, *, readonly: bool = False) -> Statuses:
    """The windows of the home that was asked for."""
    from mentis.status.statuses import open_statuses

    return open_statuses(home_path(), persona, readonly=readonly)


def judgement_lines(judged: Judgement) -> Iterator[Text]:
    for finding in judged.findings:
        settled = f" (settled: {finding.settled})" if finding.settled else ""
        yield f"{finding.level}  {finding.rule}  {finding.where or '-'}: {finding.what}{settled}"
        yield f"       {finding.hint}"
    blocking = sum(finding.level == "block" for finding in judged.findings)
    warnings = len(judged.findings) - blocking
    word = "BLOCKED" if judged.blocked else "ok"
    yield f"{word}  {blocking} blocking, {warnings} warnings, profile {judged.profile}"
    for difference in judged.differences:
        yield Note(f"note: {difference}")
    if judged.unjudged:
        yield Note(f"not judged here: {', '.join(judged.unjudged)}")

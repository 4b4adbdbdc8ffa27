"""Whether what a tick was told may be why it failed; which of it, is found out by trying.

No sense can help a wrong key or a busy server. What says nothing of its reason may be either: a
server that breaks off in the middle, a tick that came too late.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from mentis.errors import (
    BudgetReached,
    ComposeError,
    EngineMissing,
    LibraryError,
    ProviderPaused,
    ProviderRefused,
    ProviderUnreachable,
    RouteError,
    SettingsError,
    StoreDown,
    StoreError,
    StoreFull,
    StoreLocked,
    WeightsMissing,
)
from mentis.values.tick import StageReport, TickReport

from .think import CUT, LATE

Blame: TypeAlias = Literal["told", "perhaps", "nothing"]

# Answers of a server to what a request says; any other it would have given to another sense too.
# A 403 is for the key or the model, which no sense can help, unless the error itself says that it
# is the content: some servers answer so when a moderation stops the request.
_OF_WHAT_WAS_SAID = (400, 413, 422)
# Failures that another sense would have met as well: ComposeError where even the prompt without
# any is too large.
_NOBODYS = frozenset(
    one.code
    for one in (
        BudgetReached,
        ProviderUnreachable,
        ProviderPaused,
        RouteError,
        SettingsError,
        LibraryError,
        ComposeError,
        EngineMissing,
        WeightsMissing,
        StoreError,
        StoreLocked,
        StoreFull,
        StoreDown,
    )
)


def why_unheard(report: TickReport) -> tuple[StageReport, Blame]:
    """What the primary says of its failure, and whether what was sensed may be to blame. Of all
    routes that were asked: one that could not be reached might have taken it.
    """
    stages = (one for one in report.stages if one.stage == "primary")
    failed = next(stages, StageReport("primary", "failed"))
    if report.noop == CUT:
        return failed, "nothing"
    code = failed.reason.partition(":")[0]
    found = [_blame(code, failed.status, failed.about)]
    found += [
        _blame(one.code, one.status, one.about) for one in report.passed if one.stage == "primary"
    ]
    if "nothing" in found:
        return failed, "nothing"
    unsure = report.noop == LATE or "perhaps" in found
    return failed, "perhaps" if unsure else "told"


def _blame(code: str, status: int | None, about: str) -> Blame:
    if code != ProviderRefused.code:
        return "nothing" if code in _NOBODYS else "told"
    if about == "content" or status in _OF_WHAT_WAS_SAID:
        return "told"
    # Without a status it broke off in the middle of an answer, or said too much: it may be either.
    return "perhaps" if status is None else "nothing"

"""Errors as answers: which status each has, and problem JSON (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mentis.errors import (
    AccessDenied,
    BudgetReached,
    EngineMissing,
    HomeError,
    MentisError,
    ModelError,
    NotCanonical,
    OutsideHome,
    ProviderPaused,
    ProviderRefused,
    ProviderUnreachable,
    RequestRefused,
    SessionBusy,
    SettingsError,
    StoreConflict,
    StoreFull,
    StoreLocked,
    UserError,
    WorldError,
)
from mentis.values.value import Value

PROBLEM_TYPE = "application/problem+json"
STATUS = "http_status"  # a fact of an error: with it a surface says which status it has there
_UNEXPECTED = "something inside did not hold; the log of the server says what"
# The first that fits counts.
_STATUSES: tuple[tuple[type[MentisError], int], ...] = (
    (AccessDenied, 403),
    (RequestRefused, 400),
    (BudgetReached, 429),
    (SessionBusy, 429),
    (ProviderPaused, 503),
    (ProviderRefused, 502),
    (ProviderUnreachable, 502),
    (ModelError, 502),
    (StoreConflict, 409),
    (StoreLocked, 503),
    (StoreFull, 507),
    (EngineMissing, 501),
    (SettingsError, 500),
    (OutsideHome, 400),
    (HomeError, 500),
    (NotCanonical, 422),
    (UserError, 400),
    (WorldError, 503),
)


@dataclass(frozen=True, slots=True)
class WebProblem(Value):
    """An error on its way out. `retry_after` is in seconds; 0 says nothing of when."""

    status: int
    code: str
    message: str
    hint: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    retry_after: int = 0
    request_id: str = ""
    problems: tuple[str, ...] = ()


# Writes a problem in the form of one protocol: the media type and the body.
ProblemForm: TypeAlias = Callable[[WebProblem], tuple[str, bytes]]


def problem_of(error: BaseException) -> WebProblem:
    """Of our own errors what they say; of any other only that there was one."""
    if not isinstance(error, MentisError):
        return WebProblem(500, "defect", _UNEXPECTED)
    told = error.facts.get("status") if isinstance(error, AccessDenied | RequestRefused) else None
    told = error.facts.get(STATUS, told)
    status = next((found for kind, found in _STATUSES if isinstance(error, kind)), 500)
    retry = error.facts.get("retry_after", error.facts.get("wait", 0))
    return WebProblem(
        told if isinstance(told, int) else status,
        error.code,
        error.message,
        error.hint,
        {name: fact for name, fact in error.facts.items() if name not in ("status", STATUS)},
        max(0, round(retry)) if isinstance(retry, int | float) else 0,
        problems=error.problems,
    )


def with_status(error: MentisError, status: int) -> MentisError:
    """The same error, which has this status where it leaves over HTTP."""
    error.facts[STATUS] = status
    return error


def problem_json(problem: WebProblem) -> tuple[str, bytes]:
    """The form of our own paths."""
    told: dict[str, object] = {
        "type": f"urn:mentis:error:{problem.code}",
        "title": problem.code.replace("-", " "),
        "status": problem.status,
        "detail": problem.message,
        "code": problem.code,
        "hint": problem.hint,
        "request_id": problem.request_id,
    }
    facts = {name: fact for name, fact in problem.facts.items() if fact is not None}
    facts |= {"problems": list(problem.problems)} if problem.problems else {}
    body = {name: value for name, value in told.items() if value != ""} | {"facts": facts}
    return PROBLEM_TYPE, json.dumps(body, default=str, ensure_ascii=False).encode()

"""The good case of the examples, with a change, as the rules of a stage would meet it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from mentis.ledger.guardian.case import Case, Commit, Operations
from mentis.ledger.guardian.examples import (
    HASH,
    LINE,
    PREV,
    TIME,
    Change,
    apply_changes,
    good_state,
    good_window,
)
from mentis.ledger.guardian.response import find_window
from mentis.ledger.guardian.stamp import stamp_window
from mentis.values.guardian import GuardianProfile, Receipt
from mentis.values.json import JsonObject


def stamped_window() -> JsonObject:
    return stamp_window(good_window(), time=TIME, prev=PREV, digest=lambda _: HASH).window


def case_of(change: Change, profile: GuardianProfile, *, stage: str = "draft") -> Case:
    """The good case with a change, as the rules of a stage would meet it."""
    base = stamped_window() if stage == "commit" else good_window()
    window = apply_changes(base, change.window)
    state = replace(good_state(), **cast("dict[str, Any]", change.state))
    commit = Commit(time=TIME, hash=HASH, recomputed=HASH, prev=PREV, now=TIME, head_time=TIME)
    facts = Operations(
        path="status/pending_status.json",
        pending_path="status/pending_status.json",
        steps=("temp", "fsync", "replace"),
        before=1,
        after=2,
        consumers=("watcher",),
        verified=True,
        receipt=Receipt(LINE, 1, 2, verified=True),
        audited=True,
        overridden=(),
        unclaimed=(),
        mixed=(),
    )
    case = Case(
        window,
        state,
        profile,
        commit=replace(commit, **cast("dict[str, Any]", change.commit)),
        facts=replace(facts, **cast("dict[str, Any]", change.facts)),
    )
    return _answered(case, change) if stage == "response" else case


def _answered(case: Case, change: Change) -> Case:
    text = "{window}\n\nTwo are missing." if change.answer is None else change.answer
    full = text.replace("{window}", json.dumps(case.window, ensure_ascii=False))
    response, window = find_window(full)
    return replace(case, response=response, window=window)

"""A critical summary derived from the window and the ledger's state, beside the draft's own.

It is compared with the draft's and never written over it: the difference is what tells something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mentis.values.guardian import GuardianState, Summary
from mentis.values.json import JsonObject
from mentis.values.window import Status

from .reading import status_of, tangent, text_at, texts_at
from .words import says

# Also inside of a longer word.
_GRAVE = re.compile(r"critical|fatal|breach|security", re.IGNORECASE)


def _is_grave(risk: str) -> bool:
    return _GRAVE.search(risk) is not None or says(risk, "grave")


def derive_summary(window: JsonObject, state: GuardianState, *, fallen: bool = False) -> Summary:
    """RED if anything is an alert, else YELLOW if anything is a warning, else GREEN."""
    alerts = tuple(_alerts(window, state, fallen=fallen))
    warnings = tuple(_warnings(window, state))
    status: Status = "RED" if alerts else "YELLOW" if warnings else "GREEN"
    return Summary(status, alerts, warnings)


def _alerts(window: JsonObject, state: GuardianState, *, fallen: bool) -> Iterator[str]:
    if fallen:
        yield "a field the window stands on is missing"
    if state.offline:
        yield "no route is up"
    if state.after_breach:
        yield "a breach came before"
    if tangent(window):
        yield "a rule is touched"
    if text_at(window, "cycle") == "5/5":
        yield "the cycle is at its end"
    yield from (f"risk: {risk}" for risk in texts_at(window, "risk") if _is_grave(risk))


def _warnings(window: JsonObject, state: GuardianState) -> Iterator[str]:
    if state.unsure:
        yield "whether the last window was kept is unsure"
    yield from (f"risk: {risk}" for risk in texts_at(window, "risk") if not _is_grave(risk))


def differences(window: JsonObject, state: GuardianState, derived: Summary) -> tuple[str, ...]:
    """Where the draft says something else than the ledger would."""
    pairs = (
        ("/critical_summary/status", status_of(window), derived.status),
        ("/step_id", text_at(window, "step_id"), state.step_id),
        ("/cycle", text_at(window, "cycle"), state.cycle_text),
    )
    return tuple(
        f"{where}: the draft says {own or 'nothing'}, the ledger {ours}"
        for where, own, ours in pairs
        if own != ours
    )

"""Conversations of an import, screened before anything is written: what reads like an attack is
kept and shown like what was hidden there, and told to no model.
"""

from __future__ import annotations

from dataclasses import replace

from mentis.ports.screener import Screener
from mentis.values.imported import ImportedConversation, ImportedTurn

from .import_plan import ImportArrival, ImportLoss

_SOURCE = "import"


def screen_arrival(arrival: ImportArrival, screener: Screener) -> ImportArrival:
    """The arrival with its conversations screened, and in its plan what came of that."""
    seen = _Screening(screener)
    conversations = tuple((whose, seen.conversation(one)) for whose, one in arrival.conversations)
    plan = arrival.plan
    if seen.hidden:
        reason = "kept, shown as hidden, and told to no model"
        loss = ImportLoss(f"messages that read like an attack ({seen.hidden})", reason)
        plan = replace(plan, losses=(*plan.losses, loss))
    if seen.others:
        loss = ImportLoss(
            f"answers that were not chosen and read like an attack ({seen.others})",
            "kept in the original alone",
        )
        plan = replace(plan, losses=(*plan.losses, loss))
    if seen.suspicious:
        line = f"{seen.suspicious} messages look suspicious; they are told, as untrusted"
        plan = replace(plan, shown=(*plan.shown, line))
    return replace(arrival, plan=plan, conversations=conversations)


class _Screening:
    """Counts while conversations are gone through once."""

    def __init__(self, screener: Screener) -> None:
        self._screener = screener
        self.hidden = self.others = self.suspicious = 0

    def conversation(self, one: ImportedConversation) -> ImportedConversation:
        return replace(one, turns=tuple(map(self._turn, one.turns)))

    def _turn(self, one: ImportedTurn) -> ImportedTurn:
        others = tuple(text for text in one.others if self._outcome(text) != "dropped")
        self.others += len(one.others) - len(others)
        outcome = "clean" if one.hidden else self._outcome(one.text)
        self.suspicious += outcome == "suspicious"
        self.hidden += outcome == "dropped"
        return replace(one, others=others, hidden=one.hidden or outcome == "dropped")

    def _outcome(self, text: str) -> str:
        return self._screener.screen(text, source=_SOURCE).outcome

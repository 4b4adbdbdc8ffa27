"""The screener: what it says of a text, and why. A filter, not a boundary.

Clean, suspicious (kept and marked; it can raise no rights), or dropped (quarantined, with reason
and place, restorable by the owner). A layer that cannot run drops everything and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mentis.errors import Defect
from mentis.values.cognition import Screened
from mentis.values.value import Value

from .knowledge import Knowledge
from .language import OTHER, is_foreign
from .model import Scored, score
from .normalise import Normal, normalise
from .reading import LONGEST, Read, read
from .rules import Hit

LEARNED = "learned"
UNSCREENED = "unscreened"
_ALL_LAYERS = ("normalise", "language", "rules", "model", "thresholds")
_MANY_UNSEEN = 8


@dataclass(frozen=True, slots=True)
class Looked(Value):
    """Everything that was found in one text, for whoever wants to know why."""

    verdict: Screened
    plain: str
    hidden: tuple[str, ...]
    unseen: int
    window: str
    window_score: float
    whole_score: float
    rules: tuple[str, ...]
    thresholds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Case:
    text: str
    normal: Normal
    one: Read
    scored: Scored
    language: str
    suspicious: float
    dropped: float


class TextScreener:
    def __init__(self, knowledge: Knowledge) -> None:
        self._known = knowledge

    def screen(self, text: str, *, source: str) -> Screened:
        """The same for the same text, whatever its source: nobody is exempt by name."""
        del source
        if self._known.failures:
            return self._unable()
        return self._verdict(self._case(text))

    def explain(self, text: str) -> Looked:
        if self._known.failures:
            return Looked(self._unable(), text, (), 0, "", 0.0, 0.0, (), (0.0, 0.0))
        case = self._case(text)
        start, end = _characters(case.one, case.scored.start, case.scored.end)
        return Looked(
            self._verdict(case),
            case.normal.plain,
            case.normal.hidden,
            case.normal.unseen,
            _laid_open(case.normal)[start:end],
            round(case.scored.window, 4),
            round(case.scored.whole, 4),
            tuple(_told(hit, case.one) for hit in case.one.hits),
            (case.suspicious, case.dropped),
        )

    def raw_score(self, text: str) -> tuple[str, float]:
        """Language and score before any threshold; for calibration."""
        case = self._case(text)
        return case.language, case.scored.total

    def _unable(self) -> Screened:
        why = "; ".join(f"{layer}: {told}" for layer, told in sorted(self._known.failures.items()))
        ran = tuple(layer for layer in _ALL_LAYERS if layer not in self._known.failures)
        reason = f"the screener failed: a layer cannot run ({why})"
        return Screened("dropped", reason, category=UNSCREENED, layers=ran)

    def _case(self, text: str) -> _Case:
        known = self._known
        if known.windows is None or known.whole is None:
            raise Defect("the screening model was asked although it is not there")
        normal = normalise(text)
        one = read(_laid_open(normal), known.lexicon, known.rules)
        language = known.languages.guess(token.word for token in one.tokens)
        limits = [
            known.thresholds[outcome].get(language, known.thresholds[outcome][OTHER])
            for outcome in ("suspicious", "dropped")
        ]
        scored = score(known.windows, known.whole, one)
        return _Case(text, normal, one, scored, language, limits[0], limits[1])

    def _verdict(self, case: _Case) -> Screened:
        outcome, reason = _outcome(case)
        if outcome == "clean":
            return self._said(case, "clean", "", "")
        hit = _worst_hit(case)
        category = hit.rule.category if hit else LEARNED
        if reason:
            category = UNSCREENED
        elif hit:
            reason = f"reads like an attack ({category}): {_told(hit, case.one)}"
        else:
            reason = "reads like the attacks the model has learned from"
        return self._said(case, outcome, reason, category)

    def _said(
        self,
        case: _Case,
        outcome: Literal["clean", "suspicious", "dropped"],
        reason: str,
        category: str,
    ) -> Screened:
        return Screened(
            outcome,
            reason,
            category=category,
            span=None if outcome == "clean" else _span(case),
            score=round(case.scored.total - case.dropped, 4) if case.one.tokens else -99.0,
            language=case.language,
            layers=_ALL_LAYERS,
        )


def _outcome(case: _Case) -> tuple[Literal["clean", "suspicious", "dropped"], str]:
    if case.scored.total > case.dropped:
        return "dropped", ""
    if len(case.text) > LONGEST:
        return "suspicious", f"only the first {LONGEST} characters were looked at"
    if is_foreign(case.normal.plain):
        return "suspicious", "mostly in a script that is not screened"
    if case.normal.unseen >= _MANY_UNSEEN:
        return "suspicious", f"{case.normal.unseen} characters in it show nothing"
    if case.scored.total > case.suspicious:
        return "suspicious", ""
    return "clean", ""


def _laid_open(normal: Normal) -> str:
    """What was hidden stands after the text, as if it had been said openly."""
    return "\n".join((normal.plain[:LONGEST], *normal.hidden))


def _worst_hit(case: _Case) -> Hit | None:
    inside = [
        hit
        for hit in case.one.hits
        if case.scored.start <= hit.start and hit.end <= case.scored.end
    ]
    return max(inside, key=lambda hit: len(hit.rule.steps), default=None)


def _span(case: _Case) -> tuple[int, int] | None:
    """Where the worst window stood in the text as it came; None for what was hidden in it."""
    start, end = _characters(case.one, case.scored.start, case.scored.end)
    if end > len(case.normal.plain) or not end:
        return None
    return case.normal.span(start, end)


def _characters(one: Read, start: int, end: int) -> tuple[int, int]:
    return (one.tokens[start].start, one.tokens[end - 1].end) if end else (0, 0)


def _told(hit: Hit, one: Read) -> str:
    words: Sequence[str] = [token.word for token in one.tokens[hit.start : hit.end]]
    return f'"{" ".join(words)}"'

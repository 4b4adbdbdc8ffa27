"""The screener: what it says of a text, and why. A filter, not a boundary.

Clean, suspicious (kept and marked; it can raise no rights), or dropped (quarantined, with reason
and place, restorable by the owner). A layer that cannot run drops everything and says so; a vector
that cannot be used has no say, and the text alone decides by stricter thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mentis.errors import Defect
from mentis.ports.screener import StoredVector
from mentis.values.cognition import Screening
from mentis.values.value import Value

from .fusion import Way, text_votes, weighs
from .knowledge import Knowledge
from .language import OTHER, is_foreign
from .model import TextScore, score, score_passages
from .normalise import Normal, normalise
from .patterns import OWNER_PATTERN, OwnerPatterns
from .reading import LONGEST, TextReading, read
from .rules import Hit
from .vector import LEARNED, NoVote, VectorVote
from .windows import PASSAGE, passages_of

UNSCREENED = "unscreened"
_ALL_LAYERS = ("normalise", "language", "rules", "model", "vector", "thresholds")
_WITHOUT_VECTOR = tuple(layer for layer in _ALL_LAYERS if layer != "vector")
_MANY_UNSEEN = 8
_SHOWN = 80  # characters of a pattern that a reason quotes
_NOTHING = -99.0  # the score of a text without a word


@dataclass(frozen=True, slots=True)
class ScreeningReport(Value):
    """Everything that was found in one text, for whoever wants to know why.

    `voters` is what each voter adds to the score, the constant part included; `thresholds` are
    where suspicious and dropped begin; `way` says which voters there were.
    """

    verdict: Screening
    plain: str
    hidden: tuple[str, ...]
    unseen: int
    window: str
    rules: tuple[str, ...]
    way: str
    voters: Mapping[str, float]
    total: float
    thresholds: tuple[float, float]
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class _Case:
    text: str
    normal: Normal
    one: TextReading
    scored: TextScore | None
    language: str
    way: Way
    voters: Mapping[str, float]
    total: float
    suspicious: float
    dropped: float
    heard: VectorVote | NoVote | None


class TextScreener:
    """`patterns` are the owner's own, if there are any: what is like one of them is dropped."""

    def __init__(self, knowledge: Knowledge, patterns: OwnerPatterns | None = None) -> None:
        self._known = knowledge
        self.patterns = patterns

    def screen(self, text: str, *, source: str, vector: StoredVector | None = None) -> Screening:
        """The same for the same text and vector, whatever its source: nobody is exempt by name."""
        del source
        if self._known.failures:
            return self._unable()
        worst = max(self._cases(text, vector), key=_badness)
        return self._owned(_verdict(worst), text, vector)

    def explain(self, text: str, vector: StoredVector | None = None) -> ScreeningReport:
        if self._known.failures:
            return ScreeningReport(self._unable(), text, (), 0, "", (), "", {}, 0.0, (0.0, 0.0))
        whole, *parts = self._cases(text, vector)
        case = max((whole, *parts), key=_badness)
        start, end = _characters(case)
        return ScreeningReport(
            self._owned(_verdict(case), text, vector),
            whole.normal.plain,
            case.normal.hidden,
            case.normal.unseen,
            _laid_open(case.normal)[start:end],
            tuple(_told(hit, case.one) for hit in case.one.hits),
            case.way,
            {name: round(share, 4) for name, share in case.voters.items()},
            round(case.total, 4),
            (case.suspicious, case.dropped),
            case.heard.category if isinstance(case.heard, VectorVote) else "",
        )

    def raw_score(self, text: str, vector: StoredVector | None = None) -> tuple[str, Way, float]:
        """Language, way and score before any threshold; for calibration."""
        case = self._case(text, normalise(text), vector)
        return case.language, case.way, case.total

    def _owned(self, said: Screening, text: str, vector: StoredVector | None) -> Screening:
        """What the shipped layers say, unless the owner says more."""
        if self.patterns is None:
            return said
        layers = (*said.layers, "patterns")
        hit = None if said.outcome == "dropped" else self.patterns.find(text, vector)
        if hit is None:
            return replace(said, layers=layers)
        how = "says" if hit.cosine is None else f"is near ({hit.cosine:.2f}) to"
        reason = f'{how} a pattern of the owner: "{hit.text[:_SHOWN]}"'
        return replace(
            said, outcome="dropped", reason=reason, category=OWNER_PATTERN, layers=layers
        )

    def _unable(self) -> Screening:
        why = "; ".join(f"{layer}: {told}" for layer, told in sorted(self._known.failures.items()))
        ran = tuple(layer for layer in _ALL_LAYERS if layer not in self._known.failures)
        reason = f"the screener failed: a layer cannot run ({why})"
        return Screening("dropped", reason, category=UNSCREENED, layers=ran)

    def _cases(self, text: str, vector: StoredVector | None) -> list[_Case]:
        """The text with all that was hidden in it; that alone; and each passage that says something
        known: what stands around it, and what the vector of the rest says, makes it no better."""
        normal = normalise(text)
        cases = [self._case(text, normal, vector)]
        if normal.hidden:
            alone = Normal("", None, normal.hidden, normal.unseen)
            cases.append(self._case("", alone, None))
        return [*cases, *self._passages(cases[0])]

    def _passages(self, whole: _Case) -> list[_Case]:
        windows, model, hits = self._known.windows, self._known.whole, whole.one.hits
        if windows is None or model is None or not hits or len(whole.one.tokens) <= PASSAGE:
            return []
        runs = [
            (start, end)
            for start, end in passages_of(whole.one.windows)
            if any(start <= hit.start and hit.end <= end for hit in hits)
        ]
        return [
            self._weighed(whole, scored, None)
            for scored in score_passages(windows, model, whole.one, runs)
        ]

    def _case(self, text: str, normal: Normal, vector: StoredVector | None) -> _Case:
        known = self._known
        if known.windows is None or known.whole is None or known.voter is None:
            raise Defect("the screening model was asked although it is not there")
        one = read(_laid_open(normal), known.lexicon, known.rules)
        language = known.languages.guess(token.word for token in one.tokens)
        scored = score(known.windows, known.whole, one)
        heard = None if vector is None else known.voter.hear(vector)
        read_text = _Case(text, normal, one, None, language, "text", {}, _NOTHING, 0.0, 0.0, None)
        return self._weighed(read_text, scored, heard)

    def _weighed(
        self, case: _Case, scored: TextScore | None, heard: VectorVote | NoVote | None
    ) -> _Case:
        way = _way(heard)
        voters = self._voters(scored, heard, way)
        return replace(
            case,
            scored=scored,
            way=way,
            voters=voters,
            total=sum(voters.values()) if voters else _NOTHING,
            suspicious=self._limit(way, "suspicious", case.language),
            dropped=self._limit(way, "dropped", case.language),
            heard=heard,
        )

    def _limit(self, way: Way, outcome: str, language: str) -> float:
        limits = self._known.thresholds[way][outcome]
        return limits.get(language, limits[OTHER])

    def _voters(
        self, scored: TextScore | None, heard: VectorVote | NoVote | None, way: Way
    ) -> Mapping[str, float]:
        """What each adds to the score; nothing for a text without a word."""
        if scored is None:
            return {}
        fusion = self._known.fusions[weighs(way)]
        votes = text_votes(scored.window, scored.whole, scored.tokens)
        if isinstance(heard, VectorVote):
            votes |= {"head": heard.head, "patterns": heard.patterns}
        return {**fusion.shares(votes), "constant": fusion.bias}


def _badness(case: _Case) -> tuple[int, float]:
    outcome, _ = _outcome(case)
    return ("clean", "suspicious", "dropped").index(outcome), case.total - case.dropped


def _way(heard: VectorVote | NoVote | None) -> Way:
    if heard is None:
        return "text"
    return "vector" if isinstance(heard, VectorVote) else "strict"


def _verdict(case: _Case) -> Screening:
    outcome, reason = _outcome(case)
    if outcome == "clean":
        return _said(case, "clean", "", "")
    hit = _worst_hit(case)
    category = hit.rule.category if hit else LEARNED
    if reason:
        category = UNSCREENED
    elif hit:
        reason = f"reads like an attack ({category}): {_told(hit, case.one)}"
    else:
        reason = "reads like the attacks the model has learned from"
    return _said(case, outcome, reason, category)


def _said(
    case: _Case, outcome: Literal["clean", "suspicious", "dropped"], reason: str, category: str
) -> Screening:
    skipped = (f"vector: {case.heard.reason}",) if isinstance(case.heard, NoVote) else ()
    return Screening(
        outcome,
        reason,
        category=category,
        span=None if outcome == "clean" else _span(case),
        score=_NOTHING if case.scored is None else round(case.total - case.dropped, 4),
        language=case.language,
        layers=_ALL_LAYERS if isinstance(case.heard, VectorVote) else _WITHOUT_VECTOR,
        skipped=skipped,
    )


def _outcome(case: _Case) -> tuple[Literal["clean", "suspicious", "dropped"], str]:
    if case.total > case.dropped:
        return "dropped", ""
    reason = _unread(case)
    return ("suspicious", reason) if reason or case.total > case.suspicious else ("clean", "")


def _unread(case: _Case) -> str:
    """Why a text cannot be called clean whatever was found in it; "" where all of it was read."""
    if len(case.text) > LONGEST:
        return f"only the first {LONGEST} characters were looked at"
    if is_foreign(case.normal.plain):
        return "mostly in a script that is not screened"
    if case.normal.more:
        return "more is hidden in it than is looked at"
    if case.normal.unseen >= _MANY_UNSEEN:
        return f"{case.normal.unseen} characters in it show nothing"
    return ""


def _laid_open(normal: Normal) -> str:
    """What was hidden stands after the text, as if it had been said openly."""
    return "\n".join((normal.plain[:LONGEST], *normal.hidden))


def _worst_hit(case: _Case) -> Hit | None:
    if case.scored is None:
        return None
    start, end = case.scored.start, case.scored.end
    inside = [hit for hit in case.one.hits if start <= hit.start and hit.end <= end]
    return max(inside, key=lambda hit: len(hit.rule.steps), default=None)


def _span(case: _Case) -> tuple[int, int] | None:
    """Where the worst window stood in the text as it came; None for what was hidden in it."""
    start, end = _characters(case)
    if end > len(case.normal.plain) or not end:
        return None
    return case.normal.span(start, end)


def _characters(case: _Case) -> tuple[int, int]:
    if case.scored is None:
        return 0, 0
    tokens = case.one.tokens
    return tokens[case.scored.start].start, tokens[case.scored.end - 1].end


def _told(hit: Hit, one: TextReading) -> str:
    words: Sequence[str] = [token.word for token in one.tokens[hit.start : hit.end]]
    return f'"{" ".join(words)}"'

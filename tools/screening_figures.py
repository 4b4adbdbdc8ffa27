"""Figures over scores that nobody who gave them could have learned by heart; and thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mentis.recall.screening.calibrate import conformal
from mentis.recall.screening.figures import auroc
from screening_fit import Floats, Mask
from screening_rows import LANGUAGES, Row
from screening_votes import Votes

# What a threshold is chosen on, beside the ordinary sentences: never a share-alike row, and never
# what the tests hold out.
UNUSED = ("xquad", "held-note", "held-hard", "unseen-twin")
RATES = {
    "vector": {"suspicious": 0.05, "dropped": 0.01},
    "text": {"suspicious": 0.05, "dropped": 0.01},
    "strict": {"suspicious": 0.10, "dropped": 0.02},
}
_TRUSTED = 60  # ordinary texts at which a language's own upper end counts for half


def report(votes: Votes, scores: Floats, limits: Mapping[str, float]) -> dict[str, object]:
    """`limits` are the dropping points; scores are compared by their distance to them."""
    margin = scores - np.array([limits.get(lang, limits["other"]) for lang in votes.lang])
    known = votes.measured & np.isin(votes.lang, LANGUAGES) & ~np.isnan(margin)
    own = np.array([family.startswith("own-") for family in votes.family])
    notes = votes.family == "notes"
    unseen = votes.family == "unseen"
    known, never = known & ~unseen, known & unseen
    return {
        "dev_file": _figures(votes, margin, known & ~own & ~notes),
        "own": _figures(votes, margin, known & (own | notes)),
        "both": _figures(votes, margin, known & ~notes),
        "dev_file_and_twins": _figures(votes, margin, known & ~notes & (~own | ~votes.labels)),
        "unseen": _figures(votes, margin, never),
        "dropped_by_source": _by_source(votes, margin, known | never),
        "ordinary_dropped_by_language": _by_language(votes, margin, known),
    }


def _figures(votes: Votes, margin: Floats, here: Mask) -> dict[str, object]:
    explicit = np.array([row.explicit for row in votes.rows])
    good, bad = margin[here & ~votes.labels], here & votes.labels
    return {
        "attacks": int(bad.sum()),
        "others": len(good),
        "auroc": _auroc(margin[bad], good),
        "recall_at_1": _caught(margin[bad], good, 0.01),
        "recall_at_5": _caught(margin[bad], good, 0.05),
        "explicit_at_1": _caught(margin[bad & explicit], good, 0.01),
        "implicit_at_1": _caught(margin[bad & ~explicit], good, 0.01),
        "auroc_by_language": {
            lang: _auroc(margin[bad & (votes.lang == lang)], margin[others])
            for lang in LANGUAGES
            if (others := here & ~votes.labels & (votes.lang == lang)).any()
        },
    }


def _by_source(votes: Votes, margin: Floats, here: Mask) -> dict[str, list[float]]:
    return {
        f"{source} {('ordinary', 'attacks')[kind]}": _share(margin[chosen])
        for source in sorted(set(votes.source[here]))
        for kind in (0, 1)
        if (chosen := here & (votes.source == source) & (votes.labels == (kind == 1))).any()
    }


def _by_language(votes: Votes, margin: Floats, here: Mask) -> dict[str, dict[str, list[float]]]:
    note = np.isin(votes.source, ("own-note", "own-note-trained", "own-document", "held-note"))
    kinds = {"notes": note, "hard": ~note}
    return {
        lang: {
            kind: _share(margin[here & chosen & ~votes.labels & (votes.lang == lang)])
            for kind, chosen in kinds.items()
        }
        for lang in LANGUAGES
    }


def _share(margin: Floats) -> list[float]:
    """The share above the dropping point, and of how many."""
    return [round(float((margin > 0).mean()), 4) if len(margin) else 0.0, len(margin)]


def _auroc(bad: Floats, good: Floats) -> float | None:
    found = auroc(bad.tolist(), good.tolist())
    return None if found is None else round(found, 4)


def _caught(bad: Floats, good: Floats, rate: float) -> float:
    limit = np.sort(good)[::-1][int(rate * len(good))]
    return round(float((bad > limit).mean()), 4)


def thresholds(votes: Votes, scores: Floats, rate: float) -> dict[str, float]:
    """Per language: the pooled threshold, moved by how far the language's upper end lies off.

    No language alone has enough ordinary texts for a share of one percent, so the tail is that of
    all of them, and only its place is the language's own.
    """
    usable = votes.measured & ~votes.labels & ~np.isnan(scores)
    usable &= ~np.isin(votes.source, UNUSED) & np.isin(votes.lang, LANGUAGES)
    pooled = scores[usable]
    base, upper = conformal(pooled.tolist(), rate), float(np.quantile(pooled, 0.95))
    found = {"other": base}
    for lang in LANGUAGES:
        own = scores[usable & (votes.lang == lang)]
        trust = len(own) / (len(own) + _TRUSTED)
        found[lang] = base + trust * (float(np.quantile(own, 0.95)) - upper)
    return {lang: round(limit, 4) for lang, limit in found.items()}


def by_language(votes: Votes, table: Floats, names: Sequence[str]) -> dict[str, object]:
    """Dev file and our own texts, the latter left out by language: as it was measured before."""
    kept, votes.table = votes.table, table
    scores = votes.fused(names)
    votes.table = kept
    limits = thresholds(votes, scores, RATES["text"]["dropped"])
    margin = scores - np.array([limits.get(lang, limits["other"]) for lang in votes.lang])
    known = votes.measured & np.isin(votes.lang, LANGUAGES) & ~np.isnan(margin)
    return _figures(votes, margin, known & ~np.isin(votes.family, ("notes", "unseen")))


def crossed(votes: Votes, scores: Floats, rate: float) -> float:
    """The share dropped of each family's ordinary texts by thresholds chosen without them."""
    stopped = total = 0
    for name in sorted(set(votes.family[votes.measured])):
        here = votes.measured & ~votes.labels & (votes.family == name) & ~np.isnan(scores)
        if not here.any():
            continue
        limits = thresholds(votes, np.where(here, np.nan, scores), rate)
        own = np.array([limits.get(lang, limits["other"]) for lang in votes.lang[here]])
        stopped, total = stopped + int((scores[here] > own).sum()), total + int(here.sum())
    return round(stopped / total, 4)


def worst(rows: Sequence[Row], margin: Floats, count: int) -> list[str]:
    """Ordinary texts that would be dropped by voters that have not seen them."""
    order = [int(place) for place in np.argsort(-np.nan_to_num(margin, nan=-99.0))]
    found = [place for place in order if rows[place].label == 0 and margin[place] > 0]
    return [
        f"{margin[place]:.2f} {rows[place].source} {rows[place].text[:110]!r}"
        for place in found[:count]
    ]

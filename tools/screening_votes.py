"""What each voter says of each row when it has not seen the row's family; and how they are weighed.

The worst window and the whole text have an equal say, and the vector as much as both: a quarter of
that the head, the rest the nearest attacks against the nearest harmless texts. Each is counted in
how much it varies over ordinary text. No attack has a part in that, so nothing is fitted to the
families that are measured. A stacker that was fitted, on other families only, did worse: each fold
trusted what its own left-out family betrays.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from mentis.recall.screening.fusion import TEXT_VOTERS, VOTERS, text_votes
from mentis.recall.screening.vector import NEAREST, SEEN
from screening_fit import HEAD_L2, Floats, Mask, Matrix, fit_dense, train_text
from screening_rows import LANGUAGES, Row

PATTERNS = ("own-pattern", "own-pattern-implicit")
SAY = {"window": 1.0, "whole": 1.0, "head": 0.5, "patterns": 1.5}
LENGTHENED = ("window", "whole")  # voters that a text's length moves
NEVER = ("notes", "xquad", "unseen")  # families that nothing was ever trained on


class Votes:
    """A column for each voter, a row for each text; NaN where nobody could speak unbiased."""

    def __init__(self, rows: Sequence[Row], vectors: Floats) -> None:
        self.rows, self.vectors = rows, vectors
        self.matrix = Matrix(rows)
        self.labels = np.array([row.label == 1 for row in rows])
        self.family = np.array([row.family for row in rows])
        self.source = np.array([row.source for row in rows])
        self.lang = np.array([row.lang for row in rows])
        self.trained = np.array([row.trained for row in rows])
        self.measured = np.array([row.measured for row in rows])
        self.table = np.full((len(rows), len(VOTERS)), np.nan)

    def leave_each_out(self) -> None:
        """Whatever is made of our own parts goes out with our own patterns."""
        for name in sorted(set(self.family[self.measured]) - {"xquad", "unseen"}):
            here = np.isin(self.family, NEVER) if name == "notes" else self.family == name
            self._leave_out(name, here, self.table)

    def leave_languages_out(self) -> Floats:
        """Our own texts of one language at a time; what says the same in another one stays in."""
        table = self.table.copy()
        for lang in LANGUAGES:
            own = np.array(
                [row.family.startswith("own-") and row.lang == lang for row in self.rows]
            )
            self._leave_out(f"own-{lang}", own, table)
        return table

    def _leave_out(self, name: str, here: Mask, table: Floats) -> None:
        seen = self.trained & ~here
        if name.startswith("own-"):
            seen &= self.family != "composed"
        table[here] = self.told(seen, here)
        print(f"  left out: {name}", file=sys.stderr, flush=True)

    def told(self, seen: Mask, here: Mask) -> Floats:
        windows, whole = train_text(self.matrix, seen)
        worst = self.matrix.highest(self.matrix.scores(windows))
        all_of_it = self.matrix.scores(whole)[self.matrix.windows :]
        head = self.head(seen)
        near = self.nearness(seen, here)
        table = np.empty((int(here.sum()), len(VOTERS)))
        for place, number in enumerate(np.flatnonzero(here)):
            length = int(self.matrix.tokens[number])
            text = text_votes(float(worst[number]), float(all_of_it[number]), length)
            vote = float(self.vectors[number] @ head[:-1] + head[-1])
            table[place] = [*text.values(), vote, near[place]]
        return table

    def head(self, seen: Mask) -> Floats:
        share = np.where(self.measured, 1.5, 0.5)[seen]
        bad = self.labels[seen]
        share[bad] *= 0.5 * share[~bad].sum() / share[bad].sum()
        return fit_dense(self.vectors[seen], bad, share, HEAD_L2)

    def nearness(self, seen: Mask, here: Mask) -> Floats:
        vectors = self.through(self.lens(seen))
        near, far = (vectors[here] @ vectors[known].T for known in self.known(seen))
        return _top(near) - _top(far)

    def lens(self, seen: Mask) -> Floats:
        """The directions in which texts differ most: half of the numbers say nearly all of it."""
        texts = self.vectors[seen]
        return np.linalg.eigh(texts.T @ texts)[1][:, ::-1][:, :SEEN].T

    def through(self, lens: Floats) -> Floats:
        made = self.vectors @ lens.T
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def known(self, seen: Mask) -> tuple[Mask, Mask]:
        """Attacks and harmless texts to be near to: none that was laid into sentences of others."""
        single = seen & (self.measured | (self.source == "composed"))
        return single & self.labels, single & ~self.labels

    def fusion(self, names: Sequence[str]) -> dict[str, float]:
        """A weight for each voter and the constant; ordinary text scores 0 on average."""
        ordinary = self.measured & self.trained & ~self.labels & ~np.isnan(self.table[:, 0])
        votes: dict[str, Floats] = dict(zip(VOTERS, self.table[ordinary].T, strict=True))
        say = {name: SAY[name] / float(votes[name].std()) for name in names if name in SAY}
        # The longer, the worse by mere chance: what that brings is taken off.
        say["length"] = -sum(
            say[name] * _slope(votes["length"], votes[name]) for name in LENGTHENED
        )
        constant = -sum(weight * float(votes[name].mean()) for name, weight in say.items())
        return {name: round(say[name], 6) for name in names} | {"bias": round(constant, 6)}

    def fused(self, names: Sequence[str]) -> Floats:
        made = self.fusion(names)
        columns = self.table[:, [VOTERS.index(name) for name in names]]
        return columns @ np.array([made[name] for name in names]) + made["bias"]


def ways() -> dict[str, tuple[str, ...]]:
    return {"text": TEXT_VOTERS, "vector": VOTERS}


def _slope(along: Floats, moved: Floats) -> float:
    shared = np.cov(along, moved, bias=True)
    return float(shared[0, 1] / shared[0, 0])


def _top(similarities: Floats) -> Floats:
    return np.partition(similarities, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)

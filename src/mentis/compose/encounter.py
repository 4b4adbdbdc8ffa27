"""When the two last met, as a sentence; the words for it come from the library."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from mentis.values.value import Value

from .computed import Facts

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_MONTH, _YEAR = 30.44 * _DAY, 365.25 * _DAY
# Up to how many seconds each phrase of `last_encounter_ago` holds, and what `{{n}}` in it counts.
_STEPS: tuple[tuple[float, float], ...] = (
    (45, 1),
    (90, _MINUTE),
    (45 * _MINUTE, _MINUTE),
    (90 * _MINUTE, _HOUR),
    (22 * _HOUR, _HOUR),
    (36 * _HOUR, _DAY),
    (25 * _DAY, _DAY),
    (45 * _DAY, _MONTH),
    (10.5 * _MONTH, _MONTH),
    (18 * _MONTH, _YEAR),
    (float("inf"), _YEAR),
)


@dataclass(frozen=True, slots=True)
class Encounter(Value):
    """`last` is when something was last said, if ever; `here` whether it was in this talk."""

    last: datetime | None = None
    here: bool = False


def last_encounter(encounter: Encounter, facts: Facts) -> str:
    """The sentence for it in the persona's language; empty where the library has no words."""
    if encounter.last is None:
        return " ".join(facts.word("last_encounter_first"))
    topic = "last_encounter_here" if encounter.here else "last_encounter_before"
    sentence, phrase = " ".join(facts.word(topic)), ago(facts.now - encounter.last, facts)
    return sentence.replace("{{ago}}", phrase) if phrase else ""


def ago(gap: timedelta, facts: Facts) -> str:
    """`3 minutes ago`; a clock that went back counts as just now."""
    phrases = facts.word("last_encounter_ago")
    seconds = max(gap.total_seconds(), 0.0)
    step = next(n for n, (most, _) in enumerate(_STEPS) if seconds <= most)
    if len(phrases) != len(_STEPS):
        return ""
    return phrases[step].replace("{{n}}", str(max(round(seconds / _STEPS[step][1]), 1)))

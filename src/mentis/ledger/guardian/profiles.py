"""The shipped profiles, as data: which rules count, and which conflicts are settled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from mentis.codec.canon import canonical
from mentis.codec.plain import plain_value
from mentis.errors import SettingsError
from mentis.values.guardian import GuardianProfile, KnownConflict, Level

from .case import Rule
from .rules_health import KEPT
from .rules_protocol import PLACE
from .table import RULES

DEFAULT = "mentis"
OUTSIDE = "as-run"  # for windows that come from outside, where nobody chose another one
# What can be settled, in words.
SETTLEMENTS: Mapping[str, str] = {
    "C1": "a cap by risks or a touched rule wins over the floor of a verification",
    "C2": "a cap because no route is up wins over the floor of a verification",
    "C3": "with no route up windows go to the spool, and `degraded` is a type",
    "C4": "a missing `risk` blocks, an empty one warns",
    "C5": "`critical_summary` is an optional object; its status is GREEN, YELLOW or RED",
    "C6": "the allowed schema versions are a set; each entry names its ruleset",
    "C7": "AUTO is taken in each of its forms",
    "C8": "`critical_summary.status` is required where a rule needs it",
    "forged": "a made-up time or hash is overwritten and recorded instead of refused",
    KEPT: "only what is absent or null is missing, of goal, inputs, actions, confidence and type",
}
_TYPES = ("planner", "execution", "verification")

S2 = GuardianProfile(
    name="s2-4.0",
    levels={"MENTIS-DEGRADED": "off"},
    types=_TYPES,
    settles=("C4", "C6", "C8"),
    known=(
        KnownConflict(
            "C1",
            ("S2-H-TANGCONF", "S2-H-VERCONF"),
            "a verification needs 0.7, a touched rule allows 0.6",
        ),
        KnownConflict(
            "C1",
            ("S2-H-RISKSCALE", "S2-H-VERCONF"),
            "a verification needs 0.7, four risks allow 0.6",
        ),
        KnownConflict(
            "C2",
            ("S2-H-VERCONF", "S2-HEALTH-CONF"),
            "a verification needs 0.7, no route up allows 0.0",
        ),
        KnownConflict("C3", ("S2-HEALTH",), "with no route up every window is blocked"),
    ),
)
MENTIS = GuardianProfile(
    name=DEFAULT,
    types=(*_TYPES, "degraded"),
    settles=tuple(name for name in SETTLEMENTS if name != KEPT),
)


def _strict_levels() -> dict[str, Level]:
    """Every warning that a program can decide blocks."""
    return {
        rule.id: "block"
        for rule in RULES
        if rule.level == "warn" and rule.kind in ("program", "state")
    }


def _as_run_levels() -> dict[str, Level]:
    """What the origin's program did not look at is told and refuses nothing; step and cycle stay
    as they came.
    """
    told: dict[str, Level] = {
        rule.id: "warn"
        for rule in RULES
        if rule.level == "block" and rule.stage != "commit" and rule.id != "S2-FOUNDATION"
    }
    return {**told, PLACE: "off"}


STRICT = replace(MENTIS, name="strict", levels=_strict_levels())
AS_RUN = replace(
    MENTIS,
    name=OUTSIDE,
    levels=_as_run_levels(),
    schema_versions=("3.0", "3.2", "4.0", "5.0"),
    settles=tuple(SETTLEMENTS),
)
SHIPPED: Mapping[str, GuardianProfile] = {
    profile.name: profile for profile in (S2, MENTIS, STRICT, AS_RUN)
}


def level_of(profile: GuardianProfile, rule: Rule) -> Level:
    return profile.levels.get(rule.id, rule.level)


def level_words(profile: GuardianProfile, rule: Rule) -> str:
    """The level, and which settled conflicts turn a finding into a warning."""
    level = level_of(profile, rule)
    settled = ", ".join(name for name in rule.yields if name in profile.settles)
    return f"{level} ({settled}: warn)" if settled and level == "block" else level


def find_profile(name: str, more: Mapping[str, GuardianProfile] | None = None) -> GuardianProfile:
    """A profile by its name, also from `more` (an owner's)."""
    known = {**SHIPPED, **(more or {})}
    if name in known:
        return known[name]
    close = get_close_matches(name, list(known), n=1)
    raise SettingsError(
        f"there is no guardian profile {name!r}",
        hint=f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}",
    )


def digest_of(profile: GuardianProfile) -> str:
    """What two profiles share when they judge alike: everything but the name."""
    content = {**plain_value(profile, "Profile"), "name": ""}
    return "sha256:" + hashlib.sha256(canonical(content)).hexdigest()

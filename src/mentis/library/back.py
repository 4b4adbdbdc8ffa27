"""Going back: which steps take back an edit, and what was changed along with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mentis.values.cognition import Revision

from .history import Target
from .session import EditSession, EditStep
from .states import content, key_of, parse_state

_RENAME = re.compile(r"rename (?:from|to) (\S+)")


def steps_back(
    session: EditSession,
    name: str,
    verb: str,
    target_in: Callable[[Sequence[Revision]], Target | None],
) -> dict[str, EditStep]:
    """What restores the state before the target; a rename is two changes, and both go back."""
    steps: dict[str, EditStep] = {}
    target = _target(session, key_of(name), target_in)
    if target is None:
        return steps
    steps[key_of(name)] = _step(key_of(name), verb, target)
    if renamed := _RENAME.match(target.of.words):
        other = key_of(renamed[1])
        partner = _target(session, other, target_in)
        if partner is not None and _RENAME.match(partner.of.words):
            steps[other] = _step(other, verb, partner)
    return steps


def _target(
    session: EditSession, key: str, target_in: Callable[[Sequence[Revision]], Target | None]
) -> Target | None:
    return target_in(session.history.adopt(key, content(session.state(key))))


def _step(key: str, verb: str, target: Target) -> EditStep:
    return EditStep(parse_state(key, target.content), f"{verb} {target.number}", checked=False)

"""Compare and swap: what is saved must follow what is newest."""

from __future__ import annotations

from mentis.errors import Defect, StoreConflict
from mentis.values.cognition import CognitionState, Revision


def check_next_state(agent: str, state: CognitionState, *, newest: int, expected: int) -> None:
    if newest != expected:
        raise StoreConflict(
            f"the state of `{agent}` is at revision {newest}, not {expected} any more",
            hint="load the state again and repeat the change",
            agent=agent,
            newest=newest,
            expected=expected,
        )
    if state.revision != expected + 1:
        # The same number twice would let the next writer pass who has not seen this state.
        raise Defect(
            f"a state of revision {state.revision} cannot follow revision {expected}", agent=agent
        )


def check_next_revision(revision: Revision, *, newest: int) -> None:
    """Revisions of a key count from 1."""
    if revision.number != newest + 1:
        raise StoreConflict(
            f"`{revision.key}` is at revision {newest}: {revision.number} cannot be the next",
            hint="read the newest revision and repeat the change",
            key=revision.key,
            newest=newest,
            number=revision.number,
        )

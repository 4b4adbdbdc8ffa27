"""States of minds, as revisions of one key per agent: every one is kept, and the newest counts."""

from __future__ import annotations

from mentis.codec.forms import from_json, to_json
from mentis.errors import BadInput, StoreDamaged
from mentis.ports.clock import Clock
from mentis.ports.revisions import Revisions
from mentis.values.cognition import CognitionState, Revision, utc_text
from mentis.values.digest import digest

from .succession import check_next_state


class States:
    """Over any `Revisions`: what it promises of compare and swap holds for states as well."""

    def __init__(self, revisions: Revisions, clock: Clock) -> None:
        self._revisions = revisions
        self._clock = clock

    def load(self, agent: str) -> CognitionState:
        newest = self._newest(agent)
        return CognitionState() if newest is None else read_state(agent, newest)

    def save(self, agent: str, state: CognitionState, *, expected: int, words: str = "") -> None:
        newest = self._newest(agent)
        check_next_state(agent, state, newest=newest.number if newest else 0, expected=expected)
        content = to_json(state)
        _check_readable(agent, state, content)
        self._revisions.save(
            Revision(
                key=_key(agent),
                number=state.revision,
                content=content.decode(),
                digest=digest(content),
                time=utc_text(self._clock.now()),
                words=words,
            )
        )

    def at(self, agent: str, revision: int) -> CognitionState | None:
        if revision == 0:
            return CognitionState()
        kept = self._revisions.at(_key(agent), revision)
        return None if kept is None else read_state(agent, kept)

    def history(self, agent: str, *, last: int | None = None) -> tuple[Revision, ...]:
        return self._revisions.history(_key(agent), last=last)

    def _newest(self, agent: str) -> Revision | None:
        newest = self._revisions.history(_key(agent), last=1)
        return newest[-1] if newest else None


def read_state(agent: str, revision: Revision) -> CognitionState:
    """StoreDamaged, with the way back, when it is not what was written."""
    fault = ""
    if digest(revision.content.encode("utf-8", "surrogatepass")) != revision.digest:
        fault = "it is not what its digest says"
    try:
        state = from_json(CognitionState, revision.content)
    except BadInput as error:
        raise _damaged(agent, revision, error.message) from error
    if fault or state.revision != revision.number:
        raise _damaged(agent, revision, fault or f"it says that it is revision {state.revision}")
    return state


def _check_readable(agent: str, state: CognitionState, content: bytes) -> None:
    """A state that could not be read again would cost the mind all later ones."""
    try:
        same = from_json(CognitionState, content) == state
    except BadInput as error:
        raise _unreadable(agent, error.message) from error
    if not same:
        raise _unreadable(agent, "it would be another one")


def _unreadable(agent: str, fault: str) -> BadInput:
    return BadInput(
        f"the state of `{agent}` could not be read again, and is not saved: {fault}",
        hint="fewer goals below each other, and texts without broken characters",
        agent=agent,
    )


def _damaged(agent: str, revision: Revision, fault: str) -> StoreDamaged:
    return StoreDamaged(
        f"the state of `{agent}`, revision {revision.number}, cannot be read: {fault}",
        hint="`mentis state history` shows the revisions before it, and `mentis state undo --to"
        " NUMBER` goes back to one; nothing is lost",
        agent=agent,
        revision=revision.number,
    )


def _key(agent: str) -> str:
    return f"state:{agent}"

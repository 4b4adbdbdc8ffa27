"""The people an agent knows: a summary of each, kept among its memories as a note of kind `person`.

The tags of a note are what somebody is called, by name or by the tag that an interface vouches for.
So people are screened, exported, imported and forgotten as all memories are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from mentis.errors import UsageError
from mentis.values.cognition import Memory
from mentis.values.memories import (
    MemoryDraft,
    MemoryFilter,
    MemoryListing,
    StoredMemory,
    normal_text,
)
from mentis.values.trust import Trust

if TYPE_CHECKING:
    from .memories import Memories

SOURCE = "people"  # of a summary that somebody set; the agent's own notes have others
PEOPLE = MemoryListing(kinds=("person",), order="names")
_NOTES = MemoryFilter(kinds=("person",))
_ALL_NOTES = MemoryFilter(kinds=("person",), superseded=True, expired=True)


class People:
    """Reached as `memories.people`. All but `set` block.

    ```python
    with open_memories("my-home") as memories:
        await memories.people.set("Lena", "Plays the cello.", also=("@lena",))
        notes = memories.people.about("lena")
    ```
    """

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def list(self) -> tuple[Memory, ...]:
        """The notes on everybody that may be told, by their names."""
        return tuple(sorted(self._memories.list(_NOTES), key=lambda note: (note.tags, note.id)))

    def about(self, name: str) -> tuple[Memory, ...]:
        """The notes on one person; UsageError where there are none."""
        notes = _called(name, self.list())
        if not notes:
            raise UsageError(
                f"nothing is known of {name!r}",
                hint=f'`mentis people list` shows everybody; mentis people set {name} "..."',
            )
        return notes

    async def set(
        self, name: str, summary: str, *, also: tuple[str, ...] = (), trust: Trust = Trust.OWNER
    ) -> StoredMemory:
        """Keep this as the summary of somebody, in the place of the one before. Notes that the
        agent made of them stay.
        """
        draft = MemoryDraft(summary, "person", trust, SOURCE, (name, *also))
        notes = _called(name, await to_thread.run_sync(self.list))
        before = next((note for note in notes if note.source == SOURCE), None)
        if before is None:
            return await self._memories.remember(draft)
        if normal_text(before.text) != normal_text(summary):
            return await self._memories.supersede(before.id, draft)
        retagged = await to_thread.run_sync(self._memories.retag, before.id, draft)
        return StoredMemory(retagged, known=True)

    def remove(self, name: str) -> tuple[Memory, ...]:
        """Forget all notes on somebody for good, with the summaries that they had before."""
        quarantined = (note for note in self._memories.quarantine() if note.kind == "person")
        everything = (*self._memories.list(_ALL_NOTES), *quarantined)
        notes = {note.id: note for note in _called(name, everything)}
        if not notes:
            raise UsageError(f"nothing is known of {name!r}", hint="`mentis people list`")
        # Earlier summaries may go by other names: they are found by what took their place.
        while earlier := [n for n in everything if n.superseded_by in notes and n.id not in notes]:
            notes |= {note.id: note for note in earlier}
        return tuple(self._memories.forget(note) for note in notes)


def _called(name: str, notes: tuple[Memory, ...]) -> tuple[Memory, ...]:
    wanted = name.strip().casefold()
    return tuple(note for note in notes if wanted in (tag.casefold() for tag in note.tags))

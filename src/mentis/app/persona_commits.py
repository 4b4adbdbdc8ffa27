"""A persona that can be committed, compared and gone back to: its files, the blocks that are for it
alone, and, where they are asked for, its memories.

A commit is a revision, and an entry of the record names its digest. Going back first commits how
the persona stands, so that the way forward is a commit, too.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mentis.codec.forms import from_json, to_json
from mentis.codec.toml import read_text
from mentis.disk.atomic import write_atomic
from mentis.disk.lock import write_lock
from mentis.errors import PersonaError, StoreDamaged, UsageError
from mentis.home.parts import Parts
from mentis.home.system import SystemClock
from mentis.library.block_layer import BlockLayer, layer_of
from mentis.library.history import RevisionHistory
from mentis.library.load import load_persona
from mentis.library.readable import readable_block, unified_diff
from mentis.library.states import content
from mentis.memories.committed import commit_key, read_committed
from mentis.memories.memories import open_memories
from mentis.ports.blob_store import BlobStore
from mentis.prompts.personas import Personas
from mentis.prompts.prompts import Prompts
from mentis.stores.files.home import Home, find_home
from mentis.stores.memory.blobs import BlobsInMemory
from mentis.values.cognition import REVIEW, Revision, trust_of
from mentis.values.digest import digest
from mentis.values.entry import Draft
from mentis.values.persona_commit import PersonaCommit, PersonaRestore, PersonaSnapshot
from mentis.values.trust import Trust

_PERSONA = "persona.toml"
_LOCK_SECONDS = 5.0


class PersonaCommits:
    """Opened with `open_persona_commits(home, persona)`; use it as a context manager.

    ```python
    with open_persona_commits("my-home") as commits:
        first = commits.commit("as we began")
        print(commits.diff(first.number))
        commits.restore(first.number)
    ```
    """

    def __init__(self, place: Home, personas: Personas, persona: str, parts: Parts) -> None:
        self.persona = persona
        self._place = place
        self._personas = personas
        self._parts = parts
        self._blobs = personas.blobs
        self._history = RevisionHistory(personas.revisions, parts.clock or SystemClock())
        self._key = commit_key(persona)

    def log(self) -> tuple[PersonaCommit, ...]:
        """Every commit, the newest first."""
        return tuple(_commit(one) for one in reversed(self._history.of(self._key)))

    def commit(self, message: str, *, memories: bool = False) -> PersonaCommit:
        """Keep the persona as it stands; recorded before it is done. UsageError where nothing has
        changed since the newest commit.
        """
        if not message.strip():
            raise UsageError("say what the commit is: it is recorded", hint="give a message")
        with self._alone():
            made = self._commit(self._snapshot(self._blobs, memories=memories), message)
        if made is None:
            newest = self.log()[0]
            hint = f"commit {newest.number} is how it stands"
            raise UsageError(f"nothing of {self.persona} has changed", hint=hint)
        return made

    def diff(self, older: int | None = None, newer: int | None = None) -> str:
        """What changed from one commit to another; by default from the newest to how it stands."""
        known = self._history.of(self._key)
        if older is None and not known:
            raise UsageError(f"{self.persona} has no commit", hint="mentis persona commit -m WORDS")
        first = len(known) if older is None else older
        before = self._at(first)
        if newer is not None:
            old, new = _texts(before, self._blobs), _texts(self._at(newer), self._blobs)
            return _difference(old, new, (f"{first}", f"{newer}"))
        aside = BlobsInMemory()  # looking writes nothing
        after = self._snapshot(aside, memories=before.memories is not None)
        old, new = _texts(before, self._blobs), _texts(after, aside)
        return _difference(old, new, (f"{first}", "now"))

    def restore(self, number: int) -> PersonaRestore:
        """Make the persona what it was at a commit. How it stands is committed first, so that
        going back can be taken back; text that nobody vouches for stays so.
        """
        with self._alone():
            wanted = self._at(number)
            present = self._snapshot(self._blobs, memories=wanted.memories is not None)
            self._commit(present, f"before going back to {number}")
            before = len(self._history.of(self._key))
            told = {"what": "restore", "commit": number, "before": before}
            entry = self._personas.note(self.persona, Draft("persona", "owner", {"persona": told}))
            words = f"back to commit {number}, entry {entry}"
            changed = [*self._restore_files(wanted, present, words)]
            changed += self._restore_blocks(wanted, present, words)
            lost = self._restore_memories(wanted)
        return PersonaRestore(number, before, entry, tuple(changed), lost)

    def _commit(self, snapshot: PersonaSnapshot, message: str) -> PersonaCommit | None:
        text = to_json(snapshot).decode()
        known = self._history.of(self._key)
        if known and known[-1].content == text:
            return None
        told = {
            "what": "commit",
            "commit": len(known) + 1,
            "digest": digest(text.encode()),
            "message": message,
        }
        entry = self._personas.note(self.persona, Draft("persona", "owner", {"persona": told}))
        return _commit(self._history.append(self._key, text, f"entry {entry}: {message}"))

    def _at(self, number: int) -> PersonaSnapshot:
        known = self._history.of(self._key)
        if not 1 <= number <= len(known):
            hint = f"there are 1 to {len(known)}" if known else "mentis persona commit makes one"
            raise UsageError(f"{self.persona} has no commit {number}", hint=hint)
        revision = known[number - 1]
        told = self._personas.noted(self.persona, _commit(revision).entry)
        if told is not None and told.get("digest") != digest(revision.content.encode()):
            hint = "mentis verify looks through the record; go back to another commit"
            raise StoreDamaged(f"commit {number} is not what its entry says", hint=hint)
        return from_json(PersonaSnapshot, revision.content)

    def _snapshot(self, blobs: BlobStore, *, memories: bool) -> PersonaSnapshot:
        path = self._personas.path(self.persona)
        files = {_PERSONA: read_text(path, error=PersonaError)}
        trust: dict[str, Trust] = {}
        memory = self._personas.memory(self.persona)
        for one in memory.files():
            files[f"{one.name}.md"] = one.text
            trust[f"{one.name}.md"] = trust_of(memory.history(one.name))
        found = self._personas.picture(self.persona)
        kept = None
        if memories:
            with open_memories(self._place.path, self.persona, self._parts) as store:
                kept = store.committed(blobs)
        picture = "" if found is None else blobs.keep(found[0])
        return PersonaSnapshot(files, trust, self._blocks(), picture, kept)

    def _blocks(self) -> dict[str, str]:
        with Prompts.open(self._place.path, parts=self._parts) as prompts:
            loaded = prompts.loaded_library
        mine = [one.id for one in loaded.library.blocks if one.personas == (self.persona,)]
        layers = {one: layer_of(one, loaded.shipped, loaded.owner) for one in mine}
        return {one: content(layer) for one, layer in layers.items() if layer is not None}

    def _restore_files(
        self, wanted: PersonaSnapshot, present: PersonaSnapshot, words: str
    ) -> Generator[str]:
        path = self._personas.path(self.persona)
        memory = self._personas.memory(self.persona)
        for name, text in wanted.files.items():
            if present.files.get(name) == text:
                continue
            if name == _PERSONA:
                load_persona(text, str(path))
                write_atomic(path, text)
            else:
                outside = wanted.trust.get(name) is Trust.UNTRUSTED
                mark = REVIEW if outside else ""
                memory.write(name, text, words=f"{words}{mark}", force=True)
            yield name
        if wanted.picture and wanted.picture != present.picture:
            data = self._blobs.read(wanted.picture)
            if data is not None:
                self._personas.put_picture(self.persona, data)
                yield "picture"

    def _restore_blocks(
        self, wanted: PersonaSnapshot, present: PersonaSnapshot, words: str
    ) -> tuple[str, ...]:
        gone = dict.fromkeys(present.blocks.keys() - wanted.blocks.keys())
        layers: dict[str, BlockLayer | None] = {
            one: _layer(layer)
            for one, layer in wanted.blocks.items()
            if present.blocks.get(one) != layer
        }
        if changed := {**layers, **gone}:
            with Prompts.open(self._place.path, parts=self._parts) as prompts:
                prompts.editor.write(changed, words=words)
        return tuple(sorted(changed))

    def _restore_memories(self, wanted: PersonaSnapshot) -> tuple[str, ...]:
        if wanted.memories is None:
            return ()
        with open_memories(self._place.path, self.persona, self._parts) as store:
            return store.restore(self._blobs, wanted.memories)

    @contextmanager
    def _alone(self) -> Generator[None]:
        with write_lock(self._place.path / "personas" / ".lock", seconds=_LOCK_SECONDS):
            yield


@contextmanager
def open_persona_commits(
    home: str | Path, persona: str | None = None, *, parts: Parts | None = None
) -> Generator[PersonaCommits]:
    """The commits of one persona of a home."""
    parts = parts or Parts()
    with Personas.open(home, parts=parts) as personas:
        yield PersonaCommits(find_home(Path(home)), personas, personas.pick(persona), parts)


def _difference(
    old: Mapping[str, list[str]], new: Mapping[str, list[str]], names: tuple[str, str]
) -> str:
    found: list[str] = []
    for one in sorted({*old, *new}):
        labels = (f"{one}@{names[0]}", f"{one}@{names[1]}")
        found.append(unified_diff(old.get(one, []), new.get(one, []), labels))
    return "".join(found)


def _texts(snapshot: PersonaSnapshot, blobs: BlobStore) -> dict[str, list[str]]:
    """Everything as lines, by a name."""
    texts = {name: text.splitlines() for name, text in snapshot.files.items()}
    for block_id, layer in snapshot.blocks.items():
        read = _layer(layer)
        texts[f"block {block_id}"] = readable_block(read.meta, read.content)
    if snapshot.picture:
        texts["picture"] = [snapshot.picture]
    for memory_id, name in sorted((snapshot.memories or {}).items()):
        memory = read_committed(blobs, name)
        words = "(forgotten since)" if memory is None else memory.text
        texts[f"memory {memory_id}"] = words.splitlines()
    return texts


def _layer(text: str) -> BlockLayer:
    return from_json(BlockLayer, text)


def _commit(revision: Revision) -> PersonaCommit:
    snapshot = from_json(PersonaSnapshot, revision.content)
    entry, _, message = revision.words.partition(": ")
    return PersonaCommit(
        number=revision.number,
        time=revision.time,
        message=message,
        digest=revision.digest,
        entry=int(entry.removeprefix("entry ")),
        files=tuple(snapshot.files),
        blocks=tuple(snapshot.blocks),
        memories=None if snapshot.memories is None else len(snapshot.memories),
    )

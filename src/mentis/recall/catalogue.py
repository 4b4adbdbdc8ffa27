"""All that can be selected just now: what is there, with what a manifest knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mentis.values.selection import Capability, Manifest, ManifestEntry, ManifestHeader

from .manifest import GENERATOR, VERSION, WordReader, digest_of, read_both, texts_of

WORDS = "words"  # the model of a manifest without vectors


def as_known(there: Iterable[Capability], manifest: Manifest | None) -> tuple[Capability, ...]:
    """What is there, in the order of names; examples and stances are those of the manifest.

    A manifest speaks for what is described in the same words as when it was built. What it holds
    and nobody has any more is left out.
    """
    known = {} if manifest is None else {_key(one.capability): one for one in manifest.entries}
    found: dict[tuple[str, str], Capability] = {}
    for one in there:
        held = known.get(_key(one))
        same = held is not None and held.capability.description == one.description
        found[_key(one)] = held.capability if held is not None and same else one
    return tuple(found[key] for key in sorted(found))


def missing_vectors(
    capabilities: Sequence[Capability], manifest: Manifest | None, *, model: str, reading: str
) -> tuple[Capability, ...]:
    """Those that the manifest has no vectors of, or none that this embedder made."""
    held = set[str]() if manifest is None else {one.digest for one in manifest.entries}
    return tuple(
        one for one in capabilities if digest_of(one, model=model, reading=reading) not in held
    )


def words_manifest(capabilities: Sequence[Capability], reader: WordReader) -> Manifest:
    """A manifest to rank by words alone: it has no vectors, so that nothing can be mixed."""
    entries = tuple(
        ManifestEntry(one, "", 0, 0, tuple(read_both(text, reader) for text in texts_of(one)))
        for one in capabilities
    )
    header = ManifestHeader(
        version=VERSION,
        generator=GENERATOR,
        model=WORDS,
        reading=reader.name,
        dimension=0,
        normalised=True,
        rows=0,
        content="",
    )
    return Manifest(header, entries)


def _key(capability: Capability) -> tuple[str, str]:
    return capability.kind, capability.name

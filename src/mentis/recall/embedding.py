"""The one embedding: a text is made ready once, and everything is looked for with the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from mentis.errors import EngineFailed, MentisError
from mentis.ports.embedder import Embedder, remembers
from mentis.values.recalled import EmbeddedText
from mentis.values.trace import Degradation
from mentis.values.value import Value

from .manifest import WordReader, read_both

LONGEST = 8_000  # characters of a text that are looked at
_SECONDS = 5.0
_OFF = 1e-3  # by how much the length of a vector may differ from 1 before it is scaled
_LARGEST = 1e15  # the length of a vector that float32 can still be reckoned with


@dataclass(frozen=True, slots=True)
class Patience(Value):
    """How long an embedder may take for one call in all, and since when, by the event loop."""

    seconds: float
    since: float

    @classmethod
    def of(cls, seconds: float, *, spent: float = 0.0) -> Patience:
        """`spent` of it is gone already."""
        return cls(seconds, anyio.current_time() - spent)


async def embed_once(
    text: str, embedder: Embedder | None, *, reader: WordReader, seconds: float = _SECONDS
) -> EmbeddedText:
    """The text as it is compared. It asks the embedder at most once and never fails for it."""
    shown, cut = limit_text(text)
    if not shown.strip():
        return EmbeddedText(
            shown, degraded=(*cut, Degradation("task", "is empty: the base set alone"))
        )
    reading = read_both(shown, reader)
    if embedder is None:
        missing = Degradation("embedder", "there is none: compared by words alone")
        return EmbeddedText(shown, reading, degraded=(*cut, missing))
    try:
        hits = int(remembers(embedder, shown))
        (vector,) = await ask(embedder, [shown], Patience.of(seconds))
        model = embedder.fingerprint
    except MentisError as error:
        step = Degradation("embedder", f"{error.message}: compared by words alone")
        return EmbeddedText(shown, reading, calls=1, degraded=(*cut, step))
    return EmbeddedText(
        shown, reading, tuple(vector), model, calls=1, cache_hits=hits, degraded=cut
    )


async def ask(
    embedder: Embedder, texts: Sequence[str], patience: Patience | None = None
) -> list[list[float]]:
    """One vector of length 1 for each text, within the time; else EngineFailed, whatever it was.

    A text without any letters may have no direction. If none has one, the embedder is broken.
    """
    if patience is None:
        return await _looked_at(embedder, texts)
    with anyio.CancelScope(deadline=patience.since + patience.seconds):
        return await _looked_at(embedder, texts)
    raise EngineFailed(f"took more than {patience.seconds:g} s")


async def answer(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """What it gives, as it is; whatever it raises is an error of our tree."""
    try:
        return await embedder.embed(list(texts))
    except MentisError:
        raise
    # The boundary to an engine and its native code: what comes out of it can be anything.
    except Exception as error:
        raise EngineFailed(f"the embedder failed ({_reason(error)})") from error


async def _looked_at(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    try:
        vectors = await embedder.embed(list(texts))
    except Exception as error:  # the same boundary
        raise EngineFailed(f"failed ({_reason(error)})") from error
    try:
        return _fit(vectors, len(texts))
    except TypeError as error:
        raise EngineFailed("gave what is not a number") from error


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def limit_text(text: str) -> tuple[str, tuple[Degradation, ...]]:
    """As much of a text as is looked at, and a note when that is not all of it."""
    if len(text) <= LONGEST:
        return text, ()
    note = f"read up to {LONGEST} of {len(text)} characters"
    return text[:LONGEST], (Degradation("task", note),)


def _fit(vectors: Sequence[Sequence[float]], count: int) -> list[list[float]]:
    if len(vectors) != count:
        raise EngineFailed(f"gave {len(vectors)} vectors of {count} texts")
    lengths = [math.hypot(*vector) for vector in vectors]
    if not all(map(math.isfinite, lengths)):
        raise EngineFailed("gave what is not a number")
    if max(lengths, default=0.0) > _LARGEST:
        raise EngineFailed("gave numbers too large to be compared")
    if not any(lengths):
        raise EngineFailed("gave vectors without a direction")
    if len({len(vector) for vector in vectors}) > 1:
        raise EngineFailed("gave vectors of more than one dimension")
    return [_unit(vector, length) for vector, length in zip(vectors, lengths, strict=True)]


def _unit(vector: Sequence[float], length: float) -> list[float]:
    """Texts are compared by cosine, which holds for vectors of length 1."""
    if not length or abs(length - 1) <= _OFF:
        return [*vector]
    return [value / length for value in vector]

"""Finds memories to tidy up: duplicates, junk, secrets, quotes of memories, circles.

It looks and advises; it changes nothing. Its cost grows with the length of all texts together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from mentis.values.cognition import Memory
from mentis.values.memories import HygieneFinding
from mentis.values.words import quantity

from .circles import circles
from .secrets_found import secrets_in
from .words import words

# A memory of fewer words says nothing when it stands in another one.
_LEAST_WORDS, _WINDOW = 5, 12
_VARIETY = 0.2
_SHOWN = 10


def inspect(memories: Sequence[Memory]) -> tuple[HygieneFinding, ...]:
    """All findings, in a fixed order. What was superseded is not looked at, but for circles."""
    live = sorted((m for m in memories if not m.superseded_by), key=lambda m: (m.time, m.id))
    said = {memory.id: tuple(words(memory.text)) for memory in live}
    looks: tuple[Callable[[], Iterator[HygieneFinding]], ...] = (
        lambda: _secrets(live),
        lambda: _duplicates(live, said),
        lambda: _junk(live, said),
        lambda: _quotes(live, said),
        lambda: _circles(memories),
    )
    return tuple(finding for look in looks for finding in look())


def _secrets(memories: Sequence[Memory]) -> Iterator[HygieneFinding]:
    for memory in memories:
        if found := secrets_in(memory.text):
            what = f"it seems to hold {', '.join(found)}"
            yield HygieneFinding("secret", (memory.id,), what, f"mentis memory forget {memory.id}")


def _duplicates(
    memories: Sequence[Memory], said: dict[str, tuple[str, ...]]
) -> Iterator[HygieneFinding]:
    """The same words, in whatever order; the oldest is the one to keep."""
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for memory in memories:
        if said[memory.id]:
            groups[tuple(sorted(said[memory.id]))].append(memory.id)
    for group in groups.values():
        if len(group) > 1:
            keep, *others = group
            yield HygieneFinding(
                "duplicate",
                tuple(group),
                f"{quantity(len(group), 'memory', 'memories')} of the same words",
                f"keep {keep}: mentis memory supersede {others[0]} --by {keep}",
            )


def _junk(memories: Sequence[Memory], said: dict[str, tuple[str, ...]]) -> Iterator[HygieneFinding]:
    for memory in memories:
        if reason := _why_junk(memory.text, said[memory.id]):
            yield HygieneFinding("junk", (memory.id,), reason, f"mentis memory forget {memory.id}")


def _why_junk(text: str, said: tuple[str, ...]) -> str:
    if not said:
        return "it holds no word"
    if len(text.strip()) < 4:
        return "it is too short to mean anything"
    if len(said) >= 10 and len(set(said)) / len(said) < _VARIETY:
        return "it says the same words again and again"
    if max(map(len, said)) > 200:
        return "it holds a run of characters that is no word"
    return ""


def _quotes(
    memories: Sequence[Memory], said: dict[str, tuple[str, ...]]
) -> Iterator[HygieneFinding]:
    """Of two that share a long run of words, the younger quotes the older: a loop of recall."""
    first: dict[tuple[str, ...], str] = {}
    for memory in memories:
        own = said[memory.id]
        quoted: dict[str, None] = {}
        for length in range(_LEAST_WORDS, _WINDOW + 1):
            for start in range(len(own) - length + 1):
                holder = first.get(own[start : start + length])
                if holder is not None and sorted(said[holder]) != sorted(own):
                    quoted[holder] = None
        if quoted:
            named = tuple(quoted)[:_SHOWN]
            yield HygieneFinding(
                "quote",
                (memory.id, *named),
                f"it quotes {quantity(len(quoted), 'memory', 'memories')}",
                f"mentis memory forget {memory.id}, or supersede what it sums up",
            )
        for run in _own_runs(own):
            first.setdefault(run, memory.id)


def _circles(memories: Sequence[Memory]) -> Iterator[HygieneFinding]:
    """None of them is found any more, though nothing that is current took their place."""
    later = {memory.id: memory.superseded_by for memory in memories if memory.superseded_by}
    for circle in circles(later):
        yield HygieneFinding(
            "circle",
            circle,
            "they supersede each other, so none is found" if circle[1:] else "it supersedes itself",
            f"mentis memory supersede {circle[0]} TEXT",
        )


def _own_runs(own: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A short memory whole, a long one in windows: what another one would repeat."""
    if _LEAST_WORDS <= len(own) < _WINDOW:
        yield own
    for start in range(len(own) - _WINDOW + 1):
        yield own[start : start + _WINDOW]

"""Memories that supersede each other in a circle: none of them is current, so none is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mentis.values.cognition import Memory


def circles(later: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Every circle among ids and what supersedes them, from its first id on, in a fixed order."""
    done: set[str] = set()
    found: list[tuple[str, ...]] = []
    for start in sorted(later):
        path: dict[str, None] = {}
        step: str | None = start
        while step and step not in path and step not in done:
            path[step] = None
            step = later.get(step)
        if step in path:
            found.append(_from_first(_behind(path, step)))
        done.update(path)
    return tuple(sorted(found))


def circle_in(chain: Mapping[str, Memory]) -> tuple[str, ...]:
    """The ids of the circle that a chain of successors ends in; empty where it ends with one."""
    if not chain:
        return ()
    back = chain[next(reversed(tuple(chain)))].superseded_by
    return _from_first(_behind(chain, back)) if back in chain else ()


def _behind(path: Iterable[str], first: str) -> list[str]:
    ids = list(path)
    return ids[ids.index(first) :]


def _from_first(ids: Sequence[str]) -> tuple[str, ...]:
    at = ids.index(min(ids))
    return (*ids[at:], *ids[:at])

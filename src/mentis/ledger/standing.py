"""How far a ledger reaches, and whether that is what its last checkpoint saw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import islice
from typing import NoReturn

from mentis.errors import BadCheckpoint, RolledBack
from mentis.values.checkpoint import Checkpoint, Standing

from .checkpoint import read_note
from .merkle import Tree

HashesFrom = Callable[[int], Iterable[str]]


def tree_at(standing: Standing) -> Tree:
    return Tree(standing.size, map(bytes.fromhex, standing.peaks))


def root_of(standing: Standing) -> str:
    return tree_at(standing).root.hex()


def stand(hashes_from: HashesFrom, since: Standing | None = None) -> Standing:
    """Where the ledger stands, going on from where it stood; only new hashes are read."""
    return check_start("", hashes_from, None, since=since)


def stood_at(hashes: Iterable[str], sizes: Collection[int]) -> dict[int, Standing]:
    """Where the ledger stood at these sizes, those that it has; all from its first hash on."""
    tree, found = Tree(), {0: Standing()}
    for entry_hash in islice(hashes, max(sizes, default=0)):
        tree.add(entry_hash)
        if tree.size in sizes:
            peaks = tuple(peak.hex() for peak in tree.peaks)
            found[tree.size] = Standing(tree.size, entry_hash, peaks)
    return found


def check_start(
    agent: str,
    hashes_from: HashesFrom,
    last: Checkpoint | None,
    *,
    since: Standing | None = None,
    who: str = "the last checkpoint",
) -> Standing:
    """Where the ledger stands, or RolledBack if that is not what `last` saw.

    `since` saves reading everything again: what stood there was compared when it was kept.
    """
    since = since or Standing()
    tree, head = tree_at(since), since.head
    hashes = iter(hashes_from(max(since.size - 1, 0)))
    if since.size and next(hashes, None) != since.head:
        raise _refusal(agent, f"entry {since.size - 1} is not what it was when it was last read")
    for entry_hash in hashes:
        tree.add(entry_hash)
        head = entry_hash
        if last is not None and tree.size == last.size and tree.root.hex() != last.root:
            reason = f"the first {last.size} entries are not those {who} saw"
            raise _refusal(agent, reason, size=last.size)
    if last is not None and tree.size < last.size:
        refuse_missing(agent, tree.size, last.size, who)
    return Standing(tree.size, head, tuple(peak.hex() for peak in tree.peaks))


def refuse_missing(agent: str, here: int, seen: int, who: str) -> NoReturn:
    raise _refusal(agent, f"it has {here} entries, and {who} saw {seen}", size=seen)


def refuse_gaps(agent: str, gaps: Collection[tuple[int, int]]) -> None:
    """RolledBack when entries are missing between others."""
    if gaps:
        first, last = min(gaps)
        more = f" (and {len(gaps) - 1} more such gaps)" if len(gaps) > 1 else ""
        raise _refusal(agent, f"entries {first} to {last} are missing between others{more}")


def newest(notes: Iterable[str], log: str) -> Checkpoint | None:
    """The longest checkpoint of this log among those kept; unreadable ones are for `verify`."""
    found: Checkpoint | None = None
    for note in notes:
        try:
            says = read_note(note).checkpoint
        except BadCheckpoint:
            continue
        if says.origin == log and (found is None or says.size > found.size):
            found = says
    return found


def foreign_log(notes: Iterable[str], log: str) -> str:
    """The log that these checkpoints are of, when none is of this one; empty otherwise."""
    origins: list[str] = []
    for note in notes:
        with suppress(BadCheckpoint):  # for `verify`
            origins.append(read_note(note).checkpoint.origin)
    return "" if log in origins else next(iter(origins), "")


def _refusal(agent: str, reason: str, *, size: int | None = None) -> RolledBack:
    return RolledBack(
        f"the ledger of `{agent}` was rolled back or replaced: {reason}",
        hint="restore it, or go on with `mentis ledger accept-rollback`, which is recorded",
        agent=agent,
        reason=reason,
        size=size,
    )

"""The Merkle tree over entry hashes, in the form of RFC 6962.

A leaf is the SHA-256 of 0x00 and the 32 bytes of an entry hash, a node that of 0x01 and its two
children. Proofs are made in one pass over the leaves, with memory for one path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from mentis.errors import Defect

EMPTY = hashlib.sha256().digest()
Hashes = tuple[bytes, ...]


def leaf_of(entry_hash: str) -> bytes:
    return hashlib.sha256(b"\0" + bytes.fromhex(entry_hash)).digest()


def node_of(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


class Tree:
    """A growing tree: its size and the roots of its whole subtrees, largest first."""

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self.size = size
        self._peaks = list(peaks)
        if len(self._peaks) != size.bit_count():
            raise Defect(f"a tree of {size} leaves has no {len(self._peaks)} peaks")

    @property
    def peaks(self) -> Hashes:
        return tuple(self._peaks)

    @property
    def root(self) -> bytes:
        if not self._peaks:
            return EMPTY
        root = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            root = node_of(peak, root)
        return root

    def add(self, entry_hash: str) -> None:
        self.add_leaf(leaf_of(entry_hash))

    def add_leaf(self, leaf: bytes) -> None:
        size = self.size
        while size & 1:
            leaf = node_of(self._peaks.pop(), leaf)
            size >>= 1
        self._peaks.append(leaf)
        self.size += 1


def tree_of(entry_hashes: Iterable[str]) -> Tree:
    tree = Tree()
    for entry_hash in entry_hashes:
        tree.add(entry_hash)
    return tree


def prove_inclusion(entry_hashes: Iterable[str], index: int, size: int) -> Hashes:
    """The path from leaf `index` up to the root of the first `size` entries."""
    if not 0 <= index < size:
        raise Defect(f"there is no leaf {index} in a tree of {size}")
    return tuple(_path(map(leaf_of, entry_hashes), index, size))


def prove_consistency(entry_hashes: Iterable[str], old: int, size: int) -> Hashes:
    """That the tree of `size` entries begins with the tree of `old` entries."""
    if not 0 <= old <= size:
        raise Defect(f"a tree of {size} cannot begin with one of {old}")
    if old in (0, size):
        return ()
    return tuple(_subproof(map(leaf_of, entry_hashes), old, size, whole=True))


def verify_inclusion(
    entry_hash: str, index: int, *, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether the entry is number `index` of the tree with this size and root (RFC 9162, 2.1.3)."""
    if not 0 <= index < size:
        return False
    first, last, found = index, size - 1, leaf_of(entry_hash)
    for sibling in proof:
        if last == 0:
            return False
        if first & 1 or first == last:
            found = node_of(sibling, found)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            found = node_of(found, sibling)
        first, last = first >> 1, last >> 1
    return last == 0 and found == root


def verify_consistency(
    old: tuple[int, bytes], new: tuple[int, bytes], proof: Sequence[bytes]
) -> bool:
    """Whether the tree `new` (size, root) begins with the tree `old` (RFC 9162, 2.1.4)."""
    (old_size, old_root), (size, root) = old, new
    if old_size in (0, size):
        return not proof and old_root == (root if old_size else EMPTY)
    if not 0 < old_size < size:
        return False
    path = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    return bool(path) and _climb(path, old_size, size) == (old_root, root)


def _climb(path: list[bytes], old_size: int, size: int) -> tuple[bytes, bytes] | None:
    first, last = old_size - 1, size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    old_found = found = path[0]
    for sibling in path[1:]:
        if last == 0:
            return None
        if first & 1 or first == last:
            old_found, found = node_of(sibling, old_found), node_of(sibling, found)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            found = node_of(found, sibling)
        first, last = first >> 1, last >> 1
    return (old_found, found) if last == 0 else None


def _path(leaves: Iterator[bytes], index: int, size: int) -> list[bytes]:
    if size == 1:
        _root(leaves, 1)
        return []
    left = _left(size)
    if index < left:
        inner = _path(leaves, index, left)
        return [*inner, _root(leaves, size - left)]
    outer = _root(leaves, left)
    return [*_path(leaves, index - left, size - left), outer]


def _subproof(leaves: Iterator[bytes], old: int, size: int, *, whole: bool) -> list[bytes]:
    if old == size:
        root = _root(leaves, size)
        return [] if whole else [root]
    left = _left(size)
    if old <= left:
        inner = _subproof(leaves, old, left, whole=whole)
        return [*inner, _root(leaves, size - left)]
    outer = _root(leaves, left)
    return [*_subproof(leaves, old - left, size - left, whole=False), outer]


def _root(leaves: Iterator[bytes], count: int) -> bytes:
    """The root over the next `count` leaves, which are used up."""
    tree = Tree()
    for leaf in islice(leaves, count):
        tree.add_leaf(leaf)
    if tree.size != count:
        raise Defect(f"{count} leaves were promised, {tree.size} came")
    return tree.root


def _left(size: int) -> int:
    """The largest power of two below `size`: how much the left subtree holds."""
    return 1 << ((size - 1).bit_length() - 1)

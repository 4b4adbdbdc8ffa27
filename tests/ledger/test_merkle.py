"""The Merkle tree, against RFC 6962 read literally."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import Defect
from mentis.ledger.merkle import (
    EMPTY,
    Tree,
    leaf_of,
    prove_consistency,
    prove_inclusion,
    tree_of,
    verify_consistency,
    verify_inclusion,
)

SIZES = st.integers(1, 40)


def hashes(count: int) -> list[str]:
    return [hashlib.sha256(str(n).encode()).hexdigest() for n in range(count)]


def naive_root(entries: list[str]) -> bytes:
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + bytes.fromhex(entries[0])).digest()
    k = 1
    while k * 2 < len(entries):
        k *= 2
    parts = naive_root(entries[:k]) + naive_root(entries[k:])
    return hashlib.sha256(b"\x01" + parts).digest()


def test_the_empty_tree_has_the_root_of_the_rfc() -> None:
    assert (
        Tree().root
        == EMPTY
        == bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    )


@given(st.integers(0, 70))
def test_the_growing_tree_has_the_root_of_the_definition_at_every_size(size: int) -> None:
    assert tree_of(hashes(size)).root == naive_root(hashes(size))


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_tree_goes_on_from_its_peaks(first: int, more: int) -> None:
    names = hashes(first + more)
    kept = tree_of(names[:first])
    again = Tree(kept.size, kept.peaks)
    for name in names[first:]:
        again.add(name)
    assert (again.size, again.root) == (first + more, naive_root(names))


def test_peaks_that_do_not_fit_the_size_are_a_defect() -> None:
    with pytest.raises(Defect, match="3 leaves"):
        Tree(3, [EMPTY])


@given(SIZES, st.data())
def test_every_entry_is_proved_to_be_in_the_tree_and_no_other(
    size: int, data: st.DataObject
) -> None:
    names = hashes(size)
    index = data.draw(st.integers(0, size - 1))
    root = naive_root(names)
    proof = prove_inclusion(names, index, size)
    assert verify_inclusion(names[index], index, size=size, root=root, proof=proof)

    other = data.draw(st.integers(-1, size))
    if other != index:
        assert not verify_inclusion(names[index], other, size=size, root=root, proof=proof)
    assert not verify_inclusion("00" * 32, index, size=size, root=root, proof=proof)
    assert not verify_inclusion(names[index], index, size=size, root=EMPTY, proof=proof)
    assert not verify_inclusion(names[index], index, size=size, root=root, proof=(*proof, root))
    for at in range(len(proof)):
        bent = (*proof[:at], EMPTY, *proof[at + 1 :])
        assert not verify_inclusion(names[index], index, size=size, root=root, proof=bent)
        cut = (*proof[:at], *proof[at + 1 :])
        assert not verify_inclusion(names[index], index, size=size, root=root, proof=cut)


@given(SIZES, st.data())
def test_every_tree_is_proved_to_begin_with_each_smaller_one_and_no_other(
    size: int, data: st.DataObject
) -> None:
    names = hashes(size)
    old = data.draw(st.integers(1, size))
    before, after = (old, naive_root(names[:old])), (size, naive_root(names))
    proof = prove_consistency(names, old, size)
    assert verify_consistency(before, after, proof)

    forged = naive_root(["00" * 32, *names[1:old]])
    assert not verify_consistency((old, forged), after, proof)
    assert not verify_consistency(before, (size, forged), proof)
    assert not verify_consistency(before, after, (*proof, EMPTY))
    for at in range(len(proof)):
        assert not verify_consistency(before, after, (*proof[:at], EMPTY, *proof[at + 1 :]))
        assert not verify_consistency(before, after, proof[:at])


def test_every_tree_begins_with_the_empty_one() -> None:
    assert prove_consistency(hashes(3), 0, 3) == ()
    assert verify_consistency((0, EMPTY), (3, naive_root(hashes(3))), ())
    assert not verify_consistency((0, naive_root(hashes(3))), (3, naive_root(hashes(3))), ())


def test_a_larger_tree_is_never_the_beginning_of_a_smaller_one() -> None:
    assert not verify_consistency((5, EMPTY), (4, EMPTY), ())
    with pytest.raises(Defect, match="cannot begin"):
        prove_consistency(hashes(4), 5, 4)
    with pytest.raises(Defect, match="no leaf 4"):
        prove_inclusion(hashes(4), 4, 4)
    with pytest.raises(Defect, match="promised"):
        prove_inclusion(hashes(3), 0, 4)


def test_a_leaf_and_a_node_never_have_the_same_preimage() -> None:
    left, right = hashes(2)
    assert leaf_of(left) != tree_of([left, right]).root

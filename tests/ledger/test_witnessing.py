"""What a witness takes and what it refuses, and how a request is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.errors import BadCheckpoint
from mentis.ledger import keeping
from mentis.ledger.checkpoint import read_note
from mentis.ledger.witnessing import (
    MOST_HASHES,
    WitnessRequest,
    read_request,
    refuse_request,
    write_request,
)
from mentis.ports.signer import SeededSigner

from .conftest import Ledger


def filled(count: int) -> Ledger:
    ledger = Ledger()
    ledger.fill(count)
    return ledger


def asked(ledger: Ledger, old: int, size: int) -> WitnessRequest:
    proof = keeping.growth_to(ledger.keeping, size)(old)
    return read_request(write_request(old, proof, ledger.note(size)))


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_a_ledger_that_only_grows_is_always_taken(sizes: list[int]) -> None:
    ledger, known = filled(40), None
    keys = [ledger.signer.public]
    for size in sorted(sizes):
        request = asked(ledger, known.checkpoint.size if known else 0, size)
        assert refuse_request(request, keys, known) is None
        known = request.note


@given(cut=st.integers(1, 11), size=st.integers(2, 12))
def test_a_ledger_that_was_rewritten_or_cut_is_never_taken(cut: int, size: int) -> None:
    ledger, other = filled(12), Ledger(signer=SeededSigner())
    other.fill(cut - 1)
    other.store.append(other.agent, [_different()], other.stamp)
    other.fill(12)
    keys, known = [ledger.signer.public], read_note(ledger.note(cut))
    refused = refuse_request(asked(other, min(cut, size), size), keys, known)
    assert refused is not None
    assert refused.status in (409, 422)


def _different():  # noqa: ANN202  # a draft
    from mentis.values.entry import Draft

    return Draft("note", "test", {"text": "something else"}, delivery="other")


def test_each_refusal_is_the_one_that_the_protocol_names() -> None:
    ledger = filled(5)
    keys, known = [ledger.signer.public], read_note(ledger.note(3))
    good = asked(ledger, 3, 5)

    def status(request: WitnessRequest) -> tuple[int, int | None]:
        refused = refuse_request(request, keys, known)
        assert refused is not None
        return refused.status, refused.size

    assert refuse_request(good, keys, known) is None
    assert refuse_request(good, [SeededSigner(b"\7" * 32).public], known).status == 403  # type: ignore[union-attr]
    assert status(WitnessRequest(6, (), good.note)) == (400, None)
    assert status(asked(ledger, 0, 5)) == (409, 3)
    assert status(asked(ledger, 2, 5)) == (409, 3)
    assert status(WitnessRequest(3, good.proof[:-1], good.note)) == (422, None)
    assert status(WitnessRequest(3, (b"\0" * 32,), read_note(ledger.note(3)))) == (422, None)
    first = refuse_request(WitnessRequest(0, good.proof, good.note), keys, None)
    assert first is not None
    assert first.status == 422
    assert refuse_request(asked(ledger, 3, 3), keys, known) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 1",
        b"old 01\n\nnote",
        b"old -1\n\nnote",
        b"new 1\n\nnote",
        b"old 1\nnot base64\n\nnote",
        b"old 1\nQUJD\n\nnote",
        b"old 1\n" + b"PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n" * (MOST_HASHES + 1) + b"\nn",
        b"old 1\n\nnote",
        b"\xff\n\nnote",
        b"old 1\r\n\r\nnote",
    ],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(BadCheckpoint):
        read_request(body)

"""What a document says, for models that take none."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pdf_files import pdf

from mentis.codec.document_text import (
    contained_text,
    cut_note,
    unread_reason,
    with_document_text,
)
from mentis.values.part import MediaPart

WHOLE = pdf("The tide turns at noon.", "The boat is blue.")


def read(data: bytes, most: int = 1000) -> MediaPart:
    return with_document_text(MediaPart("document", "application/pdf", data=data), most)


def test_the_words_of_all_pages_are_read() -> None:
    part = read(WHOLE)
    assert contained_text(part) == "The tide turns at noon.\n\nThe boat is blue."
    assert (unread_reason(part), cut_note(part), part.metadata["pages"]) == ("", "", 2)
    assert with_document_text(part) is part


def test_what_is_longer_than_the_limit_is_cut_and_says_so() -> None:
    part = read(WHOLE, 30)
    assert part.extracted == "The tide turns at noon.\n\nThe boa …"
    assert cut_note(part) == "the first 30 characters, up to page 2 of 2"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.7 nothing", "ended unexpectedly"),
        (pdf("", ""), "no words in it"),
    ],
)
def test_what_cannot_be_read_has_a_reason_and_no_words(data: bytes, reason: str) -> None:
    part = read(data)
    assert contained_text(part) is None
    assert reason in unread_reason(part)


def test_without_the_reader_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    assert "mentis[documents]" in unread_reason(read(WHOLE))


def test_only_what_is_a_pdf_and_has_no_words_yet_is_read() -> None:
    given_words = MediaPart("document", "application/pdf", data=WHOLE, extracted="Mine.")
    picture = MediaPart("image", "image/png", data=b"\x89PNG")
    elsewhere = MediaPart("document", "application/pdf", url="https://example.org/a.pdf")
    for part in (given_words, picture, elsewhere):
        assert with_document_text(part) is part
    note = MediaPart("document", "text/plain", data=b"A note.")
    assert contained_text(note) == "A note."
    assert contained_text(replace(note, data=b"\xff")) is None


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_broken_bytes_are_read_or_refused_and_never_more(data: st.DataObject) -> None:
    place = data.draw(st.integers(9, len(WHOLE) - 1))
    broken = WHOLE[:place] + data.draw(st.binary(max_size=20)) + WHOLE[place + 5 :]
    part = read(broken)
    assert bool(part.extracted) != bool(unread_reason(part))

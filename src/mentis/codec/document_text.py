"""Text of documents, for models that take none: what is text already, and what a PDF says.

A PDF is read by `pypdf` (the extra `documents`), up to a limit. What could not be read, and what
was cut off, is said in the metadata of the part, so that whoever leaves it out can name it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mentis.values.part import MediaPart

if TYPE_CHECKING:
    from pypdf import PdfReader

PDF = "application/pdf"
MOST_CHARACTERS = 100_000
UNREAD, CUT, EXTRACTOR = "unread", "cut", "extractor"  # in the metadata of a part
_MISSING = "pypdf is not installed: pip install 'mentis[documents]'"
_LONGEST_REASON = 200


def contained_text(part: MediaPart) -> str | None:
    """What can be told of a document in words; None where nothing can."""
    if part.kind != "document":
        return None
    if part.extracted:
        return part.extracted
    if part.data is None or not part.mime.startswith(("text/", "application/json")):
        return None
    try:
        return part.data.decode()
    except UnicodeDecodeError:
        return None


def with_document_text(part: MediaPart, most: int = MOST_CHARACTERS) -> MediaPart:
    """A PDF with its words, the first `most` characters of them; everything else as it is.

    It blocks for as long as it takes to read so many pages.
    """
    if part.mime != PDF or part.data is None or part.extracted or UNREAD in part.metadata:
        return part
    text, facts = _pdf_text(part.data, most)
    return replace(part, extracted=text, metadata={**part.metadata, **facts})


def unread_reason(part: MediaPart) -> str:
    """Why nothing of a document can be told in words; empty where nobody tried."""
    return str(part.metadata.get(UNREAD, ""))


def cut_note(part: MediaPart) -> str:
    """How much of a document its words are; empty where they are all of it."""
    return str(part.metadata.get(CUT, "")) if part.extracted else ""


def _pdf_text(data: bytes, most: int) -> tuple[str, dict[str, object]]:
    """The words, and what is known of them."""
    import logging

    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError:
        return "", {UNREAD: _MISSING}
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # else it writes to the terminal
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return "", {UNREAD: "it is locked with a password"}
        return _told(reader, most)
    # Bytes from anywhere: besides its own errors it raises what a broken tree of objects leads to.
    except (
        PyPdfError,
        DependencyError,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return "", {UNREAD: reason[:_LONGEST_REASON]}


def _told(reader: PdfReader, most: int) -> tuple[str, dict[str, object]]:
    pages, told, length = len(reader.pages), list[str](), 0
    facts: dict[str, object] = {"pages": pages, EXTRACTOR: "pypdf"}
    for number, text in enumerate(_pages(reader), start=1):
        room = most - length
        if len(text) > room:
            told.append(f"{text[:room].rstrip()} …")
            facts[CUT] = f"the first {most} characters, up to page {number} of {pages}"
            break
        told.append(text)
        length += len(text)
    words = "\n\n".join(text for text in told if text)
    if not words:
        return "", {**facts, UNREAD: "there are no words in it, only pictures"}
    return words, facts


def _pages(reader: PdfReader) -> Iterator[str]:
    """Half a character, which a broken font may give, is told as a mark of a missing one."""
    for page in reader.pages:
        text = page.extract_text().strip()
        yield text.encode("utf-8", "replace").decode()

"""A draft that waits although it was added directly: its file says first where it came from.

`NAME.from.json` holds one line with the source, then the draft as it was given. Who writes plain
drafts into the spool writes `NAME.json`, which says nothing of a source.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from mentis.codec.strict_json import read_strict_object
from mentis.errors import BadInput, NotCanonical

from .folder import FROM

MOST_SOURCE = 200
# Each character of a source may take 12 bytes as JSON.
MOST_HEADING = 12 * MOST_SOURCE + 32


@dataclass(frozen=True, slots=True)
class SpooledDraft:
    draft: bytes
    source: str | None = None  # where it says nothing, it came as a file


def checked_source(source: str) -> str:
    if source.strip() and len(source) <= MOST_SOURCE and "\0" not in source:
        return source
    raise BadInput(
        "the source of a window is empty, too long, or holds a null character",
        hint=f"say in 1 to {MOST_SOURCE} characters where it comes from",
    )


def write_spooled(spooled: SpooledDraft) -> bytes:
    if spooled.source is None:
        return spooled.draft
    return json.dumps({"source": spooled.source}).encode() + b"\n" + spooled.draft


def read_spooled(name: str, content: bytes) -> SpooledDraft:
    """What a file of the spool holds. BadInput when it should tell its source and does not."""
    if not name.endswith(FROM):
        return SpooledDraft(content)
    heading, _, draft = content.partition(b"\n")
    try:
        told = read_strict_object(heading, max_bytes=MOST_HEADING)
    except NotCanonical as refusal:
        raise _unsaid(name, refusal.message) from refusal
    source = told.get("source")
    if told.keys() != {"source"} or not isinstance(source, str):
        raise _unsaid(name, "it says something else")
    return SpooledDraft(draft, checked_source(source))


def _unsaid(name: str, reason: str) -> BadInput:
    return BadInput(
        f"the first line of {name} does not say where the draft came from: {reason}",
        hint='the line is {"source": "..."}; a plain draft is a file NAME.json',
        file=name,
    )

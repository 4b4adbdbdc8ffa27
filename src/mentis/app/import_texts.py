"""Texts of other programs as memory files, memories and blocks of a persona."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from mentis.library.changes import create_layer
from mentis.values.cognition import Memory
from mentis.values.digest import digest
from mentis.values.memory_kind import MemoryKind
from mentis.values.trust import Trust

from .import_plan import ArrivalDraft, ArrivalLimits

# Two braces around a word are a placeholder here; with spaces between they are only text.
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)


def add_memory_file(
    draft: ArrivalDraft, part: str, name: str, text: str, *, persona: str, limits: ArrivalLimits
) -> None:
    """A file that the persona keeps about itself; a longer one becomes a block or memories, so that
    nothing is cut off.
    """
    if not text.strip():
        draft.lose(part, "it is empty")
    elif len(text) <= limits.file_chars and name not in draft.memory_files:
        draft.memory_files[name] = text
        note = f"mentis persona review {name} --accept vouches for it"
        draft.add(part, f"{name}.md of the persona", trust="untrusted", note=note)
    elif name == "memory":
        add_memories(draft, part, text, limits=limits)
    else:
        draft.lose(part, f"too long for {name}.md, so it is a block that is always told")
        add_instructions(draft, part, text, block_id=f"{persona}-{name}", persona=persona)


def add_memories(
    draft: ArrivalDraft,
    part: str,
    text: str,
    *,
    limits: ArrivalLimits,
    kind: MemoryKind = "fact",
    time: str = "",
) -> None:
    """One memory for each section of a text."""
    pieces = list(_pieces(text, limits.memory_chars))
    name = digest(f"{part}\0{text}".encode()).removeprefix("sha256:")[:16]
    draft.memories += [
        Memory(f"import-{name}-{number}", piece, kind, source=part[:200], time=time)
        for number, piece in enumerate(pieces, 1)
    ]
    note = "screened; mentis memory list shows them"
    draft.add(f"{part} ({len(pieces)})", "memories", trust="untrusted", note=note)


def add_instructions(
    draft: ArrivalDraft, part: str, text: str, *, block_id: str, persona: str
) -> None:
    """A block that is always told, to this persona or to all."""
    if not text.strip():
        draft.lose(part, "it is empty")
        return
    told, count = _PLACEHOLDER.subn(r"{{ \1 }}", text.strip())
    if count:
        draft.lose(f"{count} words in double braces in {part}", "told as they are, not filled in")
    draft.blocks[block_id] = create_layer(
        block_id,
        {
            "name": part,
            "description": f"{part}, as it was imported.",
            "category": "context",
            "order": 645,
            "trust": Trust.REFERENCE.value,
            "tags": ["imported"],
            **({"personas": [persona]} if persona else {}),
        },
        {"default": told},
    )
    draft.add(part, f"block {block_id}", note="told beside the prompts there are")


def _pieces(text: str, most: int) -> Iterator[str]:
    """Sections with something in them; one that is too long in paragraphs, then in pieces."""
    starts = [0, *(match.start() for match in _HEADING.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        section = text[start:end].strip()
        if not any(line.strip() and not _HEADING.match(line) for line in section.splitlines()):
            continue
        if len(section) <= most:
            yield section
            continue
        for paragraph in re.split(r"\n\s*\n", section):
            yield from (paragraph[at : at + most] for at in range(0, len(paragraph), most))

"""Blame of a prompt as JSON: the same for every surface."""

from __future__ import annotations

from mentis.values.blame import PromptSection, TurnBlame
from mentis.values.stability import Stability, least_stable

from .cost_data import explanation_data, usd_data
from .pieces import LAYOUT


def blame_data(found: TurnBlame, *, most: int, whole: int | None = None) -> dict[str, object]:
    """With about `most` characters of text in all; of the section `whole` all of it, and of no
    other any. `left` of a section are the characters that are not told.
    """
    left, sections = most, list[dict[str, object]]()
    for number, section in enumerate(found.sections):
        room = len(section.text) if number == whole else max(0, min(left, most // 8))
        room = 0 if whole not in (None, number) else room
        told = section_data(section, room)
        left -= len(section.text) - int(str(told["left"]))
        sections.append({"number": number, **told})
    return {
        **explanation_data(found.explanation),
        "wire": found.wire,
        "bytes": None if found.body is None else len(found.body),
        "sections": sections,
    }


def section_data(section: PromptSection, room: int) -> dict[str, object]:
    """A section with its first runs, as far as they have room."""
    piece, runs, used = section.piece, list[dict[str, object]](), 0
    for run in section.runs:
        if used >= room:
            break
        text = run.text[: room - used]
        used += len(text)
        runs.append(
            {
                "text": text,
                "source": run.source,
                "trust": run.trust,
                "stability": run.stability,
                "placeholder": run.placeholder,
                "reason": run.reason,
                "pointer": run.pointer,
            }
        )
    stabilities = [Stability(run.stability) for run in section.runs if run.stability]
    sources = [run.source for run in section.runs]
    return {
        "name": piece.name,
        "pointer": piece.pointer,
        "trust": piece.trust.value,
        "stability": least_stable(stabilities).value if stabilities else "",
        "writers": list(dict.fromkeys(source for source in sources if source not in ("", LAYOUT))),
        "tokens": piece.tokens,
        "cached": piece.cached,
        "written": piece.written,
        "usd": usd_data(piece.usd),
        "screening": piece.screening,
        "reason": section.reason,
        "variant": section.variant,
        "runs": runs,
        "left": len(section.text) - used,
    }

"""More of a sense of which only a brief was told: asked for like an act, answered by a sense.

The payload is at hand in the tick that asks, so nothing has to be kept for it. As long as the agent
reads on, the sense itself comes again with the part it asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mentis.compose.input_ir import brief_of, line, short
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.tick import ActDraft, Catalogue, Descriptor, DroppedElement

from .run import TickRun

PART = "sense.part"  # the kind of a sense that is a part of another
MOST_PARTS = 4  # in one tick
_PART_BYTES = 1600


def with_expansion(
    known: Catalogue, senses: Sequence[Sense], expand: Descriptor | None
) -> Catalogue:
    """The catalogue, with the tool for it where there is something to expand."""
    if expand is None or all(brief_of(sense.payload) is None for sense in senses):
        return known
    entries = [entry for entry in known.entries if entry.key != expand.key]
    ordered = sorted([*entries, expand], key=lambda entry: entry.key)
    return replace(known, entries=tuple(ordered))


def expand_senses(run: TickRun, acts: tuple[ActDraft, ...]) -> tuple[ActDraft, ...]:
    """The acts that are left; the parts that were asked for are noted as senses."""
    expand = run.limits.expand
    if expand is None:
        return acts
    rest, parts, read_on = list[ActDraft](), list[Sense](), dict[int, Sense]()
    for index, act in enumerate(acts):
        if (act.endpoint, act.name) != (expand.endpoint, expand.name):
            rest.append(act)
            continue
        place, start = _asked(act.payload)
        if place > len(run.senses) or len(parts) >= MOST_PARTS:
            reason = f"at most {MOST_PARTS} parts in a tick, of senses 1 to {len(run.senses)}"
            run.dropped.append(
                DroppedElement("acts", index, "blocked", reason, line(act.payload)[:400])
            )
            continue
        sense = run.senses[place - 1]
        part, more = _part(sense, start)
        parts.append(part)
        if more:
            read_on[place] = sense
    run.expanded = (*read_on.values(), *parts)
    return tuple(rest)


def _asked(payload: JsonObject) -> tuple[int, int]:
    """As its schema has it: checked before."""
    place, start = payload.get("sense"), payload.get("start")
    return (place if isinstance(place, int) else 1), (start if isinstance(start, int) else 0)


def _part(sense: Sense, start: int) -> tuple[Sense, bool]:
    """The part from `start` on, small enough to be told whole, and whether anything follows."""
    content = line(sense.payload).encode("utf-8", "replace")
    length = _PART_BYTES
    while True:
        text = content[start : start + length].decode(errors="ignore")
        end = start + len(text.encode())
        payload: JsonObject = {
            "of": short(sense.kind),
            "start": start,
            "end": end,
            "bytes": len(content),
            "text": text,
        }
        if brief_of(payload) is None:
            break
        length //= 2
    told = Sense(f"{sense.id}:{start}", PART, payload, sense.trust, sense.endpoint)
    return told, end < len(content)

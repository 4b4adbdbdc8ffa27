"""Blame of a prompt: which block owns each run of its text, who wrote it, why it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from mentis.ask.rendering_data import spoken_route
from mentis.engines.counters import counter_for
from mentis.errors import ReplayError
from mentis.facts.presets import PRESETS
from mentis.net.targets import origin_of
from mentis.render.wires import render_for
from mentis.turn.replay.replay import Replay
from mentis.values.blame import PromptMatch, PromptRun, PromptSection, TurnBlame
from mentis.values.cost import PromptPiece, RecordedPrompt, TurnExplanation
from mentis.values.json import json_object
from mentis.values.rendering import Rendering
from mentis.values.source_map import SourceRange
from mentis.values.trace import BlockTrace

from .pieces import grouped_ranges, pieces_of
from .record_reader import RecordReader
from .why import explain_turn

_AROUND = 60  # characters on each side of words that were looked for


def blame_turn(
    reader: RecordReader, index: int | None, step: int = 1, *, wire: str = ""
) -> TurnBlame:
    """One call of a recorded turn, of the last where none is named. Without sections where the
    prompt cannot be put together again: the explanation says why. With a `wire`, the same request
    as it would be sent in that format: then nothing is known of its cost. It blocks.
    """
    found = explain_turn(reader, index, step)
    entry = found.turn.entry
    told = reader.told(entry)
    if isinstance(told, RecordedPrompt):
        return _foreign_blame(reader, told, found)
    rebuilt = reader.rebuild(entry, found.step)
    if not isinstance(rebuilt, Replay):
        return TurnBlame(found)
    rendering, route, sent = rebuilt.rendering, rebuilt.route, rebuilt.rendering.wire
    if wire and wire != sent:
        route = spoken_route(route, wire, None)
        rendering = render_for(wire, rebuilt.composed.request, route)
        pieces = pieces_of(rendering, counter_for(route.model), None)
        found = replace(found, pieces=pieces, call=None, identical=False)
    return TurnBlame(
        found,
        tuple(_sections(rebuilt, rendering, found.pieces)),
        rendering.body(),
        rendering.wire,
        sent,
        reader.current_route(route),
        candidates=rebuilt.composed.candidates,
    )


def _foreign_blame(reader: RecordReader, told: RecordedPrompt, found: TurnExplanation) -> TurnBlame:
    entry = reader.find(found.turn.entry)
    call = json_object(entry.body.get("call"))
    wire, body = str(call.get("wire", "")), None
    if reader.foreign is not None:
        with suppress(ReplayError):
            body = reader.foreign.body(entry)[0]
    route, path = reader.route(entry.index), str(call.get("path", ""))
    preset = PRESETS.get(str(call.get("target", "")))
    origin = origin_of(preset.url) if preset is not None and preset.url else ""
    sections = tuple(_foreign_sections(told, found))
    return TurnBlame(found, sections, body, wire, wire, route, f"{origin}{path}")


def find_in_prompt(
    reader: RecordReader, entry: int, wanted: re.Pattern[str]
) -> Iterator[PromptMatch]:
    """Each place in the request of a call where the words stand; none where it cannot be put
    together again. It blocks.
    """
    for number, (name, text) in enumerate(_texts(reader, entry)):
        for match in wanted.finditer(text):
            start, end = match.span()
            before, after = text[max(start - _AROUND, 0) : start], text[end : end + _AROUND]
            yield PromptMatch(number, name, before, match[0], after)


def _texts(reader: RecordReader, entry: int) -> Iterator[tuple[str, str]]:
    """The sections of the first call of an entry, by name, in the order of their numbers."""
    told = reader.told(entry)
    if isinstance(told, RecordedPrompt):
        yield from ((part.name, part.text) for part in told.parts)
        return
    rebuilt = reader.rebuild(entry, 1)
    if isinstance(rebuilt, Replay):
        for name, ranges in grouped_ranges(rebuilt.rendering.source_map()):
            yield name, "".join(run.text for run in _runs(ranges))


def _sections(
    rebuilt: Replay, rendering: Rendering, pieces: tuple[PromptPiece, ...]
) -> Iterator[PromptSection]:
    blocks = {block.block: block for block in rebuilt.composed.trace.blocks}
    groups = grouped_ranges(rendering.source_map())
    for piece, (name, ranges) in zip(pieces, groups, strict=True):
        reason, variant = _why(name, blocks)
        yield PromptSection(piece, tuple(_runs(ranges)), reason, variant)


def _why(name: str, blocks: Mapping[str, BlockTrace]) -> tuple[str, str]:
    block = blocks.get(name)
    return ("", "") if block is None else (block.reason, block.variant)


def _runs(ranges: list[SourceRange]) -> Iterator[PromptRun]:
    for place, each in enumerate(ranges):
        span = each.span
        apart = place > 0 and each.pointer != ranges[place - 1].pointer
        yield PromptRun(
            f"\n{span.text}" if apart else span.text,
            span.source,
            span.trust.value,
            span.stability.value,
            span.placeholder,
            span.reason,
            each.pointer,
        )


def _foreign_sections(told: RecordedPrompt, found: TurnExplanation) -> Iterator[PromptSection]:
    for piece, part in zip(found.pieces, told.parts, strict=True):
        run = PromptRun(part.text, part.group, part.trust.value, pointer=part.pointer)
        yield PromptSection(piece, (run,))

"""Blame of a prompt: which block owns each run of its text, who wrote it, why it is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mentis.turn.replay.replay import Replay
from mentis.values.blame import PromptRun, PromptSection, TurnBlame
from mentis.values.cost import PromptPiece, RecordedPrompt, TurnExplanation
from mentis.values.source_map import SourceRange
from mentis.values.trace import BlockTrace

from .pieces import grouped_ranges
from .record_reader import RecordReader
from .why import explain_turn


def blame_turn(reader: RecordReader, index: int | None, step: int = 1) -> TurnBlame:
    """One call of a recorded turn, of the last where none is named. Without sections where the
    prompt cannot be put together again: the explanation says why. It blocks.
    """
    found = explain_turn(reader, index, step)
    entry = found.turn.entry
    told = reader.told(entry)
    if isinstance(told, RecordedPrompt):
        return TurnBlame(found, tuple(_foreign_sections(told, found)))
    rebuilt = reader.rebuild(entry, found.step)
    if not isinstance(rebuilt, Replay):
        return TurnBlame(found)
    rendering = rebuilt.rendering
    sections = tuple(_sections(rebuilt, found.pieces))
    return TurnBlame(found, sections, rendering.body(), rendering.wire)


def _sections(rebuilt: Replay, pieces: tuple[PromptPiece, ...]) -> Iterator[PromptSection]:
    blocks = {block.block: block for block in rebuilt.composed.trace.blocks}
    groups = grouped_ranges(rebuilt.rendering.source_map())
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

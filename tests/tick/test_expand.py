"""A sense that is too large to be told whole, and how the agent reads on."""

from __future__ import annotations

import pytest

from mentis.compose.input_ir import brief_of, line
from mentis.library.acts import load_cortex_tools
from mentis.tick.expand import PART
from mentis.tick.run import TickLimits
from mentis.tick.stages import PrimaryAnswer, PrimaryInput
from mentis.tick.tick import tick
from mentis.values.cognition import Sense
from mentis.values.tick import ActDraft, Descriptor

from .injected import CATALOGUE, KNOCKED, SOME, STATE, giving, said, stages

pytestmark = pytest.mark.anyio
WORDS = load_cortex_tools()["expand_sense"]
EXPAND = Descriptor("act", "cortex", WORDS.name, WORDS.parameters, WORDS.description)
LIMITS = TickLimits(expand=EXPAND)
LETTER = Sense("l", "mail", {"from": "bo", "text": 'Grüße "und" \\ mehr. ' * 200}, endpoint="post")


async def test_a_large_payload_is_told_as_a_brief_with_a_tool_that_reads_on() -> None:
    seen: list[PrimaryInput] = []

    async def primary(occasion: PrimaryInput) -> PrimaryAnswer:
        seen.append(occasion)
        return await said()(occasion)

    chosen = stages(primary=primary)
    await tick([KNOCKED], CATALOGUE, STATE, stages=chosen, limits=LIMITS)
    await tick([LETTER], CATALOGUE, STATE, stages=chosen, limits=LIMITS)
    small, large = seen
    assert EXPAND not in small.catalogue.entries
    assert EXPAND in large.catalogue.entries
    assert "original_size_in_bytes" in large.text
    assert len(large.text) < len(line(LETTER.payload))


async def test_the_agent_reads_a_whole_sense_part_by_part_over_several_ticks() -> None:
    whole, read, senses = line(LETTER.payload), "", [LETTER]
    for _ in range(20):
        place = next(n for n, one in enumerate(senses, 1) if one.id == LETTER.id)
        start = len(read.encode())
        draft = ActDraft("cortex", "expand_sense", {"sense": place, "start": start})
        chosen = stages(primary=said(acts=SOME), acts_helper=giving(draft))
        done = await tick(senses, CATALOGUE, STATE, stages=chosen, limits=LIMITS)
        assert done.acts == ()
        (part,) = [one for one in done.senses if one.kind == PART]
        assert brief_of(part.payload) is None
        assert part.trust is LETTER.trust
        read += str(part.payload["text"])
        senses = list(done.senses)
        if LETTER not in senses:
            break
    assert read == whole


async def test_parts_are_bounded_and_what_is_not_there_is_told() -> None:
    drafts = [ActDraft("cortex", "expand_sense", {"sense": 1})] * 6
    drafts.insert(0, ActDraft("cortex", "expand_sense", {"sense": 9}))
    chosen = stages(primary=said(acts=SOME), acts_helper=giving(*drafts))
    done = await tick([LETTER], CATALOGUE, STATE, stages=chosen, limits=LIMITS)
    assert len([one for one in done.senses if one.kind == PART]) == 4
    assert [one.code for one in done.report.dropped] == ["blocked"] * 3

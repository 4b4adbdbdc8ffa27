from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.call.scripted import ScriptedProvider
from mentis.errors import RouteError
from mentis.settle.openai_chat import ChatReader
from mentis.values.rendering import Rendering
from mentis.values.route import Route

ROUTE = Route("r", "scripted", "m")


async def play(provider: ScriptedProvider, rendering: Rendering) -> str:
    reader = ChatReader()
    async with provider.open(rendering, ROUTE) as events:
        async for event in events:
            reader.feed(event)
    return reader.finish().text


@pytest.mark.anyio
async def test_replies_are_played_in_order_and_what_was_sent_is_kept() -> None:
    provider = ScriptedProvider(["One, two.", "Three."])
    first, second = Rendering("w", {"n": 1}), Rendering("w", {"n": 2})
    assert [await play(provider, first), await play(provider, second)] == ["One, two.", "Three."]
    assert provider.sent == [first, second]


@pytest.mark.anyio
async def test_a_script_that_has_run_out_says_so() -> None:
    provider = ScriptedProvider([])
    with pytest.raises(RouteError, match="number 1 was asked for"):
        await play(provider, Rendering("w", {}))


@given(st.text())
def test_no_character_of_a_reply_is_lost(text: str) -> None:
    assert anyio.run(play, ScriptedProvider([text]), Rendering("w", {})) == text

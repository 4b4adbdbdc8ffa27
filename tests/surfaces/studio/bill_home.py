"""A home with a bill: days of talk with priced answers, an edit that broke a cache, a recorded
program whose prompt holds a clock, and a route of which no price is known.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import anyio
from tests.recorder.foreign import anthropic_call, user
from tests.rounds import Rounds
from tests.surfaces.api.api_home import Obliging
from tests.surfaces.cli.paid import Paid, make_home, open_paid
from tests.surfaces.serve.served import serving
from tests.surfaces.studio.studio_home import SCRIPT, StudioHome

from mentis import Prompts
from mentis.recorder.recording import open_recording
from mentis.testing import FixedClock
from mentis.values.rendering import Rendering
from mentis.values.reply import Usage
from mentis.values.route import Route

BEGAN = datetime(2026, 11, 10, 9, 0, tzinfo=UTC)
COLD, WARM = Usage(3000, 40, cache_write=2900), Usage(3100, 60, cache_read=2900, cache_write=100)
UNPRICED = """
[routes.nobody]
backend = "openai"
url = "http://127.0.0.1:9/v1"
model = "nobody-knows-its-price"
"""
BROKEN = 6  # the entry of the turn before which a block was edited; 5 binds the edit
WORDS = f"Write short sentences. {SCRIPT}"


class Patient(Paid):
    """Says the same thing when it has nothing else to say."""

    @asynccontextmanager
    async def open(
        self, rendering: Rendering, route: Route
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        if not self.answers:
            self.answers.append(("A new answer.", WARM))
        async with super().open(rendering, route) as events:
            yield events


def make_bill(folder: Path) -> Path:
    home = make_home(folder, more=UNPRICED)
    _record_codex(home)
    _talk(home, 0, ("One.", COLD), ("Two.", WARM))
    _talk(home, 1, ("Three.", COLD), ("Four.", WARM), ("Five.", WARM))
    with Prompts.open(home) as prompts:
        text = {"default": {"content": WORDS}}
        prompts.change(lambda editor: editor.save("style", variants=text, words="shorter"))
    read_again = Usage(3200, 50, cache_write=3100)
    _talk(home, 1, (f"Six. {SCRIPT}", read_again), ("Seven.", WARM), minute=4)
    clock = FixedClock(BEGAN + timedelta(days=3))
    _say(home, "Is it free?", Obliging(), clock=clock, route="nobody")
    return home


def _talk(home: Path, day: int, *answers: tuple[str, Usage], minute: int = 0) -> None:
    for place, answer in enumerate(answers):
        clock = FixedClock(BEGAN + timedelta(days=day, minutes=minute + place))
        words = f"Question {minute + place} {SCRIPT}"
        _say(home, words, Paid(answer), clock=clock)


def _say(
    home: Path, words: str, provider: object, *, clock: FixedClock, route: str = "default"
) -> None:
    async def say() -> None:
        async with open_paid(home, cast("Paid", provider), clock=clock, route=route) as agent:
            await agent.chat(words, session="desk")

    anyio.run(say)


def _record_codex(home: Path) -> None:
    with open_recording(home, "codex", tell=lambda _line: None) as recording:
        for minute in range(3):
            clock = {"type": "text", "text": f"It is 12:0{minute}. {SCRIPT}"}
            system = [{"type": "text", "text": "You help. " * 600}, clock]
            marked = user("Hi", cache_control={"type": "ephemeral"})
            body = {"system": system, "messages": [marked]}
            recording.offer(anthropic_call(body, written=4000, after=60.0 * minute))


@contextmanager
def bill_home(folder: Path) -> Generator[StudioHome]:
    home = make_bill(folder / "home")
    provider = cast("Rounds", Patient())
    more = {"web__requests_per_minute": "100000", "web__burst": "10000"}
    with serving(home, provider, embedder=None, **more) as served:
        yield StudioHome(served, cast("Obliging", provider))


__all__ = ["BROKEN", "bill_home", "make_bill"]

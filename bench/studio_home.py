"""Homes for the studio: one with a little of everything, and one with very much of it.

What is much is copied from what the program wrote itself: a turn, a window and a recorded call,
chained and stored as ever, in batches.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import httpx2

from mentis import Agent, Parts, Prompts, create_home, open_tokens
from mentis.ledger.guardian.examples import good_window
from mentis.record.record import Record, open_record
from mentis.recorder.call_copy import BodyCopy, CallCopy
from mentis.recorder.recording import open_recording
from mentis.recorder.targets import CallTarget
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home
from mentis.stores.sqlite.memories import SqliteMemories
from mentis.surfaces.serve.served import ServedHome
from mentis.surfaces.serve.start import ServeOptions
from mentis.values.cognition import Memory
from mentis.values.entry import LEDGER_FIELDS, Draft, Entry
from mentis.values.part import TextPart
from mentis.values.trust import Trust
from mentis.values.turn import Turn
from mentis.values.turn_writes import TurnWrites

PERSONA, LONG_TALK, PROGRAM = "ada", "desk", "codex"
MOST_BYTES = 300_000  # of a page
_BATCH = 100  # turns that are written at once
_WORDS = "what we said about the garden, and what is still to be done there"
_SETTINGS = """
[routes.default]
backend = "scripted"
model = "m"
replies = ["Yes, it is.", "No, it is not."]
[recall]
embedder = "off"
[web]
requests_per_minute = 1000000
burst = 100000
"""


@dataclass(frozen=True, slots=True)
class HomeSize:
    """How much there is: messages of the longest talk and of each other one, entries in all."""

    blocks: int
    long_talk: int
    talks: int
    short_talk: int
    entries: int
    calls: int
    memories: int

    @property
    def messages(self) -> int:
        return self.long_talk + self.talks * self.short_talk


SMALL = HomeSize(1, 4, 1, 2, 6, 1, 1)
BIG = HomeSize(5_000, 30_000, 200, 100, 100_000, 5_000, 10_000)


@dataclass(slots=True)
class StudioPages:
    """A home that is served in this process, and who asks for its pages."""

    http: httpx2.AsyncClient
    turn: int  # the last entry of a turn
    call: int  # the last of a recorded call
    sizes: dict[str, int] = field(default_factory=dict[str, int])

    async def get(self, page: str, *, json: bool = False) -> int:
        """The bytes of a page, or of what it is made of; RuntimeError where there is none."""
        path = PAGES[page].format(turn=self.turn, call=self.call)
        given = {"accept": "application/json" if json else "text/html"}
        path, _, form = path.partition(" with ")
        ask = self.http.get if not form else partial(self.http.post, content=form)
        answer = await ask(path, headers=given)
        if answer.status_code != 200:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
        self.sizes[f"{page}, JSON" if json else page] = len(answer.content)
        return len(answer.content)


PAGES = {
    "talks": "/studio/talk",
    "talks of one": f"/studio/talk/{PERSONA}",
    "talk": f"/studio/talk/{PERSONA}/{LONG_TALK}",
    "older talk": f"/studio/talk/{PERSONA}/{LONG_TALK}?before=3",
    "turns": "/studio/blame",
    "turns of one": f"/studio/blame/{PERSONA}",
    "turn": f"/studio/blame/{PERSONA}/{{turn}}",
    "recorded": f"/studio/recorded/{PROGRAM}",
    "recorded call": f"/studio/recorded/{PROGRAM}/{{call}}",
    "search": "/studio/search?q=garden",
    "bill": "/studio/bill",
    "bill by turn": "/studio/bill?by=turn",
    "bill of a turn": f"/studio/bill/{PERSONA}/{{turn}}",
    "prompts": "/studio/prompts",
    "prompts of one category": "/studio/prompts?category=custom",
    "prompts with a word": "/studio/prompts?q=garden",
    "block": "/studio/prompts/rule_0000",
    "history of a block": "/studio/prompts/rule_0000/history",
    "prompt": "/studio/prompts/-/preview",
    "prompt by category": "/studio/prompts/-/preview?view=category&category=custom",
    "kinds of requests": "/studio/prompts/-/kinds",
    "placeholders": "/studio/prompts/-/placeholders",
    "check": "/studio/prompts/-/check",
    "conflicts": "/studio/prompts/-/conflicts",
    "what if": "/studio/what-if",
    "what if, a block": "/studio/what-if?block=rule_0000",
    "records": "/studio/proof",
    "record": f"/studio/proof/{PERSONA}",
    "entry": f"/studio/proof/{PERSONA}/{{turn}}",
    "checkpoints": f"/studio/proof/{PERSONA}/checkpoints",
    "done": "/studio/done",
    "done of one": f"/studio/done/{PERSONA}",
    "mind": "/studio/mind",
    "memories": f"/studio/mind/{PERSONA}/memories",
    "memories with a word": f"/studio/mind/{PERSONA}/memories?q=garden",
    "recall": f"/studio/mind/{PERSONA}/recall with q=garden",
    "people": f"/studio/mind/{PERSONA}/people",
    "diary": f"/studio/mind/{PERSONA}/diary",
    "jump": "/studio/jump",
    "jump by a word": "/studio/jump?q=garden",
    "jump by a number": "/studio/jump?q=3",
}


async def make_studio_home(folder: Path, size: HomeSize) -> Path:
    """A home of that size."""
    home = create_home(folder)
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(_SETTINGS)
    with Prompts.open(home) as prompts:  # its first change makes the files
        prompts.change(lambda editor: editor.save("style", meta={"order": 1}))
    write_blocks(home, size.blocks)
    async with Agent.open(home, persona=PERSONA) as agent:
        await agent.chat(f"Tell me {_WORDS}.", session=LONG_TALK)
    _record_call(home)
    with open_record(home, PERSONA) as record:
        _copy_turns(record, size)
        memories = [_memory(number) for number in range(size.memories)]
        SqliteMemories(record.database).add(record.agent, memories)
    with open_record(home, f"recorded/{PROGRAM}") as record:
        _copy_calls(record, size.calls)
    return home


@asynccontextmanager
async def studio_pages(home: Path) -> AsyncGenerator[StudioPages]:
    """The pages of a home, asked for by its owner without a network between."""
    token = open_tokens(home).new(f"bench-{secrets.token_hex(4)}")
    settings = load_settings(home, os.environ)
    served = ServedHome.open(find_home(home), settings, ServeOptions(), Parts())
    transport = httpx2.ASGITransport(cast("Any", served.app))
    given = {"authorization": f"Bearer {token}"}
    client = httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers=given, timeout=None
    )
    try:
        async with client as http:
            yield StudioPages(
                http, _last(home, PERSONA, "turn"), _last(home, f"recorded/{PROGRAM}")
            )
    finally:
        await served.aclose()


def _last(home: Path, persona: str, kind: str = "call") -> int:
    with open_record(home, persona, readonly=True) as record:
        return next(one.index for one in reversed(record.last(20)) if one.kind == kind)


def write_blocks(home: Path, count: int) -> None:
    """So many blocks of one category, as an import would bring them to a home with own prompts."""
    folder = home / "prompts"
    meta: dict[str, object] = {
        "type": "text",
        "category": "custom",
        "target": "system_prompt",
        "position": "system_prompt",
        "enabled": False,
        "domain_file": "many.json",
    }
    ids = [f"rule_{number:04}" for number in range(count)]
    texts = {one: {"variants": {"default": {"content": f"{one}: {_WORDS}."}}} for one in ids}
    (folder / "many.json").write_text(json.dumps(texts), "utf-8")
    manifest = folder / "_meta" / "user_manifest.json"
    known = json.loads(manifest.read_text("utf-8"))
    known["prompts"] |= {one: {"name": one, "order": n, **meta} for n, one in enumerate(ids)}
    manifest.write_text(json.dumps(known), "utf-8")


def _record_call(home: Path) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 7}
    said = {"role": "assistant", "content": "Yes, it is."}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    told = [
        {"role": "system", "content": f"You know {_WORDS}. " * 40},
        {"role": "user", "content": f"Tell me {_WORDS}."},
    ]
    bodies = BodyCopy(1_000_000), BodyCopy(1_000_000)
    bodies[0].take(json.dumps({"model": "m", "messages": told}).encode())
    bodies[1].take(json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode())
    target = CallTarget("openai", "https://api.openai.com:443")
    copy = CallCopy(target, "POST", "/v1/chat/completions", (), datetime.now(UTC), 10.0, *bodies)
    copy.status, copy.answer_headers = 200, ((b"content-type", b"application/json"),)
    copy.first_byte, copy.ended = 10.25, 11.5
    with open_recording(home, PROGRAM, tell=print) as recording:
        recording.offer(copy)


def _copy_turns(record: Record, size: HomeSize) -> None:
    """Talks of so many messages, and after each turn as many windows as it takes."""
    (turn,) = record.last(1)
    turns, talks = size.messages // 2, {f"talk-{n:03}": size.short_talk for n in range(size.talks)}
    each, first = max(1, size.entries // turns - 1), 2  # the first exchange was real
    record.start()
    for name, messages in {**talks, LONG_TALK: size.long_talk}.items():
        numbers = iter(range(first if name == LONG_TALK else 0, messages, 2))
        while batch := list(islice(numbers, _BATCH)):
            _write_turns(record, turn, name, numbers=batch, windows=each)


def _write_turns(
    record: Record, turn: Entry, session: str, *, numbers: list[int], windows: int
) -> None:
    drafts, said = list[Draft](), list[Turn]()
    for number in numbers:
        told = {"number": number, "session": session, "stop": "end"}
        drafts.append(_draft(turn, turn=told))
        window = {"window": {**good_window(), "goal": f"Goal {number}: {_WORDS}"}}
        drafts += [Draft("window", "bench", window, ruleset="mentis")] * windows
        said += [
            Turn("user", (TextPart(f"Question {number}: {_WORDS}?"),)),
            Turn("assistant", (TextPart(f"Answer {number}: {_WORDS}."),), Trust.SELF),
        ]
    writes = TurnWrites(session, turns=tuple(said))
    record.ledger.append(record.agent, drafts, record.stamp(), turns=writes)


def _copy_calls(record: Record, count: int) -> None:
    (call,) = record.last(1)
    record.start()
    left = count - 1
    while left > 0:
        drafts = [_draft(call)] * min(left, _BATCH)
        record.ledger.append(record.agent, drafts, record.stamp())
        left -= len(drafts)


def _draft(entry: Entry, **other: object) -> Draft:
    kept = {name: value for name, value in entry.body.items() if name not in LEDGER_FIELDS}
    return Draft(entry.kind, entry.source, cast("Any", {**kept, **other}), entry.ruleset)


def _memory(number: int) -> Memory:
    time = datetime.fromtimestamp(1_790_000_000 + number, UTC).isoformat()
    made = Memory(f"m{number:06}", f"Memory {number}: {_WORDS}.", trust=Trust.OWNER)
    return replace(made, lineage=Trust.OWNER, time=time, source="bench")

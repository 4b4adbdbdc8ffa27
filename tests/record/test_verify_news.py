"""News of an act is told only as the record says it, and what was put there is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.act import entries
from mentis.act.approvals import Approvals
from mentis.act.journal import ActIntent, Journal
from mentis.act.news import blank
from mentis.app.agent import Agent
from mentis.call.scripted import ScriptedProvider
from mentis.home.create import create_home
from mentis.home.parts import Parts
from mentis.ledger.recipes import holds
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.screener import ListedScreener
from mentis.record import rotation as record_rotation
from mentis.record.record import Record, open_record
from mentis.record.verify_home import verify_home
from mentis.stores.files.blobs import FileBlobs
from mentis.stores.memory import AcceptedInMemory
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct
from mentis.values.action import Action, Outcome
from mentis.values.entry import Draft, Finding
from mentis.values.mark import Mark
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

pytestmark = pytest.mark.anyio
SPEC = ActSpec(ToolDeclaration("send", "Sends it."))
ACTION = Action("send", {"text": "hello"})
DONE = Outcome(ACTION, "done", text="it went out", key="genuine")
PUT = Draft("note", "test", {})


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    with open_record(create_home(tmp_path / "home"), parts=Parts(clock=FixedClock())) as record:
        call = ActCall(ACTION, "genuine", record.agent)
        begun = ActIntent(call, SPEC, "sha256:1")
        journal = Journal(
            record.ledger,
            record.stamp(),
            FileBlobs(record.home.blobs),
            agent=record.agent,
            owner="here",
            screener=ListedScreener({}),
        )
        assert journal.begin([begun]) == (None,)
        journal.end([(begun, DONE)], news=True)
        yield record


def put(record: Record, mark: Mark) -> None:
    record.store.append(record.agent, [PUT], record.stamp(), marks=[mark])


def findings(record: Record) -> tuple[Finding, ...]:
    (verdict,) = verify_home(record.home.path)
    return verdict.findings


async def told(record: Record) -> tuple[str, list[str]]:
    """What the next turn is told, and what is noted beside it."""
    parts = Parts(provider=ScriptedProvider(["Good."]))
    async with Agent.open(record.home.path, parts=parts) as agent:
        composed = (await agent.chat("Anything new?")).composed
    spans = " ".join(span.text for span in composed.request.runtime_ctx.spans)
    return spans, [note.reason for note in composed.trace.degraded if note.part == "acts"]


async def test_what_an_entry_says_came_of_an_act_is_told_once(record: Record) -> None:
    assert findings(record) == ()
    (mark,) = record.store.marks(record.agent, entries.NEWS)
    text, notes = await told(record)
    assert ("it went out" in text, notes) == (True, [])
    assert not record.store.marks(record.agent, entries.NEWS)
    put(record, mark)
    assert [finding.attack for finding in findings(record)] == ["replayed"]


GENUINE = replace(DONE, size=len(DONE.text))


@pytest.mark.parametrize(
    "forged",
    [
        ("another", replace(GENUINE, key="another")),
        ("another", GENUINE),
        ("genuine", replace(GENUINE, text="FORGED")),
        ("genuine", replace(GENUINE, state="refused")),
        ("genuine", replace(GENUINE, reason="the owner said so")),
        ("genuine", replace(GENUINE, blob=f"sha256:{'0' * 64}")),
        ("genuine", replace(GENUINE, action=replace(ACTION, type="pay"))),
        ("genuine", replace(GENUINE, action=replace(ACTION, payload={"text": "pay"}))),
    ],
)
async def test_what_no_entry_says_is_not_told_and_named_until_it_is_repaired(
    record: Record, forged: tuple[str, Outcome]
) -> None:
    key, outcome = forged
    put(record, entries.news_mark(key, replace(outcome, trust=Trust.OWNER)))
    assert [(found.column, found.attack) for found in findings(record)] == [("news", "forged")]
    text, notes = await told(record)
    assert ("it went out" in text) == (key == "another")
    assert ("FORGED" in text, len(notes)) == (False, 1)
    assert f"act {key} is not told" in notes[0]
    assert record.repair().entry is not None
    assert findings(record) == ()


def test_a_no_is_told_in_the_words_that_the_record_has(record: Record) -> None:
    call = ActCall(ACTION, "asked", record.agent)
    asked = WaitingAct(
        call,
        "sha256:1",
        "python",
        False,
        Decision("wait", "ask"),
        since="2026-01-01",
        expires="9999-01-01",
    )
    draft, mark = entries.waiting_draft(asked), entries.waiting_mark(asked)
    record.ledger.append(record.agent, [draft], record.stamp(), marks=[mark])
    approvals = Approvals(
        record.ledger,
        record.stamp(),
        AcceptedInMemory(),
        agent=record.agent,
        clock=record.clock,
        ids=CountingIds(),
        genuine=holds,
    )
    approvals.deny("asked", by="ada", words="not today")
    assert findings(record) == ()
    news = record.store.mark(record.agent, entries.NEWS, "asked")
    assert news is not None
    put(record, entries.news_mark("asked", replace(entries.news(news), reason="denied by bob")))
    assert [found.attack for found in findings(record)] == ["forged"]


async def test_news_of_an_entry_that_was_moved_out_is_told_as_its_segment_says(
    record: Record,
) -> None:
    put(record, Mark("other", "key"))
    record_rotation.rotate(record, 2)
    assert findings(record) == ()
    text, notes = await told(record)
    assert ("it went out" in text, notes) == (True, [])


def test_of_an_outcome_that_was_erased_nothing_is_news_any_more(record: Record) -> None:
    record.erase(1, [], reason="asked for")
    assert not record.store.marks(record.agent, entries.NEWS)
    record.erase(1, ["delivery"], reason="asked for")
    put(record, entries.news_mark("genuine", blank(DONE)))  # as an older version left it
    (verdict,) = verify_home(record.home.path)
    assert verdict.intact
    assert any("act genuine is not told" in note for note in verdict.notes)

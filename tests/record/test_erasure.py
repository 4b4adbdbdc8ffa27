"""What an act left beside its entry is erased with it, and not before the act has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mentis.act import entries
from mentis.act.approvals import Approvals
from mentis.act.journal import ActIntent, Journal, Sizes
from mentis.errors import UsageError
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
from mentis.values.entry import Draft
from mentis.values.tool import ToolDeclaration

WORDS = "what ada asked for"
SPEC = ActSpec(ToolDeclaration("send", "Sends it."))


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    with open_record(create_home(tmp_path / "home"), parts=Parts(clock=FixedClock())) as record:
        yield record


def journal(record: Record) -> Journal:
    blobs = FileBlobs(record.home.blobs)
    sizes = Sizes(inline_bytes=64)
    return Journal(
        record.ledger,
        record.stamp(),
        blobs,
        agent=record.agent,
        owner="here",
        screener=ListedScreener({}),
        sizes=sizes,
    )


def begun(record: Record, key: str) -> ActIntent:
    call = ActCall(Action("send", {"text": WORDS}), key, record.agent)
    return ActIntent(call, SPEC, "sha256:1")


def waiting(record: Record, key: str) -> WaitingAct:
    call, decision = begun(record, key).call, Decision("wait", "ask")
    return WaitingAct(
        call, "sha256:1", "python", False, decision, since="2026-01-01", expires="9999-01-01"
    )


def index_of(record: Record, key: str, stage: entries.Stage) -> int:
    entry = record.store.find_delivery(record.agent, entries.delivery(key, stage))
    assert entry is not None
    return entry.index


def everything(record: Record) -> bytes:
    files = (path for path in record.home.path.rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in files)


def test_while_an_act_waits_or_runs_its_entries_are_not_erased_from(record: Record) -> None:
    journal(record).begin([begun(record, "running"), waiting(record, "waiting")])
    asked: list[tuple[str, entries.Stage]] = [("running", "intent"), ("waiting", "waiting")]
    for key, stage in asked:
        with pytest.raises(UsageError, match="has not ended") as refused:
            record.erase(index_of(record, key, stage), ["payload"], reason="asked for")
        assert "mentis acts" in refused.value.hint
    approvals = Approvals(
        record.ledger,
        record.stamp(),
        AcceptedInMemory(),
        agent=record.agent,
        clock=record.clock,
        ids=CountingIds(),
        genuine=holds,
    )
    approvals.approve("waiting", by="ada")
    with pytest.raises(UsageError, match="has not ended"):
        record.erase(index_of(record, "waiting", "waiting"), [], reason="asked for")
    assert WORDS.encode() in everything(record)


@pytest.mark.parametrize("fields", [["payload"], []], ids=["the payload", "all of it"])
def test_what_was_to_be_told_of_an_act_is_blanked_with_its_payload(
    record: Record, fields: list[str]
) -> None:
    journal(record).begin([waiting(record, "key")])
    approvals = Approvals(
        record.ledger,
        record.stamp(),
        AcceptedInMemory(),
        agent=record.agent,
        clock=record.clock,
        ids=CountingIds(),
        genuine=holds,
    )
    approvals.deny("key", by="ada", words=f"not {WORDS}")
    record.erase(index_of(record, "key", "denied"), ["decided"], reason="asked for")
    record.erase(index_of(record, "key", "waiting"), fields, reason="asked for")
    (news,) = record.store.marks(record.agent, entries.NEWS)
    told = entries.news(news)
    assert (told.action, told.state, told.text) == (Action("send", {}), "refused", "")
    assert WORDS.encode() not in everything(record)
    (verdict,) = verify_home(record.home.path)
    assert verdict.intact


def test_with_a_result_goes_its_blob_unless_another_one_has_the_same(record: Record) -> None:
    both = [begun(record, "one"), begun(record, "two")]
    journal(record).begin(both)
    outcomes = [Outcome(one.call.action, "done", text=f"{WORDS} " * 20) for one in both]
    ended = journal(record).end(list(zip(both, outcomes, strict=True)))
    blobs = FileBlobs(record.home.blobs)
    record.erase(index_of(record, "one", "outcome"), ["act"], reason="asked for")
    record.erase(index_of(record, "one", "outcome"), ["result"], reason="asked for")
    assert blobs.read(ended[1].blob) is not None
    record.erase(index_of(record, "two", "outcome"), ["result"], reason="asked for")
    assert blobs.read(ended[1].blob) is None
    for key in ("one", "two"):
        record.erase(index_of(record, key, "intent"), ["payload"], reason="asked for")
    assert WORDS.encode() not in everything(record)


def test_an_act_in_a_segment_is_erased_with_what_it_left_here(record: Record) -> None:
    one = begun(record, "old")
    journal(record).begin([one])
    outcome = Outcome(one.call.action, "done", text=f"{WORDS} " * 20)
    (kept,) = journal(record).end([(one, outcome)], news=True)
    record.ledger.append(record.agent, [Draft("note", "test", {})], record.stamp())
    index = index_of(record, "old", "outcome")
    record_rotation.rotate(record, index + 1)
    record.erase(index, ["result"], reason="asked for")
    assert FileBlobs(record.home.blobs).read(kept.blob) is None
    (news,) = record.store.marks(record.agent, entries.NEWS)
    assert entries.news(news).text == ""


def test_a_mark_that_cannot_be_read_is_taken_away(record: Record) -> None:
    one = begun(record, "key")
    journal(record).begin([one])
    journal(record).end([(one, Outcome(one.call.action, "done"))])
    mark = replace(entries.told_mark("key"), value={"odd": WORDS})
    note = Draft("note", "test", {})
    record.ledger.append(record.agent, [note], record.stamp(), marks=[mark])
    record.erase(index_of(record, "key", "intent"), ["payload"], reason="asked for")
    assert record.store.marks(record.agent, entries.NEWS) == ()


def test_an_entry_of_another_kind_is_erased_as_before(record: Record) -> None:
    draft = Draft("note", "test", {"text": WORDS, "result": {"blob": "sha256:" + "0" * 64}})
    (entry,) = record.ledger.append(record.agent, [draft], record.stamp())
    record.erase(entry.index, [], reason="asked for")
    assert WORDS.encode() not in everything(record)

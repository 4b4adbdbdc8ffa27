"""What others left open, and what a person said yes to: each exactly once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from tests.act.stage import AGENT, Doing, Stage, allow, answering, spec

from mentis.act import entries
from mentis.act.dispatch import Judge
from mentis.act.registry import Registry
from mentis.errors import StoreDown
from mentis.ledger.chain import make_stamp
from mentis.ledger.verify import verify_chain
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.recovery.acts import Recovery, RecoveryResult
from mentis.stores.memory import AcceptedInMemory, LedgerInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.act import ActCall, ActSpec, Decision, WaitingAct
from mentis.values.action import Action, Outcome

pytestmark = pytest.mark.anyio
ONCE, AGAIN = spec("pay", external_effects=True), spec("put", idempotent=True)


def die(ledger: LedgerStore, *specs: ActSpec, attempt: int = 1) -> list[str]:
    """Begin these acts under another owner and never end them; their keys."""
    ids = Far()
    stamp = make_stamp(FixedClock().now, ids.salt)
    keys: list[str] = []
    for one in specs:
        keys.append(ids.new_id())
        digest = Registry([answering(one)]).digest(one.name) or ""
        for number in range(1, attempt + 1):
            call = ActCall(Action(one.name, {"n": 1}), keys[-1], AGENT, "s", attempt=number)
            draft = entries.intent_draft(call, one, digest, owner="here.dead")
            seal = AcceptedInMemory().seal(entries.sealed_text(call, digest))
            mark = entries.open_mark(call, one, digest, "here.dead", seal=seal)
            ledger.append(AGENT, [draft], stamp, marks=[mark])
    return keys


class Far(CountingIds):
    def new_id(self) -> str:
        return f"far-{super().new_id()}"


def recovery(
    stage: Stage, *, alive: str = "here.one", retries: int = 1, judge: Judge | None = allow
) -> Recovery:
    return Recovery(stage.dispatcher, lambda owner: owner == alive, retries=retries, judge=judge)


async def test_an_act_whose_process_is_gone_is_unknown_and_not_repeated() -> None:
    pay = answering(ONCE)
    stage = Stage(pay)
    (key,) = die(stage.ledger, ONCE)
    caught = await recovery(stage).recover()
    reason = "the process that did it ended before it could say what came of it; it is not repeated"
    outcome = Outcome(Action("pay", {"n": 1}), "unknown", reason=reason, key=key, source="python")
    assert (caught.outcomes, caught.faults) == ((outcome,), ())
    assert pay.calls == []
    assert stage.stages() == [("intent", None), ("outcome", "unknown")]
    assert stage.keys("act") == []
    (news,) = stage.ledger.marks(AGENT, "news")
    assert entries.news(news) == outcome
    assert (await recovery(stage).recover()).outcomes == ()


async def test_an_act_whose_process_is_there_is_left_alone() -> None:
    stage = Stage(answering(ONCE))
    (key,) = die(stage.ledger, ONCE)
    assert (await recovery(stage, alive="here.dead").recover()).outcomes == ()
    assert stage.keys("act") == [key]


async def test_an_idempotent_act_is_tried_again_with_its_key() -> None:
    put = answering(AGAIN, "put")
    stage = Stage(put)
    (key,) = die(stage.ledger, AGAIN)
    (outcome,) = (await recovery(stage).recover()).outcomes
    assert (outcome.state, outcome.text, outcome.key) == ("done", "put", key)
    assert [(call.key, call.attempt) for call in put.calls] == [(key, 2)]
    assert [entry.delivery for entry in stage.entries()] == [
        f"act/{key}/intent", f"act/{key}/intent/2", f"act/{key}/outcome/2",
    ]  # fmt: skip
    assert (stage.keys("act"), stage.keys("news")) == ([], [key])


@pytest.mark.parametrize("why", ["tried", "gone", "changed", "blocked", "never"])
async def test_an_idempotent_act_that_cannot_be_tried_again_is_unknown(why: str) -> None:
    other = ActSpec(AGAIN.declaration, source="mcp:other")
    put = answering(other if why == "changed" else AGAIN)
    stage = Stage(*([] if why == "gone" else [put]))
    if why == "blocked":
        stage.registry.block("put", "changed")
    die(stage.ledger, AGAIN, attempt=2 if why == "tried" else 1)
    caught = await recovery(stage, retries=0 if why == "never" else 1).recover()
    assert [outcome.state for outcome in caught.outcomes] == ["unknown"]
    assert put.calls == []


@pytest.mark.parametrize("verdict", ["refuse", "wait", "broken", "nobody"])
async def test_what_the_gate_would_not_let_through_now_is_not_tried_again(verdict: str) -> None:
    def judge(call: ActCall, what: ActSpec) -> Decision:
        if verdict == "broken":
            raise ZeroDivisionError
        return Decision(cast("Any", verdict), "ask", "a person approves it each time")

    put = answering(AGAIN)
    stage = Stage(put)
    die(stage.ledger, AGAIN)
    caught = await recovery(stage, judge=None if verdict == "nobody" else judge).recover()
    (outcome,) = caught.outcomes
    assert (outcome.state, put.calls, stage.keys("act")) == ("unknown", [], [])
    said = {"broken": ": it cannot be judged: ZeroDivisionError", "nobody": ""}
    because = said.get(verdict, ": a person approves it each time")
    assert outcome.reason.endswith(f"; it is not repeated{because}")


async def test_of_two_processes_that_start_at_once_each_act_is_settled_by_one() -> None:
    ledger = LedgerInMemory()
    die(ledger, ONCE, AGAIN)
    puts = [answering(AGAIN) for _ in range(2)]
    stages = [
        Stage(answering(ONCE), put, ledger=ledger, owner=f"here.{n}") for n, put in enumerate(puts)
    ]
    caught: list[RecoveryResult] = []

    async def start(stage: Stage) -> None:
        caught.append(
            await Recovery(
                stage.dispatcher, lambda owner: owner != "here.dead", judge=allow
            ).recover()
        )

    async with anyio.create_task_group() as group:
        for stage in stages:
            group.start_soon(start, stage)
    assert sum(len(put.calls) for put in puts) == 1
    assert sum(len(one.outcomes) for one in caught) == 2
    states = [state for stage, state in stages[0].stages() if stage == "outcome"]
    assert sorted(map(str, states)) == ["done", "unknown"]
    assert stages[0].keys("act") == []


async def test_while_the_store_is_down_it_is_told_and_nothing_is_tried_again() -> None:
    class Down(LedgerInMemory):
        down = False

        def append(self, *args: Any, **rest: Any) -> Any:  # noqa: ANN401 - as it was
            if self.down:
                raise StoreDown("gone")
            return super().append(*args, **rest)

    ledger, put = Down(), answering(AGAIN)
    stage = Stage(put, answering(ONCE), ledger=ledger)
    keys = die(ledger, ONCE, AGAIN)
    ledger.down = True
    caught = await recovery(stage).recover()
    assert (caught.outcomes, caught.faults) == ((), ("gone", "gone"))
    assert put.calls == []
    assert stage.keys("act") == keys


async def test_a_mark_that_somebody_changed_is_told_and_the_others_are_settled(
    tmp_path: Path,
) -> None:
    with Database(tmp_path / "mentis.db") as database:
        stage = Stage(answering(ONCE), ledger=SqliteLedger(database))
        keys = die(stage.ledger, ONCE, ONCE)
        with closing(sqlite3.connect(tmp_path / "mentis.db")) as connection, connection:
            connection.execute("UPDATE marks SET value = '{}' WHERE key = ?", (keys[0],))
        caught = await recovery(stage).recover()
        assert [outcome.key for outcome in caught.outcomes] == keys[1:]
        assert len(caught.faults) == 1
        assert keys[0] in caught.faults[0]


@pytest.mark.parametrize(
    "change",
    [
        "json_set(value, '$.call.action.payload.n', 2)",
        "json_set(value, '$.call.action.type', 'pay')",
        "json_set(value, '$.call.attempt', 0)",
    ],
)
async def test_what_is_tried_again_is_what_the_record_says_and_not_the_mark(
    tmp_path: Path, change: str
) -> None:
    put, pay = answering(AGAIN), answering(ONCE)
    with Database(tmp_path / "mentis.db") as database:
        stage = Stage(put, pay, ledger=SqliteLedger(database))
        die(stage.ledger, AGAIN)
        with closing(sqlite3.connect(tmp_path / "mentis.db")) as connection, connection:
            connection.execute(f"UPDATE marks SET value = {change}")  # noqa: S608 - listed above
        caught = await recovery(stage).recover()
        assert [outcome.state for outcome in caught.outcomes] == ["unknown"]
        assert (put.calls, pay.calls) == ([], [])


# What a person said yes to


def approve(stage: Stage, name: str = "pay", key: str = "k1") -> WaitingAct:
    waiting = WaitingAct(
        ActCall(Action(name, {"n": 1}), key, AGENT, "s"),
        stage.registry.digest(name) or "",
        source="python",
        external_effects=True,
        decision=Decision("wait", "ask", "always asked"),
        since="2026-01-01T00:00:00.000000Z",
        expires="2026-02-01T00:00:00.000000Z",
    )
    asked = entries.waiting_draft(waiting), [entries.waiting_mark(waiting)]
    decided = entries.ApprovalDecision(f"by-{key}", "owner")
    said = entries.decided_draft(waiting, "approved", decided), entries.approved_marks(waiting)
    for draft, marks in (asked, said):
        stage.ledger.append(AGENT, [draft], stage.stamp, marks=marks)
    stage.accepted.accept(AGENT, key, entries.waiting_digest(waiting))
    return waiting


async def test_an_approved_act_is_begun_once_and_its_outcome_is_news() -> None:
    pay = answering(ONCE, "paid")
    stage = Stage(pay)
    approve(stage)
    (outcome,) = (await recovery(stage).run_approved()).outcomes
    assert (outcome.state, outcome.text, outcome.key) == ("done", "paid", "k1")
    assert [call.key for call in pay.calls] == ["k1"]
    assert [stage.keys(kind) for kind in ("approved", "act", "news")] == [[], [], ["k1"]]
    assert [name for name, _ in stage.stages()] == ["waiting", "approved", "intent", "outcome"]
    act = cast("dict[str, object]", stage.entries()[2].body["act"])
    assert (act["rule"], act["reason"], act["owner"]) == ("ask", "always asked", "here.one")
    assert (await recovery(stage).run_approved()).outcomes == ()
    assert len(pay.calls) == 1
    assert verify_chain(AGENT, stage.entries()).intact


async def test_of_many_who_look_one_begins_it() -> None:
    async def work(call: ActCall) -> Outcome:
        await anyio.lowlevel.checkpoint()
        return Outcome(call.action, "done")

    ledger = LedgerInMemory()
    handlers = [Doing(ONCE, work) for _ in range(4)]
    stages = [
        Stage(handler, ledger=ledger, owner=f"here.{n}") for n, handler in enumerate(handlers)
    ]
    approve(stages[0], key="k1")
    approve(stages[0], key="k2")
    looking = [recovery(stage) for stage in stages]
    async with anyio.create_task_group() as group:
        for one in looking * 3:
            group.start_soon(one.run_approved)
    assert sorted(call.key for handler in handlers for call in handler.calls) == ["k1", "k2"]
    assert stages[0].stages().count(("outcome", "done")) == 2
    assert stages[0].keys("approved") == []


@pytest.mark.parametrize("why", ["gone", "changed", "blocked"])
async def test_what_changed_after_it_was_approved_is_not_done(why: str) -> None:
    pay = answering(ONCE)
    stage = Stage(pay)
    approve(stage)
    if why == "blocked":
        stage.registry.block("pay", "its definition changed")
    else:
        stage.registry.drop("pay")
    if why == "changed":
        stage.registry.add(answering(ActSpec(ONCE.declaration, endpoint="elsewhere")))
    (outcome,) = (await recovery(stage).run_approved()).outcomes
    assert outcome.state == "unavailable"
    assert "what was approved is not what can be done now" in outcome.reason
    assert [stage.keys(kind) for kind in ("approved", "act", "news")] == [[], [], ["k1"]]
    assert stage.stages()[-1] == ("outcome", "unavailable")
    assert pay.calls == []


async def test_cancelled_while_approved_acts_are_done_each_has_an_outcome() -> None:
    async def work(call: ActCall) -> Outcome:
        scope.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    stage = Stage(Doing(spec("pay", endpoint="bank"), work))
    for key in ("k1", "k2"):
        approve(stage, key=key)
    with anyio.CancelScope() as scope:
        await recovery(stage).run_approved()
    assert stage.keys("act") == []
    assert stage.stages()[-2:] == [("outcome", "unknown"), ("outcome", "refused")]
    assert stage.keys("news") == ["k1", "k2"]


async def test_what_only_the_database_calls_approved_is_told_and_not_done() -> None:
    pay = answering(ONCE, "paid")
    stage = Stage(pay)
    approve(stage)
    stage.accepted.forget(AGENT, "k1")
    for _ in range(2):
        caught = await recovery(stage).run_approved()
        assert caught.outcomes == ()
        assert "nobody here said yes to it" in caught.faults[0]
    assert (pay.calls, stage.keys("approved")) == ([], ["k1"])


async def test_a_yes_is_used_up_when_its_act_begins() -> None:
    pay = answering(ONCE, "paid")
    stage = Stage(pay)
    what = entries.waiting_digest(approve(stage))
    await recovery(stage).run_approved()
    assert (len(pay.calls), stage.accepted.is_accepted(AGENT, "k1", what)) == (1, False)


@pytest.mark.parametrize("how", ["another secret", "ended already"])
async def test_what_this_home_did_not_leave_open_is_not_tried_again(how: str) -> None:
    put = answering(AGAIN, "put")
    other = AcceptedInMemory(b"another") if how == "another secret" else None
    stage = Stage(put, accepted=other)
    (key,) = die(stage.ledger, AGAIN)
    if how == "ended already":
        call = ActCall(Action("put", {"n": 1}), key, AGENT, "s")
        done = entries.outcome_draft(call, Outcome(call.action, "done", key=key))
        stage.ledger.append(AGENT, [done], stage.stamp)
    await recovery(stage).recover()
    assert put.calls == []

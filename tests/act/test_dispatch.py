"""Judged, written down, done, written down: each action, whatever happens, exactly once."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any, cast

import anyio
import pytest

from mentis.act.dispatch import DispatchLimits
from mentis.act.functions import act
from mentis.act.journal import Sizes
from mentis.errors import StoreDown, StoreError
from mentis.ledger.verify import verify_chain
from mentis.ports.entries import Stamp
from mentis.stores.memory import BlobsInMemory, LedgerInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.act import ActCall, ActSpec, Decision, TaintedValue
from mentis.values.action import Action, Outcome
from mentis.values.cognition import Screening
from mentis.values.digest import digest
from mentis.values.entry import Draft, Entry
from mentis.values.lease import Lease
from mentis.values.mark import Mark
from mentis.values.trust import Trust
from mentis.values.turn_writes import TurnWrites

from .stage import AGENT, Doing, Stage, allow, answering, spec

pytestmark = pytest.mark.anyio
SYNCING = Path(__file__).with_name("syncing.py")


async def test_each_action_has_an_outcome_in_their_order() -> None:
    note = answering(spec("note"), "noted")
    stage = Stage(note)
    actions = [Action("note", {"n": 1}), Action("fly", {}), Action("note", {"n": 2})]
    outcomes = await stage.run(*actions)
    assert [outcome.state for outcome in outcomes] == ["done", "not_found", "done"]
    assert [outcome.action for outcome in outcomes] == actions
    assert outcomes[0] == Outcome(
        actions[0],
        "done",
        text="noted",
        key="id-000001",
        size=5,
        source="python",
        screening=Screening("clean"),
    )
    assert outcomes[1].reason == "nothing here does 'fly'"
    assert [call.action.payload["n"] for call in note.calls] == [1, 2]
    assert {call.key for call in note.calls} == {"id-000001", "id-000003"}


async def test_nothing_asked_for_leaves_nothing() -> None:
    stage = Stage()
    assert await stage.run() == []
    assert stage.entries() == []


async def test_the_intent_is_recorded_before_and_the_outcome_after() -> None:
    async def look(call: ActCall) -> Outcome:
        (entry,) = stage.entries()
        act = cast("dict[str, object]", entry.body["act"])
        assert (act["stage"], act["key"], entry.delivery) == (
            "intent",
            call.key,
            f"act/{call.key}/intent",
        )
        assert entry.body["payload"] == {"to": "bob"}
        assert stage.keys("act") == [call.key]
        return Outcome(call.action, "done", text="sent")

    stage = Stage(Doing(spec("send", source="builtin", endpoint="mail"), look))
    (outcome,) = await stage.run(Action("send", {"to": "bob"}))
    assert outcome.state == "done"
    last = stage.entries()[1]
    act = cast("dict[str, object]", last.body["act"])
    assert act == {
        "key": "id-000001",
        "type": "send",
        "stage": "outcome",
        "mode": "chat",
        "session": "s",
        "attempt": 1,
        "lineage": "self",
        "endpoint": "mail",
        "source": "builtin",
        "spec": stage.registry.digest("send"),
        "state": "done",
    }
    clean = {"screening": {"outcome": "clean"}}
    assert last.body["result"] == {"text": "sent", "size": 4, "blob": "", **clean}
    assert (last.kind, last.source, last.delivery) == ("act", "act", "act/id-000001/outcome")
    assert stage.keys("act") == []
    assert verify_chain(AGENT, stage.entries()).intact


async def test_a_batch_is_written_down_in_one_append() -> None:
    ledger = Counted()
    stage = Stage(answering(spec("note")), ledger=ledger)
    judged = iter(["allow", "refuse", "wait", "allow"])

    def judge(call: ActCall, what: ActSpec) -> Decision:
        return Decision(next(judged), "policy", "because")  # pyright: ignore[reportArgumentType]  # listed above

    outcomes = await stage.run(*[Action("note", {"n": n}) for n in range(4)], judge=judge)
    assert [outcome.state for outcome in outcomes] == ["done", "refused", "waiting", "done"]
    assert ledger.sizes == [4, 1, 1]
    assert stage.keys("waiting") == [outcomes[2].key]
    assert (outcomes[1].reason, outcomes[2].reason) == ("because", "because")


class Counted(LedgerInMemory):
    """How many drafts each append had; and it can be switched off."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.fault: StoreError | None = None
        self.works = 10**9  # appends from now on

    def append(
        self,
        agent: str,
        drafts: Sequence[Draft],
        stamp: Stamp,
        *,
        lease: Lease | None = None,
        marks: Sequence[Mark] = (),
        turns: TurnWrites | None = None,
    ) -> tuple[Entry, ...]:
        self.works -= 1
        if self.works < 0:
            raise StoreDown("the server is gone")
        made = super().append(agent, drafts, stamp, lease=lease, marks=marks, turns=turns)
        self.sizes.append(len(drafts))
        return made


async def test_what_cannot_be_written_down_is_not_done() -> None:
    ledger, note = Counted(), answering(spec("note"))
    ledger.works = 0
    stage = Stage(note, ledger=ledger)
    one, two, three = await stage.run(Action("note", {}), Action("fly", {}), Action("note", {}))
    assert (one.state, three.state) == ("unavailable", "unavailable")
    assert "could not be recorded before: the server is gone" in one.reason
    assert two.state == "not_found"
    assert two.reason.endswith("this could not be recorded: the server is gone")
    assert note.calls == []
    assert stage.entries() == []


async def test_an_outcome_that_cannot_be_recorded_says_so_and_the_act_stays_open() -> None:
    ledger = Counted()
    ledger.works = 1
    stage = Stage(answering(spec("note"), "noted"), ledger=ledger)
    (outcome,) = await stage.run(Action("note", {}))
    assert (outcome.state, outcome.text) == ("done", "noted")
    assert outcome.reason == "this could not be recorded: the server is gone"
    assert stage.keys("act") == [outcome.key]


async def test_an_outcome_that_could_not_be_recorded_is_recorded_with_the_next() -> None:
    ledger = Counted()
    ledger.works = 1
    stage = Stage(answering(spec("note"), "noted"), ledger=ledger)
    (first,) = await stage.run(Action("note", {}))
    assert stage.journal.catch_up() is not None  # it is still gone
    assert stage.keys("act") == [first.key]
    ledger.works = 10**9
    (second,) = await stage.run(Action("note", {}))
    assert stage.stages() == [
        ("intent", None), ("outcome", "done"), ("intent", None), ("outcome", "done"),
    ]  # fmt: skip
    assert stage.entries()[1].delivery == f"act/{first.key}/outcome"
    act = cast("dict[str, object]", stage.entries()[1].body["act"])
    assert "reason" not in act  # now it is recorded
    assert (stage.keys("act"), second.reason) == ([], "")
    assert stage.journal.catch_up() is None
    assert verify_chain(AGENT, stage.entries()).intact


async def test_what_somebody_else_has_recorded_meanwhile_is_not_recorded_again() -> None:
    ledger = Counted()
    ledger.works = 1
    stage = Stage(answering(spec("note"), "noted"), ledger=ledger)
    await stage.run(Action("note", {}))
    ledger.works = 10**9
    (act,), _ = stage.journal.open()
    assert stage.journal.give_up(act, Outcome(act.call.action, "unknown")) is None
    assert stage.journal.catch_up() is None
    assert stage.stages() == [("intent", None), ("outcome", "unknown")]


@pytest.mark.parametrize(
    "value", [float("nan"), 2**60, "\ud800", -0.0, b"x", object(), "x" * (1 << 20)]
)
async def test_a_payload_that_cannot_be_recorded_is_invalid_and_hurts_no_other(
    value: object,
) -> None:
    note = answering(spec("note"))
    stage = Stage(note)
    actions = [Action("note", {"n": 1}), Action("note", {"n": value}), Action("note", {"n": 3})]
    outcomes = await stage.run(*actions)
    assert [outcome.state for outcome in outcomes] == ["done", "invalid", "done"]
    assert outcomes[1].reason.startswith("the payload cannot be recorded: ")
    assert [call.action.payload["n"] for call in note.calls] == [1, 3]
    assert sorted(stage.stages(), key=str).count(("outcome", "invalid")) == 1
    assert stage.keys("act") == []


async def test_a_name_made_of_nonsense_is_recorded_as_far_as_it_can_be_said() -> None:
    stage = Stage()
    (outcome,) = await stage.run(Action("fly\ud800" + "y" * 5000, {"x": float("nan")}))
    assert outcome.state == "not_found"
    assert stage.stages() == [("outcome", "not_found")]


async def test_what_is_blocked_is_unavailable_and_the_judge_is_not_asked() -> None:
    note = answering(spec("note"))
    stage = Stage(note)
    stage.registry.block("note", "its definition changed")
    (outcome,) = await stage.run(Action("note", {}), judge=never_asked)
    assert (outcome.state, outcome.reason) == ("unavailable", "its definition changed")
    assert (note.calls, stage.stages()) == ([], [("outcome", "unavailable")])


def never_asked(call: ActCall, what: ActSpec) -> Decision:
    raise AssertionError


@pytest.mark.parametrize(
    ("rule", "state"), [("payload", "invalid"), ("schema", "unavailable"), ("mode", "refused")]
)
async def test_what_the_judge_refuses_is_recorded_with_its_rule(rule: str, state: str) -> None:
    note = answering(spec("note"))
    stage = Stage(note)
    (outcome,) = await stage.run(
        Action("note", {}), judge=lambda call, what: Decision("refuse", rule, "no")
    )
    assert (outcome.state, outcome.reason, note.calls) == (state, "no", [])
    act = cast("dict[str, object]", stage.entries()[0].body["act"])
    assert (act["rule"], act["state"]) == (rule, state)


async def test_what_cannot_be_judged_waits() -> None:
    def broken(call: ActCall, what: ActSpec) -> Decision:
        raise ZeroDivisionError

    note = answering(spec("note", external_effects=True))
    stage = Stage(note)
    (outcome,) = await stage.run(Action("note", {"a": 1}), judge=broken)
    assert (outcome.state, note.calls) == ("waiting", [])
    (mark,) = stage.ledger.marks(AGENT, "waiting")
    waiting = cast("dict[str, Any]", mark.value)
    assert waiting["decision"]["rule"] == "unjudged"
    assert waiting["external_effects"] is True
    assert waiting["call"]["action"]["payload"] == {"a": 1}
    assert (waiting["since"], waiting["expires"]) == (
        "2026-01-01T00:00:00.000000Z",
        "2026-01-08T00:00:00.000000Z",
    )


async def test_tainted_arguments_lower_the_lineage_of_the_call() -> None:
    tainted = (TaintedValue("/to", "eve@example.org", "a web page"),)
    note = answering(spec("note"))
    stage = Stage(note)
    await stage.run(Action("note", {}), judge=lambda call, what: Decision("allow", tainted=tainted))
    assert note.calls[0].lineage is Trust.UNTRUSTED
    assert stage.entries()[0].body["tainted"] == [
        {"path": "/to", "value": "eve@example.org", "source": "a web page"}
    ]


# What foreign code does


def raising(error: BaseException) -> Callable[[ActCall], Any]:
    async def work(call: ActCall) -> Outcome:
        raise error

    return work


class Untold(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (SystemExit(3), "it tried to end the process (SystemExit: 3)"),
        (RecursionError("deep"), "RecursionError: deep"),
        (BaseExceptionGroup("many", [SystemExit(1)]), "BaseExceptionGroup: many (1 sub-exception)"),
        (ValueError("half \ud800"), "ValueError: half \ufffd"),
        (Untold(), "Untold: an error that cannot be told"),
        (StopAsyncIteration(), "StopAsyncIteration: "),
    ],
)
async def test_a_handler_that_raises_is_an_outcome_and_the_others_are_done(
    error: BaseException, said: str
) -> None:
    stage = Stage(Doing(spec("odd"), raising(error)), answering(spec("note")))
    odd, note = await stage.run(Action("odd", {}), Action("note", {}))
    assert (odd.state, odd.reason) == ("crashed", said)
    assert note.state == "done"
    assert stage.keys("act") == []


async def test_an_endless_reason_is_cut_and_says_so() -> None:
    stage = Stage(Doing(spec("odd"), raising(ValueError("x" * 100_000))))
    (outcome,) = await stage.run(Action("odd", {}))
    assert len(outcome.reason) < 2100
    assert outcome.reason.endswith("x… (100012 characters)")


DONE = Action("other", {})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "it answered with NoneType"),
        ("text", "it answered with str"),
        (float("nan"), "it answered with float"),
        (Outcome(DONE, "waiting"), "it answered with the state 'waiting'"),
        (Outcome(DONE, cast("Any", "fine")), "it answered with the state 'fine'"),
        (
            Outcome(DONE, "done", text=cast("Any", b"raw")),
            "the text of its answer is bytes, not str",
        ),
        (Outcome(DONE, "done", size=cast("Any", float("nan"))), "the size of its answer is float"),
        (Outcome(DONE, "done", trust=cast("Any", "owner!")), "the trust of its answer is none"),
    ],
)
async def test_an_answer_that_is_none_is_a_crash(answer: object, said: str) -> None:
    async def work(call: ActCall) -> object:
        return answer

    stage = Stage(Doing(spec("odd"), work))
    (outcome,) = await stage.run(Action("odd", {}))
    assert outcome.state == "crashed"
    assert outcome.reason.startswith(said)
    assert stage.stages()[-1] == ("outcome", "crashed")


class Unsayable(str):
    __slots__ = ()

    def __format__(self, how: str) -> str:
        raise ZeroDivisionError("no")


async def test_an_act_that_cannot_even_be_begun_takes_no_other_down() -> None:
    odd = answering(spec("odd", endpoint=Unsayable("door")))
    stage = Stage(odd, answering(spec("note")))
    first, second = await stage.run(Action("odd", {}), Action("note", {}))
    assert (first.state, first.reason) == (
        "crashed", "it could not be begun: ZeroDivisionError: no",
    )  # fmt: skip
    assert (second.state, odd.calls, stage.keys("act")) == ("done", [], [])


class NotAsync:
    spec = spec("odd")

    def handle(self, call: ActCall) -> Outcome:
        return Outcome(call.action, "done")


async def test_a_handler_that_is_not_async_is_a_crash() -> None:
    stage = Stage(cast("Any", NotAsync()))
    (outcome,) = await stage.run(Action("odd", {}))
    assert outcome.state == "crashed"


async def test_who_asked_and_how_far_it_is_trusted_is_not_for_the_handler_to_say() -> None:
    async def work(call: ActCall) -> Outcome:
        return Outcome(
            DONE, "done", trust=Trust.OWNER, key="forged", source="owner", text="\ud83d\ude00\ud800"
        )

    for source, trust in (("mcp:x", Trust.UNTRUSTED), ("builtin", Trust.OWNER)):
        stage = Stage(Doing(spec("odd", source=source), work))
        (outcome,) = await stage.run(Action("odd", {"n": 1}))
        assert outcome.action == Action("odd", {"n": 1})
        assert (outcome.key, outcome.source, outcome.trust) == ("id-000001", source, trust)
        assert outcome.text == "😀\ufffd"
        assert outcome.reason == "1 halves of characters were replaced"


async def test_a_handler_that_cancels_itself_is_a_crash() -> None:
    async def work(call: ActCall) -> Outcome:
        raise anyio.get_cancelled_exc_class()

    stage = Stage(Doing(spec("odd"), work), answering(spec("note")))
    odd, note = await stage.run(Action("odd", {}), Action("note", {}))
    assert (odd.state, odd.reason) == ("crashed", "it cancelled itself")
    assert note.state == "done"


async def test_ctrl_c_ends_all_of_it_and_everything_is_recorded_first() -> None:
    async def interrupted(call: ActCall) -> Outcome:
        await started.wait()
        raise KeyboardInterrupt

    async def waiting(call: ActCall) -> Outcome:
        started.set()
        await anyio.sleep_forever()
        raise AssertionError

    started = anyio.Event()
    stage = Stage(
        Doing(spec("stop", endpoint="a"), interrupted),
        Doing(spec("wait"), waiting),
        answering(spec("note", endpoint="a")),
    )
    outcomes: list[Outcome] = []
    with pytest.raises(KeyboardInterrupt):
        await stage.run(*[Action(n, {}) for n in ("stop", "wait", "note")], outcomes=outcomes)
    assert [outcome.state for outcome in outcomes] == ["unknown", "unknown", "refused"]
    assert stage.keys("act") == []


# Large results


async def test_a_large_result_is_kept_as_a_blob_and_told_in_brief() -> None:
    text = "Größe " * 5000
    stage = Stage(answering(spec("read"), text), sizes=Sizes(inline_bytes=1000))
    (outcome,) = await stage.run(Action("read", {}))
    whole = text.encode()
    assert (outcome.state, outcome.blob, outcome.size) == ("done", digest(whole), len(whole))
    assert stage.blobs.read(outcome.blob) == whole
    shown, _, last = outcome.text.rpartition("\n")
    assert text.startswith(shown)
    assert json.loads(last) == {
        "bytes": len(whole),
        "shown": len(shown.encode()),
        "blob": digest(whole),
        "read_on": "read_result",
    }
    assert 900 < len(outcome.text.encode()) <= 1000
    assert stage.entries()[-1].body["result"] == {
        "text": outcome.text, "size": len(whole), "blob": outcome.blob,
        "screening": {"outcome": "clean"},
    }  # fmt: skip


async def test_what_is_too_large_to_be_kept_is_cut_and_says_so() -> None:
    sizes = Sizes(inline_bytes=100, result_bytes=1001)
    stage = Stage(answering(spec("read"), "é" * 5000), sizes=sizes)
    (outcome,) = await stage.run(Action("read", {}))
    assert outcome.reason == "only the first 1001 of 10000 bytes are kept"
    assert stage.blobs.read(outcome.blob) == ("é" * 500).encode()


class FullBlobs(BlobsInMemory):
    def keep(self, content: bytes) -> str:
        raise StoreError("no space left")


async def test_a_result_that_cannot_be_kept_is_told_in_brief_and_says_so() -> None:
    stage = Stage(answering(spec("read"), "x" * 9000), blobs=FullBlobs())
    (outcome,) = await stage.run(Action("read", {}))
    assert (outcome.state, outcome.blob, outcome.size) == ("done", "", 9000)
    assert outcome.reason == "the whole of it could not be kept: no space left"
    assert stage.stages()[-1] == ("outcome", "done")


# Together, and one after the other


class Floor:
    """How many are being done at once, and in which order they began and ended."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.events: list[str] = []

    async def work(self, call: ActCall) -> Outcome:
        self.now += 1
        self.most = max(self.most, self.now)
        self.events.append(f"+{call.action.payload['n']}")
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        self.events.append(f"-{call.action.payload['n']}")
        self.now -= 1
        return Outcome(call.action, "done")


def numbered(name: str, count: int) -> list[Action]:
    return [Action(name, {"n": n}) for n in range(count)]


async def test_independent_acts_are_done_at_once() -> None:
    floor = Floor()
    stage = Stage(Doing(spec("go"), floor.work))
    await stage.run(*numbered("go", 10))
    assert floor.most == 10


async def test_acts_of_one_endpoint_are_done_one_after_the_other_in_their_order() -> None:
    floor = Floor()
    one, two = (Doing(spec(name, endpoint="door"), floor.work) for name in ("open", "shut"))
    stage = Stage(one, two)
    actions = [Action(("open", "shut")[n % 2], {"n": n}) for n in range(6)]
    await stage.run(*actions)
    assert floor.events == [f"{sign}{n}" for n in range(6) for sign in "+-"]
    # Also when two turns ask at once.
    floor.events.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.run, *actions)
        group.start_soon(stage.run, *actions)
    assert floor.most == 1


@pytest.mark.parametrize(("limit", "own", "most"), [(3, 0, 3), (64, 2, 2), (1, 5, 1)])
async def test_limits_hold(limit: int, own: int, most: int) -> None:
    floor = Floor()
    stage = Stage(
        Doing(spec("go", concurrency=own), floor.work), limits=DispatchLimits(at_once=limit)
    )
    outcomes = await stage.run(*numbered("go", 12))
    assert floor.most == most
    assert [outcome.state for outcome in outcomes] == ["done"] * 12


async def test_outcomes_come_in_order_as_soon_as_those_before_are_there() -> None:
    async def work(call: ActCall) -> Outcome:
        if call.action.payload["n"] == 0:
            await second.wait()
        else:
            second.set()
        return Outcome(call.action, "done")

    second = anyio.Event()
    stage = Stage(Doing(spec("go"), work))
    outcomes = await stage.run(*numbered("go", 2))
    assert [outcome.action.payload["n"] for outcome in outcomes] == [0, 1]


# Deadlines and being cancelled


async def forever(call: ActCall) -> Outcome:
    await anyio.sleep_forever()
    raise AssertionError


async def stubborn(call: ActCall) -> Outcome:
    try:
        await anyio.sleep_forever()
    except BaseException as error:
        raise RuntimeError("I was not done") from error
    raise AssertionError


@pytest.mark.parametrize("work", [forever, stubborn])
async def test_an_act_that_takes_too_long_is_ended(work: Callable[[ActCall], Any]) -> None:
    stage = Stage(Doing(spec("wait", timeout_seconds=0.001), work), answering(spec("note")))
    wait, note = await stage.run(Action("wait", {}), Action("note", {}))
    assert (wait.state, note.state) == ("timeout", "done")
    assert wait.reason == "it was ended after 0.001 seconds; how far it came is not known"
    assert stage.keys("act") == []


async def late(call: ActCall) -> Outcome:
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        return Outcome(call.action, "done", text="in the end")
    raise AssertionError


async def blocking(call: ActCall) -> Outcome:
    end = anyio.current_time() + 0.005
    while anyio.current_time() < end:
        pass
    return Outcome(call.action, "done", text="in the end")


@pytest.mark.parametrize("work", [late, blocking])
async def test_an_answer_that_comes_too_late_is_a_timeout(work: Callable[[ActCall], Any]) -> None:
    stage = Stage(Doing(spec("wait", timeout_seconds=0.001), work))
    (outcome,) = await stage.run(Action("wait", {}))
    assert (outcome.state, outcome.text) == ("timeout", "in the end")
    assert outcome.reason == "it answered 'done', but only after its 0.001 seconds"


async def test_an_endpoint_is_kept_for_what_was_cut_off_there_until_it_is_over() -> None:
    go_on = Event()
    begun: list[int] = []

    @act(endpoint="printer", timeout_seconds=0.05)
    def print_page(n: int) -> str:
        """Print a page."""
        begun.append(n)
        go_on.wait(10)
        return f"page {n}"

    @act(endpoint="printer")
    async def feed() -> None:
        """Feed paper."""

    stage = Stage(print_page, feed)
    outcomes = await stage.run(*numbered("print_page", 2), Action("feed", {}))
    assert [outcome.state for outcome in outcomes] == ["timeout", "unavailable", "unavailable"]
    assert outcomes[2].reason == "an act of 'printer' was cut off and is still being done"
    assert begun == [0]
    go_on.set()
    with anyio.fail_after(10):
        while (await stage.run(Action("feed", {})))[0].state != "done":
            await anyio.lowlevel.checkpoint()
    (again,) = await stage.run(Action("print_page", {"n": 3}))
    assert (again.state, begun) == ("done", [0, 3])


async def test_when_the_time_for_all_is_over_what_runs_is_ended_and_the_rest_never_begins() -> None:
    note = answering(spec("note", endpoint="a"))
    stage = Stage(
        Doing(spec("wait", endpoint="a"), forever), note, limits=DispatchLimits(seconds=0.01)
    )
    wait, rest = await stage.run(Action("wait", {}), Action("note", {}))
    assert (wait.state, rest.state) == ("timeout", "refused")
    assert "the time for all acts was over" in wait.reason
    assert rest.reason == "the time for all acts was over before it began"
    assert note.calls == []
    assert stage.keys("act") == []


@pytest.mark.parametrize("work", [forever, stubborn])
async def test_being_cancelled_what_ran_is_unknown_and_what_had_not_begun_never_is(
    work: Callable[[ActCall], Any],
) -> None:
    async def first(call: ActCall) -> Outcome:
        return Outcome(call.action, "done")

    async def waiting(call: ActCall) -> Outcome:
        scope.cancel()
        return await work(call)

    note = Doing(spec("note", endpoint="a"), first)
    stage = Stage(note, Doing(spec("wait", endpoint="a"), waiting))
    outcomes: list[Outcome] = []
    with anyio.CancelScope() as scope:
        await stage.run(*[Action(n, {}) for n in ("note", "wait", "note")], outcomes=outcomes)
    assert scope.cancelled_caught
    assert [outcome.state for outcome in outcomes] == ["done", "unknown", "refused"]
    assert outcomes[1].reason == "cancelled while it ran; how far it came is not known"
    assert outcomes[2].reason == "cancelled before it began"
    assert len(note.calls) == 1
    assert stage.keys("act") == []
    assert stage.stages()[3:] == [
        ("outcome", "done"), ("outcome", "unknown"), ("outcome", "refused"),
    ]  # fmt: skip


async def test_what_was_done_although_it_was_cancelled_is_done() -> None:
    async def done(call: ActCall) -> Outcome:
        scope.cancel()
        return Outcome(call.action, "done", text="too late to stop")

    stage = Stage(Doing(spec("go"), done))
    outcomes: list[Outcome] = []
    with anyio.CancelScope() as scope:
        await stage.run(Action("go", {}), outcomes=outcomes)
    assert [(outcome.state, outcome.text) for outcome in outcomes] == [("done", "too late to stop")]


async def test_cancelled_before_it_is_asked_nothing_is_done() -> None:
    note = answering(spec("note"))
    stage = Stage(note)
    outcomes: list[Outcome] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await stage.run(Action("note", {}), Action("fly", {}), outcomes=outcomes)
    assert [outcome.state for outcome in outcomes] == ["refused", "not_found"]
    assert note.calls == []
    assert stage.keys("act") == []


async def test_a_key_that_was_used_before_is_not_done_again() -> None:
    ledger, note = LedgerInMemory(), answering(spec("note"))
    await Stage(note, ledger=ledger).run(Action("note", {"n": 1}))
    again = Stage(note, ledger=ledger)  # the same ids once more
    (outcome,) = await again.run(Action("note", {"n": 1}))
    assert outcome.state == "unavailable"
    assert "`act/id-000001/intent` of agent `home/ada` is entry 0 already" in outcome.reason
    assert len(note.calls) == 1


async def test_an_act_that_changed_after_it_was_judged_is_not_done() -> None:
    note = answering(spec("note"))
    other = answering(ActSpec(note.spec.declaration, source="mcp:x"))
    stage = Stage(note)

    def judge(call: ActCall, what: ActSpec) -> Decision:
        stage.registry.add(other, replace=True)
        return allow(call, what)

    (outcome,) = await stage.run(Action("note", {}), judge=judge)
    assert outcome.state == "unavailable"
    assert (note.calls, other.calls, stage.keys("act")) == ([], [], [])


async def test_a_dispatch_that_breaks_leaves_an_outcome_for_each() -> None:
    class Broken(LedgerInMemory):
        def append(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - never returns
            raise OSError("not one of ours")

    outcomes: list[Outcome] = []
    stage = Stage(answering(spec("note")), ledger=Broken())
    with pytest.raises(OSError, match="not one of ours"):
        await stage.run(Action("note", {}), outcomes=outcomes)
    assert [outcome.state for outcome in outcomes] == ["refused"]
    assert outcomes[0].reason == "broken off before it began; this is not recorded"


async def test_a_dispatch_that_breaks_after_an_act_began_does_not_say_it_never_did() -> None:
    class Breaking(LedgerInMemory):
        left = 1

        def append(self, *args: Any, **rest: Any) -> Any:  # noqa: ANN401 - as it was
            self.left -= 1
            if self.left < 0:
                raise OSError("not one of ours")
            return super().append(*args, **rest)

    outcomes: list[Outcome] = []
    stage = Stage(answering(spec("note")), ledger=Breaking())
    with pytest.raises((OSError, BaseExceptionGroup)):
        await stage.run(Action("note", {}), outcomes=outcomes)
    (outcome,) = outcomes
    assert outcome.state == "unknown"
    assert outcome.reason == "broken off after it began; what came of it is not recorded"


@pytest.mark.parametrize("kept", ["memory", "file"])
async def test_a_thousand_acts_at_once(tmp_path: Path, kept: str) -> None:
    floor = Floor()
    with Database(tmp_path / "mentis.db") as database:
        ledger = SqliteLedger(database) if kept == "file" else LedgerInMemory()
        limits = DispatchLimits(at_once=1000)
        stage = Stage(Doing(spec("go"), floor.work), ledger=ledger, limits=limits)
        outcomes = await stage.run(*numbered("go", 1000))
        assert [outcome.action.payload["n"] for outcome in outcomes] == list(range(1000))
        assert {outcome.state for outcome in outcomes} == {"done"}
        assert len({outcome.key for outcome in outcomes}) == 1000
        assert floor.most == 1000
        assert stage.ledger.count(AGENT) == 2000
        assert stage.keys("act") == []
        assert verify_chain(AGENT, stage.entries()).intact


@pytest.mark.needs_ptrace
def test_an_act_is_two_syncs_of_the_disk(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    report = tmp_path / "trace"
    command = [strace, "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(report)]
    command += [sys.executable, str(SYNCING), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr.lower():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    marked = re.findall(r'write\(1, "(\w+)|(f(?:data)?sync)\(', report.read_text())
    order = [said or "sync" for said, _ in marked]
    ours = order[order.index("begin") : order.index("end") + 1]
    # Written down, synced, done, written down, synced; and so are two that are done one by one.
    assert ours == [
        "begin", "sync", "doing", "sync", "next", "sync", "doing", "sync", "doing", "sync", "end",
    ]  # fmt: skip

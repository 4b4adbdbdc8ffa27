"""One person decides, on exactly what was shown, and everybody else is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.act import entries
from mentis.act.approvals import Approvals, check_bound
from mentis.errors import StoreDamaged, UsageError
from mentis.ledger.chain import make_stamp
from mentis.ledger.recipes import holds
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.stores.memory import AcceptedInMemory, LedgerInMemory
from mentis.values.act import ActCall, ActSpec, Decision, TaintedValue, WaitingAct
from mentis.values.action import Action, Outcome
from mentis.values.mark import Mark
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

AGENT = "home/ada"
START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = "2026-01-02T00:00:00.000000Z"
PAYLOAD: dict[str, Any] = {"to": "mallory@evil.example", "n": 1.0, "deep": [{"ü": None}]}
TAINTED = TaintedValue("/to", "mallory@evil.example", "web")


def waiting(key: str = "key-1", **changes: Any) -> WaitingAct:  # noqa: ANN401
    call = ActCall(
        Action("send", PAYLOAD, call_id="c1"),
        key,
        AGENT,
        "main",
        lineage=Trust.UNTRUSTED,
    )
    decision = Decision("wait", "policy", "/to came from untrusted text: web", (TAINTED,))
    made = WaitingAct(
        call,
        "sha256:0",
        "mcp:mail",
        external_effects=True,
        decision=decision,
        since="2026-01-01T00:00:00.000000Z",
        expires=LATER,
    )
    return replace(made, **changes)


class Desk:
    def __init__(self, *acts: WaitingAct, ledger: LedgerStore | None = None) -> None:
        self.ids = CountingIds()
        self.clock = FixedClock(START)
        self.accepted = AcceptedInMemory()
        self.ledger = LedgerInMemory() if ledger is None else ledger
        self.stamp = make_stamp(self.clock.now, self.ids.salt)
        for act in acts:
            self.put(act)

    def put(self, act: WaitingAct) -> None:
        draft, mark = entries.waiting_draft(act), entries.waiting_mark(act)
        self.ledger.append(AGENT, [draft], self.stamp, marks=[mark])

    def approvals(self, now: datetime = START) -> Approvals:
        clock = FixedClock(now)
        return Approvals(
            self.ledger,
            self.stamp,
            self.accepted,
            agent=AGENT,
            clock=clock,
            ids=self.ids,
            genuine=holds,
        )

    def keys(self, kind: str) -> list[str]:
        return [mark.key for mark in self.ledger.marks(AGENT, kind)]

    def last(self) -> dict[str, Any]:
        (entry,) = self.ledger.latest(AGENT, 1)
        return dict(entry.body)


def test_what_waits_is_shown_in_full_oldest_first() -> None:
    younger = waiting("a", since="2026-01-01T00:00:09.000000Z")
    desk = Desk(younger, waiting("b"))
    acts, faults = desk.approvals().pending()
    assert [act.call.key for act in acts] == ["b", "a"]
    assert faults == ()
    assert acts[0] == waiting("b")
    assert acts[0].call.action.payload == PAYLOAD
    assert acts[0].decision.tainted == (TAINTED,)


def test_an_approval_binds_the_payload_and_the_definition() -> None:
    desk = Desk(waiting())
    assert desk.approvals().approve("key-1", by="ada", words="go on") == waiting()
    assert (desk.keys("waiting"), desk.keys("approved")) == ([], ["key-1"])
    body = desk.last()
    assert (body["act"]["stage"], body["act"]["spec"]) == ("approved", "sha256:0")
    assert body["act"]["payload"] == entries.payload_digest(PAYLOAD)
    assert (body["decided"]["by"], body["decided"]["words"]) == ("ada", "go on")
    mark = desk.ledger.mark(AGENT, "approved", "key-1")
    assert mark is not None
    assert entries.waiting_act(mark) == waiting()
    check_bound(desk.ledger, AGENT, waiting(), "approved")
    other = replace(waiting(), call=replace(waiting().call, action=Action("send", {"to": "x"})))
    with pytest.raises(StoreDamaged, match="is not what the record says"):
        check_bound(desk.ledger, AGENT, other, "approved")


def test_a_denial_is_news_for_the_next_turn() -> None:
    desk = Desk(waiting())
    desk.approvals().deny("key-1", by="ada", words="not them")
    assert (desk.keys("waiting"), desk.keys("approved"), desk.keys("news")) == ([], [], ["key-1"])
    mark = desk.ledger.mark(AGENT, "news", "key-1")
    assert mark is not None
    outcome = entries.news(mark)
    assert (outcome.state, outcome.reason) == ("refused", "denied by ada: not them")
    assert outcome.action.payload == PAYLOAD


def test_what_nobody_decides_in_time_expires() -> None:
    desk = Desk(waiting("a"), waiting("b", expires="2026-01-09T00:00:00.000000Z"))
    approvals = desk.approvals()
    assert approvals.expire(START) == ()
    assert [act.call.key for act in approvals.expire(START + timedelta(days=1))] == ["a"]
    assert (desk.keys("waiting"), desk.keys("news")) == (["b"], ["a"])
    mark = desk.ledger.mark(AGENT, "news", "a")
    assert mark is not None
    assert entries.news(mark).reason == f"nobody approved it until {LATER}"
    with pytest.raises(UsageError, match="it was expired at"):
        approvals.approve("a", by="ada")


def test_what_has_expired_cannot_be_approved_even_if_nobody_looked() -> None:
    desk = Desk(waiting())
    with pytest.raises(UsageError, match="decided already: it was expired"):
        desk.approvals(START + timedelta(days=1)).approve("key-1", by="ada")
    assert (desk.keys("waiting"), desk.keys("approved"), desk.keys("news")) == ([], [], ["key-1"])


def test_a_key_may_be_cut_short_as_long_as_it_is_one() -> None:
    desk = Desk(waiting("abc-1"), waiting("abd-2"), waiting("ab"))
    approvals = desk.approvals()
    assert approvals.find("abc").call.key == "abc-1"
    assert approvals.find("ab").call.key == "ab"  # all of it
    with pytest.raises(UsageError, match="3 acts that wait") as caught:
        approvals.find("a")
    assert caught.value.hint == "give more of the key: ab, abc-1, abd-2"


@pytest.mark.parametrize(
    ("key", "hint"),
    [("abx-1", "did you mean abc-1?"), ("zzz", "`mentis acts pending`"), ("", "`mentis")],
)
def test_an_unknown_key_is_told_with_the_close_ones(key: str, hint: str) -> None:
    with pytest.raises(UsageError, match="no act that waits has the key") as caught:
        Desk(waiting("abc-1")).approvals().approve(key, by="ada")
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("first", "again"), [("approve", "approve"), ("deny", "approve"), ("deny", "deny")]
)
def test_whoever_comes_second_is_told_what_happened(first: str, again: str) -> None:
    desk = Desk(waiting())
    getattr(desk.approvals(), first)("key-1", by="ada")
    with pytest.raises(UsageError, match=r"decided already: it was (approved|denied) by ada"):
        getattr(desk.approvals(), again)("key-1", by="bob")
    assert len(list(desk.ledger.entries(AGENT))) == 2


def test_a_yes_can_be_taken_back_and_is_kept_outside_until_then() -> None:
    desk, what = Desk(waiting()), entries.waiting_digest(waiting())
    desk.approvals().approve("key-1", by="ada")
    assert desk.accepted.is_accepted(AGENT, "key-1", what)
    assert not desk.accepted.is_accepted(AGENT, "key-1", entries.waiting_digest(waiting("key-2")))
    desk.approvals().deny("key", by="bob", words="no")
    assert not desk.accepted.is_accepted(AGENT, "key-1", what)
    assert (desk.keys("approved"), desk.keys("news")) == ([], ["key-1"])


def test_what_was_approved_and_not_begun_in_time_is_given_up() -> None:
    desk = Desk(waiting())
    desk.approvals().approve("key-1", by="ada")
    (late,) = desk.approvals().expire(START + timedelta(days=1))
    assert (late.call.key, desk.keys("approved")) == ("key-1", [])
    mark = desk.ledger.mark(AGENT, "news", "key-1")
    assert mark is not None
    assert entries.news(mark).reason == f"nobody began it until {LATER}"


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "builtin"},
        {"external_effects": False},
        {"expires": "2099-01-01T00:00:00.000000Z"},
        {"where": "POST https://good.example"},
        {"since": "2020-01-01T00:00:00.000000Z"},
        {"decision": Decision("wait", "ask", "you asked to be asked")},
        {"spec": "sha256:1"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_a_person_is_shown_is_what_the_record_says(changes: dict[str, Any]) -> None:
    desk = Desk(waiting())
    forged = Mark("waiting", "key-1", entries.waiting_mark(waiting(**changes)).value)
    note = entries.waiting_draft(waiting("other"))
    desk.ledger.append(AGENT, [note], desk.stamp, marks=[forged])
    acts, (fault,) = desk.approvals().pending()
    assert (acts, "is not what the record says" in fault.message) == ((), True)
    for decide in (desk.approvals().find, partial(desk.approvals().approve, by="ada")):
        with pytest.raises(StoreDamaged, match="is not what the record says"):
            decide("key-1")


def test_an_entry_that_is_not_what_its_hash_says_is_no_record() -> None:
    desk = Desk(waiting())
    approvals = Approvals(
        desk.ledger,
        desk.stamp,
        desk.accepted,
        agent=AGENT,
        clock=desk.clock,
        ids=desk.ids,
        genuine=lambda entry: holds(replace(entry, body={**entry.body, "payload": {"to": "x"}})),
    )
    with pytest.raises(StoreDamaged, match="is not what the record says"):
        approvals.approve("key-1", by="ada")


class Racing(LedgerInMemory):
    """Both have looked before either decides."""

    def __init__(self, both: Barrier) -> None:
        super().__init__()
        self.waits: Barrier | None = None
        self._barrier = both

    def append(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        if self.waits is not None:
            self.waits.wait(10)
        return super().append(*given, **named)

    def start(self) -> None:
        self.waits = self._barrier


@pytest.mark.parametrize("verbs", [("approve", "approve"), ("approve", "deny"), ("deny", "deny")])
def test_of_two_at_the_same_time_one_wins(verbs: tuple[str, str]) -> None:
    ledger = Racing(Barrier(2))
    desk = Desk(waiting(), ledger=ledger)
    ledger.start()

    def decide(verb: str, by: str) -> str:
        try:
            getattr(desk.approvals(), verb)("key-1", by=by)
        except UsageError as error:
            return error.message
        return ""

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(decide, verbs, ("ada", "bob")))
    assert said.count("") == 1
    assert "decided already: it was" in said[0] + said[1]
    assert len(list(ledger.entries(AGENT))) == 2


def test_a_mark_that_was_changed_behind_the_record_is_not_approved() -> None:
    desk = Desk(waiting())
    changed = replace(waiting(), call=replace(waiting().call, action=Action("send", {"to": "x"})))
    note = entries.intent_draft(changed.call, ActSpec(ToolDeclaration("send", "s")), "sha256:1")
    mark = Mark("waiting", "key-1", entries.waiting_mark(changed).value)
    desk.ledger.append(AGENT, [note], desk.stamp, marks=[mark])
    with pytest.raises(StoreDamaged, match="is not what the record says"):
        desk.approvals().approve("key-1", by="ada")
    desk.approvals().deny("key-1", by="ada")
    assert desk.keys("waiting") == []


def test_a_mark_that_cannot_be_read_does_not_hide_the_others() -> None:
    desk = Desk(waiting())
    odd = Mark("waiting", "odd", {"call": 1})
    note = entries.waiting_draft(waiting("odd"))
    desk.ledger.append(AGENT, [note], desk.stamp, marks=[odd])
    acts, faults = desk.approvals().pending()
    assert [act.call.key for act in acts] == ["key-1"]
    assert "the mark waiting 'odd' cannot be read" in faults[0].message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_waiting_act_reads_back_as_it_was_written(payload: dict[str, Any]) -> None:
    act = replace(waiting(), call=replace(waiting().call, action=Action("send", payload)))
    assert entries.waiting_act(entries.waiting_mark(act)) == act
    read = entries.waiting_act(entries.waiting_mark(act)).call.action.payload
    assert entries.payload_digest(read) == entries.payload_digest(payload)
    outcome = Outcome(act.call.action, "refused", key="k")
    assert entries.news(entries.news_mark("k", outcome)) == outcome


def test_each_stage_has_one_delivery() -> None:
    call, spec = waiting().call, ActSpec(ToolDeclaration("send", "s"), endpoint="mail")
    again = replace(call, attempt=2)
    done = Outcome(call.action, "done", text="sent", source="mcp:mail")
    assert [
        entries.intent_draft(call, spec, "sha256:0").delivery,
        entries.intent_draft(again, spec, "sha256:0").delivery,
        entries.outcome_draft(call, done).delivery,
        entries.outcome_draft(again, done).delivery,
        entries.waiting_draft(waiting()).delivery,
        entries.decided_draft(waiting(), "denied", entries.ApprovalDecision("1", "ada")).delivery,
    ] == [
        "act/key-1/intent",
        "act/key-1/intent/2",
        "act/key-1/outcome",
        "act/key-1/outcome/2",
        "act/key-1/waiting",
        "act/key-1/denied",
    ]

"""The state of a mind: looked at, compared, taken back; other drives never cost it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from mentis.errors import BadInput, StoreConflict, StoreDamaged, StoreFull, UsageError
from mentis.ports.clock import FixedClock
from mentis.prompts.cognition import DRIVES_CHANGED, Cognition, load_state, state_lines
from mentis.settle.patches import patch
from mentis.stores.memory import StatesInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.revisions import SqliteRevisions
from mentis.stores.states import States
from mentis.values.cognition import CognitionState, Goal, GoalTree, L1Entry, root_partition
from mentis.values.entry import Draft
from mentis.values.tick import Append, PatchLimits, Remove, Sprout
from mentis.values.trust import Trust

DRIVES = root_partition(["Be useful."])
HERE = "home/ada"


class World:
    def __init__(self, *texts: str, states: States | None = None) -> None:
        self.states = states or StatesInMemory()
        self.recorded: list[Draft] = []
        self.mind = Cognition(HERE, self.states, drives=DRIVES, record=self.record)
        for text in texts:
            self.change(Append(text))

    def record(self, draft: Draft) -> int:
        self.recorded.append(draft)
        return 7

    def change(self, *ops: Append | Remove, goal: Sprout | None = None) -> None:
        state = load_state(self.states, HERE, DRIVES)
        new = patch(state, [goal] if goal else [], ops).state
        self.states.save(HERE, new, expected=state.revision, words="tick")

    def held(self) -> list[str]:
        return [entry.text for entry in self.mind.state().l1_memory]


def test_undo_goes_back_step_by_step_and_each_step_is_a_revision() -> None:
    world = World("a", "b", "c")
    assert [world.mind.undo().revision, world.held()] == [4, ["a", "b"]]
    world.mind.undo()
    assert world.held() == ["a"]
    world.change(Append("d"))
    world.mind.undo()
    assert world.held() == ["a"]
    world.mind.undo()
    assert (world.held(), world.mind.state().goals.root) == ([], DRIVES)
    with pytest.raises(UsageError, match="nothing to undo"):
        world.mind.undo()
    words = [revision.words for revision in world.mind.history()]
    assert words == [*["tick"] * 3, "undo 3", "undo 2", "tick", "undo 6", "undo 1"]


def test_any_revision_can_be_gone_back_to_and_that_can_be_undone() -> None:
    world = World("a", "b")
    world.mind.undo(to=0)
    assert world.held() == []
    world.mind.undo()
    assert world.held() == ["a", "b"]
    with pytest.raises(UsageError, match="no revision 9") as caught:
        world.mind.undo(to=9)
    assert "there are 4" in caught.value.hint


def test_a_difference_tells_what_came_and_went() -> None:
    world = World("a")
    world.change(Append("b"), Remove(0), goal=Sprout("user-root", "g", "Learn", 5))
    changed = [line for line in world.mind.diff().splitlines() if line[0] in "+-"]
    assert changed == [
        "--- revision 1",
        "+++ revision 2",
        f"-in mind {L1Entry('a').hash[:8]}: a",
        "+  goal g [5]: Learn",
        f"+in mind {L1Entry('b').hash[:8]}: b",
    ]
    assert world.mind.diff(2, 2) == ""
    assert f"+in mind {L1Entry('a').hash[:8]}: a" in world.mind.diff(0, 1)


def test_other_drives_never_cost_the_state_and_their_change_is_kept() -> None:
    world = World("a")
    other = root_partition(["Be kind.", "Be brief."])
    state = load_state(world.states, HERE, other)
    assert (state.goals.root, state.revision) == (other, 2)
    assert load_state(world.states, HERE, other) == state
    assert [one.words for one in world.mind.history()] == ["tick", DRIVES_CHANGED]
    assert "+drive: Be kind." in world.mind.diff()
    before = world.states.at(HERE, 1)
    assert before is not None
    assert before.goals.root == DRIVES


def test_a_mind_that_changed_nothing_has_no_revisions() -> None:
    states = StatesInMemory()
    fresh = load_state(states, HERE, DRIVES)
    assert (fresh.goals.root, fresh.revision, states.history(HERE)) == (DRIVES, 0, ())


def test_what_is_in_review_is_listed_and_a_person_can_vouch_for_it() -> None:
    world = World("own")
    outside = Append("Send coins.", Trust.UNTRUSTED, review=True)
    world.change(outside, goal=Sprout("user-root", "g", "Buy", 0, Trust.UNTRUSTED, review=True))
    goal, entry = world.mind.in_review()
    assert (goal.kind, goal.name, entry.kind, entry.text) == ("goal", "g", "memory", "Send coins.")
    world.mind.accept("g", reason="I asked for it")
    world.mind.accept(entry.name, reason="so did I")
    assert world.mind.in_review() == ()
    assert world.mind.state().goals.user.children[0].lineage is Trust.OWNER
    assert world.mind.state().l1_memory[-1] == L1Entry("Send coins.", Trust.OWNER)
    assert world.recorded[0].body["state"] == {
        "what": "accept",
        "name": "g",
        "reason": "I asked for it",
        "revision": 3,
    }
    with pytest.raises(UsageError, match="nothing in review is called 'g'"):
        world.mind.accept("g", reason="again")
    with pytest.raises(UsageError, match="say why"):
        world.mind.accept("g", reason=" ")
    assert len(world.recorded) == 2


def test_a_name_that_means_two_things_is_refused_and_each_can_be_named() -> None:
    world = World()
    text = "Send coins."
    begin = L1Entry(text).hash[:12]
    goal = Sprout("user-root", begin, "Buy", 0, Trust.UNTRUSTED, review=True)
    world.change(Append(text, Trust.UNTRUSTED, review=True), goal=goal)
    with pytest.raises(UsageError, match="names 2 things") as caught:
        world.mind.accept(begin, reason="I asked for it")
    assert f"goal:{begin} or memory:{begin}" in caught.value.hint
    assert (world.recorded, len(world.mind.in_review())) == ([], 2)
    world.mind.accept(f"goal:{begin}", reason="I asked for it")
    assert [one.kind for one in world.mind.in_review()] == ["memory"]
    world.mind.accept(f"memory:{begin}", reason="I asked for it")
    assert world.mind.in_review() == ()


def test_what_cannot_be_recorded_is_not_accepted() -> None:
    world = World()
    world.change(Append("Send coins.", Trust.UNTRUSTED, review=True))

    def fails(_draft: Draft) -> NoReturn:
        raise StoreFull("no room")

    mind = Cognition(HERE, world.states, drives=DRIVES, record=fails)
    with pytest.raises(StoreFull):
        mind.accept(mind.in_review()[0].name, reason="I asked for it")
    assert len(mind.in_review()) == 1


def test_no_text_passes_for_a_line_of_its_own() -> None:
    world = World("a\nin mind: b\u2028\x1b[2J")
    told = state_lines(world.mind.state())[-1]
    assert told.partition(": ")[2] == r"a\nin mind: b\u2028\x1b[2J"


def test_a_state_that_could_not_be_read_again_is_not_saved() -> None:
    goal = Goal("deep", "goal")
    for number in range(150):
        goal = Goal(f"g{number}", "goal", children=(goal,))
    world = World("a")
    state = world.states.load(HERE)
    deep = CognitionState(GoalTree(user=replace(state.goals.user, children=(goal,))), (), 2)
    with pytest.raises(BadInput, match="could not be read again"):
        world.states.save(HERE, deep, expected=1)
    assert world.held() == ["a"]


def test_a_damaged_state_is_named_and_the_one_before_it_can_be_had(tmp_path: Path) -> None:
    with Database(tmp_path / "mentis.db") as database:
        states = States(SqliteRevisions(database), FixedClock())
        world = World("a", "b", states=states)
        with database.write() as connection:
            connection.execute("UPDATE revisions SET content = '{' WHERE number = 2")
        with pytest.raises(StoreDamaged, match="revision 2, cannot be read") as caught:
            world.mind.state()
        assert "mentis state undo" in caught.value.hint
        world.mind.undo()
        assert (world.held(), world.mind.state().revision) == (["a"], 3)
        with database.write() as connection:  # valid, and not what was saved
            forged = '{"l1_memory":[{"text":"x"}],"revision":3}'
            connection.execute("UPDATE revisions SET content = ? WHERE number = 3", (forged,))
        with pytest.raises(StoreDamaged, match="not what its digest says"):
            world.mind.state()
        world.mind.undo(to=1)
        assert world.held() == ["a"]


def test_a_state_is_the_same_after_a_restart(tmp_path: Path) -> None:
    with Database(tmp_path / "mentis.db") as database:
        states = States(SqliteRevisions(database), FixedClock())
        World("a", "ü\n😀", states=states)
        before = states.load(HERE)
    with Database(tmp_path / "mentis.db") as database:
        again = States(SqliteRevisions(database), FixedClock())
        assert again.load(HERE) == before
        late = replace(before, l1_memory=())
        with pytest.raises(StoreConflict):
            again.save(HERE, CognitionState(late.goals, (), 2), expected=1)
        assert again.load(HERE) == before


def test_the_owner_puts_something_there_and_takes_away_what_nobody_else_may() -> None:
    world = World("own")
    world.mind.add("She is called Ida.")
    world.mind.add_goal("call", "Call her", weight=500)
    done = world.mind.add_goal("when", "On Sunday", parent="call")
    assert state_lines(done)[1:] == [
        "goal user-root [0]: user goals",
        "  goal call [500]: Call her (owner)",
        "    goal when [0]: On Sunday (owner)",
        f"in mind {L1Entry('own').hash[:8]}: own",
        f"in mind {L1Entry('She is called Ida.').hash[:8]}: She is called Ida. (owner)",
    ]
    with pytest.raises(UsageError, match="there is a goal 'call' already"):
        world.mind.add_goal("call", "Again")
    assert world.mind.remove(L1Entry("She is called Ida.").hash[:8]).l1_memory == (L1Entry("own"),)
    assert world.mind.remove("goal:call").goals.user.children == ()
    with pytest.raises(UsageError, match="nothing is called 'call'"):
        world.mind.remove("call")
    world.mind.undo()
    assert world.mind.state().goals.user.children[0].id == "call"
    assert [one.words for one in world.mind.history()][1:4] == [
        "the owner added an entry",
        "the owner added the goal call",
        "the owner added the goal when",
    ]


def test_what_made_room_for_the_owners_entry_is_told_by_its_revision() -> None:
    world = World("a", "b")
    limits = PatchLimits(entries=2)
    Cognition(HERE, world.states, drives=DRIVES, record=world.record, limits=limits).add("c")
    assert world.held() == ["b", "c"]
    gone = L1Entry("a").hash[:12]
    assert world.mind.history()[-1].words == f"the owner added an entry; {gone} made room"

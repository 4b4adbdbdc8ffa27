"""The state of one mind as a person sees it: what it wants and holds in mind, how it came to be so,
and the way back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from mentis.errors import MentisError, StoreConflict, UsageError
from mentis.home.closing import Closeable, closed_on_failure
from mentis.home.database import open_database
from mentis.home.ledger import open_ledger
from mentis.home.parts import Parts
from mentis.home.server import open_revisions
from mentis.home.system import RandomIds, SystemClock
from mentis.ledger.chain import make_stamp
from mentis.ports.clock import Clock
from mentis.ports.entries import Entries
from mentis.ports.ids import Ids
from mentis.ports.state_store import StateStore
from mentis.settings.sources import load_settings
from mentis.settle.goal_patch import every_goal, is_owners
from mentis.settle.patches import DEFAULT_LIMITS, PatchedState, patch
from mentis.stores.files.home import find_home
from mentis.stores.states import States
from mentis.values.cognition import (
    USER_ROOT,
    CognitionState,
    Goal,
    GoalTree,
    L1Entry,
    Revision,
    RootPartition,
    root_partition,
)
from mentis.values.entry import Draft
from mentis.values.tick import (
    Append,
    GoalPatchOp,
    MemoryPatchOp,
    PatchLimits,
    Prune,
    Remove,
    Sprout,
)
from mentis.values.trust import Trust
from mentis.values.value import Value

_UNDO = re.compile(r"undo (\d+)")
_SHORTEST_HASH = 6
_SHOWN = 8  # digits of a hash, as the agent is told them
DRIVES_CHANGED = "the drives in the settings changed"


def load_state(states: StateStore, agent: str, drives: RootPartition) -> CognitionState:
    """The newest state, with the drives of today. That they changed is a revision of its own, so
    that nobody wonders later; a mind that never changed anything has no revisions.
    """
    state = states.load(agent)
    if state.goals.root == drives:
        return state
    rooted = replace(state, goals=GoalTree(drives, state.goals.user))
    if state.revision == 0:
        return rooted
    rooted = replace(rooted, revision=state.revision + 1)
    states.save(agent, rooted, expected=state.revision, words=DRIVES_CHANGED)
    return rooted


@dataclass(frozen=True, slots=True)
class ReviewItem(Value):
    """Something made from outside text that nobody has looked at. `name` is a goal's id, or the
    hash of what is held in mind.
    """

    kind: str
    name: str
    text: str
    lineage: Trust


class Cognition(Closeable):
    """Opened with `open_cognition(home)`.

    ```python
    with open_cognition("my-home") as cognition:
        print(cognition.diff())
        cognition.undo()
    ```

    `expected` is the revision that its changes are made from, where there is one.
    """

    def __init__(
        self,
        agent: str,
        states: StateStore,
        *,
        drives: RootPartition,
        record: Callable[[Draft], int],
        close: Callable[[], None] = lambda: None,
        limits: PatchLimits = DEFAULT_LIMITS,
    ) -> None:
        self.agent = agent
        self._states = states
        self._drives = drives
        self._record = record
        self._close = close
        self._limits = limits
        self.expected: int | None = None

    def close(self) -> None:
        self._close()

    def state(self, revision: int | None = None) -> CognitionState:
        """The newest, with the drives of the settings; or as it was then."""
        if revision is None:
            state = self._states.load(self.agent)
            return replace(state, goals=GoalTree(self._drives, state.goals.user))
        return self._at(revision)

    def history(self, *, last: int | None = None) -> tuple[Revision, ...]:
        return self._states.history(self.agent, last=last)

    def diff(self, older: int | None = None, newer: int | None = None) -> str:
        """What changed from one revision to another; by default what the newest one changed."""
        there = self._newest() if newer is None else newer
        before = max(there - 1, 0) if older is None else older
        old, new = state_lines(self._at(before)), state_lines(self._at(there))
        names = f"revision {before}", f"revision {there}"
        return "\n".join(unified_diff(old, new, *names, lineterm="", n=2))

    def undo(self, to: int | None = None) -> CognitionState:
        """Back to before the newest change that still stands, or to a revision: a new revision,
        also where the newest cannot be read. The drives stay those of the settings.
        """
        newest = self._newest()
        self._require(newest)
        if to is None:
            undone = self._standing(newest)
            if undone == 0:
                raise UsageError("there is nothing to undo", hint="mentis state history")
            to, words = undone - 1, f"undo {undone}"
        else:
            words = f"back to {to}"
        old = self._at(to)
        goals = GoalTree(self._drives, old.goals.user)
        back = CognitionState(goals, old.l1_memory, newest + 1)
        self._states.save(self.agent, back, expected=newest, words=words)
        return back

    def add(self, text: str) -> CognitionState:
        """Put something into the agent's mind: the owner's, which outside text cannot displace."""
        done = self._patched(memory_ops=(Append(text),))
        entries = [_vouched(one) if one.text == text else one for one in done.state.l1_memory]
        gone = [f"; {one.displaced.name} made room" for one in done.memory_ops if one.displaced]
        words = f"the owner added an entry{''.join(gone)}"
        return self._saved(replace(done.state, l1_memory=tuple(entries)), words)

    def add_goal(
        self, name: str, text: str, *, weight: int = 0, parent: str = USER_ROOT
    ) -> CognitionState:
        """Give the agent a goal; one of the owner's, as above."""
        new = self._patched(goal_ops=(Sprout(parent, name, text, weight),)).state
        owners = _changed(new.goals.user, lambda one: one.id == name, _vouched_goal)
        goals = replace(new.goals, user=owners)
        return self._saved(replace(new, goals=goals), f"the owner added the goal {one_line(name)}")

    def remove(self, name: str) -> CognitionState:
        """Take a goal (by id or `goal:ID`) or an entry (by hash or `memory:HASH`) away."""
        state = self._loaded()
        found = _one_of(
            [f"goal:{one.id}" for one in every_goal(state.goals.user) if _named(one, name)],
            [f"memory:{one.hash}" for one in state.l1_memory if _begins(one, name)],
            name,
        )
        kind, _, which = found.partition(":")
        done = (
            self._patched(goal_ops=(Prune(which),))
            if kind == "goal"
            else self._patched(memory_ops=(Remove(hash=which),))
        )
        return self._saved(done.state, f"the owner removed {one_line(name)}")

    def _patched(
        self, *, goal_ops: Sequence[GoalPatchOp] = (), memory_ops: Sequence[MemoryPatchOp] = ()
    ) -> PatchedState:
        done = patch(self._loaded(), goal_ops, memory_ops, self._limits)
        for one in (*done.goal_ops, *done.memory_ops):
            if not one.applied:
                raise UsageError(one.reason, hint="`mentis state show` lists what is there")
        return done

    def _saved(self, new: CognitionState, words: str) -> CognitionState:
        rooted = replace(new, goals=GoalTree(self._drives, new.goals.user))
        self._states.save(self.agent, rooted, expected=new.revision - 1, words=words)
        return rooted

    def in_review(self) -> tuple[ReviewItem, ...]:
        state = self._states.load(self.agent)
        goals = [
            ReviewItem("goal", goal.id, goal.text, goal.lineage)
            for goal in every_goal(state.goals.user)
            if goal.review
        ]
        held = [
            ReviewItem("memory", entry.hash[:12], entry.text, entry.lineage)
            for entry in state.l1_memory
            if entry.review
        ]
        return (*goals, *held)

    def accept(self, name: str, *, reason: str) -> CognitionState:
        """A person vouches for a goal (by id or `goal:ID`) or an entry (by hash or `memory:HASH`).

        Nothing is accepted that is not recorded: where that fails it is taken back.
        """
        if not reason.strip():
            raise UsageError("say why: it is recorded", hint="give a reason")
        state = self._loaded()
        _check_one(state, name)
        goals = GoalTree(self._drives, _accepted(state.goals.user, name))
        entries = tuple([_vouched(one) if _means(one, name) else one for one in state.l1_memory])
        new = CognitionState(goals, entries, state.revision + 1)
        words = f"accepted {one_line(name)}"
        self._states.save(self.agent, new, expected=state.revision, words=words)
        told = {"what": "accept", "name": name, "reason": reason, "revision": new.revision}
        try:
            self._record(Draft("state", "owner", {"state": told}))
        except MentisError:
            back = replace(state, revision=new.revision + 1)
            words = f"undo {new.revision}"
            self._states.save(self.agent, back, expected=new.revision, words=words)
            raise
        return new

    def _loaded(self) -> CognitionState:
        """The newest, to be changed."""
        state = self._states.load(self.agent)
        self._require(state.revision)
        return state

    def _require(self, newest: int) -> None:
        if self.expected not in (None, newest):
            raise StoreConflict(
                f"the state is at revision {newest}, not {self.expected} any more",
                hint="look at it again, and repeat the change",
                newest=newest,
                expected=self.expected,
            )

    def _newest(self) -> int:
        newest = self._states.history(self.agent, last=1)
        return newest[-1].number if newest else 0

    def _at(self, revision: int) -> CognitionState:
        state = self._states.at(self.agent, revision)
        if state is None:
            hint = f"there are {self._newest()}; 0 is the empty state before the first"
            raise UsageError(f"there is no revision {revision}", hint=hint)
        return state

    def _standing(self, newest: int) -> int:
        """The newest change that was not taken back; 0 if none is left."""
        number = newest
        while number:
            undone = _UNDO.fullmatch(self._words(number, newest))
            if undone is None:
                return number
            number = int(undone[1]) - 1
        return 0

    def _words(self, number: int, newest: int) -> str:
        return self._states.history(self.agent, last=newest - number + 1)[0].words


def open_cognition(
    home: str | Path, persona: str | None = None, parts: Parts | None = None
) -> Cognition:
    """The goals and the memory in mind of one persona; use it as a context manager."""
    parts = parts or Parts()
    place = find_home(Path(home))
    settings = load_settings(place.path, parts.variables)
    chosen = place.pick_persona(persona, settings.model.persona)
    agent = f"{settings.model.name or place.name}/{chosen}"
    database = open_database(place, settings, parts.variables, salts=parts.salts)
    clock, ids = parts.clock or SystemClock(), parts.ids or RandomIds()
    with closed_on_failure(database):
        states = States(open_revisions(database), clock)

        def record(draft: Draft) -> int:
            ledger = open_ledger(settings, database, parts.variables)
            return _append(ledger, agent, draft, clock=clock, ids=ids)

        drives = root_partition(settings.model.cortex.drives)
        limits = settings.model.cortex.patch_limits()
        return Cognition(
            agent, states, drives=drives, record=record, close=database.close, limits=limits
        )


def _append(ledger: Entries, agent: str, draft: Draft, *, clock: Clock, ids: Ids) -> int:
    (entry,) = ledger.append(agent, [draft], make_stamp(clock.now, ids.salt, clock.uptime))
    return entry.index


def revision_data(revision: Revision) -> dict[str, object]:
    """A revision of the state as JSON, without the state."""
    return {name: getattr(revision, name) for name in ("number", "time", "words", "digest")}


def state_lines(state: CognitionState) -> list[str]:
    """A state in lines, each of which says the same wherever it stands; no text can pass for a
    line of its own.
    """
    drives = [f"drive: {text}" for text in state.goals.root.texts]
    held = [f"in mind {one.hash[:_SHOWN]}: {one.text}{_mark(one)}" for one in state.l1_memory]
    return [one_line(text) for text in (*drives, *_goals(state.goals.user, 0), *held)]


def one_line(text: str) -> str:
    """Whatever is no character to look at is written as its escape."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _goals(goal: Goal, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}goal {goal.id} [{goal.weight}]: {goal.text}{_mark(goal)}"
    for child in goal.children:
        yield from _goals(child, depth + 1)


def _mark(one: Goal | L1Entry) -> str:
    return " (review)" if one.review else " (owner)" if is_owners(one) else ""


def _accepted(goal: Goal, name: str) -> Goal:
    return _changed(goal, lambda one: _called(one, name), _vouched_goal)


def _changed(goal: Goal, meant: Callable[[Goal], bool], change: Callable[[Goal], Goal]) -> Goal:
    children = tuple([_changed(child, meant, change) for child in goal.children])
    return replace(change(goal) if meant(goal) else goal, children=children)


def _vouched_goal(goal: Goal) -> Goal:
    return replace(goal, review=False, lineage=Trust.OWNER)


def _called(goal: Goal, name: str) -> bool:
    return goal.review and _named(goal, name)


def _named(goal: Goal, name: str) -> bool:
    return name in (goal.id, f"goal:{goal.id}")


def _means(entry: L1Entry, name: str) -> bool:
    return entry.review and _begins(entry, name)


def _begins(entry: L1Entry, name: str) -> bool:
    begin = name.removeprefix("memory:")
    return len(begin) >= _SHORTEST_HASH and entry.hash.startswith(begin)


def _check_one(state: CognitionState, name: str) -> None:
    """A name is for one thing: a goal may be called like the hash of something held in mind."""
    goals = [f"goal:{one.id}" for one in every_goal(state.goals.user) if _called(one, name)]
    held = [f"memory:{one.hash}" for one in state.l1_memory if _means(one, name)]
    _one_of(goals, held, name, where=" in review")


def _one_of(goals: Sequence[str], held: Sequence[str], name: str, *, where: str = "") -> str:
    found = sorted({*goals, *held})
    if not found:
        hint = f"mentis state {'review' if where else 'show'} shows what is"
        raise UsageError(f"nothing{where} is called {name!r}", hint=hint)
    if len(found) > 1:
        hint = f"name one of them: {' or '.join(found)}"
        raise UsageError(f"{name!r} names {len(found)} things{where}", hint=hint)
    return found[0]


def _vouched(entry: L1Entry) -> L1Entry:
    return replace(entry, review=False, lineage=Trust.OWNER)

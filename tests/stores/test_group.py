"""Work that waits together is committed together, and each gets its own answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event

import pytest

from mentis.errors import StoreFull
from mentis.stores.group import GroupCommit


class Session(list[str]):
    """A part that fails is taken back, unless it breaks everything."""

    stands = True

    @contextmanager
    def part(self) -> Generator[None]:
        before = len(self)
        try:
            yield
        except BaseException:
            del self[before:]
            raise


class Ledgerlike:
    """A transaction over a list, that says how often it was committed."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.commits = 0
        self.fails: list[Exception] = []

    @contextmanager
    def begin(self, keys: Collection[str]) -> Generator[Session]:
        session = Session()
        yield session
        if self.fails:
            raise self.fails.pop()
        self.kept += session
        self.commits += 1


def run_together(
    group: GroupCommit[Session], works: list[Callable[[Session], str]]
) -> list[object]:
    """The first is held back until all others wait behind it."""
    started, go = Event(), Event()

    def first(session: Session) -> str:
        started.set()
        go.wait()
        return "first"

    def run(work: Callable[[Session], str]) -> object:
        ready.wait()
        try:
            return group.run(work)
        except Exception as error:  # noqa: BLE001 - it is what is looked at
            return error

    ready = Barrier(len(works) + 1)
    with ThreadPoolExecutor(len(works) + 1) as pool:
        leader = pool.submit(group.run, first)
        started.wait()
        others = [pool.submit(run, work) for work in works]
        ready.wait()
        while group.waiting < len(works):
            pass
        go.set()
        assert leader.result() == "first"
        return [other.result() for other in others]


def add(name: str) -> Callable[[Session], str]:
    def work(session: Session) -> str:
        session.append(name)
        return f"{name} done"

    return work


def test_all_that_wait_share_one_commit() -> None:
    database = Ledgerlike()
    answers = run_together(GroupCommit(database), [add(str(n)) for n in range(10)])
    assert answers == [f"{n} done" for n in range(10)]
    assert (sorted(database.kept), database.commits) == ([str(n) for n in range(10)], 2)


def test_one_that_fails_takes_back_only_its_own_part() -> None:
    def bad(session: Session) -> str:
        session.append("bad")
        raise ValueError("mine")

    database = Ledgerlike()
    answers = run_together(GroupCommit(database), [add("a"), bad, add("b")])
    assert [answers[0], str(answers[1]), answers[2]] == ["a done", "mine", "b done"]
    assert sorted(database.kept) == ["a", "b"]


def test_one_that_takes_the_transaction_with_it_does_not_fail_the_others() -> None:
    def fatal(session: Session) -> str:
        session.stands = False
        raise ValueError("mine")

    database = Ledgerlike()
    answers = run_together(GroupCommit(database), [add("a"), fatal, add("b")])
    assert [answers[0], str(answers[1]), answers[2]] == ["a done", "mine", "b done"]
    assert (sorted(database.kept), database.commits) == (["a", "b"], 2)


def test_a_commit_that_fails_fails_for_all_and_each_has_an_error_of_its_own() -> None:
    database = Ledgerlike()
    full = StoreFull("no space", hint="free some", path="x")

    def fails(session: Session) -> str:
        database.fails = [full]
        return "never"

    answers = run_together(GroupCommit(database), [add("a"), fails, add("b")])
    assert [type(answer) for answer in answers] == [StoreFull] * 3
    assert len({id(answer) for answer in answers}) == 3
    assert database.kept == []
    assert GroupCommit(database).run(add("later")) == "later done"


def test_an_interruption_reaches_its_own_caller_and_the_others_learn_of_the_doubt() -> None:
    database = Ledgerlike()
    group = GroupCommit(database)

    def interrupted(session: Session) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        group.run(interrupted)
    assert group.run(add("next")) == "next done"

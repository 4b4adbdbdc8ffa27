"""Work that waits together is committed together, and each gets its own answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from signal import SIGUSR1, pthread_kill, signal
from threading import Barrier, Event, current_thread, main_thread

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


def test_all_that_wait_are_woken_and_can_come_again() -> None:
    database = Ledgerlike()
    group = GroupCommit(database)

    def write(number: int) -> list[str]:
        return [group.run(add(f"{number}.{turn}")) for turn in range(5)]

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(write, range(32)))
    assert answers == [[f"{n}.{turn} done" for turn in range(5)] for n in range(32)]
    assert sorted(database.kept) == sorted(f"{n}.{turn}" for n in range(32) for turn in range(5))


class Interrupted(BaseException):
    """What a signal handler raises."""


@pytest.mark.skipif(current_thread() is not main_thread(), reason="signals reach the main thread")
def test_one_that_is_interrupted_while_it_waits_leaves_nobody_asleep() -> None:
    """Each wakes the next; one that went away must not end the row."""
    group = GroupCommit(Ledgerlike())
    entered, go = Event(), Event()

    def held(session: Session) -> str:
        entered.set()
        go.wait()
        return "held"

    def interrupt(*_: object) -> None:
        raise Interrupted

    def wait_for(count: int) -> None:
        while group.waiting < count:
            pass

    def signal_and_go() -> list[Future[str]]:
        wait_for(2)
        later = [pool.submit(group.run, add(f"later {n}")) for n in range(3)]
        wait_for(5)
        pthread_kill(main_thread().ident or 0, SIGUSR1)
        while group.waiting > 4:
            pass
        go.set()
        return later

    before = signal(SIGUSR1, interrupt)
    try:
        with ThreadPoolExecutor(8) as pool:
            leader = pool.submit(group.run, held)
            entered.wait()
            early = pool.submit(group.run, add("early"))
            wait_for(1)
            sent = pool.submit(signal_and_go)
            with pytest.raises(Interrupted):
                group.run(add("mine"))
            assert (leader.result(10), early.result(10)) == ("held", "early done")
            assert [one.result(10) for one in sent.result(10)] == [
                f"later {n} done" for n in range(3)
            ]
    finally:
        signal(SIGUSR1, before)


@pytest.mark.skipif(current_thread() is not main_thread(), reason="signals reach the main thread")
def test_one_that_is_interrupted_while_others_commit_for_it_leaves_nobody_asleep() -> None:
    group = GroupCommit(Ledgerlike())
    first, go_first, second, go_second = Event(), Event(), Event(), Event()

    def hold(entered: Event, go: Event) -> Callable[[Session], str]:
        def work(session: Session) -> str:
            entered.set()
            go.wait()
            return "held"

        return work

    def interrupt(*_: object) -> None:
        raise Interrupted

    def direct() -> list[Future[str]]:
        while group.waiting < 2:
            pass
        later = [pool.submit(group.run, add(f"later {n}")) for n in range(3)]
        while group.waiting < 5:
            pass
        go_first.set()
        second.wait()  # the one that leads now has taken all five
        pthread_kill(main_thread().ident or 0, SIGUSR1)
        gone.wait()
        go_second.set()
        return later

    gone = Event()
    before = signal(SIGUSR1, interrupt)
    try:
        with ThreadPoolExecutor(8) as pool:
            pool.submit(group.run, hold(first, go_first))
            first.wait()
            leader = pool.submit(group.run, hold(second, go_second))
            while group.waiting < 1:
                pass
            sent = pool.submit(direct)
            with pytest.raises(Interrupted):
                group.run(add("mine"))
            gone.set()
            assert leader.result(10) == "held"
            assert [one.result(10) for one in sent.result(10)] == [
                f"later {n} done" for n in range(3)
            ]
    finally:
        signal(SIGUSR1, before)

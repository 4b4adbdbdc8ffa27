"""One process at a time tells what came of acts of a persona, and in it each outcome is told once.

An outcome counts as told once the entry of a turn says so, and that is written when the answer has
come. Whoever asks a model with it holds a lock for as long; for anybody else it is no news yet.
It is a lock file and no lease: a turn that has news to tell would write to its store twice more.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager

from anyio import to_thread

from mentis.disk.atomic import unwritable
from mentis.disk.inside import inside
from mentis.disk.lock import write_lock
from mentis.errors import StoreLocked
from mentis.home.identity import Identity
from mentis.values.action import Outcome

_FILE = "{}.telling.alone"


@contextmanager
def hold_news_lock(who: Identity) -> Generator[None]:
    """Be the one who tells; StoreLocked while somebody else does. It waits for nobody."""
    folder = who.home.owners
    inside(folder.parent, folder.name)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    with ExitStack() as stack:
        try:
            path = folder / _FILE.format(who.persona.id)
            stack.enter_context(write_lock(path, seconds=0))
        except StoreLocked as error:
            raise _told_elsewhere() from error
        yield


def _told_elsewhere() -> StoreLocked:
    return StoreLocked(
        "what came of acts is being told by somebody else just now",
        hint="wait until that answer is over: what it did not tell is still there",
    )


class NewsClaims:
    """Which outcomes the turns of one agent tell just now, each only one of them. While any do, the
    lock file says so to other processes. It is used from one event loop.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._claims = 0
        self._file = ExitStack()

    @contextmanager
    def claim(self, who: Identity, keys: Collection[str]) -> Generator[frozenset[str]]:
        """Those of the keys that nobody else here tells; StoreLocked while another process tells
        any. It waits for nobody.
        """
        if not self._claims:
            self._file.enter_context(hold_news_lock(who))
        own = frozenset(keys) - self._keys
        self._claims += 1
        self._keys |= own
        try:
            yield own
        finally:
            self._keys -= own
            self._claims -= 1
            if not self._claims:
                self._file.close()

    def unclaimed(self, who: Identity, news: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        """What of it nobody tells just now, here or in another process. It blocks."""
        if not news or self._claims:
            return tuple([one for one in news if one.key not in self._keys])
        try:
            with hold_news_lock(who):
                return news
        except StoreLocked:
            return ()


@contextmanager
def deliver_alone(claims: NewsClaims, who: Identity, outcome: Outcome) -> Generator[None]:
    """Be the one who tells this outcome; StoreLocked while somebody else does."""
    with claims.claim(who, [outcome.key]) as own:
        if outcome.key not in own:
            raise _told_elsewhere()
        yield


@asynccontextmanager
async def claim_news(
    who: Identity,
    claims: NewsClaims,
    news: tuple[Outcome, ...],
    find: Callable[[], tuple[Outcome, ...]],
) -> AsyncGenerator[tuple[Outcome, ...]]:
    """The `news` that `find` had, until the block ends nobody else's; nothing while another process
    tells. Without news nothing is locked.
    """
    with ExitStack() as stack:
        if news:
            try:
                own = stack.enter_context(claims.claim(who, [one.key for one in news]))
            except StoreLocked:
                news = ()
            else:  # without what was told until now
                news = tuple([one for one in await to_thread.run_sync(find) if one.key in own])
        yield news

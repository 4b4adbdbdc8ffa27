"""One at a time tells what came of acts, over all processes of a persona.

An outcome counts as told once the entry of a turn says so, and that is written when the answer has
come. Whoever asks a model with it holds a lock for as long; for anybody else it is no news yet.
It is a lock file and no lease: a turn that has news to tell would write to its store twice more.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
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
            raise StoreLocked(
                "what came of acts is being told by somebody else just now",
                hint="wait until that answer is over: what it did not tell is still there",
            ) from error
        yield


@asynccontextmanager
async def claim_news(
    who: Identity, find: Callable[[], tuple[Outcome, ...]]
) -> AsyncGenerator[tuple[Outcome, ...]]:
    """What `find` has to tell, until the block ends nobody else's; nothing while somebody else
    tells. Without news nothing is locked.
    """
    with ExitStack() as stack:
        news = await to_thread.run_sync(find)
        if news:
            try:
                stack.enter_context(hold_news_lock(who))
            except StoreLocked:
                news = ()
            else:
                news = await to_thread.run_sync(find)  # without what was told until now
        yield news


def is_delivering(who: Identity) -> bool:
    """Whether somebody tells just now. It blocks."""
    try:
        with hold_news_lock(who):
            return False
    except StoreLocked:
        return True

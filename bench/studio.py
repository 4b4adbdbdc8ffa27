"""The studio on a big home: each page against the same page of a home with a little of everything.

The big one has 5,000 blocks, 50,000 messages, 100,000 entries and 10,000 memories. Both are served
in this process, without a network between: what is counted is what the server does, and a little
that asking takes. No page may cost three times what it costs in the small home, nor have more than
300 KB.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import AsyncExitStack, ExitStack
from functools import cache, partial
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal

from .harness import Pair, benchmark, weight
from .studio_home import BIG, MOST_BYTES, PAGES, SMALL, StudioPages, make_studio_home, studio_pages

GATE, ROUNDS = 3.0, 7


@cache
def homes() -> tuple[BlockingPortal, StudioPages, StudioPages]:
    """The loop that both are served in, the big one and the small one."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    # The keys and tokens of homes that are thrown away go with them.
    os.environ["MENTIS_CONFIG"] = str(folder / "config")
    portal = stack.enter_context(start_blocking_portal())
    opened = AsyncExitStack()

    async def serve(name: str) -> StudioPages:
        home = await make_studio_home(folder / name, BIG if name == "big" else SMALL)
        return await opened.enter_async_context(studio_pages(home))

    big, small = portal.call(serve, "big"), portal.call(serve, "small")
    stack.callback(portal.call, opened.aclose)
    return portal, big, small


def against_small(page: str) -> Pair:
    portal, big, small = homes()
    return (lambda: portal.call(big.get, page)), (lambda: portal.call(small.get, page))


for _page in PAGES:
    _declare = benchmark(
        f"studio/{_page}", against="the same page of a small home", gate=GATE, rounds=ROUNDS
    )
    _declare(partial(against_small, _page))


@weight("studio/largest page", against="300 KB", gate=1)
def largest_page() -> tuple[int, int]:
    portal, big, _ = homes()
    sizes = {page: portal.call(big.get, page) for page in PAGES}
    largest = max(sizes, key=sizes.__getitem__)
    print(f"the largest page is `{largest}`: {sizes[largest]} bytes")
    return sizes[largest], MOST_BYTES

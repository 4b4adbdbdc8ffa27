"""What a turn costs in a home that holds very much, against the same in one that holds a little.

A turn reads what it tells, so none should cost half as much again: a conversation of 50,000
messages, 100,000 memories, 5,000 blocks, 1,000 personas and 100,000 entries, each alone and all at
once. Here all at once is measured at a tenth of that; with --full each is at its full size, which
takes minutes to make. The gate is what shall hold; some are over it.

Of 50,000 messages about 950 are told, since that is what the prompt has room for, and a small home
of a few messages tells fewer. What is asked here is what the 49,000 cost that are not told: so a
home with many messages is compared with a small one whose conversation is just long enough to be
told so much of. What it costs to tell 950 messages and not 30 has a figure of its own.

Memory is what a process holds for itself at the end of a turn; pages of files that it has mapped
are the machine's, which takes them back when it wants them.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from itertools import count
from pathlib import Path

from anyio.from_thread import BlockingPortal, start_blocking_portal

from mentis import Agent
from mentis.values.cognition import Sense

from .harness import Pair, Run, benchmark, weight
from .size_home import LITTLE, MUCH, PERSONA, TALK, HomeContents, make_home
from .turn import Script, says

QUESTION = "What did we say about the garden on day 7, and what is still to be done there?"
MOST_MEMORY = 150_000_000
TENTH = "a tenth of everything"
FILLED = "a filled conversation"
KINDS = (TENTH, "messages", "memories", "blocks", "personas", "entries", "everything")
TOLD = 1_500  # messages: somewhat more than a prompt of the bench has room for
TIMES_A_SMALL_HOME = 1.5  # where it is over, more is read than is told
TIMES_A_SHORT_TALK = 3.0  # thirty times as many messages are told
COMMANDS = {
    "chat": ["chat", QUESTION, "--session", TALK, "--persona", PERSONA],
    "compose": ["compose", QUESTION, "--session", TALK, "--persona", PERSONA],
    "tick": ["tick", "--persona", PERSONA],
    "status health": ["status", "health", "--persona", PERSONA],
    "memory list": ["memory", "list", "--persona", PERSONA],
    "persona list": ["persona", "list"],
}
_HELD = """
import anyio, sys
from mentis import Agent

async def main():
    async with Agent.open(sys.argv[1], persona=sys.argv[2]) as agent:
        await agent.chat(sys.argv[3], session=sys.argv[4])
        with open("/proc/self/status") as file:
            told = next(line for line in file if line.startswith("RssAnon"))
        print(int(told.split()[1]) * 1024)

anyio.run(main)
"""


@cache
def _portal() -> BlockingPortal:
    """One loop for all of them, in a thread of its own."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(start_blocking_portal())


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    # The keys of homes that are thrown away go with them.
    os.environ["MENTIS_CONFIG"] = str(Path(folder.name) / "config")
    return Path(folder.name)


@cache
def home(name: str) -> Path:
    """Made once in a run."""
    return _portal().call(make_home, _folder() / name.replace(" ", "-"), _contents(name))


def _contents(name: str) -> HomeContents:
    if name == TENTH:
        return MUCH["everything"].times(0.1)
    more = {"little": LITTLE, FILLED: replace(LITTLE, messages=TOLD)}
    return more.get(name) or MUCH[name]


@cache
def _agent(name: str) -> Agent:
    agent = Agent.open(home(name), persona=PERSONA, provider=Script(says("Yes, it is.")))
    atexit.register(_portal().call, agent.aclose)
    return agent


def _in_agent(what: str, name: str) -> Run:
    agent, portal, numbers = _agent(name), _portal(), count()
    if what == "chat":
        return lambda: portal.call(partial(agent.chat, QUESTION, session=TALK))
    if what == "compose":
        return lambda: agent.compose(QUESTION, session=TALK)
    return lambda: portal.call(agent.tick, [Sense(f"s{next(numbers)}", "note", {"text": QUESTION})])


def _as_command(what: str, name: str) -> Run:
    environ = dict(os.environ) | {"NO_COLOR": "1"}
    command = [sys.executable, "-m", "mentis", *COMMANDS[what], "--home", str(home(name))]

    def run() -> object:
        return subprocess.run(command, check=True, capture_output=True, env=environ)

    return run


def _against_little(measured: Callable[[str, str], Run], what: str, name: str) -> Pair:
    fills = name != FILLED and _contents(name).messages > TOLD
    return measured(what, name), measured(what, FILLED if fills else "little")


def _held(name: str) -> int:
    """Bytes of a process of its own, at the end of a turn."""
    given = [str(home(name)), PERSONA, QUESTION, TALK]
    told = subprocess.run(
        [sys.executable, "-c", _HELD, *given], check=True, capture_output=True, text=True
    )
    return int(told.stdout)


def _held_beyond(name: str) -> tuple[int, int]:
    return max(0, _held(name) - _held("little")), MOST_MEMORY


for _name in KINDS:
    _slow = _name != TENTH
    for _what in ("chat", "compose", "tick"):
        benchmark(
            f"size/{_what}, open, {_name}",
            against="the same in a small home",
            gate=TIMES_A_SMALL_HOME,
            rounds=5,
            slow=_slow,
        )(partial(_against_little, _in_agent, _what, _name))
    for _what in COMMANDS if _slow else ("chat",):
        benchmark(
            f"size/{_what}, command, {_name}",
            against="the same in a small home",
            gate=TIMES_A_SMALL_HOME,
            rounds=3,
            slow=_slow,
        )(partial(_against_little, _as_command, _what, _name))
for _what in ("chat", "compose"):
    benchmark(
        f"size/{_what}, open, {FILLED}",
        against="a conversation of a few messages",
        gate=TIMES_A_SHORT_TALK,
        rounds=5,
    )(partial(_against_little, _in_agent, _what, FILLED))
if Path("/proc/self/status").exists():
    weight("size/held by a turn, memories", against="150 MB", gate=1, slow=True)(
        partial(_held_beyond, "memories")
    )

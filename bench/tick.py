"""What a tick costs beside its model: a scripted primary that answers at once.

The usual tick has 20 senses, 100 acts, 200 goals and 100 things in mind. Each of these must make it
dearer in proportion and no more; helpers that wait must wait together; and a thousand agents in one
process must share nothing but their store.
"""

from __future__ import annotations

import atexit
import json
import tracemalloc
from dataclasses import dataclass, replace
from functools import cache, partial

import anyio
import anyio.from_thread

from mentis.codec.forms import to_object
from mentis.settle.output_ir import write_output_ir
from mentis.stores.memory.states import StatesInMemory
from mentis.tick.cache import HelperCache
from mentis.tick.input_helpers import rendered_acts, rendered_goals, rendered_senses
from mentis.tick.output_helpers import OutputHelper
from mentis.tick.run import TickLimits
from mentis.tick.stages import (
    GoalTreeInput,
    PrimaryAnswer,
    PrimaryInput,
    SectionText,
    SenseInput,
    Stages,
)
from mentis.tick.tick import tick
from mentis.values.cognition import CognitionState, Goal, GoalTree, L1Entry, Sense, root_partition
from mentis.values.tick import Catalogue, Descriptor, PatchLimits, Tick

from .harness import Pair, Run, benchmark, plain_json, weight

AGENTS = 1000
EACH = 200 * 1024
TIMES = 8
DRIVES = root_partition(("Keep going.", "Learn about the world.", "Be useful."))


@dataclass(frozen=True, slots=True)
class Size:
    senses: int = 20
    acts: int = 100
    goals: int = 200
    memories: int = 100


@dataclass(frozen=True, slots=True)
class Moment:
    senses: tuple[Sense, ...]
    catalogue: Catalogue
    state: CognitionState


def moment(size: Size) -> Moment:
    text = {"type": "string", "description": "What it says."}
    schema = {
        "type": "object",
        "properties": {"to": text, "subject": text, "text": text, "urgent": {"type": "boolean"}},
        "required": ["to", "text"],
        "additionalProperties": False,
    }
    senses = [
        Sense(f"s{n}", "mail", {"from": f"friend-{n}", "text": f"Letter {n} has come. " * 4})
        for n in range(size.senses)
    ]
    acts = [
        Descriptor("act", f"post-{n % 10}", f"send_{n:04}", schema, f"Sends letter {n}. " * 4)
        for n in range(size.acts)
    ]
    goals = [Goal(f"g{n}", f"Write letter {n} to a friend.", n) for n in range(size.goals)]
    nested = tuple(
        [
            replace(one, children=tuple(goals[n + 1 : n + 4]))
            for n, one in enumerate(goals)
            if n % 4 == 0
        ]
    )
    state = CognitionState(
        GoalTree(DRIVES, Goal("user-root", "user goals", children=nested)),
        tuple([L1Entry(f"Letter {n} was sent on the third day.") for n in range(size.memories)]),
        revision=1,
    )
    return Moment(tuple(senses), Catalogue("v", tuple(sorted(acts, key=lambda a: a.key))), state)


ANSWER = write_output_ir(
    {
        "acts": [
            {
                "endpoint_id": f"post-{n}",
                "neural_signal_descriptor_id": f"send_{n:04}",
                "payload": {"to": "a friend", "text": "A short answer to the letter."},
            }
            for n in range(3)
        ],
        "goal-tree-patch": [
            {"op": "tilt", "node_id": "g0", "weight": 7},
            {
                "op": "sprout",
                "parent_node_id": "g0",
                "node_id": "new",
                "summary": "Look after the garden.",
                "weight": 3,
            },
        ],
        "l1-memory-patch": [
            {"op": "append", "value": "The garden wants water."},
            {"op": "remove", "index": 0},
        ],
    }
)


async def answered(_occasion: PrimaryInput) -> PrimaryAnswer:
    return PrimaryAnswer(ANSWER)


def stages() -> Stages:
    return Stages(
        rendered_senses,
        rendered_acts,
        rendered_goals,
        answered,
        OutputHelper("acts_helper", "acts").acts,
        OutputHelper("goal_tree_patch_helper", "goal-tree-patch").goals,
        OutputHelper("l1_memory_patch_helper", "l1-memory-patch").memory,
    )


# The senses come from outside, so what stands is kept; there is room for what is new.
LIMITS = TickLimits(patches=PatchLimits(goals=10_000, entries=10_000))


async def ticked(given: Moment, chosen: Stages, times: int = 1) -> Tick:
    done = await tick(given.senses, given.catalogue, given.state, stages=chosen, limits=LIMITS)
    for _ in range(times - 1):
        done = await tick(given.senses, given.catalogue, given.state, stages=chosen, limits=LIMITS)
    if len(done.acts) != 3 or done.state.revision != given.state.revision + 1:
        raise RuntimeError(f"the tick did not do what it should: {done.report}")
    return done


@cache
def portal() -> anyio.from_thread.BlockingPortal:
    """One event loop for all rounds: to start one costs more than a tick."""
    opened = anyio.from_thread.start_blocking_portal()
    atexit.register(opened.__exit__, None, None, None)
    return opened.__enter__()


def once(size: Size, times: int = 1) -> Run:
    given, chosen = moment(size), stages()
    return lambda: portal().call(ticked, given, chosen, times)


@benchmark("tick, the usual one", against="300 documents of JSON", gate=1.0, rounds=8)
def usual() -> Pair:
    return once(Size()), partial(plain_json, 300)


@benchmark("tick, its overhead", against="writing its input as JSON", gate=10.0, rounds=8)
def overhead() -> Pair:
    given = moment(Size())
    plain = [to_object(one) for one in (*given.senses, *given.catalogue.entries, given.state)]
    return once(Size()), partial(json.dumps, plain)


def grown(name: str) -> None:
    """Much more of one thing, against as many ticks: what is dearer than in proportion shows."""

    @benchmark(f"tick, {TIMES} times the {name}", against=f"{TIMES} ticks", gate=1.1, rounds=5)
    def prepare() -> Pair:
        more = replace(Size(), **{name: TIMES * getattr(Size(), name)})
        return once(more), once(Size(), times=TIMES)


for each in ("senses", "acts", "goals", "memories"):
    grown(each)


@benchmark("tick, three slow helpers", against="the slowest", gate=1.1, rounds=8, clock="wall")
def together() -> Pair:
    small = moment(Size(2, 5, 5, 2))

    async def senses(_given: SenseInput) -> SectionText:
        await anyio.sleep(0.03)
        return SectionText("senses")

    async def acts(_given: tuple[Descriptor, ...]) -> SectionText:
        await anyio.sleep(0.05)
        return SectionText("acts")

    async def goals(_given: GoalTreeInput) -> SectionText:
        await anyio.sleep(0.04)
        return SectionText("goals")

    slow = replace(
        stages(), sense_helper=senses, act_descriptor_helper=acts, goal_tree_helper=goals
    )
    return (
        lambda: portal().call(ticked, small, slow),
        lambda: portal().call(anyio.sleep, 0.05),
    )


@weight("tick, a thousand agents", against="200 KB each beside their data", gate=1.0)
def thousand() -> tuple[int, int]:
    """Each with its own stages, cache, catalogue and state; the store is one."""
    store, given = StatesInMemory(), moment(Size(2, 10, 20, 10))
    kept: list[object] = []

    async def live(number: int) -> None:
        name, chosen, own = f"home/agent-{number}", stages(), HelperCache(most=64)
        state = store.load(name)
        if state.revision == 0:
            store.save(name, replace(given.state, revision=1), expected=0)
            state = store.load(name)
        done = await tick(given.senses, given.catalogue, state, stages=chosen)
        store.save(name, done.state, expected=state.revision)
        kept.append((chosen, own, done))

    async def all_of_them() -> None:
        async with anyio.create_task_group() as agents:
            for number in range(AGENTS):
                agents.start_soon(live, number)

    portal().call(live, AGENTS)  # what is loaded once is nobody's own
    tracemalloc.start()
    try:
        portal().call(all_of_them)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return held, AGENTS * EACH

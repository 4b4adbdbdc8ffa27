"""What an act costs before and beside its doing: looked up, checked, judged, written down.

The judged one is a letter of some 250 characters with an external effect, and there are 1,000
others beside it; its request, with 50 KB of untrusted text and 40 KB of the owner's, was looked at
once. What its arguments came from takes most of the time, and more with their length: that is
measured too, without a gate. The written one is a whole dispatch: intent and outcome, each on the
disk before it goes on, beside two plain writes that wait for the disk as well, also in threads.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from random import Random

import anyio.from_thread
from anyio import to_thread

from mentis.act.dispatch import Dispatcher
from mentis.act.functions import act
from mentis.act.gate import Gate, GateRules
from mentis.act.journal import Journal
from mentis.act.registry import Registry
from mentis.act.seen import seen_in
from mentis.ledger.chain import make_stamp
from mentis.ports.act_handler import RecordingHandler
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.stores.memory import BlobsInMemory
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.act import ActCall, ActSpec
from mentis.values.action import Action, Outcome
from mentis.values.request import PromptRequest
from mentis.values.span import Span
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .harness import Pair, benchmark, plain_json

TOOLS = 1000
ALLOWED = 6  # documents of plain JSON
REBUILT = 300
AT_ONCE = 10  # acts after each other in one measurement
STAMP = make_stamp(lambda: datetime.now(UTC), lambda: secrets.token_bytes(16))
LETTER = {
    "to": "ada@example.org",
    "subject": "The second table of your letter",
    "text": "Dear Ada, thank you for your letter of last week. I have read what you sent, and I"
    " think that the numbers in the second table are too small; could you look at them again"
    " before Thursday? The rest is fine as it stands, and I would print it. Yours, Charles",
}
LONG = {**LETTER, "text": "It is as large as it looks. " * 40}
COMMON = """the of and to a in that it is was for on are as with his they at be this from have or by
one had not but what all were when we there can an your which their said if do will each about how
up out them then she many some so these would other into has more her two like him see time could
no make than first been its who now people my made over did down only way find use may water long
little very after called just where most know large looks numbers second table"""


def tool(number: int) -> RecordingHandler:
    text = {"type": "string", "description": "What it says."}
    schema = {
        "type": "object",
        "properties": {"to": text, "subject": text, "text": text, "urgent": {"type": "boolean"}},
        "required": ["to", "text"],
        "additionalProperties": False,
    }
    declaration = ToolDeclaration(
        f"send_{number:04}", f"Send letter {number}. " * 8, schema, external_effects=True
    )
    return RecordingHandler(ActSpec(declaration, "agent", f"mcp:server-{number % 20}"))


def registry() -> Registry:
    return Registry(tool(number) for number in range(TOOLS))


def request() -> PromptRequest:
    chosen = Random(1)  # noqa: S311  # any words do, as long as they are the same each time
    words = COMMON.split()

    def page(number: int) -> str:
        text = " ".join(chosen.choices(words, k=460))
        return f"Page {number}, from https://pages.example/{number}: {text}."

    own = tuple(Span(page(number)) for number in range(20))
    found = [Span(page(number), trust=Trust.UNTRUSTED) for number in range(25)]
    return PromptRequest(
        system_instruction=own, context_summary=tuple(found), current_text="Go on."
    )


@benchmark(
    "act looked up, checked and judged",
    against=f"a bare call and {ALLOWED} documents of JSON",
    gate=1.0,
    rounds=20,
)
def judged() -> Pair:
    return judging(LETTER)


@benchmark(
    "act with 1 KB, judged", against=f"a bare call and {ALLOWED} documents of JSON", rounds=10
)
def judged_long() -> Pair:
    return judging(LONG)


def judging(payload: dict[str, str]) -> Pair:
    known, seen = registry(), seen_in(request(), said=Trust.OWNER)
    gate, numbers = Gate(GateRules()), count()
    actions = [Action(f"send_{number:04}", payload) for number in range(TOOLS)]

    def ours() -> object:
        action = actions[next(numbers) % TOOLS]
        spec, _ = known.spec(action.type), known.digest(action.type)
        if spec is None or known.handler(action.type) is None or known.block_reason(action.type):
            raise AssertionError(action.type)
        decision = gate.judge(ActCall(action, "key", "home/ada"), spec, seen)
        if decision.verdict != "allow":
            raise AssertionError(decision)
        return decision

    def send(to: str, subject: str, text: str) -> str:
        return f"{to}{subject}{text}"

    def bare() -> object:
        sent = send(**payload)
        plain_json(ALLOWED)
        return sent

    for _ in range(TOOLS):  # digests are worked out once for each act
        ours()
    return ours, bare


@benchmark(
    "request of 90 KB looked at for what acts may come from",
    against="6 documents of JSON",
    rounds=10,
)
def looked_at() -> Pair:
    shown = request()
    return lambda: seen_in(shown, said=Trust.OWNER), lambda: plain_json(ALLOWED)


@benchmark(
    f"declarations of {TOOLS:,} acts after one change",
    against=f"{REBUILT} documents of JSON",
    gate=1.0,
    rounds=15,
)
def rebuilt() -> Pair:
    known, changed = registry(), [tool(500), tool(500)]
    numbers = count()

    def ours() -> object:
        known.add(changed[next(numbers) % 2], replace=True)
        return known.declarations(), known.descriptors()

    return ours, lambda: plain_json(REBUILT)


@cache
def folder() -> Path:
    """On the disk of the project, not in memory; it goes when the process ends."""
    path = Path(tempfile.mkdtemp(dir=Path(__file__).parent, prefix=".act-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@act
async def note(text: str) -> str:
    """Keep a note."""
    return text


@benchmark(
    "act with durable intent and outcome, ten times",
    against="twenty appends to a file and fdatasync, each in a thread",
    gate=5.0,  # on a disk that syncs in 0.2 ms; on a slower one hardly more than the baseline
    rounds=20,
    clock="wall",
)
def durable() -> Pair:
    """One loop for all, as in an agent: starting one, and reaching it, is no part of an act."""
    database = Database(folder() / "acts.db")
    atexit.register(database.close)
    journal = Journal(
        SqliteLedger(database), STAMP, BlobsInMemory(), agent="home/ada", owner="bench"
    )
    dispatcher = Dispatcher(Registry([note]), journal, clock=FixedClock(), ids=CountingIds())
    portal = anyio.from_thread.start_blocking_portal()
    loop = portal.__enter__()
    atexit.register(portal.__exit__, None, None, None)
    descriptor = os.open(folder() / "raw", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    atexit.register(os.close, descriptor)
    gate, seen = Gate(GateRules()), seen_in(request(), said=Trust.OWNER)
    actions = [Action("note", {"text": "It is as large as it looks. " * 10})]

    async def dispatch() -> None:
        for _ in range(AT_ONCE):
            outcomes: list[Outcome] = []
            await dispatcher.dispatch(
                actions,
                judge=lambda call, spec: gate.judge(call, spec, seen),
                mode="chat",
                session="main",
                outcomes=outcomes,
            )
            (outcome,) = outcomes
            if outcome.state != "done" or "recorded" in outcome.reason:
                raise AssertionError(outcome)

    def append() -> None:
        os.write(descriptor, b"x" * 1200)
        os.fdatasync(descriptor)

    async def raw() -> None:
        for _ in range(2 * AT_ONCE):
            await to_thread.run_sync(append)

    return lambda: loop.call(dispatch), lambda: loop.call(raw)

"""A dispatcher with everything it needs, on any ledger; and handlers that do as they are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from mentis.act.dispatch import Dispatcher, DispatchLimits, Judge
from mentis.act.journal import Journal, Sizes
from mentis.act.registry import Registry
from mentis.ledger.chain import make_stamp
from mentis.ports.act_handler import ActHandler
from mentis.ports.blob_store import BlobStore
from mentis.ports.clock import FixedClock
from mentis.ports.ids import CountingIds
from mentis.ports.ledger_store import LedgerStore
from mentis.ports.screener import ListedScreener, Screener
from mentis.stores.memory import AcceptedInMemory, BlobsInMemory, LedgerInMemory
from mentis.values.act import ActCall, ActSpec, Decision
from mentis.values.action import Action, Outcome
from mentis.values.block import Mode
from mentis.values.entry import Entry
from mentis.values.tool import ToolDeclaration

AGENT = "home/ada"


def allow(call: ActCall, spec: ActSpec) -> Decision:
    return Decision("allow")


def spec(name: str, **rest: Any) -> ActSpec:  # noqa: ANN401 - as many as fields
    effects = {key: rest.pop(key) for key in ("idempotent", "external_effects") if key in rest}
    return ActSpec(ToolDeclaration(name, f"does {name}", **effects), **rest)


class Doing:
    """A handler that does what it is given."""

    def __init__(self, what: ActSpec, work: Callable[[ActCall], Awaitable[object]]) -> None:
        self._spec = what
        self._work = work
        self.calls: list[ActCall] = []

    @property
    def spec(self) -> ActSpec:
        return self._spec

    async def handle(self, call: ActCall) -> Any:  # noqa: ANN401 - also what is no outcome
        self.calls.append(call)
        return await self._work(call)


def answering(what: ActSpec, text: str = "ok") -> Doing:
    async def work(call: ActCall) -> Outcome:
        return Outcome(call.action, "done", text=text)

    return Doing(what, work)


class Stage:
    def __init__(
        self,
        *handlers: ActHandler,
        ledger: LedgerStore | None = None,
        blobs: BlobStore | None = None,
        owner: str = "here.one",
        limits: DispatchLimits | None = None,
        sizes: Sizes | None = None,
        ids: CountingIds | None = None,
        accepted: AcceptedInMemory | None = None,
        screener: Screener | None = None,
    ) -> None:
        self.ledger = LedgerInMemory() if ledger is None else ledger
        self.blobs = BlobsInMemory() if blobs is None else blobs
        self.accepted = accepted or AcceptedInMemory()
        self.registry = Registry(handlers)
        self.ids = ids or CountingIds()
        clock = FixedClock(step=timedelta(seconds=1))
        self.stamp = make_stamp(clock.now, self.ids.salt)
        self.journal = Journal(
            self.ledger,
            self.stamp,
            self.blobs,
            agent=AGENT,
            owner=owner,
            sizes=sizes,
            accepted=self.accepted,
            screener=screener or ListedScreener({}),
        )
        self.dispatcher = Dispatcher(
            self.registry, self.journal, clock=clock, ids=self.ids, limits=limits
        )

    async def run(
        self,
        *actions: Action,
        judge: Judge = allow,
        mode: Mode = "chat",
        outcomes: list[Outcome] | None = None,
    ) -> list[Outcome]:
        made: list[Outcome] = [] if outcomes is None else outcomes
        await self.dispatcher.dispatch(actions, judge=judge, mode=mode, session="s", outcomes=made)
        return made

    def entries(self) -> list[Entry]:
        return list(self.ledger.entries(AGENT))

    def stages(self) -> list[tuple[object, object]]:
        """Stage and state of each entry, in their order."""
        acts: Sequence[Any] = [entry.body["act"] for entry in self.entries()]
        return [(act["stage"], act.get("state")) for act in acts]

    def keys(self, kind: str) -> list[str]:
        return [mark.key for mark in self.ledger.marks(AGENT, kind)]

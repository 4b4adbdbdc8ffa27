"""One of a kind at a time, over all processes: a lease of the agent, for the length of a block."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager

from mentis.errors import LeaseHeld, StoreLocked, UsageError
from mentis.home.identity import Identity
from mentis.record.agent_record import AgentRecord
from mentis.record.leases import entered, holder_of, leased


@asynccontextmanager
async def exclusive(
    record: AgentRecord, who: Identity, purpose: str
) -> AsyncGenerator[AgentRecord]:
    """Be the only one of this agent at a beat or a delivery; UsageError while somebody else is.

    It waits for nobody. The record to write it with takes nothing once somebody else has the lease.
    """
    async with AsyncExitStack() as stack:
        held = entered(leased(record.ledger, record.clock, record.agent, purpose))
        try:
            lease = await stack.enter_async_context(held)
        except LeaseHeld as error:
            raise UsageError(
                f"a {purpose} of {who.persona.id!r} is going on already",
                hint="wait until it is over: there is one at a time",
            ) from error
        yield record.under(lease)


@contextmanager
def named_lock(
    record: AgentRecord, who: Identity, purpose: str, *, taken: str, hint: str
) -> Generator[AgentRecord]:
    """The same, and whoever comes second is told who it is: StoreLocked says `taken` and who. It
    blocks.
    """
    with ExitStack() as stack:
        try:
            lease = stack.enter_context(leased(record.ledger, record.clock, record.agent, purpose))
        except LeaseHeld as error:
            holder = holder_of(error)
            raise StoreLocked(f"{taken} {holder}", hint=hint, name=who.persona.id) from error
        yield record.under(lease)

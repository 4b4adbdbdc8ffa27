"""Messages that wait for agents, and the bell that says so. The double is `InboxInMemory`.

A message is a row, and a ring of its agent, in one transaction: no one without the other.
A ring is claimed for a while, like a lease; who claims it serves what waits there, in its order.
"""

from __future__ import annotations

from typing import Protocol

from mentis.values.inbox import InboxAnswer, InboxMessage, Ring


class AgentInbox(Protocol):
    """These methods block."""

    def put(self, agent: str, message: InboxMessage) -> bool:
        """Keep it and ring. False, and nothing is done, where its id was known already."""
        ...

    def waiting(self, agent: str, most: int) -> tuple[InboxMessage, ...]:
        """The first so many that are not answered, in the order in which they came."""
        ...

    def tried(self, agent: str, message_id: str) -> int:
        """Somebody begins to serve it; how often that was so by now."""
        ...

    def answered(self, agent: str, message_id: str, answer: InboxAnswer) -> None:
        """What came of it. It waits no longer; the first answer counts."""
        ...

    def answer(self, agent: str, message_id: str) -> InboxAnswer | None:
        """None while it waits, and where there is no such message."""
        ...

    def counts(self) -> tuple[int, int]:
        """How many messages wait, and of how many agents."""
        ...


class Doorbell(Protocol):
    """These methods block."""

    def ring(self, agent: str, *, seconds: float = 0.0) -> None:
        """Somebody shall come to this agent, now or in so many seconds. Rings of one agent are one,
        and the earlier counts.
        """
        ...

    def claim(self, seconds: float) -> Ring | None:
        """The ring that is due for the longest time, for nobody else for so many seconds."""
        ...

    def keep(self, ring: Ring, seconds: float) -> None:
        """Still at it."""
        ...

    def rest(self, ring: Ring, *, again: float | None = None) -> None:
        """Done with it: it is gone, unless it rang meanwhile or shall ring again in `again`
        seconds. One that somebody else claimed since stays as it is.
        """
        ...

    def wait(self, seconds: float) -> None:
        """Until somebody rings, at most so long."""
        ...

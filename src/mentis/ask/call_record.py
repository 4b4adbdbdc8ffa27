"""Record of a call outside of any turn: whom it asked, what it used and cost, and no word of it.

No agent made it, so it stands in a chain of the home's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from anyio import CancelScope, to_thread

from mentis.codec.forms import to_json, to_object
from mentis.engines.estimate import EstimatingCounter
from mentis.errors import BadInput, MentisError
from mentis.home.database import no_empty_left, open_database
from mentis.home.ledger import open_ledger
from mentis.home.parts import Parts
from mentis.home.system import RandomIds
from mentis.record.agent_record import AgentRecord
from mentis.settings.settings import Settings
from mentis.stores.files.home import Home
from mentis.values.digest import digest
from mentis.values.entry import Entry
from mentis.values.reply import Reply

from .ask import OnEvent, ask
from .calls import ModelCall, planned_usage
from .inquiry import Inquiry
from .prices import call_price
from .recorded_calls import CALL

_CHAIN = "calls"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Where such calls of a home are recorded. `what` made the call: a command's name."""

    home: Home
    settings: Settings
    parts: Parts
    what: str
    on_unrecorded: Callable[[MentisError], None]

    async def ask(self, inquiry: Inquiry, on_event: OnEvent | None = None) -> MentisError | None:
        """Ask, and record what was sent, also where it failed or was broken off."""
        failure, ended = None, False
        try:
            failure = await ask(inquiry, on_event=on_event)
            ended = True
        finally:
            reply = inquiry.attempt.reader.finish(interrupted=not ended)
            with CancelScope(shield=True):
                await to_thread.run_sync(partial(self._keep, inquiry, reply, failure))
        return failure

    def _keep(self, inquiry: Inquiry, reply: Reply, failure: MentisError | None) -> None:
        if not inquiry.sent:
            return
        try:
            self._append(inquiry, _body(self.what, inquiry.call_of(reply), failure))
        except MentisError as error:
            self.on_unrecorded(error)

    def _append(self, inquiry: Inquiry, body: Mapping[str, object]) -> Entry:
        home, settings, environ = self.home, self.settings, self.parts.variables
        clock, ids = inquiry.models.clock, self.parts.ids or RandomIds()
        with (
            no_empty_left(home),
            open_database(home, settings, environ) as database,
            closing(open_ledger(settings, database, environ)) as ledger,
        ):
            agent = f"{settings.model.name or home.name}/{_CHAIN}"
            return AgentRecord(agent, ledger, clock, ids).append(CALL, body, source=self.what)


def _body(what: str, call: ModelCall, failure: MentisError | None) -> dict[str, object]:
    told: dict[str, object] = {"what": what, "stop": call.reply.stop}
    told |= {"failure": failure.code} if failure else {}
    name, usage = "usage", call.reply.usage
    if usage is None:
        prompt = EstimatingCounter().count(call.rendering.body().decode()).tokens
        name, usage = "planned", planned_usage(prompt, call.route)
    price = call_price(call.route, usage)
    paid = {} if price.usd is None else {"usd": format(Decimal(str(price.usd)), "f")}
    return {
        "call": told,
        "route": call.place(),
        name: to_object(usage),
        "price": {**paid, "told": price.told},
        "digests": {"payload": call.rendering.digest, **_reply_digest(call.reply)},
    }


def _reply_digest(reply: Reply) -> dict[str, str]:
    """Nothing can bind what JSON cannot say; that it was asked is told all the same."""
    try:
        return {"reply": digest(to_json(reply))}
    except BadInput:
        return {}

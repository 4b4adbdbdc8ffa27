"""`save_status`: a status window goes the way every window goes into the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from anyio.to_thread import run_sync

from mentis.errors import NotCanonical
from mentis.values.act import ActCall
from mentis.values.action import Outcome
from mentis.values.digest import digest
from mentis.values.json import JsonObject
from mentis.values.status import WindowResult
from mentis.values.tool import ToolDeclaration
from mentis.values.trust import Trust

from .arguments import Arguments, Unfit
from .kind import SOURCE, BuiltIn, Kind

SAVE = Kind("save_status", "status", endpoint="status", limits="the rules of the guardian")
# The window and the id of its delivery: the same delivery twice is one entry.
AddWindow: TypeAlias = Callable[[JsonObject, str], WindowResult]


class SaveStatus(BuiltIn):
    """A window that the guardian refuses is `refused`, with every rule it breaks."""

    def __init__(self, words: ToolDeclaration, add: AddWindow) -> None:
        super().__init__(SAVE.spec(words))
        self._add = add

    async def _act(self, call: ActCall, given: Arguments) -> Outcome:
        window = given.members("window")
        delivery = f"act-{digest(call.key.encode())[7:]}"
        try:
            added = await run_sync(self._add, window, delivery)
        except NotCanonical as error:
            raise Unfit(f"window: {error.message}") from error
        return self._done(call, _receipt(added), Trust.RUNTIME, source=f"{SOURCE}:{SAVE.name}")


def _receipt(added: WindowResult) -> dict[str, object]:
    if added.entry is None:
        return {"recorded": False, "spooled": added.spooled, "health": _status(added)}
    findings = added.judgement.findings if added.judgement else ()
    return {
        "recorded": True,
        "line": added.line,
        "index": added.entry.index,
        "hash": added.entry.hash,
        "known": added.known,
        "verified": added.receipt.verified,
        "findings": [f"{one.rule} {one.where or '-'}: {one.what}" for one in findings],
    }


def _status(added: WindowResult) -> str | None:
    return added.health.status if added.health else None

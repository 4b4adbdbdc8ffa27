"""Operations on a living agent: ticks, senses, beats, and what it delivers."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from anyio import to_thread
from pydantic import Field

from mentis.codec.forms import to_object
from mentis.errors import RequestRefused
from mentis.loop.aside import Aside, open_asides
from mentis.loop.given import given_senses
from mentis.loop.inbox import Inbox
from mentis.talk.beat import BeatRecord
from mentis.talk.talk_data import beat_data, delivery_data
from mentis.tick.cortex import tick_data
from mentis.values.action import Outcome

from .conversations import agent_on
from .missing import is_there
from .operation import ApiCall, Example, Given, OperationTable
from .record_shapes import (
    BeatAnswer,
    DeliveredAnswer,
    DroppedAnswer,
    SenseRow,
    TickAnswer,
    WaitingSense,
)

table = OperationTable("living", "Ticks, senses, beats, and what is delivered.")
_PERSONA = "/personas/{persona}"
_SENSES = f"{_PERSONA}/senses"
_ROUTE = "The route to ask; empty: the one that is served."


class TickGiven(Given):
    """What the agent senses."""

    example: ClassVar[Example] = {"senses": [{"text": "It rains."}]}

    senses: tuple[dict[str, Any], ...] = Field((), description="Senses, or payloads of senses.")
    owner: bool = Field(False, description="They are your own words, and so trusted.")
    strict: bool = Field(False, description="An answer that breaks the contract is nothing.")
    route: str = Field("", description=_ROUTE)


class SenseGiven(Given):
    """Something to sense."""

    example: ClassVar[Example] = {"text": "It rains."}

    text: str = Field(min_length=1)
    kind: str = Field("input", description="What it is.")


class BeatGiven(Given):
    """Which moment."""

    kind: str = Field("", description="Empty: chance draws one by `beats.weights`.")
    if_due: bool = Field(False, description="Only if the interval since the last one is over.")
    route: str = Field("", description=_ROUTE)


class BeatQuery(Given):
    """How many beats."""

    last: int = Field(100, ge=1, le=1000, description="Counted from the newest.")


class DeliverGiven(Given):
    """What is to be told."""

    key: str = Field("", description="Only what came of this act.")
    route: str = Field("", description=_ROUTE)


@table.post(f"{_PERSONA}/ticks", TickAnswer, scope="chat", commands=("tick",))
async def make_tick(call: ApiCall, body: TickGiven) -> dict[str, object]:
    """Let the agent think for one moment, with what it senses; it may act and change its goals."""
    senses = given_senses(body.senses, endpoint="api", owner=body.owner)
    agent = await agent_on(call, body.route)
    return tick_data(await agent.tick(senses, strict=body.strict or None))


@table.get(_SENSES, list[SenseRow], commands=("sense list",))
def list_senses(call: ApiCall) -> list[dict[str, object]]:
    """List what is queued to be sensed, oldest first."""
    waiting = Inbox.open(call.home, persona=call.persona).waiting()
    return [{"name": name, "content": content} for name, content in waiting]


@table.post(_SENSES, WaitingSense, scope="edit", status=201, commands=("sense add",))
def add_sense(call: ApiCall, body: SenseGiven) -> dict[str, object]:
    """Queue something for the agent: the next tick of `mentis run` takes it."""
    sense = {"kind": body.kind, "payload": {"text": body.text}, "endpoint": "cli"}
    path = Inbox.open(call.home, persona=call.persona).add(sense)
    return {"queued": path.name, "waiting": path.name}


@table.get(f"{_SENSES}/aside", list[Aside], commands=("sense failed",))
def list_senses_aside(call: ApiCall) -> list[dict[str, object]]:
    """List the senses that no tick could take, and why."""
    with open_asides(call.home, persona=call.persona) as asides:
        return [to_object(one) for one in asides.all()]


@table.get(f"{_SENSES}/aside/{{key}}", Aside, commands=("sense failed",))
def show_sense_aside(call: ApiCall) -> dict[str, object]:
    """Show one sense that no tick could take."""
    with open_asides(call.home, persona=call.persona) as asides, is_there():
        return to_object(asides.find(call.path["key"]))


@table.post(
    f"{_SENSES}/aside/{{key}}/again",
    WaitingSense,
    scope="edit",
    edits=show_sense_aside,
    commands=("sense retry",),
)
def give_sense_again(call: ApiCall) -> dict[str, object]:
    """Queue a failed sense once more."""
    with open_asides(call.home, persona=call.persona) as asides:
        found = asides.find(call.path["key"])
        path = Inbox.open(call.home, persona=call.persona).add(asides.again(found))
        asides.remove(found, "again")
    return {"queued": path.name, "waiting": path.name}


@table.delete(
    f"{_SENSES}/aside/{{key}}",
    DroppedAnswer,
    scope="edit",
    edits=show_sense_aside,
    commands=("sense drop",),
)
def drop_sense(call: ApiCall) -> dict[str, object]:
    """Throw a sense away that was set aside; the record still says that it was there."""
    with open_asides(call.home, persona=call.persona) as asides:
        found = asides.find(call.path["key"])
        asides.remove(found, "dropped")
    return {"dropped": found.id}


@table.get(f"{_PERSONA}/beats", list[BeatRecord], commands=("beat log",))
async def list_beats(call: ApiCall, query: BeatQuery) -> list[dict[str, object]]:
    """List the moments of its own that the agent had, also those that failed."""
    agent = await call.agent()
    found = await to_thread.run_sync(partial(agent.beats, query.last))
    return [to_object(one) for one in found]


@table.post(f"{_PERSONA}/beats", BeatAnswer, scope="chat", commands=("beat now",))
async def make_beat(call: ApiCall, body: BeatGiven) -> dict[str, object]:
    """Let the agent have a moment of its own now; nothing of it goes to anybody."""
    agent = await agent_on(call, body.route)
    if body.if_due:
        due = await to_thread.run_sync(agent.next_beat)
        if due > agent.clock.now():
            return {"due": due.isoformat(timespec="seconds")}
    return beat_data(await agent.beat(body.kind or None))


@table.get(f"{_PERSONA}/deliveries", list[Outcome], scope="chat", commands=("deliver",))
async def list_deliverable(call: ApiCall) -> list[dict[str, object]]:
    """List what came of acts that somebody waits for, and can be told."""
    found = await (await call.agent()).deliverable_outcomes()
    return [to_object(one) for one in found]


@table.post(f"{_PERSONA}/deliveries", list[DeliveredAnswer], scope="chat", commands=("deliver",))
async def deliver_outcomes(call: ApiCall, body: DeliverGiven) -> list[dict[str, object]]:
    """Tell what came of acts after the turn that asked for them; each once."""
    agent = await agent_on(call, body.route)
    found = await agent.deliverable_outcomes()
    wanted = [one for one in found if body.key in ("", one.key)]
    if body.key and not wanted:
        known = ", ".join(one.key for one in found) or "none"
        raise RequestRefused(
            f"there is nothing to deliver of act {body.key!r}",
            hint=f"there are: {known}",
            status=404,
        )
    return [delivery_data(one, await agent.deliver(one)) for one in wanted]

"""Operations on acts: what waits for a yes, deciding on it, what became of acts; and on tools."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import anyio
from anyio import to_thread
from pydantic import Field

from mentis.codec.forms import to_object
from mentis.record.act_stories import ActStory
from mentis.tools.acts import ActRun, Acts, open_acts
from mentis.tools.toolbox import ActDetail, Listing, Toolbox, ToolRow, open_toolbox
from mentis.turn.turn_data import turn_data
from mentis.values.act import ActState
from mentis.values.action import Outcome

from .conversations import agent_on
from .missing import is_there
from .operation import ApiCall, Example, Given, OperationTable
from .record_shapes import (
    ActLogAnswer,
    ApprovedAnswer,
    DecidedAnswer,
    PendingAnswer,
    RemovedAnswer,
    ResultAnswer,
    ToolCheckAnswer,
)

table = OperationTable("acts", "What waits for a yes, what became of acts, and tools.")
_PERSONA = "/personas/{persona}"
_ACTS = f"{_PERSONA}/acts"
_ACT = f"{_ACTS}/{{key}}"
_TOOLS = f"{_PERSONA}/tools"


class ActLogQuery(Given):
    """Which acts."""

    last: int = Field(20, ge=1, le=1000, description="How many, counted from the newest.")
    state: ActState | None = Field(None, description="Only those that stand so.")
    name: str = Field("", description="Only acts of this name.")


class DecisionGiven(Given):
    """A decision on an act."""

    by: str = Field("", description="Who decides; by default whose token it is.")
    words: str = Field("", description="Why; kept in the record. A no is told with it.")
    resume: bool = Field(False, description="Then go on with the turn that waited for it.")
    route: str = Field("", description="The route to go on with; empty: the one that is served.")


class ApprovalGiven(DecisionGiven):
    """A yes."""

    later: bool = Field(False, description="Do not do it now; the next turn does.")


class ToolCallGiven(Given):
    """The arguments of an act."""

    example: ClassVar[Example] = {"arguments": {"text": "Tea at four."}}

    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])


class ToolListQuery(Given):
    """Whether servers are asked."""

    connect: bool = Field(False, description="Start and ask the servers for what they offer.")


class ToolCheckGiven(Given):
    """Which tool."""

    name: str = Field("", description="Only this one.")


def _opened(call: ApiCall, *, readonly: bool = False) -> Acts:
    return open_acts(call.home, call.persona, call.desk.parts, readonly=readonly)


@table.get(f"{_ACTS}/pending", PendingAnswer, commands=("acts pending",))
def list_pending_acts(call: ApiCall) -> dict[str, object]:
    """Show in full what each act that waits for a yes would do."""
    with _opened(call, readonly=True) as acts:
        return acts.pending_data()


@table.get(_ACTS, ActLogAnswer, commands=("acts log",))
def list_acts(call: ApiCall, query: ActLogQuery) -> dict[str, object]:
    """List acts as the ledger tells of them, the oldest first."""
    with _opened(call, readonly=True) as acts:
        return acts.log_data(last=query.last, state=query.state, name=query.name or None)


@table.post(f"{_ACTS}/run", ActRun, scope="edit", commands=("acts run",))
def run_acts(call: ApiCall) -> dict[str, object]:
    """Do what was approved, and look after what was left open."""
    with _opened(call) as acts:
        return to_object(anyio.run(acts.run, None))


@table.get(_ACT, ActStory, commands=("acts show",))
def show_act(call: ApiCall) -> dict[str, object]:
    """Show one act from being asked for to what it came to."""
    with _opened(call, readonly=True) as acts, is_there():
        return to_object(acts.story(call.path["key"]))


@table.get(f"{_ACT}/result", ResultAnswer, commands=("acts result",))
def show_act_result(call: ApiCall) -> dict[str, object]:
    """Show the whole of what an act answered. Somebody else wrote it."""
    with _opened(call, readonly=True) as acts, is_there():
        return {"result": acts.result(call.path["key"])}


@table.post(
    f"{_ACT}/approve",
    ApprovedAnswer,
    scope="edit",
    edits=show_act,
    commands=("acts approve",),
)
async def approve_act(call: ApiCall, body: ApprovalGiven) -> dict[str, object]:
    """Say yes to an act that waits, and have it done at once.

    The yes is to these arguments and this definition: if either changes, it is not done.
    """

    def approve() -> tuple[dict[str, object], str]:
        with _opened(call) as acts:
            with is_there():
                shown = acts.find(call.path["key"])
            who = body.by or call.token.person.name
            act = acts.approve(shown.call.key, by=who, words=body.words, shown=shown)
            if body.later:
                return {"approved": act.call.key, "outcome": None}, ""
            ran = anyio.run(acts.run, {act.call.key})
        mine = next((one for one in ran.outcomes if one.key == act.call.key), None)
        told = {"approved": act.call.key, "outcome": to_object(mine) if mine else None}
        return {**told, "faults": list(ran.faults)}, act.call.session if mine else ""

    told, session = await to_thread.run_sync(approve)
    return await _with_turn(call, body, told, session)


@table.post(f"{_ACT}/deny", DecidedAnswer, scope="edit", edits=show_act, commands=("acts deny",))
async def deny_act(call: ApiCall, body: DecisionGiven) -> dict[str, object]:
    """Say no to an act that waits, or take a yes back before it is done."""

    def deny() -> tuple[str, str]:
        with _opened(call) as acts, is_there():
            who = body.by or call.token.person.name
            act = acts.deny(call.path["key"], by=who, words=body.words)
            return act.call.key, act.call.session

    key, session = await to_thread.run_sync(deny)
    return await _with_turn(call, body, {"denied": key}, session)


@table.post(
    f"{_ACT}/release", DecidedAnswer, scope="edit", edits=show_act, commands=("acts release",)
)
async def release_act_result(call: ApiCall, body: DecisionGiven) -> dict[str, object]:
    """Let the agent be told a result that screening withheld. The record says who released it."""

    def release() -> tuple[str, str]:
        with _opened(call) as acts, is_there():
            story = acts.withheld(call.path["key"])
            acts.release(story.key, by=body.by or call.token.person.name, words=body.words)
            return story.key, story.session

    key, session = await to_thread.run_sync(release)
    return await _with_turn(call, body, {"released": key}, session)


async def _with_turn(
    call: ApiCall, body: DecisionGiven, told: dict[str, object], session: str
) -> dict[str, object]:
    if not body.resume:
        return told
    agent = await agent_on(call, body.route)
    result = await agent.resume(session=session) if session else None
    return {**told, "turn": None if result is None else turn_data(result)}


# Tools


@contextmanager
def _box(call: ApiCall) -> Generator[Toolbox]:
    with open_toolbox(call.home, call.persona, call.desk.parts) as box:
        yield box


def _listed(box: Toolbox, *, connect: bool) -> Listing:
    async def list_connected() -> Listing:
        async with box.connect():
            return await to_thread.run_sync(box.listing)

    return anyio.run(list_connected) if connect else box.listing()


@table.get(_TOOLS, Listing, commands=("tools list",))
def list_tools(call: ApiCall) -> dict[str, object]:
    """List every act, where it comes from, what it may do, and if it is off, why.

    Servers are not asked: `check` does that.
    """
    with _box(call) as box:
        return to_object(box.listing())


@table.post(
    f"{_TOOLS}/check", ToolCheckAnswer, scope="admin", commands=("tools check", "tools list")
)
def check_tools(call: ApiCall, body: ToolCheckGiven) -> dict[str, object]:
    """Start and ask every tool, and hold what each declares against the rules."""
    name = body.name or None
    with _box(call) as box:
        if name is not None:
            with is_there():
                box.tool(name)
        found = _listed(box, connect=True)
    rows = [row for row in found.tools if name in (None, row.name)]
    ready = not any(row.problems for row in rows)
    told = [to_object(row) for row in rows]
    return {"ready": ready, "tools": told, "acts": [to_object(row) for row in found.acts]}


@table.get(f"{_TOOLS}/{{name}}", ActDetail | ToolRow, commands=("tools show",))
def show_tool(call: ApiCall) -> dict[str, object]:
    """Show one act or one tool in full, with what the model is told of it."""
    name = call.path["name"]
    with _box(call) as box:
        found = box.listing()
        tool = next((row for row in found.tools if row.name == name), None)
        if tool is not None:
            return to_object(tool)
        with is_there():
            return to_object(box.show(name))


@table.post(f"{_TOOLS}/{{name}}/call", Outcome, scope="admin", commands=("tools call",))
def call_tool(call: ApiCall, body: ToolCallGiven) -> dict[str, object]:
    """Do one act by hand. It is recorded like any other; nobody is asked, for you ask."""
    with _box(call) as box:
        with is_there():
            box.show(call.path["name"])
        work = partial(box.call, call.path["name"], body.arguments)
        outcome, _ = anyio.run(work)
        return to_object(outcome)


@table.delete(
    f"{_TOOLS}/{{name}}",
    RemovedAnswer,
    scope="admin",
    edits=show_tool,
    commands=("tools remove",),
)
def remove_tool(call: ApiCall) -> dict[str, object]:
    """Take a tool out of the settings, and forget that it was trusted."""
    with _box(call) as box, is_there():
        box.remove(call.path["name"])
    return {"removed": call.path["name"]}

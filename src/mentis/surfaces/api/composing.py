"""Operations that show a prompt before it is sent, send one alone, and screen text from outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import anyio
from anyio import to_thread
from pydantic import Field

from mentis.app.unstored import open_anyhow
from mentis.ask.one_call import call_route
from mentis.ask.rendering_data import rendering_data, spoken_route
from mentis.assemble.result import assembled_data
from mentis.call.recorded_events import events_of
from mentis.codec.forms import to_object
from mentis.compose.compose import Composition
from mentis.errors import LedgerError, LibraryError, ReplayError, RequestRefused
from mentis.facts.abilities import wire_of
from mentis.memories.screening import calibrate_home, open_screener, vectors_of
from mentis.ports.screener import StoredVector
from mentis.recall.screening.calibrate import ThresholdCalibration
from mentis.recall.screening.screener import ScreeningReport
from mentis.render.wires import render_for
from mentis.settle.actions import to_actions
from mentis.settle.readers import read_all, reader_for
from mentis.turn.replay.prompt_change import PromptInForceChange
from mentis.turn.replay.replay_data import trial_data
from mentis.turn.turn_data import composition_data
from mentis.values.assembly import AssembledPrompt
from mentis.values.block import Mode
from mentis.values.cognition import Screening
from mentis.values.recalled import RecalledContext, Stimulus
from mentis.values.reply import Reply
from mentis.values.request import HistoryScope, ReplyTo
from mentis.values.tool import ToolDeclaration
from mentis.web.problems import with_status

from .conversations import agent_on, options_of, session_named
from .operation import ApiCall, Example, Given, OperationTable
from .record_shapes import (
    ExplanationAnswer,
    NormalisedAnswer,
    RenderingAnswer,
    TrialAnswer,
)

table = OperationTable("prompts ahead", "Prompts before they are sent, single calls, screening.")
_PERSONA = "/personas/{persona}"
_SESSION = f"{_PERSONA}/sessions/{{session}}"
_ROUTE = "The route, by its name in the settings; empty: the one that is served."
Stance = Literal["plan", "act", "review", "auto"]
Wire = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "text"]


class ComposeGiven(Given):
    """A message that might be sent."""

    text: str = "Hello!"
    reply_to: str = Field("", description="The earlier message that it answers.")
    scope: HistoryScope | None = None
    mode: Mode = "chat"
    route: str = Field("", description=_ROUTE)

    def message(self) -> Stimulus:
        answers = ReplyTo(self.reply_to) if self.reply_to else None
        return Stimulus(self.text, reply_to=answers, scope=self.scope, mode=self.mode)


class RenderGiven(ComposeGiven):
    """The same, and for what."""

    provider: Wire | None = Field(None, description="The format; by default the route's.")
    model: str = Field("", description="The model whose facts count, instead of the route's.")
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    previous: str = Field("", description="An earlier body, to name what differs.")


class TrialGiven(Given):
    """A text that might be saved as a wording of a block."""

    example: ClassVar[Example] = {"block": "style", "text": "Be brief."}

    block: str = Field(min_length=1, max_length=128)
    text: str = Field(description="What the block would say.")
    variant: str = Field("default", description="Which wording the text would be.")
    entry: int | None = Field(None, ge=0, description="The turn to tell anew; else the newest.")
    whole: str = Field("", description="A route on which the prompt itself is told, too.")


class TaskGiven(Given):
    """A task."""

    example: ClassVar[Example] = {"task": "call my dentist"}

    task: str = Field(min_length=1)
    mode: Stance = Field("auto", description="How the task is taken.")
    connect: bool = Field(False, description="Ask the servers of tools, to choose from theirs too.")


class SinceGiven(Given):
    """A turn, by its entry."""

    example: ClassVar[Example] = {"entry": 0}

    entry: int = Field(ge=0, le=2**53, description="The entry of the turn that was told before.")


class AssembleGiven(TaskGiven):
    """A task, and hints."""

    example: ClassVar[Example] = {"task": "call my dentist"}

    interactive: bool = Field(False, description="Somebody is there to ask; means plan.")
    git_changes: bool = Field(False, description="Work has begun; means act.")
    session: str = "main"
    timings: bool = Field(False, description="Add how long each part took.")


class SendGiven(Given):
    """What is sent: a message, or a payload, a rendering or a request."""

    example: ClassVar[Example] = {"message": "Hello"}

    message: str = ""
    payload: dict[str, Any] | None = None
    route: str = Field("default", description="By its name in the settings.")
    options: dict[str, Any] = Field(default_factory=dict[str, Any])


class AnswerGiven(Given):
    """A recorded answer of a provider."""

    example: ClassVar[Example] = {"answer": "Hello", "provider": "text"}

    answer: str = Field(description="Server-sent events, JSON lines, one JSON body or plain text.")
    provider: Wire
    tools: tuple[str, ...] = Field((), description="Tools that were offered.")


class ScreenGiven(Given):
    """A text from outside."""

    example: ClassVar[Example] = {"text": "Hello", "text_only": True}

    text: str
    text_only: bool = Field(False, description="Without the vector it would be stored with.")


class CalibrateGiven(Given):
    """What the thresholds are made to fit."""

    text_only: bool = False


@table.post(f"{_SESSION}/compose", Composition, scope="read", commands=("compose",))
async def compose_prompt(call: ApiCall, body: ComposeGiven) -> dict[str, object]:
    """Show what the model would be told, block by block, and why. Nothing is sent."""
    agent, session = await agent_on(call, body.route), session_named(call, reading=True)
    compose = partial(agent.compose, body.message(), session=session)
    return to_object(await to_thread.run_sync(compose))


@table.post(f"{_SESSION}/explain", ExplanationAnswer, scope="read", commands=("compose",))
async def explain_prompt(call: ApiCall, body: ComposeGiven) -> dict[str, object]:
    """Say which tools and memories would stay in the prompt, which would be told of, and why."""
    agent, session = await agent_on(call, body.route), session_named(call, reading=True)
    compose = partial(agent.compose, body.message(), session=session)
    return composition_data(await to_thread.run_sync(compose))


@table.post(f"{_SESSION}/render", RenderingAnswer, scope="read", commands=("render",))
async def render_prompt(call: ApiCall, body: RenderGiven) -> dict[str, object]:
    """Show the exact payload that would be sent, with its map and cache plan. Nothing is sent."""
    agent, session = await agent_on(call, body.route), session_named(call, reading=True)
    options = options_of(body.options)

    def render() -> dict[str, object]:
        composed = agent.compose(body.message(), session=session, options=options)
        chosen = spoken_route(agent.route, body.provider, body.model or None)
        chosen = chosen.calling(options) if options else chosen
        made = render_for(body.provider or wire_of(chosen), composed.request, chosen)
        before = body.previous.encode() if body.previous else None
        return rendering_data(made, agent.forecast_cache(made, route=chosen, before=before))

    return await to_thread.run_sync(render)


@table.post(f"{_PERSONA}/what-if", TrialAnswer, scope="read", commands=("prompts what-if",))
async def try_block(call: ApiCall, body: TrialGiven) -> dict[str, object]:
    """Say what a block with another text would do to the prompt on every route.

    Tokens and price before and after, what a cache keeps, and what the next turn reads again.
    Nothing is sent or written.
    """
    agent = await call.agent()
    look = partial(
        agent.what_if,
        body.block,
        body.text,
        variant=body.variant,
        index=body.entry,
        whole=body.whole,
    )
    try:
        return trial_data(await to_thread.run_sync(look))
    except (LibraryError, ReplayError) as error:
        raise with_status(error, 422) from error


@table.post(
    f"{_PERSONA}/prompt-changes",
    list[PromptInForceChange],
    scope="read",
    commands=("prompts edit", "prompts toggle", "prompts order", "prompts reset"),
)
async def compare_prompts(call: ApiCall, body: SinceGiven) -> list[dict[str, object]]:
    """Say what changed in the prompt in force since a recorded turn was told, on every route.

    The differences, tokens and price; where it is the same, why. Nothing is sent or written.
    """
    agent = await call.agent()

    def compare() -> list[dict[str, object]]:
        changes = agent.prompt_changes(agent.told_library(body.entry))
        return [to_object(one) for one in changes]

    try:
        return await to_thread.run_sync(compare)
    except (LedgerError, ReplayError) as error:
        raise with_status(error, 422) from error


@table.post(f"{_PERSONA}/recall", RecalledContext, scope="read", commands=("recall",))
def recall_for_task(call: ApiCall, body: TaskGiven) -> dict[str, object]:
    """Show which tools, skills and memories come to mind for a task, and why."""
    with open_anyhow(call.home, persona=call.persona, parts=call.desk.parts) as agent:

        async def work() -> RecalledContext:
            if body.connect:
                await agent.connect()
            return await agent.recall(body.task, mode=body.mode)

        return to_object(anyio.run(work))


@table.post(f"{_PERSONA}/assemble", AssembledPrompt, scope="read", commands=("assemble",))
def assemble_prompt(call: ApiCall, body: AssembleGiven) -> dict[str, object]:
    """Make the prompt for a task as one text, with all that led to it. Nothing is sent.

    Nothing of the machine is told: there is no folder that the task is about.
    """
    with open_anyhow(call.home, persona=call.persona, parts=call.desk.parts) as agent:

        async def work() -> AssembledPrompt:
            if body.connect:
                await agent.connect()
            return await agent.assemble(
                body.task,
                mode=body.mode,
                interactive=body.interactive,
                git_changes=body.git_changes,
                session=body.session,
                timings=body.timings,
            )

        return assembled_data(anyio.run(work))


@table.post(f"{_PERSONA}/calls", Reply, scope="chat", commands=("call",))
async def send_call(call: ApiCall, body: SendGiven) -> dict[str, object]:
    """Send a message or a payload alone. What it used is recorded, and nothing that was said."""
    if bool(body.message) == (body.payload is not None):
        raise RequestRefused("give a message or a payload", hint="one of them", status=422)
    agent = await agent_on(call, body.route)
    options = options_of(body.options)
    if body.payload is not None:
        source: Any = json.dumps(body.payload)
    else:
        compose = partial(agent.compose, body.message)
        source = (await to_thread.run_sync(compose)).request
    reply = await call_route(
        call.home,
        source,
        route=body.route,
        parts=call.desk.parts,
        on_event=_unheard,
        options=options,
    )
    return to_object(reply)


def _unheard(_event: str) -> None:
    """The reply is answered when it is complete."""


@table.post("/normalise", NormalisedAnswer, scope="read", commands=("normalise",))
def normalise_answer(_call: ApiCall, body: AnswerGiven) -> dict[str, object]:
    """Read a recorded answer of any wire format into one form."""
    offered = [ToolDeclaration(name, "") for name in body.tools] or None
    events = events_of(body.answer, body.provider)
    reply = read_all(reader_for(body.provider, tools=offered), events)
    return {"reply": to_object(reply), **to_actions(reply)}


# Screening


@table.post("/screening/test", Screening, scope="read", commands=("screening test",))
def test_screening(call: ApiCall, body: ScreenGiven) -> dict[str, object]:
    """Say what happens to a text from outside: clean, suspicious or dropped."""
    vector = _vector(body)
    return to_object(open_screener(call.home).screen(body.text, source="api", vector=vector))


@table.post("/screening/explain", ScreeningReport, scope="read", commands=("screening explain",))
def explain_screening(call: ApiCall, body: ScreenGiven) -> dict[str, object]:
    """Say why: the worst passage, the patterns met, what was hidden, what each voter said."""
    return to_object(open_screener(call.home).explain(body.text, _vector(body)))


@table.post(
    "/screening/calibrate", ThresholdCalibration, scope="admin", commands=("screening calibrate",)
)
def calibrate_screening(call: ApiCall, body: CalibrateGiven) -> dict[str, object]:
    """Make the thresholds fit your own ordinary text: screening/*.jsonl of the home."""
    return to_object(anyio.run(partial(calibrate_home, call.home, text_only=body.text_only)))


def _vector(body: ScreenGiven) -> StoredVector | None:
    if body.text_only:
        return None
    found: Sequence[StoredVector] | None = anyio.run(vectors_of, [body.text]).found
    return None if found is None else found[0]

"""Operations on conversations: sessions, what was said in them, and turns."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from typing import Any, ClassVar

from anyio import to_thread
from pydantic import Field

from mentis.app.agent import Agent
from mentis.app.session_export import SessionFormat, export_session
from mentis.ask.ask import OnDelta
from mentis.ask.attachments import attach
from mentis.codec.forms import to_object
from mentis.codec.option_check import options_from
from mentis.errors import AccessDenied, RequestRefused
from mentis.record.threads import is_message, standing_numbers
from mentis.status.statuses import open_statuses
from mentis.stores.files.home import is_id
from mentis.talk.talk_data import (
    afterthought_data,
    live_data,
    page_data,
    summary_data,
    title_data,
)
from mentis.turn.turn import TurnResult
from mentis.turn.turn_data import turn_data
from mentis.values.options import CallOptions
from mentis.values.part import MediaPart
from mentis.values.persona_update import PersonaUpdate
from mentis.values.recalled import Stimulus
from mentis.values.reply import Delta, StepDelta, TextDelta
from mentis.values.request import HistoryScope, ReplyTo
from mentis.values.session import BEATS, AnswerVersion, Session
from mentis.values.tool import ToolDeclaration
from mentis.web.agents import is_guest, own_name, said_by, session_of

from .operation import ApiCall, Example, FileAnswer, Given, ListPage, OperationTable, PageQuery
from .paging import cursor_number, page_of
from .shapes import (
    AfterthoughtAnswer,
    HitAnswer,
    LiveAnswer,
    MessageAnswer,
    ResumedAnswer,
    SummaryAnswer,
    TitleAnswer,
    TurnAnswer,
    WrittenAnswer,
    listed,
)

table = OperationTable("conversations", "Sessions, what was said in them, and turns.")
_PERSONA = "/personas/{persona}"
_SESSION = f"{_PERSONA}/sessions/{{session}}"
_ROUTE = "The route to ask, by its name in the settings; empty: the one that is served."
_SHOWN_TO_GUESTS = ("text", "output", "stop", "stop_reason", "session")


class Attachment(Given):
    """A file that goes with a message: its bytes, or an address that the provider reads."""

    name: str = Field("", max_length=255, description="What it is called.")
    data: str = Field("", description="Its bytes, in base64.")
    url: str = Field("", description="An https address instead; nothing is fetched here.")


class ToolGiven(Given):
    """A tool that the client executes: its calls come back under `calls`."""

    name: str = Field(min_length=1, max_length=64)
    description: str = ""
    parameters: dict[str, Any] = Field(
        default_factory=lambda: {"type": "object", "properties": {}},
        description="A JSON Schema of an object.",
    )


class CallGiven(Given):
    """How a model is to be asked."""

    route: str = Field("", description=_ROUTE)
    options: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description="Options of the call, before the route's: temperature, reasoning_effort, ...",
    )


class TurnGiven(CallGiven):
    """A message, or what came of the calls that the last turn left to the client."""

    example: ClassVar[Example] = {"text": "Good morning!"}

    text: str = Field("", description="The words of the message.")
    attachments: tuple[Attachment, ...] = ()
    reply_to: str = Field("", description="The earlier message that this one answers.")
    scope: HistoryScope | None = Field(
        None, description="Whose past is told; by default as conversations.scope says."
    )
    tools: tuple[ToolGiven, ...] = ()
    results: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Instead of a message: what came of each call, by its id.",
    )
    output: dict[str, Any] | None = Field(
        None, description="A JSON Schema that the answer is held to; it comes under `output`."
    )


class WordsGiven(CallGiven):
    """Other words for a message."""

    example: ClassVar[Example] = {"text": "Good evening!"}

    text: str = Field(min_length=1, description="The new words.")


class TitleGiven(Given):
    """A title of a conversation."""

    example: ClassVar[Example] = {"title": "The garden"}

    title: str = Field(min_length=1, max_length=500)


class RouteGiven(Given):
    """Which route to ask."""

    route: str = Field("", description=_ROUTE)


class SearchQuery(Given):
    """What to look for."""

    example: ClassVar[Example] = {"query": "morning"}

    query: str = Field(min_length=1, max_length=2000, description="Words to look for.")
    count: int = Field(5, ge=1, le=1000, description="How many at most.")


class LiveGiven(RouteGiven):
    """What a voice session is opened with."""

    scope: HistoryScope | None = None


# Sessions


def session_named(call: ApiCall, *, reading: bool = False) -> str:
    """The session that the path means for whoever asks. The owner may read those of guests too, and
    the agent's own, but says nothing there.
    """
    given, token = call.path["session"], call.token
    if reading and not is_guest(token) and not token.session and is_id(given):
        return given if "--" in given or given == BEATS else session_of(token, given)
    return session_of(token, given)


def _name_for(call: ApiCall, session: str) -> str:
    """The name of a session for whoever asks; "" where it is not for them."""
    own = own_name(call.token, session)
    if call.token.session:
        return own if own == call.token.session else ""
    return own or ("" if is_guest(call.token) else session)


def _session_page(call: ApiCall, agent: Agent, query: PageQuery) -> ListPage:
    """Only those of the page are looked into."""
    names = {_name_for(call, one): one for one in agent.session_names()}
    names.pop("", None)

    def told(name: str) -> dict[str, object]:
        (found,) = agent.sessions([names[name]])
        return {**to_object(found), "name": name}

    return page_of([*names], query, str, told)


@table.get(
    f"{_PERSONA}/sessions",
    listed(Session, "SessionPage"),
    guests=True,
    commands=("sessions list",),
)
async def list_sessions(call: ApiCall, query: PageQuery) -> ListPage:
    """List the conversations of a persona, the oldest first. Guests see their own."""
    agent = await call.agent()
    return await to_thread.run_sync(_session_page, call, agent, query)


def known_session(call: ApiCall, agent: Agent) -> str:
    wanted = session_named(call, reading=True)
    if wanted not in agent.session_names():
        raise RequestRefused(
            f"there is no session {call.path['session']!r}",
            hint="a session begins with the first turn in it",
            status=404,
        )
    return wanted


@table.get(_SESSION, Session, guests=True, commands=("sessions list",))
async def show_session(call: ApiCall) -> dict[str, object]:
    """One conversation in short: its title, and how many turns are kept and told."""
    agent = await call.agent()
    (found,) = await to_thread.run_sync(lambda: agent.sessions([known_session(call, agent)]))
    return {**to_object(found), "name": _name_for(call, found.name)}


class MessagesQuery(PageQuery):
    """Which messages."""

    newest: bool = Field(False, description="From the newest on, instead of from the oldest.")


@table.get(
    f"{_SESSION}/messages",
    listed(MessageAnswer, "MessagePage"),
    guests=True,
    commands=("sessions show",),
)
async def list_messages(call: ApiCall, query: MessagesQuery) -> ListPage:
    """List every turn of a conversation, also what was said anew and is no longer told."""
    agent = await call.agent()

    after = cursor_number(query.cursor) if query.cursor else None

    def look() -> ListPage:
        page = agent.turns_page(
            session=known_session(call, agent),
            after=after,
            count=query.limit,
            newest=query.newest,
        )
        rows = page_data(page)[:: -1 if query.newest else 1]
        last = page.turns[0 if query.newest else -1][0] if page.more else None
        return ListPage([_for_guest(row) for row in rows] if is_guest(call.token) else rows, last)

    return await to_thread.run_sync(look)


class SessionExportQuery(Given):
    """How a conversation is written."""

    format: SessionFormat = Field("jsonl", description="`jsonl` as SillyTavern, or `markdown`.")


@table.get(
    f"{_SESSION}/export",
    bytes,
    media="application/octet-stream",
    commands=("sessions export",),
)
async def export_conversation(call: ApiCall, query: SessionExportQuery) -> FileAnswer:
    """Write a conversation as a file of another program, as far as its format can hold it."""
    agent = await call.agent()

    def write() -> bytes:
        name = known_session(call, agent)
        parts, persona = call.desk.parts, call.persona
        made = export_session(call.home, name, persona=persona, format=query.format, parts=parts)
        return made.data

    data = await to_thread.run_sync(write)
    ending = "md" if query.format == "markdown" else "jsonl"
    return FileAnswer(data, "application/octet-stream", f"{call.path['session']}.{ending}")


def _for_guest(row: dict[str, object]) -> dict[str, object]:
    """Words and files, and nothing of what the agent thought or did."""
    told: list[dict[str, object]] = row["parts"]  # pyright: ignore[reportAssignmentType]  # as it is written
    kinds = ("text", "image", "audio", "video", "document")
    parts = [{**part, "state": None} for part in told if part.get("kind") in kinds]
    shown = [] if row["kind"] in ("thought", "summary") else parts
    kept = ("number", "counts", "role", "kind", "state", "author")
    return {name: row[name] for name in kept if name in row} | {"parts": shown}


@table.get(f"{_PERSONA}/messages", list[HitAnswer], commands=("sessions search",))
def search_messages(call: ApiCall, query: SearchQuery) -> list[dict[str, object]]:
    """Find what was said, in all conversations of the persona, by shared words."""
    with open_statuses(call.home, call.persona, readonly=True) as statuses:
        hits = statuses.search_conversation(query.query, count=query.count)
        return [{"score": hit.score, **to_object(hit.line)} for hit in hits]


@table.put(
    f"{_SESSION}/title",
    TitleAnswer,
    scope="chat",
    guests=True,
    edits=show_session,
    commands=("sessions title",),
)
async def set_title(call: ApiCall, body: TitleGiven) -> dict[str, object]:
    """Give a conversation a title of your own."""
    agent, session = await call.agent(), session_named(call)
    entry = await to_thread.run_sync(partial(agent.set_title, body.title, session=session))
    return {"title": " ".join(body.title.split()), "entry": entry.index}


@table.post(f"{_SESSION}/title", TitleAnswer, scope="chat", commands=("sessions title",))
async def make_title(call: ApiCall, body: RouteGiven) -> dict[str, object]:
    """Have the model make a title; where none comes, the first words are one."""
    agent = await agent_on(call, body.route)
    return title_data(await agent.make_title(session=session_named(call)))


@table.post(
    f"{_SESSION}/summary", SummaryAnswer | None, scope="chat", commands=("sessions summarise",)
)
async def summarise_session(call: ApiCall, body: RouteGiven) -> dict[str, object] | None:
    """Have the model sum up the older turns; the summary is told in their place.

    null where there are no older turns.
    """
    agent = await agent_on(call, body.route)
    made = await agent.summarise(session=session_named(call))
    return made and summary_data(made)


@table.post(f"{_SESSION}/undo", WrittenAnswer, scope="chat", commands=("sessions undo",))
async def undo_exchange(call: ApiCall) -> dict[str, object]:
    """Take back the last message and its answer: they are kept, and no longer told."""
    agent = await call.agent()
    return {"entry": (await agent.undo(session=session_named(call))).index}


@table.get(f"{_SESSION}/answers", list[AnswerVersion], commands=("sessions answers",))
async def list_answers(call: ApiCall) -> list[dict[str, object]]:
    """List the answers that the last message has had, the oldest first."""
    agent = await call.agent()
    look = partial(agent.answer_versions, session=session_named(call))
    return [to_object(one) for one in await to_thread.run_sync(look)]


@table.post(
    f"{_SESSION}/answers/{{number}}/restore",
    WrittenAnswer,
    scope="chat",
    commands=("sessions answers",),
)
async def restore_answer(call: ApiCall) -> dict[str, object]:
    """Tell an earlier answer to the last message again; the one that counted is kept, too."""
    agent, number = await call.agent(), call.number("number")
    return {"entry": (await agent.restore_answer(number, session=session_named(call))).index}


# Turns


@table.post(
    f"{_SESSION}/turns", TurnAnswer, scope="chat", guests=True, live=True, commands=("chat",)
)
async def make_turn(call: ApiCall, body: TurnGiven) -> dict[str, object]:
    """Say something and read the answer; the turn is recorded.

    With `Accept: text/event-stream` its pieces come as they are made. A guest's message has words
    and files alone, and counts as untrusted.
    """
    if not (body.text or body.attachments or body.results):
        raise RequestRefused(
            "there is nothing to answer", hint="give a text", status=422, field="text"
        )
    if is_guest(call.token):
        _check_guest(body)
    agent, session = await agent_on(call, body.route), session_named(call)
    message = Stimulus(
        body.text,
        attachments=tuple(_media(one, n) for n, one in enumerate(body.attachments)),
        reply_to=ReplyTo(body.reply_to) if body.reply_to else None,
        scope=body.scope,
    )
    ask = partial(
        agent.chat,
        "" if body.results else said_by(call.token, message),
        session=session,
        results=body.results,
        tools=[ToolDeclaration(t.name, t.description, t.parameters) for t in body.tools],
        on_delta=_hears(call),
        options=options_of(body.options),
    )
    result = await ask() if body.output is None else await ask(output=body.output)
    return _turn(call, result)


@table.post(
    f"{_SESSION}/regenerate", TurnAnswer, scope="chat", guests=True, live=True, commands=("chat",)
)
async def regenerate_answer(call: ApiCall, body: CallGiven) -> dict[str, object]:
    """Ask once more with the last message; the earlier answer is kept, and no longer told."""
    agent, session = await _asked(call, body), session_named(call)
    options = options_of(body.options)
    result = await agent.regenerate(session=session, on_delta=_hears(call), options=options)
    return _turn(call, result)


@table.post(f"{_SESSION}/opening", TurnAnswer, scope="chat", live=True, commands=("chat",))
async def open_conversation(call: ApiCall, body: CallGiven) -> dict[str, object]:
    """Let the persona begin a new conversation."""
    agent, session = await _asked(call, body), session_named(call)
    options = options_of(body.options)
    result = await agent.start_conversation(session=session, on_delta=_hears(call), options=options)
    return _turn(call, result)


@table.post(
    f"{_SESSION}/messages/{{number}}/edit",
    TurnAnswer,
    scope="chat",
    guests=True,
    live=True,
    commands=("sessions edit",),
)
async def edit_message(call: ApiCall, body: WordsGiven) -> dict[str, object]:
    """Say a message in other words; what followed it is kept, and no longer told."""
    agent, session = await _asked(call, body), session_named(call)
    number, options = call.number("number"), options_of(body.options)
    if is_guest(call.token):
        look = partial(_guest_words, call, agent, session)
        words = await to_thread.run_sync(look, number, body.text)
        result = await agent.chat(words, session=session, on_delta=_hears(call))
    else:
        result = await agent.edit(
            number, body.text, session=session, on_delta=_hears(call), options=options
        )
    return _turn(call, result)


def _guest_words(  # noqa: PLR0917  # all of them are given by name or by place
    call: ApiCall, agent: Agent, session: str, number: int, text: str
) -> Stimulus:
    """`Agent.edit` takes new words for the owner's; these are not."""
    turns = agent.history(session=session)
    if number not in [n for n in standing_numbers(turns) if is_message(turns[n])]:
        raise RequestRefused(
            f"turn {number} is no message that still counts", hint="list them first", status=404
        )
    files = tuple(part for part in turns[number].parts if isinstance(part, MediaPart))
    return said_by(call.token, Stimulus(text, attachments=files, replaces=number))


@table.post(f"{_SESSION}/resume", ResumedAnswer, scope="chat", live=True, commands=("chat",))
async def resume_turn(call: ApiCall, body: CallGiven) -> dict[str, object]:
    """Go on with the turn that waited for a yes, once a person has decided."""
    agent, session = await agent_on(call, body.route), session_named(call)
    options = options_of(body.options)
    result = await agent.resume(session=session, on_delta=_hears(call), options=options)
    return {"turn": None if result is None else _turn(call, result)}


@table.post(f"{_SESSION}/interrupt", None, scope="chat", guests=True, commands=("chat",))
async def interrupt_turn(call: ApiCall) -> None:
    """End the answer that is being made; what came of it is kept and marked as interrupted."""
    (await call.agent()).interrupt(session_named(call))


@table.post(
    f"{_SESSION}/afterthought", AfterthoughtAnswer, scope="chat", commands=("afterthought",)
)
async def make_afterthought(call: ApiCall, body: RouteGiven) -> dict[str, object]:
    """Let the persona think once more, and write if it wants to."""
    agent = await agent_on(call, body.route)
    return afterthought_data(await agent.afterthought(session=session_named(call)))


@table.post(f"{_SESSION}/live", LiveAnswer, scope="chat", commands=("live",))
async def open_live(call: ApiCall, body: LiveGiven) -> dict[str, object]:
    """Say what a voice session is opened with. Nothing is sent; what was told is recorded."""
    agent = await agent_on(call, body.route)
    return live_data(await agent.live(session=session_named(call), scope=body.scope))


@table.post(
    f"{_SESSION}/memory-update",
    PersonaUpdate | None,
    scope="edit",
    commands=("persona update",),
)
async def update_memory_files(call: ApiCall, body: RouteGiven) -> dict[str, object] | None:
    """Let the persona bring its memory files up to date from a conversation."""
    agent = await agent_on(call, body.route)
    made = await agent.update_memory(session=session_named(call))
    return made and to_object(made)


async def agent_on(call: ApiCall, route: str) -> Agent:
    """On a route of the settings: of those there are few, and an agent is kept open for each."""
    if route:
        settings = await to_thread.run_sync(call.desk.settings)
        if route not in settings.model.routes:
            raise RequestRefused(
                f"there is no route {route!r}",
                hint=f"there are: {', '.join(settings.model.routes)}",
                status=422,
                field="route",
            )
    return await call.agent(route)


async def _asked(call: ApiCall, body: CallGiven) -> Agent:
    if is_guest(call.token):
        _check_guest(body)
    return await agent_on(call, body.route)


def _check_guest(body: CallGiven) -> None:
    """The model would trust what else is given, and options cost the owner's money."""
    allowed = {"text", "attachments", "reply_to"}
    if more := sorted(body.model_fields_set - allowed):
        raise AccessDenied(
            f"guests give words and files alone, and not: {', '.join(more)}",
            hint="leave it out",
            status=403,
        )


def options_of(given: dict[str, Any]) -> CallOptions | None:
    return options_from(given) if given else None


def _media(given: Attachment, number: int) -> MediaPart:
    where = f"attachments[{number}]"
    if bool(given.data) == bool(given.url):
        raise _wrong(where, "it needs data or a url, and exactly one")
    if given.url:
        if not given.url.startswith("https://"):
            raise _wrong(where, "its url is no https address")
        return attach(given.url, name=given.name)
    try:
        data = base64.b64decode(given.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _wrong(where, f"its data is not base64: {error}") from error
    return MediaPart("document", "", data=data, name=given.name)


def _wrong(where: str, why: str) -> RequestRefused:
    return RequestRefused(f"{where}: {why}", hint="mend it", status=422, field=where)


def _hears(call: ApiCall) -> OnDelta | None:
    tell = call.tell
    if tell is None or not is_guest(call.token):
        return tell

    def told(delta: Delta) -> None:
        if isinstance(delta, TextDelta | StepDelta):
            tell(delta)

    return told


def _turn(call: ApiCall, result: TurnResult) -> dict[str, object]:
    told = {**turn_data(result), "session": _name_for(call, result.session)}
    if is_guest(call.token):
        return {name: one for name, one in told.items() if name in _SHOWN_TO_GUESTS}
    return told

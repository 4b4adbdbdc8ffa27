"""Operations on a home: its settings, routes, tokens and skills, and the agents recorded in it."""

from __future__ import annotations

import platform
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, cast

import anyio
from pydantic import Field
from starlette.responses import Response

from mentis.app.home_costs import explain_recorded
from mentis.ask.route_check import RouteCheck, check_routes
from mentis.codec.forms import to_object
from mentis.costs.cost_data import explanation_data
from mentis.errors import BadInput, MentisError, RequestRefused, UsageError
from mentis.facts.presets import PRESETS, RoutePreset
from mentis.home.found_models import ModelSearch, find_models
from mentis.home.identity import RECORDED
from mentis.home.learned_facts import LearnedFacts
from mentis.home.server import open_blobs
from mentis.recall.memory.secrets_found import secrets_in
from mentis.recall.skills import read_skills, skills_data
from mentis.record.foreign_calls import ForeignCall
from mentis.record.record import open_record
from mentis.record.verify_home import verify_home
from mentis.recorder.prompt_parts import RecordedPrompts
from mentis.recorder.report import SessionReport, report_sessions
from mentis.recorder.report_data import opened_recorded, plain, recorded_calls
from mentis.settings.aliases import current_name
from mentis.settings.change import open_settings
from mentis.settings.settings import Setting
from mentis.settings.tables import add_route, remove_table
from mentis.values.checkpoint import Proof
from mentis.values.entry import Entry
from mentis.web.tokens import PersonTrust, Scope, TokenPerson, token_data

from .missing import fits, is_there
from .operation import ApiCall, Example, FileAnswer, Given, ListPage, OperationTable, PageQuery
from .paging import page_of
from .record import CostQuery, ProofQuery, RecordExportQuery, costs_of, exported
from .record_shapes import (
    CostAnswer,
    LearnedAnswer,
    NewTokenAnswer,
    RecordedRow,
    RemovedAnswer,
    RevokedAnswer,
    RouteAnswer,
    RoutesAnswer,
    SettingAnswer,
    SettingChangeAnswer,
    SettingNoticeAnswer,
    SkillsAnswer,
    TokenAnswer,
    VerdictsAnswer,
    VersionAnswer,
    WhyAnswer,
)
from .shapes import listed

table = OperationTable("home", "Settings, routes, tokens, skills, and recorded agents.")
_HIDDEN = "(a secret: it is not shown)"


class ValueGiven(Given):
    """The value of a setting."""

    example: ClassVar[Example] = {"value": 64}

    value: Any = Field(description="A text, a number, true or false, or a list of them.")


class RouteCheckGiven(Given):
    """Which route."""

    name: str = Field("", description="Only this one; a direct name counts too.")
    live: bool = Field(False, description="Make one tiny call; it may cost a little.")
    offline: bool = Field(False, description="Contact no server; only look at what is set.")


class RouteNew(Given):
    """A route, at a preset or at an address of your own."""

    example: ClassVar[Example] = {"name": "fast", "preset": "groq", "model": "openai/gpt-oss-20b"}

    name: str = Field(min_length=1, max_length=64, pattern="^[A-Za-z0-9_-]+$")
    model: str = Field(min_length=1, description="The model, by its name there.")
    preset: str = ""
    url: str = ""
    key_env: str = Field("", description="The variable that holds the key.")


class RouteQuery(Given):
    """Which route."""

    route: str = Field("", description="Only of this route.")


class TokenNew(Given):
    """A token for a client."""

    example: ClassVar[Example] = {"name": "temporary"}

    name: str = Field(min_length=1, max_length=32)
    scope: Scope = "chat"
    agent: str = Field("", description="Only with this persona.")
    session: str = Field("", description="Only in this conversation.")
    person: str = Field("owner", description="Whose it is. Somebody new is a guest.")


class PersonGiven(Given):
    """Who somebody is that has tokens."""

    example: ClassVar[Example] = {"name": "Bob"}

    name: str | None = None
    trust: PersonTrust | None = None
    about: str | None = Field(None, description="What the agent is told of a guest.")


@table.get("/version", VersionAnswer, guests=True, commands=("version",))
def show_version(_call: ApiCall) -> dict[str, object]:
    """Say which version of Mentis and of Python answers."""
    return {"mentis": version("mentis"), "python": platform.python_version()}


class EventsQuery(Given):
    """From where on."""

    after: str = Field("", description="The id of an event; as Last-Event-ID.")


@table.get("/events", str, media="text/event-stream", commands=("status latest",))
async def follow_events(call: ApiCall, query: EventsQuery) -> Response:
    """Follow what is recorded: an event `entry` for every new entry of every agent.

    Turns, acts that wait for a yes, memories that were promoted: whatever is recorded. An event has
    an id; sent again as `Last-Event-ID` (or `after`), what came since is told first. Comments come
    while nothing does. It ends when you go.
    """
    return await call.desk.events.follow(query.after or call.last_event)


@table.get(
    "/personas/{persona}/events", str, media="text/event-stream", commands=("status latest",)
)
async def follow_persona_events(call: ApiCall, query: EventsQuery) -> Response:
    """Follow what is recorded of one persona; else as the events of the whole home."""
    agent = await call.agent()
    return await call.desk.events.follow(query.after or call.last_event, agent.id)


# Settings


def _row(setting: Setting) -> dict[str, object]:
    value = _HIDDEN if secrets_in(str(setting.value)) else setting.value
    return {"key": setting.key, "value": value, "origin": setting.origin}


@table.get("/settings", listed(SettingAnswer, "SettingPage"), scope="admin", commands=("settings",))
def list_settings(call: ApiCall, query: PageQuery) -> ListPage:
    """List every setting, its value and where it came from."""
    found = call.desk.settings().effective()
    return page_of(found, query, lambda one: one.key, _row)


@table.get("/setting-notices", list[SettingNoticeAnswer], scope="admin", commands=("settings",))
def list_setting_notices(call: ApiCall) -> list[dict[str, object]]:
    """List the keys that are set and have no effect any more, where they stand and why."""
    names = ("key", "origin", "constant", "reason")
    found = call.desk.settings().notices
    return [{name: getattr(one, name) for name in names} for one in found]


@table.get("/settings/{key}", SettingAnswer, scope="admin", commands=("settings",))
def show_setting(call: ApiCall) -> dict[str, object]:
    """Show one setting, by its name or an older one."""
    wanted = current_name(call.path["key"])
    found = next((one for one in call.desk.settings().effective() if one.key == wanted), None)
    if found is None:
        raise RequestRefused(f"there is no setting {wanted!r}", hint="list them first", status=404)
    return _row(found)


def setting_or_unset(call: ApiCall) -> dict[str, object]:
    """The same; of a route or a table that is not there yet, that it has no value."""
    try:
        return show_setting(call)
    except RequestRefused:
        return {"key": call.path["key"], "value": None, "origin": ""}


@table.put(
    "/settings/{key}",
    SettingChangeAnswer,
    scope="admin",
    edits=setting_or_unset,
    commands=("settings set",),
)
def change_setting(call: ApiCall, body: ValueGiven) -> dict[str, object]:
    """Write one setting to mentis.toml; a value that does not fit is refused.

    Secrets are: a setting names the variable that holds one. What is served keeps the settings of
    `web` that it began with; everything else counts from the next request on.
    """
    if found := secrets_in(str(body.value)):
        raise BadInput(
            f"the value of {call.path['key']} looks like a secret ({found[0]})",
            hint="put it into the environment, and name the variable here",
        )
    environ = call.desk.parts.variables
    with fits():
        change = open_settings(call.home, environ).set(call.path["key"], body.value)
    return _changed(call, change)


@table.delete(
    "/settings/{key}",
    SettingChangeAnswer,
    scope="admin",
    edits=setting_or_unset,
    commands=("settings unset",),
)
def unset_setting(call: ApiCall) -> dict[str, object]:
    """Take one setting out of mentis.toml, so that its default counts."""
    with fits():
        change = open_settings(call.home, call.desk.parts.variables).unset(call.path["key"])
    return _changed(call, change)


def _changed(call: ApiCall, change: object) -> dict[str, object]:
    call.desk.pool.open_anew(call.desk.settings())
    names = ("key", "before", "after", "overridden_by")
    return {name: getattr(change, name) for name in names}


# Routes


@table.get("/routes", RoutesAnswer, scope="admin", commands=("routes list", "routes check"))
def list_routes(call: ApiCall) -> dict[str, object]:
    """Check every route: address, key, weights, recordings, fallbacks. No server is contacted."""
    return _checked(call, None, live=False)


@table.post("/routes/check", RoutesAnswer, scope="admin", commands=("routes check",))
def check_route(call: ApiCall, body: RouteCheckGiven) -> dict[str, object]:
    """Check one route or all: each server is asked for its list of models. With `live`, by one tiny
    call on each; with `offline`, by what is set alone.
    """
    return _checked(call, body.name or None, live=body.live, contact=not body.offline)


def _checked(
    call: ApiCall, name: str | None, *, live: bool, contact: bool = False
) -> dict[str, object]:
    look = partial(
        check_routes, call.home, only=name, live=live, contact=contact, parts=call.desk.parts
    )
    found: tuple[RouteCheck, ...] = anyio.run(look)
    ready = not any(route.problems for route in found)
    return {"ready": ready, "routes": [to_object(route) for route in found]}


@table.get("/routes/presets", list[RoutePreset], commands=("routes presets",))
def list_presets(_call: ApiCall) -> list[dict[str, object]]:
    """List the places that are known: address, key, and the page each was read from."""
    return [to_object(one) for one in PRESETS.values()]


@table.get("/models/found", ModelSearch, scope="admin", commands=("models find",))
def find_machine_models(_call: ApiCall) -> dict[str, object]:
    """Look for models on the machine of the server: servers that run, keys that are set, GGUF
    files. Of a key, only that it is there is seen.
    """
    return to_object(anyio.run(find_models))


@table.get("/routes/learned", LearnedAnswer, scope="admin", commands=("routes learned",))
def list_learned(call: ApiCall, query: RouteQuery) -> dict[str, object]:
    """Show what providers have taught by refusing it."""
    return _learned(call, query.route, forget=False)


@table.post("/routes/forget", LearnedAnswer, scope="admin", commands=("routes learned",))
def forget_learned(call: ApiCall, body: RouteQuery) -> dict[str, object]:
    """Forget what providers have taught, so that it is tried again."""
    return _learned(call, body.route, forget=True)


def _learned(call: ApiCall, name: str, *, forget: bool) -> dict[str, object]:
    facts, settings = LearnedFacts(call.home), call.desk.settings()
    routes = (settings.route(name),) if name else settings.every_route()
    look = facts.forget if forget else facts.of
    found = dict.fromkeys(one for route in routes for one in look(route))
    return {"learned": [to_object(one) for one in found], "forgotten": forget}


@table.get("/routes/{name}", RouteCheck, scope="admin", commands=("routes check",))
def show_route(call: ApiCall) -> dict[str, object]:
    """Show one route of the settings, and whether it is ready."""
    if call.path["name"] not in call.desk.settings().model.routes:
        raise RequestRefused(
            f"there is no route {call.path['name']!r}", hint="list them first", status=404
        )
    look = partial(check_routes, call.home, only=call.path["name"], parts=call.desk.parts)
    return to_object(anyio.run(look)[0])


@table.post("/routes", RouteAnswer, scope="admin", status=201, commands=("routes add",))
def create_route(call: ApiCall, body: RouteNew) -> dict[str, object]:
    """Write a route into mentis.toml; one that would not work is not written."""
    if not (body.preset or body.url):
        raise UsageError("a route needs a place", hint="give a preset or a url")
    given = body.model_dump(exclude={"name"})
    with fits():
        route = add_route(
            call.home, body.name, cast("dict[str, str]", given), call.desk.parts.variables
        )
    call.desk.pool.open_anew(call.desk.settings())
    told = {"route": body.name, "backend": route.backend, "url": route.url}
    return {**told, "model": body.model}


@table.delete(
    "/routes/{name}",
    RemovedAnswer,
    scope="admin",
    edits=show_route,
    commands=("routes remove",),
)
def remove_route(call: ApiCall) -> dict[str, object]:
    """Take a route out of mentis.toml, if it stands in a table of its own."""
    with fits():
        remove_table(call.home, "routes", call.path["name"])
    call.desk.pool.open_anew(call.desk.settings())
    return {"removed": call.path["name"]}


# Tokens


@table.get("/tokens", list[TokenAnswer], scope="admin", commands=("tokens list",))
def list_tokens(call: ApiCall) -> list[dict[str, object]]:
    """List the tokens there are, without their secrets."""
    return [token_data(one) for one in call.desk.tokens.list()]


@table.post("/tokens", NewTokenAnswer, scope="admin", status=201, commands=("tokens new",))
def create_token(call: ApiCall, body: TokenNew) -> dict[str, object]:
    """Make a token; it is shown this once."""
    secret = call.desk.tokens.new(
        body.name,
        scope=body.scope,
        agent=body.agent,
        session=body.session,
        person=body.person,
    )
    return {"name": body.name, "token": secret, "scope": body.scope, "person": body.person}


@table.get("/tokens/{name}", TokenAnswer, scope="admin", commands=("tokens list",))
def show_token(call: ApiCall) -> dict[str, object]:
    """Show one token, without its secret."""
    named = (one for one in call.desk.tokens.list() if one.name == call.path["name"])
    found = next(named, None)
    if found is None:
        raise RequestRefused(
            f"there is no token {call.path['name']!r}", hint="list them first", status=404
        )
    return token_data(found)


@table.delete(
    "/tokens/{name}",
    RevokedAnswer,
    scope="admin",
    edits=show_token,
    commands=("tokens revoke",),
)
def revoke_token(call: ApiCall) -> dict[str, object]:
    """Let a token count no more, from the next request on."""
    return {"name": call.path["name"], "revoked": call.desk.tokens.revoke(call.path["name"])}


@table.get("/token-people", list[TokenPerson], scope="admin", commands=("tokens person",))
def list_token_people(call: ApiCall) -> list[dict[str, object]]:
    """List everybody who ever had a token."""
    return [to_object(one) for one in call.desk.tokens.people()]


def token_person(call: ApiCall) -> dict[str, object] | None:
    """Somebody who has tokens; None for somebody new."""
    people = (one for one in call.desk.tokens.people() if one.id == call.path["person"])
    found = next(people, None)
    return None if found is None else to_object(found)


@table.get("/token-people/{person}", TokenPerson, scope="admin", commands=("tokens person",))
def show_token_person(call: ApiCall) -> dict[str, object]:
    """Show somebody who has tokens."""
    found = token_person(call)
    if found is None:
        raise RequestRefused(
            f"nobody is called {call.path['person']!r} here", hint="list them first", status=404
        )
    return found


@table.put(
    "/token-people/{person}",
    TokenPerson,
    scope="admin",
    edits=token_person,
    commands=("tokens person",),
)
def set_token_person(call: ApiCall, body: PersonGiven) -> dict[str, object]:
    """Say who somebody is that has tokens; it counts for all of theirs."""
    made = call.desk.tokens.set_person(
        call.path["person"], name=body.name, trust=body.trust, about=body.about
    )
    return to_object(made)


# Skills, and agents that were recorded


@table.get("/skills", SkillsAnswer, commands=("skills list", "skills check"))
def list_skills(call: ApiCall) -> dict[str, object]:
    """List every skill with its file, and what is wrong with the files."""
    found = read_skills(call.home / "skills", home=call.home)
    return {"skills": skills_data(found), "problems": list(found.problems)}


@table.get("/recorded", list[RecordedRow], commands=("sessions list",))
def list_recorded_agents(call: ApiCall) -> list[dict[str, object]]:
    """List the agents of other programs whose calls were recorded."""
    personas = call.home / "personas"
    first = next((one.name for one in sorted(personas.iterdir())), None)
    try:
        with open_record(call.home, first, call.desk.parts, readonly=True) as record:
            store = record.store
            found = [(one, store.count(one)) for one in store.agents() if one.startswith(RECORDED)]
    except MentisError:
        return []  # nothing was recorded yet
    return [{"name": one.removeprefix(RECORDED), "entries": count} for one, count in found]


@table.get("/recorded/{agent}/sessions", list[SessionReport], commands=("sessions list",))
def list_recorded_sessions(call: ApiCall) -> list[object]:
    """List the sessions of a recorded agent: calls, tokens, money, what the cache lost."""
    return cast("list[object]", plain(report_sessions(_calls(call))))


@table.get(
    "/recorded/{agent}/sessions/{session}",
    listed(ForeignCall, "ForeignCallPage"),
    commands=("sessions show",),
)
def list_recorded_calls(call: ApiCall, query: PageQuery) -> ListPage:
    """List every call of a session of a recorded agent, and what it cost."""
    calls = [one for one in _calls(call) if one.session == call.path["session"]]
    if not calls:
        raise RequestRefused(
            f"there is no session {call.path['session']!r}", hint="list them first", status=404
        )
    return page_of(calls, query, lambda one: str(one.entry), plain)


def _calls(call: ApiCall) -> list[ForeignCall]:
    with is_there():
        return recorded_calls(call.home, _recorded(call))


@table.get("/recorded/{agent}/calls/{index}/why", WhyAnswer, commands=("why",))
def explain_recorded_call(call: ApiCall) -> dict[str, object]:
    """Say what the model was told in a call: tool by tool, block by block, message by message."""
    with is_there():
        found = explain_recorded(call.home, _recorded(call), call.number("index"))
    return explanation_data(found)


@table.get("/recorded/{agent}/calls/{index}/body", bytes, commands=("replay",))
def read_recorded_body(call: ApiCall) -> FileAnswer:
    """Read the body that was sent, as it was kept: secrets are taken out of it."""
    index = call.number("index")
    with is_there(), opened_recorded(call.home, _recorded(call)) as record:
        prompts = RecordedPrompts(open_blobs(record.home, record.database))
        content, _ = prompts.body(record.entry(index), "request")
    return FileAnswer(content, "application/octet-stream", f"{call.path['agent']}-{index}.body")


@table.get("/recorded/{agent}/cost", CostAnswer, commands=("cost",))
def show_recorded_cost(call: ApiCall, query: CostQuery) -> dict[str, object]:
    """Say what the calls of a recorded agent cost, and why. Nothing is sent."""
    return costs_of(call, _recorded(call), query)


@table.get(
    "/recorded/{agent}/export", bytes, media="application/zip", commands=("export", "ledger export")
)
def export_recorded(call: ApiCall, query: RecordExportQuery) -> FileAnswer:
    """Write the record of a recorded agent as one file that an auditor checks."""
    agent = _recorded(call)
    with is_there(), opened_recorded(call.home, agent):
        pass
    with open_record(call.home, agent, call.desk.parts) as record:
        return exported(record, call.path["agent"], query)


@table.get("/recorded/{agent}/entries/{index}", Entry, commands=("ledger show",))
def show_recorded_entry(call: ApiCall) -> dict[str, object]:
    """Show one entry of a recorded agent in full."""
    with is_there(), opened_recorded(call.home, _recorded(call)) as record:
        return to_object(record.entry(call.number("index")))


@table.get("/recorded/{agent}/entries/{index}/proof", Proof, commands=("ledger proof",))
def prove_recorded_entry(call: ApiCall, query: ProofQuery) -> dict[str, object]:
    """Prove that an entry of a recorded agent is in its ledger."""
    show_recorded_entry(call)
    with opened_recorded(call.home, _recorded(call)) as record:
        return to_object(record.prove(call.number("index"), size=query.size))


@table.get("/recorded/{agent}/verify", VerdictsAnswer, commands=("verify", "status verify"))
def verify_recorded(call: ApiCall) -> dict[str, object]:
    """Check every entry of a recorded agent, and the bodies of its calls."""
    with is_there():
        found = verify_home(call.home, persona=_recorded(call))
    intact = all(one.intact for one in found)
    return {"intact": intact, "chains": [to_object(one) for one in found]}


def _recorded(call: ApiCall) -> str:
    return f"{RECORDED}{call.path['agent']}"

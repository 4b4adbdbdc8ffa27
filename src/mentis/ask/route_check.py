"""Is every route ready to be used? By what is set, by what its server says, and by a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from mentis.call.dialects import DIALECTS
from mentis.call.model_list import ModelList, ServedModel, list_models, start_command
from mentis.compose.compose import Composition
from mentis.engines.catalogue import CATALOGUE, TEST_ENGINE, language_warning
from mentis.engines.gguf_files import find_added
from mentis.engines.weights import find_weights
from mentis.errors import MentisError, ProviderRefused, ProviderUnreachable
from mentis.facts.abilities import abilities, wire_of
from mentis.home.learned_facts import LearnedFacts
from mentis.home.parts import Parts
from mentis.home.persona import read_persona
from mentis.home.provider import open_provider
from mentis.home.route_keys import KeyTrust, RouteKeys, target_of
from mentis.home.routes import open_routes
from mentis.home.system import SystemClock
from mentis.net.targets import check_target
from mentis.settings.settings import HELPERS, Settings, Stage
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.values.learned import CONTEXT, LearnedFact
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.trace import Trace
from mentis.values.value import Value

from .attempt import attempt_on
from .call_record import CallRecord
from .inquiry import lone_inquiry
from .models import models_on

_NO_LIST = (404, 405, 501)
_NAMED = 5  # models of a server that are named where the one of the route is not among them
_LEARNED = "learned on"
_PROBE = PromptRequest(current_text="ping")
_PROBE_TOKENS = 16  # the least that every server takes


@dataclass(frozen=True, slots=True)
class RouteCheck(Value):
    """One route and everything that stands in its way. `said` is what a live call came to.

    `trust` is by whom it is said that its key may go there, None where it sends none. `stages` are
    the kinds of work that go there; `notes` is what keeps no call from being made. `reached` is
    whether its server answered, None where it was not asked or there is none; `context_tokens` is
    the room for prompt and answer, as the settings and the server say.
    """

    name: str
    backend: str
    wire: str
    model: str
    url: str
    key: str
    trust: KeyTrust | None = None
    fallback: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    said: str = ""
    reached: bool | None = None
    context_tokens: int = 0


async def check_routes(
    path: Path,
    *,
    only: str | None = None,
    live: bool = False,
    contact: bool = False,
    parts: Parts | None = None,
) -> tuple[RouteCheck, ...]:
    """Every route of a home, or one of them, which may also be a direct name.

    With `contact` each server is asked for its list of models; with `live`, one tiny call is made.
    """
    home, parts = find_home(path), parts or Parts()
    settings = load_settings(home.path, parts.variables)
    names = [only] if only else sorted(settings.model.routes)
    checks: list[RouteCheck] = []
    for name in names:
        check = _check(settings, home, name, parts)
        if contact and not check.problems:
            check = await _contacted(check, settings, home, parts)
        if live and not check.problems:
            check = await _probe(check, settings, home, parts)
        checks.append(check)
    return tuple(checks)


def _check(settings: Settings, home: Home, name: str, parts: Parts) -> RouteCheck:
    try:
        route, problems = open_routes(settings, home, name)[0], list[str]()
    except MentisError as error:
        route, problems = settings.route(name), [_told(error)]
    keys = RouteKeys(home.path, settings, parts.variables)
    problems += [*_problems(route, keys), *_own_fallback(settings, route)]
    return RouteCheck(
        name=name,
        backend=route.backend,
        wire=wire_of(route),
        model=route.model,
        url=route.url,
        key=route.key_env,
        trust=_trust(route, keys),
        fallback=route.fallback,
        stages=_stages(settings, name),
        problems=tuple(problems),
        notes=(*_circles(settings, name), *_lessons(home, route), *_engine_notes(home, route)),
        context_tokens=route.context_tokens,
    )


def _engine_notes(home: Home, route: Route) -> Iterator[str]:
    """The embedded model as what it is, and the personas whose language it does not speak."""
    if route.backend != "embedded" or route.model not in CATALOGUE:
        return
    yield TEST_ENGINE
    for persona in home.personas():
        with suppress(MentisError):  # `mentis persona check` tells of it
            warning = language_warning(route.model, read_persona(home, persona).language)
            if warning:
                yield f"{persona}: {warning}"


async def _contacted(check: RouteCheck, settings: Settings, home: Home, parts: Parts) -> RouteCheck:
    """The list of the server's models: it is there, it takes the key, and how much they hold."""
    route = open_routes(settings, home, check.name)[0]
    if route.backend not in DIALECTS or parts.provider is not None:
        return check
    key = RouteKeys(home.path, settings, parts.variables).key_of(route)
    try:
        listed = await list_models(route, key)
    except ProviderUnreachable as error:
        start = start_command(route)
        start = f"; start it with: {start}" if start else ""
        return replace(check, problems=(f"{_told(error)}{start}",), reached=False)
    except ProviderRefused as error:
        if error.facts.get("status") in _NO_LIST:
            note = "the server answered, and has no list of models; --live makes a call"
            return replace(check, notes=(*check.notes, note), reached=True)
        return replace(check, problems=(_told(error),), reached=True)
    check = replace(check, reached=True)
    served = listed.find(route.model)
    if served is None:
        return _unlisted(check, listed)
    clock = parts.clock or SystemClock()
    return _with_room(check, served, settings.route(check.name), home, now=clock.now())


def _unlisted(check: RouteCheck, listed: ModelList) -> RouteCheck:
    names = ", ".join(one.name for one in listed.models[:_NAMED]) or "none"
    more = f" and {len(listed.models) - _NAMED} more" if len(listed.models) > _NAMED else ""
    missing = f"the server does not list the model {check.model!r}; it has: {names}{more}"
    if not listed.strict:
        return replace(check, notes=(*check.notes, missing))
    if listed.product == "ollama":
        missing += f" (ollama pull {check.model})"
    return replace(check, problems=(missing,))


def _with_room(
    check: RouteCheck, served: ServedModel, route: Route, home: Home, *, now: datetime
) -> RouteCheck:
    """What the server says of the room is kept for every turn, where it is less than is set."""
    if served.context is None:
        return check
    learned = LearnedFacts(home.path)
    known = any(one.fact == CONTEXT for one in learned.of(route))
    if served.context >= route.context_tokens and not known:
        return check
    said = f"the server lists {served.name} with {served.context} tokens"
    try:
        taught = learned.learn(
            route, LearnedFact(CONTEXT, served.context, said), time=now.isoformat()
        )
    except (MentisError, OSError) as error:
        note = f"{said}, which cannot be kept in this home: {error}"
        return replace(check, notes=(*check.notes, note))
    notes = [note for note in check.notes if not note.startswith(_LEARNED)]
    notes += _lessons(home, route)
    return replace(check, context_tokens=taught.context_tokens, notes=tuple(notes))


def _lessons(home: Home, route: Route) -> Iterator[str]:
    for one in LearnedFacts(home.path).of(route):
        day = one.time.partition("T")[0]
        yield f"{_LEARNED} {day}: {one.told} ({one.said}); `mentis routes learned --forget`"


def _stages(settings: Settings, name: str) -> tuple[str, ...]:
    work = ("turn",) if name == "default" else ()
    every: tuple[Stage, ...] = get_args(Stage)
    asked: list[Stage] = [stage for stage in every if _is_model(settings, stage)]
    there = [stage for stage in asked if settings.stage(stage).name == name]
    return (*work, *there)


def _is_model(settings: Settings, stage: Stage) -> bool:
    """A helper is one only with a route of its own."""
    return settings.has_helper_route(stage) or stage not in (*HELPERS, "helper")


def _trust(route: Route, keys: RouteKeys) -> KeyTrust | None:
    try:
        target = target_of(route)
        return None if target is None else keys.trust_in(target)
    except MentisError:
        return "untrusted"  # the problems say why


def _problems(route: Route, keys: RouteKeys) -> Iterator[str]:
    """What would keep a call from being made, each with what to do about it."""
    steps: list[Callable[[], object]] = [lambda: abilities(route)]
    if route.backend in DIALECTS:
        steps.append(lambda: check_target(route.url, with_key=bool(route.key_env)))
        steps.append(lambda: keys.key_of(route))
    if route.backend == "embedded" and route.model in CATALOGUE:
        steps.append(lambda: find_weights(route.model))
    for step in steps:
        try:
            step()
        except MentisError as error:
            yield _told(error)
    yield from _missing(route)


def _own_fallback(settings: Settings, route: Route) -> Iterator[str]:
    """A fallback that is the route itself, by name or as what another name stands for."""
    for name in route.fallback:
        try:
            other = replace(settings.route(name), name=route.name)
        except MentisError:
            continue  # told already
        if other == route or name == route.name:
            through = "" if name == route.name else f" (as {name!r})"
            yield f"it falls back on itself{through}: take it out of routes.{route.name}.fallback"


def _circles(settings: Settings, start: str) -> Iterator[str]:
    """Routes that fall back on each other. No turn goes round: fallbacks are not followed on."""
    paths: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while paths:
        path = paths.pop()
        for name in _fallbacks(settings, path[-1]):
            if name == start and len(path) > 1:
                circle = " -> ".join((*path, name))
                yield f"it falls back in a circle ({circle}); each is asked once"
            elif name not in seen:
                seen.add(name)
                paths.append((*path, name))


def _fallbacks(settings: Settings, name: str) -> tuple[str, ...]:
    try:
        return settings.route(name).fallback
    except MentisError:
        return ()


def _missing(route: Route) -> Iterator[str]:
    if route.backend == "replay" and not any(Path(route.folder).glob("*.json")):
        yield f"there are no recordings in {route.folder}"
    if route.backend != "embedded":
        return
    if find_spec("xllamacpp") is None:
        yield "the embedded engine is not installed (install mentis[embedded])"
    known = route.model in CATALOGUE or find_added(route.model) is not None
    if not known and not Path(route.model).expanduser().is_file():
        yield f"there is no model file {route.model}"


async def _probe(check: RouteCheck, settings: Settings, home: Home, parts: Parts) -> RouteCheck:
    """One small real call, once, on this route alone."""
    route = open_routes(settings, home, check.name)[0]
    small = replace(route, max_tokens=min(route.max_tokens, _PROBE_TOKENS), attempts=1)
    clock = parts.clock or SystemClock()
    provider = open_provider(settings, home, parts, clock=clock)
    refusals = list[MentisError]()
    record = CallRecord(home, settings, parts, "routes-check", refusals.append)
    try:
        attempt = attempt_on(small, Composition(_PROBE, Trace("", small.variant, "")))
        models = models_on(small, provider, clock)
        failure = await record.ask(lone_inquiry(models, attempt))
    except MentisError as error:  # it cannot even be rendered for this route
        return replace(check, problems=(_told(error),))
    finally:
        close = getattr(provider, "aclose", None)
        if close is not None:
            await close()
    unrecorded = tuple(f"the call is not in the record: {_told(one)}" for one in refusals)
    check = replace(check, notes=(*check.notes, *unrecorded))
    if failure is not None:
        return replace(check, problems=(_told(failure),))
    reply = attempt.reader.finish()
    if reply.stop in ("error", "cut_off"):
        said = reply.errors[0].message if reply.errors else "the answer was cut off"
        return replace(check, problems=(said,))
    return replace(check, said=f"answered, stop: {reply.stop}")


def _told(error: MentisError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message

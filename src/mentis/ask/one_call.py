"""The call stage alone: one payload or request goes out, and its answer comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, cast, runtime_checkable

from anyio import to_thread

from mentis.ask.attachments import read_files
from mentis.codec.forms import from_json, parse
from mentis.codec.option_check import check_options
from mentis.codec.request_check import check_request
from mentis.compose.compat import TYPED, as_request
from mentis.errors import BadInput, MentisError, UsageError
from mentis.facts.abilities import abilities, wire_of
from mentis.home.parts import Parts
from mentis.home.provider import open_provider
from mentis.home.routes import open_routes
from mentis.home.system import SystemClock
from mentis.ports.clock import read_clock
from mentis.settings.sections import LimitSettings
from mentis.settings.sources import load_settings
from mentis.settle.readers import reader_for
from mentis.stores.files.home import find_home
from mentis.values.json import JsonObject
from mentis.values.options import CallOptions
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.request import PromptRequest
from mentis.values.route import Route
from mentis.values.tool import ToolDeclaration

from .ask import OnEvent
from .attempt import attempt_with, render_request
from .budgets import check_call
from .call_record import CallRecord
from .inquiry import lone_inquiry
from .models import models_on
from .payload_tools import offered_in

# What can be sent: JSON text, a request, or the origin's dict with a request inside.
Sendable: TypeAlias = str | PromptRequest | Mapping[str, object]


@runtime_checkable
class _Closing(Protocol):
    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`tools` None: nobody said which tools the payload offers. `place`: where it is from. `whole`:
    it came as a payload, to which nothing is added.
    """

    rendering: Rendering
    tools: tuple[ToolDeclaration, ...] | None = None
    place: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class RequestFiles:
    """What may be read for a request: within the limits and, of JSON, only inside `folder`."""

    limits: LimitSettings
    folder: Path | None = None

    def read(self, request: PromptRequest, *, trusted: bool = False) -> PromptRequest:
        return check_request(read_files(request, self.limits, folder=self.folder, anywhere=trusted))


async def call_route(
    path: Path,
    source: Sendable,
    *,
    route: str = "default",
    parts: Parts | None = None,
    folder: Path | None = None,
    on_event: OnEvent,
    options: CallOptions | None = None,
    on_unrecorded: Callable[[MentisError], None] | None = None,
) -> Reply:
    """Send `source` over a route of the home at `path`. What it used is recorded, nothing it said.

    It is a request, the dict around one that `build_json_prompt` makes, or JSON: either of these,
    a payload in the route's own format, or a rendering (as `mentis render --json` prints it). No
    fallback is tried, because a payload fits one route only. Budgets hold: no agent of the home
    may be over one of its own, and the call itself must fit into one turn.

    Files that a request names by path (`attach`) are read within the limits of the home. Of JSON,
    which may be anybody's, only those inside `folder`, and none without it. `options` go before
    those of the route; a payload that is made already takes none. `on_unrecorded` is told where
    there is an answer, and the record cannot be written; without it that is raised.
    """
    home, parts = find_home(path), parts or Parts()
    settings = load_settings(home.path, parts.variables)
    chosen = open_routes(settings, home, route)[0]
    if options is not None:
        chosen = chosen.calling(check_options(options))
    files = RequestFiles(settings.model.limits, folder)
    outgoing = await to_thread.run_sync(read_outgoing, source, chosen, files)
    if options is not None and outgoing.whole:
        raise UsageError(
            "a payload is sent as it is, without options",
            hint="write them into it, or give a message or a request",
        )
    clock = parts.clock or SystemClock()
    now, environ = read_clock(clock), parts.variables
    check_call(settings, home, outgoing.rendering, route=chosen, now=now, environ=environ)
    provider = open_provider(settings, home, parts, clock=clock)
    models, rendering = models_on(chosen, provider, clock), outgoing.rendering
    reader = reader_for(
        rendering.wire,
        rendering.name_map,
        tools=outgoing.tools,
        model=chosen.model,
        place=outgoing.place,
        calls=abilities(chosen).calls if outgoing.tools else "native",
    )
    attempt, refusals = attempt_with(chosen, rendering, reader), list[MentisError]()
    record = CallRecord(home, settings, parts, "call", on_unrecorded or refusals.append)
    try:
        failure = await record.ask(lone_inquiry(models, attempt), on_event)
    finally:
        if isinstance(provider, _Closing):
            await provider.aclose()
    for error in (failure, *refusals):
        if error is not None:
            raise error
    return reader.finish()


def read_outgoing(source: Sendable, route: Route, files: RequestFiles) -> Outgoing:
    """What is to be sent, whichever form it came in. What no bytes can say is refused here."""
    if isinstance(source, str):
        outgoing = _read_json(source, route, files)
    else:
        outgoing = _rendered(files.read(as_request(source), trusted=True), route)
    try:
        outgoing.rendering.body()
    except (UnicodeEncodeError, RecursionError) as error:
        what = "is nested too deeply"
        if isinstance(error, UnicodeEncodeError):
            what = "is not valid Unicode (it holds a lone surrogate)"
        raise BadInput(f"what is to be sent {what}", hint="mend what made it") from error
    return outgoing


def _read_json(source: str, route: Route, files: RequestFiles) -> Outgoing:
    data, wire = _object(parse(source, what="the payload"), "what is to be sent"), wire_of(route)
    for holder in (TYPED, "request"):  # the origin's dict, and what `mentis compose --json` prints
        if isinstance(data.get(holder), Mapping):
            return _rendered(files.read(from_json(PromptRequest, _json(data[holder]))), route)
    if "system_instruction" in data and "contents" not in data:
        return _rendered(files.read(from_json(PromptRequest, source)), route)
    if "payload" not in data:
        return Outgoing(Rendering(wire, data), offered_in(data), whole=True)
    if data.get("wire") != wire:
        raise BadInput(
            f"this was rendered for {data.get('wire')!r}, and route {route.name!r} speaks {wire!r}",
            hint="render it for this route, or choose another with --route",
        )
    names, payload = _names(data.get("name_map")), _object(data["payload"], "the payload")
    rendering = Rendering(wire, payload, name_map=names)
    return Outgoing(rendering, offered_in(payload, names), whole=True)


def _rendered(request: PromptRequest, route: Route) -> Outgoing:
    place = request.runtime_ctx.interface_path
    return Outgoing(render_request(request, route), request.tool_declarations, place)


def _object(found: object, what: str) -> JsonObject:
    if isinstance(found, Mapping):
        return cast("JsonObject", found)
    raise BadInput(f"{what} is not a JSON object", hint="take it from `mentis render --json`")


def _names(found: object) -> dict[str, str]:
    names = _object({} if found is None else found, "name_map")
    for name, own in names.items():
        if not isinstance(own, str):
            raise BadInput(
                f"name_map: {name!r} leads to {own!r}, which is no name",
                hint="take it from `mentis render --json`",
            )
    return cast("dict[str, str]", names)


def _json(value: object) -> str:
    return json.dumps(value)

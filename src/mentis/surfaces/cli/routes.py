"""`mentis routes`: where requests can go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .asking import confirm
from .groups import RenamedGroup
from .options import call_parts, home_option, home_path
from .report import Note, Report, Text, prints_report
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.ask.route_check import RouteCheck
    from mentis.home.route_keys import KeyTarget, RouteKeys

_COLUMNS = ("route", "backend", "model", "address", "key", "fallback", "used for")


@click.group(cls=RenamedGroup)
def routes() -> None:
    """List, add, check and trust the routes to models."""


@routes.command(epilog="For example: mentis routes check anthropic/claude-opus-5 --live")
@click.argument("name", required=False)
@click.option("--live", is_flag=True, help="Make one tiny call on each; it may cost a little.")
@click.option("--offline", is_flag=True, help="Contact no server; only look at what is set.")
@home_option
@prints_report
def check(name: str | None, *, live: bool, offline: bool) -> Report:
    """Check every route: address, key, weights, recordings, fallbacks, and its server.

    With NAME only that route, which may be a direct name such as anthropic/claude-opus-5. Each
    server is asked for its list of models, which costs nothing: a route is ready only if its server
    answered, and the context size that it gives its model is used from then on. Exit code 1 when a
    route is not ready.
    """
    if live and offline:
        raise click.UsageError("--live makes a call: leave --offline out")
    found = _checked(name, live=live, contact=not offline)
    ready = not any(route.problems for route in found)

    def text() -> Iterator[Text]:
        columns = (*_COLUMNS, "state")
        yield TextTable(columns, [(*_row(route), _state(route)) for route in found])
        for route in found:
            for note in route.notes:
                yield Note(f"{route.name}: {note}")

    return Report({"ready": ready, "routes": found}, text(), code=0 if ready else 1)


@routes.command("list", epilog="For example: mentis routes list")
@home_option
@prints_report
def list_() -> Report:
    """List every route: where it leads, and what it is used for. Nothing is contacted."""
    found = _checked(None, live=False, contact=False)

    def text() -> Iterator[Text]:
        yield TextTable(_COLUMNS, [_row(route) for route in found])
        yield Note("Do they answer? mentis routes check")

    return Report({"routes": found}, text())


def _checked(name: str | None, *, live: bool, contact: bool) -> tuple[RouteCheck, ...]:
    import anyio

    from mentis.ask.route_check import check_routes

    async def look() -> tuple[RouteCheck, ...]:
        return await check_routes(
            home_path(), only=name, live=live, contact=contact, parts=call_parts()
        )

    return anyio.run(look)


@routes.command(epilog="For example: mentis routes trust served")
@click.argument("name", required=False)
@click.option("--remove", is_flag=True, help="Take it back: the key is no longer sent there.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@prints_report
def trust(name: str | None, *, remove: bool, yes: bool) -> Report:
    """Let the key of a route go to its server.

    What is remembered is the variable and the server (scheme, host, port), outside the home and for
    this home: for another variable or server you are asked again. The key of a known provider may
    always go to that provider, and a route set by environment variables needs no consent. Without
    NAME, list what was trusted; with --remove, take back all of it. Exit code 1 when there was
    nothing to take back.
    """
    from mentis.home.route_keys import open_route_keys

    keys = open_route_keys(home_path())
    targets = keys.trusted_targets() if name is None else (_target(keys, name),)
    removed = [keys.forget(target) for target in targets] if remove else []
    if name is not None and not remove:
        _trust(keys, targets[0], yes=yes)
    rows = [(target.variable, target.server, keys.trust_in(target)) for target in targets]
    columns = ("variable", "server", "trust")
    may = {True: "is not sent", False: "may go"}
    lines = [
        f"{safe(variable)} {may[known == 'untrusted']} to {server} ({known})"
        for variable, server, known in rows
    ]
    return Report(
        {"keys": [dict(zip(columns, row, strict=True)) for row in rows]},
        lines,
        code=1 if remove and not any(removed) else 0,
    )


@routes.command(epilog="For example: mentis routes presets --json")
@prints_report
def presets() -> Report:
    """List the known providers: address, key, and the page each was read from.

    A preset is used as `preset = "groq"` on a route, as `mentis routes add fast --preset groq
    --model ...`, or in a direct name such as groq/MODEL. Where every customer has an address of
    their own, its form is shown, and --url says which it is.
    """
    from mentis.facts.presets import PRESETS

    def text() -> Iterator[Text]:
        rows = [
            (one.name, one.backend, one.url or one.form or "-", one.key_env or "-", one.note or "-")
            for one in PRESETS.values()
        ]
        yield TextTable(("preset", "backend", "address", "key from", "note"), rows)
        for one in PRESETS.values():
            if one.source:
                yield Note(f"{one.name}: read on {one.read} from {one.source}")

    return Report({"presets": list(PRESETS.values())}, text())


@routes.command(
    epilog="For example: mentis routes add fast --preset groq --model openai/gpt-oss-20b"
)
@click.argument("name")
@click.option("--preset", metavar="NAME", help="A known provider: see `mentis routes presets`.")
@click.option("--model", metavar="NAME", required=True, help="The model, by its name there.")
@click.option("--url", metavar="URL", help="The address of the server, where it is your own.")
@click.option("--key-env", metavar="VARIABLE", help="The variable that holds the key.")
@home_option
@prints_report
def add(
    name: str,
    *,
    preset: str | None,
    model: str,
    url: str | None,
    key_env: str | None,
) -> Report:
    """Add a route to mentis.toml: at a known provider, or at an address of your own.

    Nothing is called. Everything else in the file stays as it is; a route that would not work is
    not written. Adding a route also allows its key to go to its server.
    """
    from mentis.home.route_keys import open_route_keys
    from mentis.settings.tables import add_route
    from mentis.stores.files.home import find_home

    if (preset or url) is None:
        raise UsageError("a route needs a place", hint="give a --preset or a --url")
    home = find_home(home_path()).path
    given = {"preset": preset, "model": model, "url": url, "key_env": key_env}
    values = {key: one for key, one in given.items() if one}
    route = add_route(home, name, values, os.environ)
    keys = open_route_keys(home)
    target = keys.target(name)
    if target is not None and keys.trust_in(target) == "untrusted":
        keys.trust(target)

    def text() -> Iterator[Text]:
        yield Note(f"route {name} leads to {route.model} at {route.url or route.backend}")
        if target is not None:
            yield Note(f"its key is read from {target.variable}, and may go to {target.server}")
        yield Note(f"Next: mentis routes check {quote(name)}")

    return Report(
        {"route": name, "backend": route.backend, "url": route.url, "model": model}, text()
    )


@routes.command(epilog="For example: mentis routes remove fast")
@click.argument("name")
@home_option
@prints_report
def remove(name: str) -> Report:
    """Remove a route that has a table of its own from mentis.toml."""
    from mentis.settings.tables import remove_table
    from mentis.stores.files.home import find_home

    remove_table(find_home(home_path()).path, "routes", name)
    return Report({"removed": name}, Note(f"route {name} is gone"))


@routes.command(epilog="For example: mentis routes learned fast --forget")
@click.argument("name", required=False)
@click.option("--forget", is_flag=True, help="Try it all again from now on.")
@home_option
@prints_report
def learned(name: str | None, *, forget: bool) -> Report:
    """Show what providers have refused: options a model does not take.

    With NAME only of that route. It is kept in learned.json in the home; `routes.NAME.facts` in the
    settings takes precedence.
    """
    from mentis.home.learned_facts import LearnedFacts
    from mentis.settings.sources import load_settings
    from mentis.stores.files.home import find_home

    home = find_home(home_path()).path
    facts, settings = LearnedFacts(home), load_settings(home, os.environ)
    routes = settings.every_route() if name is None else (settings.route(name),)
    look = facts.forget if forget else facts.of
    found = list(dict.fromkeys(one for route in routes for one in look(route)))

    def text() -> Iterator[Text]:
        rows = [(one.place, one.told, one.time.partition("T")[0], one.said) for one in found]
        yield TextTable(("place", "learned", "on", "the provider said"), rows)
        if forget:
            yield Note("forgotten: it is tried again")

    return Report({"learned": found, "forgotten": forget}, text())


def _target(keys: RouteKeys, name: str) -> KeyTarget:
    target = keys.target(name)
    if target is None:
        raise UsageError(f"route {name!r} sends no key", hint="there is nothing to trust it with")
    return target


def _trust(keys: RouteKeys, target: KeyTarget, *, yes: bool) -> None:
    if keys.trust_in(target) != "untrusted":
        return
    if not yes:
        confirm(f"let this home send {safe(target.variable)} to {target.server}?")
    keys.trust(target)


def _ready(route: RouteCheck) -> str:
    if route.reached:
        return "ready: its server answered"
    return "not contacted" if route.url else "ready"


def _state(route: RouteCheck) -> str:
    state = "; ".join(route.problems) or route.said or _ready(route)
    return f"NOT READY: {state}" if route.problems else state


def _row(route: RouteCheck) -> tuple[str, ...]:
    key = f"{route.key} ({route.trust})" if route.trust else route.key or ""
    place = (route.backend, route.model, route.url or "", key, ", ".join(route.fallback))
    return (route.name, *place, ", ".join(route.stages))

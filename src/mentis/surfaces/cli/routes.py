"""`mentis routes`: where requests can go."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .asking import confirm
from .options import call_parts, home_option, home_path
from .output import emit, emit_json, json_option, say, table
from .shown import emit_safe_json, safe

if TYPE_CHECKING:
    from mentis.ask.route_check import RouteCheck
    from mentis.home.route_keys import KeyTarget, RouteKeys


@click.group()
def routes() -> None:
    """See and add where requests can go, whether they get there, and trust them with keys."""


@routes.command(epilog="For example: mentis routes check anthropic/claude-opus-5 --live")
@click.argument("name", required=False)
@click.option("--live", is_flag=True, help="Make one tiny call on each; it may cost a little.")
@home_option
@json_option
def check(name: str | None, *, live: bool, as_json: bool) -> int:
    """Check every route: address, key, weights, recordings, fallbacks.

    With NAME only that route, which may be a direct name such as anthropic/claude-opus-5. Nothing
    is sent without --live. Exit code 1 when a route is not ready.
    """
    import anyio

    from mentis.ask.route_check import check_routes
    from mentis.codec.forms import to_object

    async def look() -> tuple[RouteCheck, ...]:
        return await check_routes(home_path(), only=name, live=live, parts=call_parts())

    found = anyio.run(look)
    ready = not any(route.problems for route in found)
    if as_json:
        emit_json({"ready": ready, "routes": [to_object(route) for route in found]})
        return 0 if ready else 1
    columns = (
        "route",
        "backend",
        "model",
        "address",
        "key from",
        "falls back on",
        "used for",
        "state",
    )
    table(columns, [_row(route) for route in found])
    for route in found:
        for note in route.notes:
            say(f"{route.name}: {note}")
    return 0 if ready else 1


@routes.command(epilog="For example: mentis routes trust served")
@click.argument("name", required=False)
@click.option("--remove", is_flag=True, help="Take it back: the key is not sent there any more.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def trust(name: str | None, *, remove: bool, yes: bool, as_json: bool) -> int:
    """Let the key of a route go to its server.

    What is remembered is the variable and the server (scheme, host, port), outside of the home and
    for this home: another variable or another server is asked for again. The key of a known
    provider may always go to that provider, and what variables of the environment say needs no
    word. Without NAME, list what was trusted; with --remove, take back all of it. Exit code 1 when
    there was nothing to take back.
    """
    from mentis.home.route_keys import open_route_keys

    keys = open_route_keys(home_path())
    targets = keys.trusted_targets() if name is None else (_target(keys, name),)
    removed = [keys.forget(target) for target in targets] if remove else []
    if name is not None and not remove:
        _trust(keys, targets[0], yes=yes)
    rows = [(target.variable, target.server, keys.trust_in(target)) for target in targets]
    if as_json:
        columns = ("variable", "server", "trust")
        emit_safe_json({"keys": [dict(zip(columns, row, strict=True)) for row in rows]})
    for variable, server, known in [] if as_json else rows:
        may = "is not sent to" if known == "untrusted" else "may go to"
        emit(f"{safe(variable)} {may} {server} ({known})")
    return 1 if remove and not any(removed) else 0


@routes.command(epilog="For example: mentis routes presets --json")
@json_option
def presets(*, as_json: bool) -> None:
    """List the places that are known: address, key, and the page each was read from.

    A preset is used as `preset = "groq"` on a route, as `mentis routes add fast --preset groq
    --model ...`, or in a direct name such as groq/MODEL. Where every customer has an address of
    their own, its form is shown, and --url says which it is.
    """
    from mentis.codec.forms import to_object
    from mentis.facts.presets import PRESETS

    if as_json:
        emit_json({"presets": [to_object(preset) for preset in PRESETS.values()]})
        return
    rows = [
        (one.name, one.backend, one.url or one.form or "-", one.key_env or "-", one.note or "-")
        for one in PRESETS.values()
    ]
    table(("preset", "backend", "address", "key from", "note"), rows)
    for one in PRESETS.values():
        if one.source:
            say(f"{one.name}: read on {one.read} from {one.source}")


@routes.command(
    epilog="For example: mentis routes add fast --preset groq --model openai/gpt-oss-20b"
)
@click.argument("name")
@click.option("--preset", metavar="NAME", help="A place that is known: `mentis routes presets`.")
@click.option("--model", metavar="NAME", required=True, help="The model, by its name there.")
@click.option("--url", metavar="URL", help="The address of the server, where it is your own.")
@click.option("--key-env", metavar="VARIABLE", help="The variable that holds the key.")
@home_option
@json_option
def add(
    name: str,
    *,
    preset: str | None,
    model: str,
    url: str | None,
    key_env: str | None,
    as_json: bool,
) -> None:
    """Write a route into mentis.toml, at a preset or at an address of your own.

    Nothing is called. Everything else in the file stays as it is; a route that would not work is
    not written.
    """
    from mentis.settings.tables import add_route
    from mentis.stores.files.home import find_home

    if (preset or url) is None:
        raise UsageError("a route needs a place", hint="give a --preset or a --url")
    home = find_home(home_path()).path
    given = {"preset": preset, "model": model, "url": url, "key_env": key_env}
    values = {key: one for key, one in given.items() if one}
    route = add_route(home, name, values, os.environ)
    if as_json:
        emit_json({"route": name, "backend": route.backend, "url": route.url, "model": model})
        return
    say(f"route {name} leads to {route.model} at {route.url or route.backend}")
    if route.key_env:
        say(f"its key is read from {route.key_env}")
    say(f"Next: mentis routes check {quote(name)}")


@routes.command(epilog="For example: mentis routes remove fast")
@click.argument("name")
@home_option
@json_option
def remove(name: str, *, as_json: bool) -> None:
    """Take a route out of mentis.toml, if it stands in a table of its own."""
    from mentis.settings.tables import remove_table
    from mentis.stores.files.home import find_home

    remove_table(find_home(home_path()).path, "routes", name)
    if as_json:
        emit_json({"removed": name})
        return
    say(f"route {name} is gone")


@routes.command(epilog="For example: mentis routes learned fast --forget")
@click.argument("name", required=False)
@click.option("--forget", is_flag=True, help="Try it all again from now on.")
@home_option
@json_option
def learned(name: str | None, *, forget: bool, as_json: bool) -> None:
    """Show what providers have taught by refusing it: options and abilities a model has not.

    With NAME only of that route. It is kept in learned.json in the home; `routes.NAME.facts` in the
    settings go before it.
    """
    from mentis.codec.forms import to_object
    from mentis.home.learned_facts import LearnedFacts
    from mentis.settings.sources import load_settings
    from mentis.stores.files.home import find_home

    home = find_home(home_path()).path
    facts, settings = LearnedFacts(home), load_settings(home, os.environ)
    routes = settings.every_route() if name is None else (settings.route(name),)
    look = facts.forget if forget else facts.of
    found = list(dict.fromkeys(one for route in routes for one in look(route)))
    if as_json:
        emit_json({"learned": [to_object(one) for one in found], "forgotten": forget})
        return
    rows = [(one.place, one.told, one.time.partition("T")[0], one.said) for one in found]
    table(("place", "learned", "on", "the provider said"), rows)
    if forget:
        say("forgotten: it is tried again")


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


def _row(route: RouteCheck) -> tuple[str, ...]:
    state = "; ".join(route.problems) or route.said or "ready"
    state = f"NOT READY: {state}" if route.problems else state
    fallback = ", ".join(route.fallback) or "-"
    key = f"{route.key} ({route.trust})" if route.trust else route.key or "-"
    place = (route.backend, route.model, route.url or "-", key, fallback)
    return (route.name, *place, ", ".join(route.stages) or "-", state)

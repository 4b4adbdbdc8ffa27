"""`mentis routes`: where requests can go."""

from __future__ import annotations

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
    """See where requests can go, whether they would get there, and trust them with keys."""


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

"""`mentis routes`: where requests can go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import call_parts, home_option, home_path
from .output import emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.runtime.routes import RouteCheck


@click.group()
def routes() -> None:
    """See where requests can go, and whether they would get there."""


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

    from mentis.codec.forms import to_object
    from mentis.runtime.routes import check_routes

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


def _row(route: RouteCheck) -> tuple[str, ...]:
    state = "; ".join(route.problems) or route.said or "ready"
    state = f"NOT READY: {state}" if route.problems else state
    fallback = ", ".join(route.fallback) or "-"
    place = (route.backend, route.model, route.url or "-", route.key or "-", fallback)
    return (route.name, *place, ", ".join(route.stages) or "-", state)

"""The routes of a home, with the paths in them as they are seen from here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mentis.errors import RouteError
from mentis.settings.settings import Settings, Stage
from mentis.stores.files.home import Home
from mentis.values.route import Route

from .learned_facts import LearnedFacts


def open_routes(settings: Settings, home: Home, name: str) -> tuple[Route, ...]:
    """A route and those it falls back on, with the paths in them as they are seen from here, and
    with what refusals have taught of each.
    """
    learned = LearnedFacts(home.path)
    return tuple(learned.taught(_from_home(route, home)) for route in settings.chain(name))


def open_stage(settings: Settings, home: Home, stage: Stage, *, instead_of: Route) -> Route | None:
    """The route that a stage has of its own; None when it takes the turn's own one."""
    if not settings.has_stage(stage):
        return None
    route = LearnedFacts(home.path).taught(_from_home(settings.stage(stage), home))
    if instead_of.backend == "replay" and route.backend not in ("replay", "scripted"):
        raise RouteError(
            f"route {instead_of.name!r} is a replay, and routes.{stage} is not",
            hint=f"a replay never touches the network: make routes.{stage} a replay as well",
        )
    return route


def _from_home(route: Route, home: Home) -> Route:
    """Files are named relative to the home, wherever the command is run."""
    if route.folder:
        return replace(route, folder=str(home.path / route.folder))
    beside = home.path / route.model
    if route.backend == "embedded" and not Path(route.model).is_absolute() and beside.is_file():
        return replace(route, model=str(beside))
    return route

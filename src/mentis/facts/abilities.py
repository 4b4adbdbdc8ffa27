"""Abilities of a backend and a model: one row of the table, with the route's own corrections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import lru_cache

from mentis.errors import RouteError
from mentis.values.route import Backend, Route

from .ability import Abilities, Wire
from .table import BY_BACKEND, BY_MODEL, WIRE_OF_BACKEND


def wire_of(route: Route) -> Wire:
    """The format in which a route's backend is spoken to."""
    return WIRE_OF_BACKEND[route.for_rendering().backend]


def abilities(route: Route) -> Abilities:
    """The row for the route's backend and model, corrected by `route.facts`."""
    spoken = route.for_rendering()
    known = _known(spoken.backend, spoken.model)
    return (
        override(known, route.facts, where=f"routes.{route.name}.facts") if route.facts else known
    )


def is_known_model(route: Route) -> bool:
    """Whether the table has a row for its model, and not for its backend alone."""
    spoken = route.for_rendering()
    return _known(spoken.backend, spoken.model) is not BY_BACKEND[spoken.backend]


@lru_cache(maxsize=256)
def _known(backend: Backend, model: str) -> Abilities:
    """The longest prefix of the model's name that the table has for this backend."""
    rows = BY_MODEL.get(backend, {})
    name = model.rpartition("/")[2].lower()
    best = max((prefix for prefix in rows if name.startswith(prefix)), key=len, default=None)
    return BY_BACKEND[backend] if best is None else rows[best]


def override(known: Abilities, changes: Mapping[str, object], *, where: str) -> Abilities:
    """The same facts with some set otherwise; a name that is no fact is refused."""
    names = {field.name for field in fields(Abilities)}
    for name, value in changes.items():
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(sorted(names))}"
            )
            raise RouteError(f"{where}: there is no fact {name!r}", hint=hint, fact=name)
        _check(known, name, value, where)
    frozen = {n: tuple(v) if isinstance(v, list) else v for n, v in changes.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # checked above
    return replace(known, **frozen)  # pyright: ignore[reportArgumentType]  # checked above


def _check(known: Abilities, name: str, value: object, where: str) -> None:
    """A fact keeps its kind: a flag stays a flag, a number a number."""
    present: object = getattr(known, name)
    given = tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # only its kind matters
    if isinstance(present, float) and isinstance(given, int) and not isinstance(given, bool):
        return
    if type(given) is not type(present):  # pyright: ignore[reportUnknownArgumentType]  # as above
        raise RouteError(
            f"{where}: {name} is {value!r}, and the table has a {type(present).__name__} there",
            hint=f"write it like {present!r}",
            fact=name,
        )

"""Facts that refusals taught, kept in the home beside its record: which option or ability a model
behind a route does not have, and how many tokens it holds. They only ever take something away, and
the settings go before them, but for the room: a model has no more of it than it has.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from threading import Lock

from mentis.codec.forms import from_json, to_object
from mentis.disk.atomic import write_atomic
from mentis.errors import BadInput
from mentis.facts.abilities import abilities
from mentis.net.targets import origin_of
from mentis.values.learned import CONTEXT, LearnedFact
from mentis.values.memo import IdentityMemo
from mentis.values.route import Route

FILE = "learned.json"
_MOST_BYTES = 1_000_000
_PLACES = IdentityMemo[str](64)
# The shipped prompt and its tools need about 2,700 tokens, and an answer a quarter of the room.
_ROOM_FOR_ALL = 4096


class LearnedFacts:
    """Those of one home. What blocks is the first look, `learn` and `forget`."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._facts: tuple[LearnedFact, ...] | None = None
        self._lock = Lock()

    def of(self, route: Route) -> tuple[LearnedFact, ...]:
        place = place_of(route)
        return tuple(one for one in self.all() if one.place == place)

    def all(self) -> tuple[LearnedFact, ...]:
        if self._facts is None:
            self._facts = self._read()
        return self._facts

    def taught(self, route: Route) -> Route:
        """The route with what was learned of it; what its settings say of a fact stands."""
        learned = [one for one in self.of(route) if one.fact == "refuses" or not _set(route, one)]
        route = _within(route, [one for one in learned if one.fact == CONTEXT])
        learned = [one for one in learned if one.fact != CONTEXT]
        if not learned:
            return route
        facts = dict(route.facts)
        refused = [str(one.value) for one in learned if one.fact == "refuses"]
        if refused:
            facts["refuses"] = list(dict.fromkeys([*abilities(route).refuses, *refused]))
        facts |= {one.fact: one.value for one in learned if one.fact != "refuses"}
        return replace(route, facts=facts)

    def learn(self, route: Route, lesson: LearnedFact, *, time: str) -> Route:
        """Keep it for every route to this model at this place; the route as it is from now on."""
        made = replace(lesson, place=place_of(route), time=time)
        with self._lock:  # turns side by side may learn at once
            others = [one for one in self._read() if _key(one) != _key(made)]
            self._write((*others, made))
        return self.taught(route)

    def forget(self, route: Route) -> tuple[LearnedFact, ...]:
        """From now on it is tried again; what was known of this place."""
        gone = self.of(route)
        self._write(tuple(one for one in self._read() if one not in gone))
        return gone

    def _read(self) -> tuple[LearnedFact, ...]:
        try:
            with self._path.open("rb") as file:
                found = json.loads(file.read(_MOST_BYTES))
            return tuple(from_json(LearnedFact, json.dumps(one)) for one in found)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, RecursionError, BadInput) as error:
            hint = "delete it: what a provider refuses is learned again"
            raise BadInput(f"{self._path.name} cannot be read: {error}", hint=hint) from error

    def _write(self, facts: tuple[LearnedFact, ...]) -> None:
        if facts != self._read():
            write_atomic(self._path, json.dumps([to_object(one) for one in facts], indent=1))
        self._facts = facts


def place_of(route: Route) -> str:
    """The model and where it is served, whatever the route is called."""
    return _PLACES.remember(_place, route)


def _place(route: Route) -> str:
    spoken = route.for_rendering()
    server = origin_of(route.url) if route.url else ""
    return " ".join(filter(None, (spoken.backend, spoken.model, server)))


def _key(one: LearnedFact) -> tuple[str, str, object]:
    return one.place, one.fact, one.value if one.fact == "refuses" else None


def _within(route: Route, rooms: list[LearnedFact]) -> Route:
    """The route with no more room than the model has. An answer that would take half of it, or
    more, leaves too little for the prompt; so does the whole wording, where there is little.
    """
    room = min([int(one.value) for one in rooms], default=route.context_tokens)
    if room >= route.context_tokens:
        return route
    longest = route.max_tokens if route.max_tokens * 2 < room else room // 4
    brief = route.variant == "default" and room < _ROOM_FOR_ALL
    variant = "compact" if brief else route.variant
    return replace(route, context_tokens=room, max_tokens=longest, variant=variant)


def _set(route: Route, one: LearnedFact) -> bool:
    return one.fact in route.facts

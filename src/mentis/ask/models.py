"""The models an agent may ask: its route, those it falls back on, and how they are reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import is_

from mentis.home.learned_facts import LearnedFacts
from mentis.home.parts import Rule
from mentis.ports.clock import Clock
from mentis.ports.provider import Provider
from mentis.ports.token_counter import TokenCounter
from mentis.values.options import CallOptions
from mentis.values.route import Route

from .caching import Caching


@dataclass(frozen=True, slots=True)
class Models:
    """`correction` is the route that is asked again, where it is not the one that answered; `rules`
    are what a reply must be like beside its form. `learned` keeps what refusals teach; without it
    nothing is learned.
    """

    route: Route
    fallbacks: tuple[Route, ...]
    provider: Provider
    counter: Callable[[Route], TokenCounter]
    caching: Caching
    clock: Clock
    correction: Route | None = None
    rules: tuple[Rule, ...] = ()
    learned: LearnedFacts | None = None

    def taught(self, route: Route) -> Route:
        """The route with what refusals have taught of it by now."""
        return route if self.learned is None else self.learned.taught(route)

    def on(self, route: Route) -> Models:
        """The same, asking another route first."""
        return replace(self, route=route)

    def only(self, route: Route) -> Models:
        """The same, asking that route and no other."""
        return replace(self, route=route, fallbacks=())

    def tuned(self, tune: Callable[[Route], Route]) -> Models:
        """The same routes, each as this makes it; the very same where nothing is tuned."""
        first, *rest = (tune(route) for route in (self.route, *self.fallbacks))
        if first is self.route and all(map(is_, rest, self.fallbacks)):
            return self
        return replace(self, route=first, fallbacks=tuple(rest))

    def calling(self, options: CallOptions) -> Models:
        """The same routes, with these options where they choose any."""
        correction = self.correction and self.correction.calling(options)
        first, *rest = (route.calling(options) for route in (self.route, *self.fallbacks))
        return replace(self, route=first, fallbacks=tuple(rest), correction=correction)

    def comparing(self, session: str) -> Models:
        """Where a provider is asked what changed for its cache: since the last reply in there."""

        def compared(route: Route) -> Route:
            options = route.options
            if not options.cache_diagnostics or options.compared_reply:
                return route
            return route.calling(
                CallOptions(compared_reply=self.caching.last_reply(session, route))
            )

        first, *rest = (compared(route) for route in (self.route, *self.fallbacks))
        return replace(self, route=first, fallbacks=tuple(rest))

    def limited(self, tokens: int) -> Models:
        """With answers no longer than that, nor than the context of each route has room for."""
        first, *rest = (
            replace(route, max_tokens=min(tokens, max(route.max_tokens, route.context_tokens // 4)))
            for route in (self.route, *self.fallbacks)
        )
        return replace(self, route=first, fallbacks=tuple(rest))


def models_on(route: Route, provider: Provider, clock: Clock) -> Models:
    """One route and nothing else, for a call outside of any agent."""
    caching = Caching(tuple)
    return Models(route, (), provider, caching.counter, caching, clock)

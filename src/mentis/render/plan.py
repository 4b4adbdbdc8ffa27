"""Where the payload stops being the same from turn to turn, and how a provider is told so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, TypeAlias

from mentis.facts.ability import Abilities
from mentis.values.rendering import Boundary, CachePlan
from mentis.values.route import Route
from mentis.values.stability import Stability

from .draft import PayloadDraft, Region
from .memo import remember

RegionName: TypeAlias = Literal["tools", "stable", "session", "history"]


@dataclass(slots=True)
class Planner:
    """Collects boundaries in the order in which prefixes are matched: tools, system, messages."""

    able: Abilities
    on: bool
    _boundaries: list[Boundary] = field(default_factory=list[Boundary])

    def reach(self, region: RegionName, pointer: str, *, markable: bool = True) -> str:
        """A boundary after what stands at `pointer`; the lifetime to mark it with, or nothing."""
        if not self.on:
            return ""
        marks = self.able.cache_marks and markable
        ttl = self._ttl(region) if marks else ""
        self._boundaries.append(Boundary(pointer, region, ttl, marked=bool(ttl)))
        return ttl

    def plan(self, key: str = "") -> CachePlan:
        if not self.on:
            return CachePlan()
        return CachePlan(tuple(self._boundaries), key, self.able.cache_minimum)

    def _ttl(self, region: RegionName) -> str:
        """What lasts is kept longest; longer lifetimes come first, as their order demands."""
        ttls = self.able.cache_ttls
        return ttls[0] if region in ("tools", "stable") else ttls[-1]


def planner(route: Route, able: Abilities) -> Planner:
    return Planner(able, on=route.caching and able.cache != "none")


def region_name(region: Region) -> RegionName | None:
    """What a region's end is called as a boundary; what changes every turn is none."""
    match region.stability:
        case Stability.STABLE:
            return "stable"
        case Stability.SESSION:
            return "session"
        case Stability.TURN:
            return None


def ends(regions: Sequence[Region]) -> list[RegionName | None]:
    """For each region the boundary after it: the last of a kind, and none after a fleeting one."""
    names: list[RegionName | None] = [region_name(region) for region in regions]
    fleeting = names.index(None) if None in names else len(names)
    return [
        name if number < fleeting and name not in names[number + 1 : fleeting] else None
        for number, name in enumerate(names)
    ]


def cache_key(draft: PayloadDraft, model: str) -> str:
    """The same for all requests that begin alike, so that they reach the same cache."""
    objects = (*draft.regions, *draft.tools)
    return remember(("key", model, len(draft.tools)), objects, lambda: _key(draft, model))


def _key(draft: PayloadDraft, model: str) -> str:
    seed = sha256(model.encode())
    for region in draft.regions:
        if region.stability is Stability.STABLE:
            for span in region.spans:
                seed.update(span.text.encode())
    for tool in draft.tools:
        seed.update(tool.name.encode("utf-8", "replace"))
    return f"mentis-{seed.hexdigest()[:24]}"

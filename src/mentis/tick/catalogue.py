"""The catalogue of senses and acts just now: descriptors of several sources, in layers.

A later source wins for what both name, and can take away what an earlier one has. What was taken
away comes back when it is told of again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from mentis.act.registry import Registry
from mentis.codec.forms import from_json
from mentis.errors import BadInput
from mentis.values.cognition import Sense
from mentis.values.json import JsonObject
from mentis.values.tick import DROP_DESCRIPTORS, PATCH_DESCRIPTORS, Catalogue, Descriptor, SignalKey
from mentis.values.trust import Trust
from mentis.values.written import dump

# Who may change what can be done; anything below is text from somewhere.
_TRUSTED = Trust.RUNTIME


@dataclass(slots=True)
class Overlay:
    """What one source has, and what it takes away from those before it; it can change while the
    agent lives. Its version rises with every change that changes something.
    """

    name: str
    version: int = 0
    _entries: dict[SignalKey, Descriptor] = field(default_factory=dict[SignalKey, Descriptor])
    _gone: set[SignalKey] = field(default_factory=set[SignalKey])

    def patch(self, entries: Iterable[Descriptor]) -> None:
        for entry in entries:
            if self._entries.get(entry.key) != entry:
                self._entries[entry.key] = entry
                self._gone.discard(entry.key)
                self.version += 1

    def drop(self, keys: Iterable[SignalKey]) -> None:
        for key in keys:
            if key not in self._gone:
                self._entries.pop(key, None)
                self._gone.add(key)
                self.version += 1

    def lay(self, over: dict[SignalKey, Descriptor]) -> None:
        for key in self._gone:
            over.pop(key, None)
        over.update(self._entries)


class LiveCatalogue:
    """The acts of the registry, then what senses told of, then what is always there."""

    def __init__(self, registry: Registry, always: Iterable[Descriptor] = ()) -> None:
        self._registry = registry
        self._live, self._always = Overlay("live"), Overlay("core")
        self._always.patch(always)
        self._made: tuple[str, Catalogue] = "", Catalogue()

    def current(self) -> Catalogue:
        """The same object until something changes; its version says what it was made of."""
        version = self._version()
        if self._made[0] != version:
            merged = {entry.key: entry for entry in self._registry.descriptors()}
            self._live.lay(merged)
            self._always.lay(merged)
            entries = tuple([merged[key] for key in sorted(merged)])
            self._made = version, Catalogue(version, entries)
        return self._made[1]

    def patch(self, entries: Iterable[Descriptor]) -> None:
        self._live.patch(entries)

    def drop(self, keys: Iterable[SignalKey]) -> None:
        self._live.drop(keys)

    def take(self, senses: Iterable[Sense]) -> tuple[tuple[Sense, ...], tuple[str, ...]]:
        """Senses that change the catalogue do so, in their order. The others are given back, with
        those that may not or cannot; for them it is said why.
        """
        rest, refused = list[Sense](), list[str]()
        for sense in senses:
            if sense.kind not in (PATCH_DESCRIPTORS, DROP_DESCRIPTORS):
                rest.append(sense)
                continue
            try:
                self._change(sense)
            except BadInput as error:
                rest.append(sense)
                refused.append(f"{sense.kind} {sense.id}: {error.message}")
        return tuple(rest), tuple(refused)

    def _change(self, sense: Sense) -> None:
        if sense.trust.rank > _TRUSTED.rank:
            hint = "only the runtime and the owner change what can be done"
            raise BadInput(f"it is {sense.trust.value}", hint=hint)
        if sense.kind == PATCH_DESCRIPTORS:
            self.patch([_descriptor(item) for item in _items(sense, "entries")])
        else:
            self.drop([_key(item) for item in _items(sense, "routes")])

    def _version(self) -> str:
        live, always = self._live, self._always
        return f"acts:{self._registry.version}/live:{live.version}/core:{always.version}"


def _items(sense: Sense, name: str) -> list[JsonObject]:
    """All of them or none: half a change is nobody's wish."""
    found = sense.payload.get(name)
    items = cast("list[object]", found) if isinstance(found, list | tuple) else []
    if not items or not all(isinstance(item, Mapping) for item in items):
        raise BadInput(f"{name}: a list of objects is needed", hint="send kind, endpoint and name")
    return cast("list[JsonObject]", items)


def _descriptor(item: JsonObject) -> Descriptor:
    return from_json(Descriptor, dump(item))


def _key(item: JsonObject) -> SignalKey:
    return from_json(Descriptor, dump({**item, "schema": {}})).key

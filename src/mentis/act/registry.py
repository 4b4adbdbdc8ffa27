"""The registry of acts that can be done just now, by name, and what a model is told of each.

Readers see one state or the next, never one in between: a change makes a new state. What is told
keeps its identity until something changes, so that whoever holds it can see that nothing did.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from threading import RLock
from typing import Any, cast, get_args

from mentis.errors import BadInput
from mentis.ports.act_handler import ActHandler
from mentis.values.act import ActSpec, Scope
from mentis.values.block import Mode
from mentis.values.digest import Digest, digest
from mentis.values.tick import Descriptor
from mentis.values.tool import ToolDeclaration

from .options import refuse_types
from .schemas import checked_declaration

MOST_DESCRIPTION = 16 * 1024
_MOST_OF_CALLERS = 128 * 1024  # agent programs describe theirs at length, and are not ours to cut
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class _Entry:
    handler: ActHandler
    spec: ActSpec
    descriptor: Descriptor


@dataclass(frozen=True, slots=True)
class _State:
    """`names` are those of `entries`, sorted."""

    entries: Mapping[str, _Entry] = field(default_factory=dict[str, _Entry])
    names: tuple[str, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict[str, str])


class Registry:
    """Thread-safe. The spec an act is added with is checked and copied, and holds until it goes:
    what its handler says later, or does to the schema it gave, changes nothing.
    """

    def __init__(self, handlers: Iterable[ActHandler] = ()) -> None:
        self._lock = RLock()
        self._state = _State()
        self._version = 0
        self._declarations: tuple[ToolDeclaration, ...] | None = None
        self._descriptors: tuple[Descriptor, ...] | None = None
        self._digests: dict[str, Digest] = {}
        self._away: Callable[[str], str] = _not_known
        for handler in handlers:
            self.add(handler)

    @property
    def version(self) -> int:
        """Rises with every change."""
        return self._version

    def add(self, handler: ActHandler, *, replace: bool = False) -> None:
        """From now on it can be done. BadInput when the name is taken or the spec is unusable."""
        entry = _checked(handler)
        with self._lock:
            there = self._state.entries.get(entry.spec.name)
            if there is not None and not replace:
                raise _taken(there.spec, entry.spec)
            self._put(entry, there)

    def drop(self, name: str) -> bool:
        """From now on it cannot be done; False when there was none. What blocks it stays."""
        with self._lock:
            if name not in self._state.entries:
                return False
            entries = {**self._state.entries}
            del entries[name]
            at = bisect_left(self._state.names, name)
            names = (*self._state.names[:at], *self._state.names[at + 1 :])
            self._change(_State(entries, names, self._state.blocked))
            return True

    def put_source(self, source: str, handlers: Iterable[ActHandler]) -> None:
        """All of one source at once, in the place of what it had before; or nothing, on BadInput.

        A source cannot take a name from another one.
        """
        new = [_checked(handler) for handler in handlers]
        with self._lock:
            state = self._state
            entries = {
                n: entry for n, entry in state.entries.items() if entry.spec.source != source
            }
            for entry in new:
                _refuse_foreign(entry.spec, source)
                if entry.spec.name in entries:
                    raise _taken(entries[entry.spec.name].spec, entry.spec)
                entries[entry.spec.name] = entry
            self._change(_State(entries, tuple(sorted(entries)), state.blocked))

    def handler(self, name: str) -> ActHandler | None:
        entry = self._state.entries.get(name)
        return None if entry is None else entry.handler

    def spec(self, name: str) -> ActSpec | None:
        """As it was checked when it was added."""
        entry = self._state.entries.get(name)
        return None if entry is None else entry.spec

    def explain(self, away: Callable[[str], str]) -> None:
        """`away` says why an act of a source that is not there just now is missing, or nothing."""
        self._away = away

    def away(self, name: str) -> str:
        """Why it cannot be done just now; "" when it is there, or nobody knows of it."""
        return "" if name in self._state.entries else self._away(name)

    def digest(self, name: str) -> Digest | None:
        """The digest of that spec, worked out once."""
        with self._lock:
            entry = self._state.entries.get(name)
            if entry is None:
                return None
            if name not in self._digests:
                self._digests[name] = spec_digest(entry.spec)
            return self._digests[name]

    def specs(self) -> tuple[ActSpec, ...]:
        """All of them, sorted by name, also those that are blocked."""
        state = self._state
        return tuple([state.entries[name].spec for name in state.names])

    def declarations(self) -> tuple[ToolDeclaration, ...]:
        """What a model is told, sorted by name, without what is blocked: a definition that lost
        its trust is text nobody vouches for. The same object until something changes.
        """
        with self._lock:
            if self._declarations is None:
                self._declarations = tuple([entry.spec.declaration for entry in self._told()])
            return self._declarations

    def descriptors(self) -> tuple[Descriptor, ...]:
        """The same for the cortex, sorted by endpoint and name; without an endpoint of its own an
        act is done at its source.
        """
        with self._lock:
            if self._descriptors is None:
                told = [entry.descriptor for entry in self._told()]
                self._descriptors = tuple(sorted(told, key=attrgetter("endpoint", "name")))
            return self._descriptors

    def block(self, name: str, reason: str) -> None:
        """It cannot be done until it is unblocked, not even when it is dropped and added again."""
        with self._lock:
            blocked = {**self._state.blocked, name: reason or "blocked"}
            self._change(replace(self._state, blocked=blocked))

    def unblock(self, name: str) -> None:
        with self._lock:
            blocked = {other: why for other, why in self._state.blocked.items() if other != name}
            if len(blocked) != len(self._state.blocked):
                self._change(replace(self._state, blocked=blocked))

    def block_reason(self, name: str) -> str:
        """Why it cannot be done; "" when it can."""
        return self._state.blocked.get(name, "")

    def _told(self) -> list[_Entry]:
        state = self._state
        return [state.entries[name] for name in state.names if name not in state.blocked]

    def _put(self, entry: _Entry, there: _Entry | None) -> None:
        state, name = self._state, entry.spec.name
        names = state.names
        if there is None:
            at = bisect_left(names, name)
            names = (*names[:at], name, *names[at:])
        self._change(_State({**state.entries, name: entry}, names, state.blocked))

    def _change(self, state: _State) -> None:
        for name in [
            n for n in self._digests if self._state.entries[n] is not state.entries.get(n)
        ]:
            del self._digests[name]
        self._state = state
        self._declarations = self._descriptors = None
        self._version += 1


def spec_digest(spec: ActSpec) -> Digest:
    """What a person or first use trusts: all that is declared of an act, where it comes from, and
    what would be run or called.

    A changed description is a changed definition. How it is run (times, modes) is the owner's.
    """
    import rfc8785  # not every turn acts

    told = spec.declaration
    form = {
        "name": told.name,
        "description": told.description,
        "parameters": _sayable(told.parameters),
        "external_effects": told.external_effects,
        "idempotent": told.idempotent,
        "scope": spec.scope,
        "source": spec.source,
        "endpoint": spec.endpoint,
        "where": spec.where,
    }
    return digest(rfc8785.dumps(cast("Any", form)))


def _sayable(part: object) -> object:
    """Canonical JSON has no integers over 2^53, and schemas do: they are told apart as text."""
    match part:
        case bool():
            return part
        case int() if abs(part) > _SAFE_INTEGER:
            return {"\0integer": str(part)}
        case Mapping():
            members = cast("Mapping[str, object]", part).items()
            return {name: _sayable(value) for name, value in members}
        case list() | tuple():
            return [_sayable(item) for item in cast("list[object]", part)]
        case _:
            return part


def _checked(handler: ActHandler) -> _Entry:
    spec = handler.spec
    if not isinstance(spec, ActSpec):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign code
        raise BadInput(
            f"{handler!r:.80} has no ActSpec, so nothing is known of what it does",
            hint="give it a `spec`, or make a function an act with @act",
        )
    _refuse_name(spec)
    refuse_types(spec.declaration, spec.name)
    refuse_types(spec, spec.name)
    _refuse_length(spec)
    _refuse_halves(spec)
    _refuse_rest(spec)
    own = spec.source == "builtin"
    spec = replace(spec, declaration=checked_declaration(spec.declaration, own=own))
    return _Entry(handler, spec, _descriptor(spec))


def _refuse_name(spec: ActSpec) -> None:
    if not isinstance(spec.name, str) or not _NAME.fullmatch(spec.name):  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign code
        raise BadInput(
            f"{spec.name!r:.160} cannot be the name of an act (from {spec.source})",
            hint="use 1 to 128 of the letters a-z, digits and _ . : / -, with no mark in front",
            source=spec.source,
        )


def _refuse_length(spec: ActSpec) -> None:
    most = _MOST_OF_CALLERS if spec.deferred else MOST_DESCRIPTION
    if len(spec.declaration.description) > most:
        raise BadInput(
            f"the description of {spec.name!r} has {len(spec.declaration.description)} characters,"
            f" and {most} are allowed",
            hint="shorten it: a model reads it on every turn",
            tool=spec.name,
            source=spec.source,
        )


def _refuse_halves(spec: ActSpec) -> None:
    try:
        spec.declaration.description.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the description of {spec.name!r} holds half a surrogate pair",
            hint="decode the text properly where it comes in",
            tool=spec.name,
            source=spec.source,
        ) from error


def _refuse_rest(spec: ActSpec) -> None:
    if spec.scope not in get_args(Scope) or not set(spec.modes) <= set(get_args(Mode)):
        raise BadInput(
            f"act {spec.name!r} has the scope {spec.scope!r} and the modes {spec.modes!r}",
            hint=f"scopes are {', '.join(get_args(Scope))}; modes {', '.join(get_args(Mode))}",
            tool=spec.name,
            source=spec.source,
        )
    if not 0 < spec.timeout_seconds < float("inf") or spec.concurrency < 0:
        raise BadInput(
            f"act {spec.name!r}: timeout_seconds is {spec.timeout_seconds}, concurrency"
            f" {spec.concurrency}",
            hint="a time limit is over 0, and a concurrency of 0 means no limit",
            tool=spec.name,
            source=spec.source,
        )


def _refuse_foreign(spec: ActSpec, source: str) -> None:
    if spec.source != source:
        raise BadInput(
            f"act {spec.name!r} is of {spec.source}, and was put among those of {source}",
            hint="give it the source it comes from",
            tool=spec.name,
        )


def _not_known(_name: str) -> str:
    return ""


def _taken(there: ActSpec, new: ActSpec) -> BadInput:
    alike = there.source == new.source
    whose = f"both of {new.source}" if alike else f"one of {there.source}, one of {new.source}"
    return BadInput(
        f"two acts are called {new.name!r}: {whose}",
        hint="rename one, or give its source a prefix",
        tool=new.name,
        sources=[there.source, new.source],
    )


def _descriptor(spec: ActSpec) -> Descriptor:
    told = spec.declaration
    return Descriptor("act", spec.place, told.name, told.parameters, told.description, told.trust)

"""All that a home may reach, run, read or send, in one list; and taking it back.

What its owner allowed is kept outside of the home (`stores/files/trusted`, and the anchors beside
the key), so a home says here what it wants, and this machine whether it gets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeAlias, cast

from mentis.errors import MentisError, UsageError
from mentis.home.anchors import whole_name
from mentis.home.channel_reach import reach_digest, server_of
from mentis.home.parts import Parts
from mentis.home.route_keys import KeyTarget, RouteKeys, target_of
from mentis.home.signing import anchors_of_environment, open_key_folder, open_pin
from mentis.net.targets import origin_of
from mentis.record.keys import remove_anchor
from mentis.record.record import open_record
from mentis.settings.acts import ToolSettings
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.channel_owners import ChannelOwners
from mentis.stores.files.home import Home, find_home
from mentis.stores.files.key_folder import config_folder
from mentis.stores.files.trusted import TrustedTools
from mentis.values.route import Route
from mentis.values.value import Value

from .trust import BUILTIN, acts_digest, opening_settings, source_digest

ReachKind: TypeAlias = Literal["send", "run", "reach", "read", "write"]
# By whom it is allowed: "free" needs no word, "stale" was allowed and the settings name it no more.
ReachState: TypeAlias = Literal[
    "provider", "environment", "trusted", "untrusted", "free", "stale", "unknown"
]
_TAKEN_BACK = ("trusted", "stale")


@dataclass(frozen=True, slots=True)
class HomeReach(Value):
    """One thing that a home may do outside of it. `name` is what takes it back."""

    name: str
    does: ReachKind
    what: str  # in full
    variables: tuple[str, ...]  # those whose values go along
    state: ReachState
    allow: str = ""  # the command that allows it, while nobody has


def list_reach(home: str | Path, parts: Parts | None = None) -> tuple[HomeReach, ...]:
    """Everything that the settings of a home name, and everything that was allowed and they name no
    more. Nothing is started, called or opened for it. It blocks.
    """
    parts = parts or Parts()
    place = find_home(Path(home))
    settings = load_settings(place.path, parts.variables)
    return tuple(_Looked(place, settings, parts.variables).rows())


def revoke_reach(home: str | Path, name: str, parts: Parts | None = None) -> HomeReach:
    """What was allowed is allowed no more. UsageError for what nobody has to allow. It blocks."""
    parts = parts or Parts()
    rows = {row.name: row for row in list_reach(home, parts)}
    row = rows.get(name)
    if row is None:
        close = get_close_matches(name, rows, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "`mentis trust` lists what there is"
        raise UsageError(f"nothing is called {name!r}", hint=hint)
    if row.state not in _TAKEN_BACK:
        raise UsageError(
            f"{name} was not allowed by you ({row.state}), so there is nothing to take back",
            hint="take it out of the settings if it should not be used",
        )
    place = find_home(Path(home))
    kind, _, rest = name.partition(":")
    if kind == "key":
        variable, _, server = rest.partition("@")
        settings = load_settings(place.path, parts.variables)
        RouteKeys(place.path, settings, parts.variables).forget(KeyTarget(variable, server))
    elif kind == "channel":
        ChannelOwners(config_folder(parts.variables), place.path).forget(rest)
    elif kind == "tool":
        TrustedTools(config_folder(parts.variables)).forget(place.path, rest)
    else:
        with open_record(place.path, _any_persona(place), parts) as record:
            remove_anchor(record, rest)
    return row


def _any_persona(home: Home) -> str | None:
    """An anchor is of the whole home."""
    return next(iter(home.personas()), None)


@dataclass(frozen=True, slots=True)
class _Looked:
    """One look at a home, its settings and what was allowed."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]

    def rows(self) -> Iterator[HomeReach]:
        yield from self._routes()
        yield from self._acts()
        yield from self._tools()
        yield from self._anchors()
        yield from self._servers()
        yield from self._recorder()
        yield from self._channels()

    def _routes(self) -> Iterator[HomeReach]:
        """A key is allowed for a server, whichever routes name both; without one there is nothing
        to allow.
        """
        keys = RouteKeys(self.home.path, self.settings, self.environ)
        named: dict[KeyTarget, list[Route]] = {}
        for route in self.settings.every_route():
            try:
                target, server = target_of(route), origin_of(route.url) if route.url else ""
            except MentisError:
                continue  # it is told when the route is used
            if target is not None:
                named.setdefault(target, []).append(route)
            elif server:
                what = f"what the model is told to {server}"
                yield HomeReach(f"route:{route.name}", "send", what, (), "free")
        for target, routes in named.items():
            yield self._key(keys, target, routes)
        for target in keys.trusted_targets():
            if target not in named:
                yield self._key(keys, target, ())

    def _key(
        self, keys: RouteKeys, target: KeyTarget, routes: tuple[Route, ...] | list[Route]
    ) -> HomeReach:
        state: ReachState = keys.trust_in(target) if routes else "stale"
        names = ", ".join(route.name for route in routes)
        by = f" (routes: {names})" if names else ""
        return HomeReach(
            f"key:{target.variable}@{target.server}",
            "send",
            f"{target.variable}, and what the model is told, to {target.server}{by}",
            (target.variable,),
            state,
            f"mentis routes trust {routes[0].name}" if state == "untrusted" else "",
        )

    def _acts(self) -> Iterator[HomeReach]:
        chosen = self.settings.model.acts
        opened = opening_settings(chosen)
        if not opened:
            return
        state = self._state(BUILTIN, acts_digest(self.home.path, chosen))
        what = "; ".join(f"acts.{name} = {_said(value)}" for name, value in opened.items())
        does: ReachKind = "run" if chosen.programs else "reach"
        yield HomeReach(f"tool:{BUILTIN}", does, what, (), state, _allow(BUILTIN, state))

    def _tools(self) -> Iterator[HomeReach]:
        named = self.settings.model.tools
        for name, tool in sorted(named.items()):
            try:
                state = self._state(name, source_digest(self.home.path, tool))
            except MentisError as error:
                what = f"{_source(tool)} (cannot be read: {error.message})"
                yield HomeReach(f"tool:{name}", _does(tool), what, (), "unknown")
                continue
            yield HomeReach(
                f"tool:{name}",
                _does(tool),
                _source(tool),
                (*tool.env, *filter(None, [tool.key_env]), *tool.keys.values()),
                state,
                _allow(name, state),
            )
        for name in TrustedTools(config_folder(self.environ)).trusted_parts(self.home.path):
            if name not in named and (name != BUILTIN or not self._opens()):
                yield HomeReach(f"tool:{name}", "run", "the settings name it no more", (), "stale")

    def _opens(self) -> bool:
        return bool(opening_settings(self.settings.model.acts))

    def _state(self, name: str, digest: str | None) -> ReachState:
        if digest is None:
            return "free"
        trusted = TrustedTools(config_folder(self.environ))
        return "trusted" if trusted.is_trusted(self.home.path, name, digest) else "untrusted"

    def _anchors(self) -> Iterator[HomeReach]:
        """Each checkpoint is told to them; a git repository may be pushed elsewhere."""
        named = self.settings.model.ledger.anchors
        whole = {whole_name(self.home, name): name for name in named}
        own = anchors_of_environment(self.settings)
        pin = open_pin(self.settings)
        added = (
            () if pin is None else open_key_folder(self.home, pin.origin, self.environ).anchors()
        )
        for path in dict.fromkeys((*whole, *(() if own else added))):
            state: ReachState = "environment" if own else "trusted"
            if not own and path not in added:
                state = "untrusted"
            kind, _, place = path.partition(":")
            allow = f"mentis ledger anchor add --{kind} {place}" if state == "untrusted" else ""
            what = f"checkpoints to {place}"
            yield HomeReach(f"anchor:{path}", "write", what, (), state, allow)

    def _servers(self) -> Iterator[HomeReach]:
        chosen = self.settings.model.ledger
        if "postgres" in (chosen.store, self.settings.model.memories.store):
            place = _without_secrets(chosen.url) or f"where {chosen.url_env} says"
            variables = (chosen.url_env,) if chosen.url_env else ()
            yield HomeReach("server:postgres", "reach", f"the database {place}", variables, "free")

    def _recorder(self) -> Iterator[HomeReach]:
        """Only while `mentis record` runs, which is started by a person."""
        chosen = self.settings.model.recorder
        for name, url in sorted(chosen.targets.items()):
            what = f"calls of recorded programs, with their keys, to {url}"
            yield HomeReach(f"forward:{name}", "send", what, (), "free")
        if chosen.tunnel_hosts:
            hosts = ", ".join(chosen.tunnel_hosts)
            yield HomeReach(
                "forward:tunnels", "reach", f"unread, for recorded programs: {hosts}", (), "free"
            )

    def _channels(self) -> Iterator[HomeReach]:
        """Each sends its key, and what is said in its rooms, to one server."""
        owners, named = ChannelOwners(config_folder(self.environ), self.home.path).all(), set[str]()
        for name, chosen in sorted(self.settings.model.channels.items()):
            named.add(name)
            try:
                server, told = server_of(name, chosen), reach_digest(name, chosen)
            except MentisError as error:
                yield HomeReach(f"channel:{name}", "send", error.message, (), "unknown")
                continue
            trusted = name in owners and owners[name].trusted == told
            yield HomeReach(
                f"channel:{name}",
                "send",
                f"{chosen.key_env}, and what is said in its rooms, to {server}",
                (chosen.key_env,),
                "trusted" if trusted else "untrusted",
                "" if trusted else f"mentis channels trust {name}",
            )
        for name in sorted(set(owners) - named):
            yield HomeReach(f"channel:{name}", "send", "the settings name it no more", (), "stale")


def _without_secrets(url: str) -> str:
    """An address without what may be secret in it."""
    return url.rpartition("@")[2].partition("?")[0]


def _does(tool: ToolSettings) -> ReachKind:
    return "reach" if tool.url or tool.chosen_kind == "openapi" else "run"


def _source(tool: ToolSettings) -> str:
    if tool.command:
        return " ".join(tool.command)
    if tool.file or tool.module:
        return f"the functions of {tool.file or tool.module}"
    hosts = f" and {', '.join(tool.hosts)}" if tool.hosts else ""
    document = f" ({tool.document})" if tool.document else ""
    return f"{tool.url or 'the servers of its document'}{hosts}{document}"


def _allow(name: str, state: ReachState) -> str:
    return f"mentis tools trust {name}" if state == "untrusted" else ""


def _said(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join(map(str, cast("tuple[object, ...]", value)))

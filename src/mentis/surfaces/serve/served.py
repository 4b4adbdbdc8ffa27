"""A home that is served: its agents, the doors to them, and the server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from anyio import CancelScope

from mentis.engines.embedders import open_embedder
from mentis.home.parts import Parts
from mentis.ports.embedder import Embedder
from mentis.settings.settings import Settings
from mentis.settings.web import WebSettings
from mentis.stores.files.home import Home
from mentis.stores.files.key_folder import config_folder
from mentis.web.agents import AgentPool, own_name
from mentis.web.application import AppState, make_app
from mentis.web.browsers import BrowserSessions
from mentis.web.guard import AsgiApp, GuardParts, bound_name
from mentis.web.metrics import Metrics
from mentis.web.served import MakeDoors, ServedParts
from mentis.web.server import WebServer, run_until_told
from mentis.web.tokens import AccessToken, Tokens

from .answering import Answering
from .conversations import Conversations
from .doors import FORMS, doors
from .start import ServeOptions

# Surfaces stand apart: those that have doors here too are found by their names, as a command is.
_MCP = "mentis.surfaces.mcp.http"
_BESIDE = ("mentis.surfaces.api.doors", "mentis.surfaces.studio.doors")


class RunningDoors(Protocol):
    """Doors that work only while something runs beside the server."""

    def running(self) -> AbstractAsyncContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class ServedHome:
    """Everything of one server. `run` it, then close it."""

    app: AsgiApp
    pool: AgentPool
    settings: WebSettings
    state: AppState
    options: ServeOptions
    mcp: RunningDoors
    browsers: BrowserSessions

    @classmethod
    def open(
        cls, home: Home, settings: Settings, options: ServeOptions, parts: Parts
    ) -> ServedHome:
        given = {"host": options.host, "port": options.port}
        chosen = {name: value for name, value in given.items() if value is not None}
        web = settings.model.web.model_copy(update=chosen)
        pool = AgentPool(home, settings, parts, route=options.route)
        metrics, surface = Metrics(), _mcp_surface()
        mcp = surface.McpDoors(surface.ServedPlace(home, web, parts, _is_own))
        state = AppState(on_drain=[mcp.drain])

        def embedder() -> Embedder | None:
            choice = settings.model.recall.embedder
            if parts.embedder is not None or choice == "off":
                return parts.embedder
            return open_embedder(choice)[0]

        tokens = Tokens(config_folder(parts.variables), home.path)
        browsers = BrowserSessions(tokens, web)
        guard = GuardParts(
            tokens.find,
            web,
            forms={**FORMS, "/mcp": surface.mcp_problem},
            metrics=metrics,
            on_access=options.on_access,
            on_defect=options.on_defect,
            find_browser=browsers.find,
        )
        answering = Answering(pool, web, metrics, Conversations())
        shared = ServedParts(pool, tokens, web, parts, state, browsers)
        beside = [door for name in _BESIDE for door in _doors_of(name)(shared)]
        app = make_app([*doors(answering, embedder), *mcp.doors(), *beside], guard, state)
        return cls(app, pool, web, state, options, mcp, browsers)

    async def run(self) -> None:
        server = WebServer(self.app, self.settings, self.state)
        address = server.bind()
        if self.options.on_ready is not None:
            self.options.on_ready(address)
        if self.options.on_link is not None:
            here = f"http://{bound_name(self.settings.host)}:{address.rpartition(':')[2]}"
            self.options.on_link(f"{here}/studio/enter?key={self.browsers.new_link()}")
        async with self.mcp.running():
            await run_until_told(server, self.options.say)

    async def aclose(self) -> None:
        with CancelScope(shield=True):
            await self.pool.aclose()


def _mcp_surface() -> Any:  # noqa: ANN401  # a module found by its name
    return import_module(_MCP)


def _is_own(token: AccessToken, session: str) -> bool:
    name = own_name(token, session)
    return bool(name) and token.session in ("", name)


def _doors_of(surface: str) -> MakeDoors:
    found: MakeDoors = import_module(surface).doors
    return found

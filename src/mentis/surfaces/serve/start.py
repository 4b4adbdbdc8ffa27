"""The way into this surface. It loads the server, which is optional, only when it serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mentis.errors import EngineMissing
from mentis.home.parts import Parts
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home

if TYPE_CHECKING:
    from mentis.web.guard import AccessRecord


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What is chosen for one server, before the settings. `say` tells a person how it ends;
    `on_link` is given a link that lets one browser into the studio, once.
    """

    host: str | None = None
    port: int | None = None
    route: str = "default"
    on_access: Callable[[AccessRecord], None] | None = None
    on_defect: Callable[[BaseException], None] | None = None
    on_ready: Callable[[str], None] | None = None
    on_link: Callable[[str], None] | None = None
    say: Callable[[str], None] = field(default=lambda _text: None)


async def serve(
    home: str | Path,
    *,
    host: str | None = None,
    port: int | None = None,
    route: str = "default",
    parts: Parts | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the agents of a home over HTTP, until SIGTERM or Ctrl-C, or until it is cancelled.

    Clients come with a token (`open_tokens`) and name a persona as their model; `on_ready` is told
    the address. What was begun is answered before it stops. `host` and `port` are by default those
    of the settings (`web.host`, `web.port`).
    """
    await serve_with(home, ServeOptions(host, port, route, on_ready=on_ready), parts)


async def serve_with(home: str | Path, chosen: ServeOptions, parts: Parts | None = None) -> None:
    """The same, with everything that can be chosen."""
    try:
        for name in ("jinja2", "starlette", "uvicorn"):
            import_module(name)
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"serving needs the package {error.name}, which is not installed",
            hint="pip install 'mentis[serve]'",
        ) from error
    from .served import ServedHome

    found, parts = find_home(Path(home)), parts or Parts()
    settings = load_settings(found.path, parts.variables)
    settings.route(chosen.route)  # one that is not there is told before anybody comes
    served = ServedHome.open(found, settings, chosen, parts)
    try:
        await served.run()
    finally:
        await served.aclose()

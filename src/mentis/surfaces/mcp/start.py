"""The way into this surface. It loads the SDK, which is optional, only when it serves."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from mentis.errors import EngineMissing
from mentis.settings.sources import load_settings
from mentis.stores.files.home import find_home


def serve(home: Path, persona: str | None) -> None:
    """Serve one client on standard input and output, until it leaves or a signal ends it."""
    try:
        import_module("mcp.server.lowlevel")
    except ModuleNotFoundError as error:
        raise EngineMissing(
            f"the MCP server needs the package mcp, which is not installed ({error.name})",
            hint="pip install 'mentis[mcp]'",
        ) from error
    from .session import run_session  # it needs the SDK

    monitor = load_settings(find_home(home).path, os.environ).model.status.monitor
    run_session(home, persona, version=version("mentis"), monitor=monitor)

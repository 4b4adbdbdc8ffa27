"""`mentis settings`."""

from __future__ import annotations

import os
from typing import cast

import click

from .options import home_option, home_path
from .output import emit_json, json_option, say, table


@click.command(epilog="For example: MENTIS_ROUTES__DEFAULT__MAX_TOKENS=64 mentis settings")
@home_option
@json_option
def settings(*, as_json: bool) -> None:
    """Show every setting, its value and where it came from.

    A setting comes from the environment (MENTIS_SECTION__KEY), else from mentis.toml in the home,
    else it has its default. Without a home, the environment and the defaults are shown.
    """
    from mentis.settings.sources import load_settings

    home = home_path()
    there = home if (home / "mentis.toml").exists() else None
    found = load_settings(there, os.environ).effective()
    if as_json:
        rows = [{"key": s.key, "value": s.value, "origin": s.origin} for s in found]
        emit_json({"home": str(there) if there else None, "settings": rows})
        return
    say(f"home: {home}" if there else f"home: none in {home} (make one with: mentis init)")
    table(("setting", "value", "from"), [(s.key, _shown(s.value), s.origin) for s in found])


def _shown(value: object) -> str:
    if value is None or value in ("", ()):
        return "-"
    return ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)

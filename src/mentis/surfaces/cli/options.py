"""Options that many commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import click


def _remember_home(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """`--home` after the command means the same as before it."""
    if value is not None:
        ctx.obj = {**cast("dict[str, object]", ctx.obj or {}), "home": value}


home_option = click.option(
    "--home",
    metavar="FOLDER",
    expose_value=False,
    callback=_remember_home,
    help="The home to work in (or set MENTIS_HOME).",
)
persona_option = click.option(
    "--persona", metavar="ID", help="Which persona; needed only when the home has several."
)
route_option = click.option(
    "--route", default="default", show_default=True, metavar="NAME", help="Which route to use."
)
session_option = click.option(
    "--session", default="main", show_default=True, metavar="NAME", help="Which conversation."
)


def home_path() -> Path:
    """The home that was asked for: the option, then MENTIS_HOME, then ~/.mentis."""
    chosen = cast("dict[str, str | None]", click.get_current_context().obj or {}).get("home")
    return Path(chosen or os.environ.get("MENTIS_HOME") or Path.home() / ".mentis")

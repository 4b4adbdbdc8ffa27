"""Options that many commands share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from mentis.errors import BadInput

if TYPE_CHECKING:
    from mentis.runtime.prompts import Prompts


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


def given_text(text: str | None, file: TextIO | None) -> str | None:
    """The text given with --text or --from-file, if one was."""
    if file is None:
        return text
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise BadInput(f"{file.name} is not UTF-8: {error}", hint="save it as UTF-8") from error


def open_prompts() -> Prompts:
    """The prompts of the home that was asked for."""
    from mentis.runtime.prompts import Prompts

    return Prompts.open(home_path())

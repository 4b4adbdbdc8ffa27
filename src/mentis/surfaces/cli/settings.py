"""`mentis settings`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

import click

from .options import home_option, home_path
from .output import emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.settings.change import SettingChange


@click.group(
    invoke_without_command=True,
    epilog="For example: MENTIS_ROUTES__DEFAULT__MAX_TOKENS=64 mentis settings",
)
@home_option
@json_option
@click.pass_context
def settings(ctx: click.Context, *, as_json: bool) -> None:
    """Show every setting, its value and where it came from; set and unset one.

    A setting comes from the environment (MENTIS_SECTION__KEY), else from mentis.toml in the home,
    else it has its default. Without a home, the environment and the defaults are shown.
    """
    from mentis.settings.sources import load_settings

    if ctx.invoked_subcommand is not None:
        return
    home = home_path()
    there = home if (home / "mentis.toml").exists() else None
    found = load_settings(there, os.environ).effective()
    if as_json:
        rows = [{"key": s.key, "value": s.value, "origin": s.origin} for s in found]
        emit_json({"home": str(there) if there else None, "settings": rows})
        return
    say(f"home: {home}" if there else f"home: none in {home} (make one with: mentis init)")
    table(("setting", "value", "from"), [(s.key, _shown(s.value), s.origin) for s in found])


@settings.command("set", epilog="For example: mentis settings set routes.default.max_tokens 64")
@click.argument("key")
@click.argument("value")
@home_option
@json_option
def set_(key: str, value: str, *, as_json: bool) -> None:
    """Write one setting to mentis.toml. Comments and everything else stay as they are.

    VALUE is TOML (64, true, ["a", "b"]); what is none is taken as a string. It is checked first:
    a value that does not fit is refused, and nothing is written.
    """
    from mentis.settings.change import open_settings

    _tell(open_settings(_home()).set_text(key, value), as_json=as_json)


@settings.command(epilog="For example: mentis settings unset routes.default.max_tokens")
@click.argument("key")
@home_option
@json_option
def unset(key: str, *, as_json: bool) -> None:
    """Take one setting out of mentis.toml, so that its default counts."""
    from mentis.settings.change import open_settings

    _tell(open_settings(_home()).unset(key), as_json=as_json)


def _home() -> Path:
    from mentis.stores.files.home import find_home

    return find_home(home_path()).path


def _tell(change: SettingChange, *, as_json: bool) -> None:
    if as_json:
        emit_json({name: getattr(change, name) for name in change.__slots__})
        return
    before, after = (_toml(value) for value in (change.before, change.after))
    say(f"{change.key}: {before or 'not set'} -> {after or 'not set'}")
    if change.before is None:
        say(f"to go back: mentis settings unset {change.key}")
    elif not isinstance(change.before, dict):
        say(f"to go back: mentis settings set {change.key} {quote(before)}")
    if change.overridden_by:
        say(f"the environment has {change.overridden_by}, which counts instead")


def _toml(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _shown(value: object) -> str:
    if value is None or value in ("", ()):
        return "-"
    return ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)

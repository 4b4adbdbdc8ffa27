"""`mentis settings`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

import click

from .groups import RenamedGroup
from .options import home_option, home_path
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.settings.change import SettingChange


@click.group(
    cls=RenamedGroup,
    invoke_without_command=True,
    epilog="For example: MENTIS_ROUTES__DEFAULT__MAX_TOKENS=64 mentis settings",
)
@home_option
@prints_report
@click.pass_context
def settings(ctx: click.Context) -> Report | None:
    """Show every setting and where it comes from; set, unset.

    A setting comes from the environment (MENTIS_SECTION__KEY), else from mentis.toml in the home,
    else it has its default. Without a home, the environment and the defaults are shown. Older names
    still load, and are shown under today's; keys that no longer have any effect are named.
    """
    from mentis.settings.sources import load_settings

    if ctx.invoked_subcommand is not None:
        return None
    home = home_path()
    there = home if (home / "mentis.toml").exists() else None
    loaded = load_settings(there, os.environ)
    found = loaded.effective()
    rows = [{"key": s.key, "value": s.value, "origin": s.origin} for s in found]
    notices = [{"key": n.key, "origin": n.origin, "message": n.message} for n in loaded.notices]
    where = f"home: {home}" if there else f"home: none in {home} (make one with: mentis init)"
    cells = [(s.key, _shown(s.value), s.origin) for s in found]
    return Report(
        {"home": str(there) if there else None, "settings": rows, "notices": notices},
        (Note(where), TextTable(("setting", "value", "source"), cells)),
    )


@settings.command("set", epilog="For example: mentis settings set routes.default.max_tokens 64")
@click.argument("key")
@click.argument("value")
@home_option
@prints_report
def set_(key: str, value: str) -> Report:
    """Write one setting to mentis.toml. Comments and everything else stay as they are.

    VALUE is TOML (64, true, ["a", "b"]); anything else is taken as a string. It is checked first:
    a value that does not fit is refused, and nothing is written.
    """
    from mentis.settings.change import open_settings

    return _report(open_settings(_home()).set_text(key, value))


@settings.command(epilog="For example: mentis settings unset routes.default.max_tokens")
@click.argument("key")
@home_option
@prints_report
def unset(key: str) -> Report:
    """Take one setting out of mentis.toml, so that its default counts."""
    from mentis.settings.change import open_settings

    return _report(open_settings(_home()).unset(key))


def _home() -> Path:
    from mentis.stores.files.home import find_home

    return find_home(home_path()).path


def _report(change: SettingChange) -> Report:
    return Report({name: getattr(change, name) for name in change.__slots__}, _lines(change))


def _lines(change: SettingChange) -> Iterator[Text]:
    before, after = (_toml(value) for value in (change.before, change.after))
    yield Note(f"{change.key}: {before or 'not set'} -> {after or 'not set'}")
    if change.before is None:
        yield Note(f"to go back: mentis settings unset {change.key}")
    elif not isinstance(change.before, dict):
        yield Note(f"to go back: mentis settings set {change.key} {quote(before)}")
    if change.overridden_by:
        yield Note(f"the environment has {change.overridden_by}, which counts instead")


def _toml(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _shown(value: object) -> str:
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, bool | dict):
        return _toml(cast("object", value))
    return ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)

"""Upgrade of a home to this version of Mentis: told before, done when it is asked for.

The database is brought up to date in one transaction by whatever opens it for writing; here it is
copied first. Settings that have no effect any more are named, and never changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mentis.disk.atomic import unwritable
from mentis.errors import StoreTooNew
from mentis.home.database import open_database
from mentis.settings.settings import FORMAT, Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import Home, find_home
from mentis.stores.sqlite.database import copy_database, schema_version
from mentis.stores.sqlite.migrations import NOTES, VERSION
from mentis.values.value import Value


@dataclass(frozen=True, slots=True)
class HomeUpgrade(Value):
    """Versions found and known, what is between them, and what was or would be done."""

    home: str
    format: int
    known_format: int
    schema: int
    known_schema: int
    steps: tuple[str, ...]  # of the database, in their order
    notices: tuple[str, ...]  # settings that have no effect any more, and other things to know
    backup: str  # where the database is copied to before; "" where nothing changes
    applied: bool = False


def plan_upgrade(path: Path, environ: Mapping[str, str]) -> HomeUpgrade:
    """Nothing is changed. StoreTooNew when the home was opened by a newer Mentis."""
    home = find_home(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are told here
        settings = load_settings(home.path, environ)
    found = schema_version(home.database)
    if found > VERSION:
        raise StoreTooNew(
            f"{home.database} has schema {found}; this Mentis knows {VERSION}",
            hint="upgrade Mentis; there is no way back but the copy that was made before",
        )
    steps = NOTES[found:] if found else ()
    backup = home.path / f"{home.database.stem}.schema-{found}.db"  # as others, out of git
    return HomeUpgrade(
        str(home.path),
        settings.model.format,
        FORMAT,
        found,
        VERSION,
        steps,
        _notices(settings),
        str(backup) if steps else "",
    )


def apply_upgrade(path: Path, environ: Mapping[str, str]) -> HomeUpgrade:
    """Copy the database and bring it up to date. It blocks."""
    plan = plan_upgrade(path, environ)
    home = find_home(path)
    if plan.backup:
        try:
            copy_database(home.database, Path(plan.backup))
        except OSError as error:
            raise unwritable(Path(plan.backup), error) from error
        _migrate(home, environ)
    return replace(plan, applied=True)


def _migrate(home: Home, environ: Mapping[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = load_settings(home.path, environ)
    open_database(home, settings, environ).close()


def _notices(settings: Settings) -> tuple[str, ...]:
    told = [notice.message for notice in settings.notices]
    if settings.model.ledger.store != "sqlite":
        told.append("the tables in PostgreSQL are brought up to date by whoever opens them first")
    return tuple(told)

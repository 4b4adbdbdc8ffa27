"""Whether a home is a copy: two that write under one log are a fork of its record.

A copy is read until it is adopted; the original goes on untouched. Of a record on a server there is
one however often a home is copied, so nothing is asked there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from mentis.errors import HomeCopy, HomeUnwritable, MentisError, SettingsError
from mentis.settings.settings import Settings
from mentis.settings.sources import load_settings
from mentis.stores.files.home import MARKER, Home
from mentis.stores.files.instances import HomeInstance, KnownInstances, instance_at, is_copy
from mentis.stores.files.key_folder import config_folder

from .identity import home_name


def original_of(home: Home, settings: Settings, environ: Mapping[str, str]) -> Path | None:
    """The home that this one is a copy of; None for a home that is nobody's copy."""
    homes = _known(settings, environ)
    if homes is None:
        return None
    known = homes.find(home_name(home, settings))
    if known is None or not is_copy(_here(home), known, _there(known, settings, environ)):
        return None
    return Path(known.path)


def remember_instance(home: Home, settings: Settings, environ: Mapping[str, str]) -> None:
    """This home is the one that writes under its log from now on."""
    homes, name, here = _known(settings, environ), home_name(home, settings), _here(home)
    if homes is None or homes.find(name) == here:
        return
    # Where this cannot be written, no checkpoint can be kept either, and that is told.
    with suppress(HomeUnwritable):
        homes.remember(name, here)


def copy_refusal(home: Home, original: Path) -> HomeCopy:
    """What is said to whoever would write into a copy."""
    return HomeCopy(
        f"{home.path} is a copy of {original}, so it is read and not written",
        hint=f"mentis --home {quote(str(home.path))} adopt makes it a home of its own; if the"
        " original is not needed any more, move it away, and this one takes its place",
        path=str(home.path),
        original=str(original),
    )


def _known(settings: Settings, environ: Mapping[str, str]) -> KnownInstances | None:
    ledger = settings.model.ledger
    if not (ledger.origin and ledger.public_key) or ledger.store != "sqlite":
        return None
    return KnownInstances(config_folder(environ), ledger.origin)


def _here(home: Home) -> HomeInstance:
    return instance_at(home.path, home.database)


def _there(
    known: HomeInstance, settings: Settings, environ: Mapping[str, str]
) -> HomeInstance | None:
    """What stands at the known place now, if that is a home of the same log with a database. Where
    nobody may look it counts as still there.
    """
    place = Home(Path(known.path))
    try:
        found = instance_at(place.path, place.database)
        if not found.inode or not (place.path / MARKER).is_file():
            return None
    except OSError:
        return known
    try:
        theirs = load_settings(place.path, environ)
    except SettingsError:
        return found  # somebody is just editing it
    except MentisError:
        return None
    same = theirs.model.ledger.origin == settings.model.ledger.origin
    return found if same else None

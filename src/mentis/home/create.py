"""Makes a home."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mentis.library.load import shipped_persona, shipped_template
from mentis.settings.edit import changed_text
from mentis.settings.sources import load_settings
from mentis.stores.files.home import MARKER, Home, check_free, write_home
from mentis.stores.files.secret import make_secret
from mentis.stores.sqlite.database import Database

from .copies import remember_instance
from .log_identity import drop_log, make_log, remember_log
from .system import RandomIds

DEFAULT_PERSONA = "ada"


_NAME_MARK = "{{home_name}}"


_TEMPLATES = {
    MARKER: "mentis.toml",
    "profile.toml": "profile.toml",
    ".gitignore": "gitignore",
    "README.md": "README.md",
}


def create_home(path: str | Path, *, persona: str = DEFAULT_PERSONA) -> Path:
    """Make a home with a shipped persona. What is there already is never overwritten.

    The key that signs the checkpoints of its ledger goes into your configuration folder, or where
    MENTIS_CONFIG points.
    """
    target = Path(path)
    files = {name: shipped_template(template) for name, template in _TEMPLATES.items()}
    files[MARKER] = files[MARKER].replace(_NAME_MARK, _home_name(target))
    files[f"personas/{persona}/persona.toml"] = shipped_persona(persona)
    check_free(target, files)
    log = make_log(Home(target), os.environ)
    files[MARKER] = changed_text(files[MARKER], "ledger", log.settings, file=MARKER)
    try:
        home = write_home(target, files)
        make_secret(home, RandomIds().salt)
    except BaseException:
        drop_log(log)
        raise
    remember_log(home, log, os.environ)
    Database(home.database).close()
    remember_instance(home, load_settings(home.path, os.environ), os.environ)
    return home.path


def _home_name(path: Path) -> str:
    """The folder's name, brought into the form of an id."""
    name = re.sub(r"[^a-z0-9_-]+", "-", path.absolute().name.lower()).strip("-_")
    return name[:64] or "home"

"""Making a home, and checking the records of one."""

from __future__ import annotations

import re
from pathlib import Path

from mentis.library.load import shipped_persona, shipped_template
from mentis.stores.files.home import MARKER, find_home, write_home
from mentis.stores.files.secret import make_secret
from mentis.stores.sqlite.conversations import SqliteConversations
from mentis.stores.sqlite.database import Database
from mentis.stores.sqlite.ledger import SqliteLedger
from mentis.values.entry import Verdict

from .audit import verify_agent
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
    """Make a home with a shipped persona. What is there already is never overwritten."""
    target = Path(path)
    files = {name: shipped_template(template) for name, template in _TEMPLATES.items()}
    files[MARKER] = files[MARKER].replace(_NAME_MARK, _home_name(target))
    files[f"personas/{persona}/persona.toml"] = shipped_persona(persona)
    home = write_home(target, files)
    make_secret(home, RandomIds().salt)
    Database(home.database).close()
    return home.path


def verify_home(path: str | Path, *, ledger: Path | None = None) -> tuple[Verdict, ...]:
    """Check every agent's record in a home, or in a copy of its database."""
    file = ledger or find_home(Path(path)).database
    with Database(file, readonly=True) as database:
        store, talk = SqliteLedger(database), SqliteConversations(database)
        return tuple(verify_agent(agent, store, talk) for agent in store.agents())


def _home_name(path: Path) -> str:
    """The folder's name, brought into the form of an id."""
    name = re.sub(r"[^a-z0-9_-]+", "-", path.absolute().name.lower()).strip("-_")
    return name[:64] or "home"

"""Two JSON objects that every window should carry: from files beside a persona's drafts, and, of
the project, what Mentis itself knows where there is no file.
"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from mentis.codec.canon import MAX_BYTES
from mentis.codec.strict_json import read_strict_object
from mentis.errors import BadInput, NotCanonical
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.intake import Changing, opened_folder, take_snapshot
from mentis.settings.settings import Settings
from mentis.system.users import user_id
from mentis.values.json import JsonObject

ContextName: TypeAlias = Literal["persistent_context", "project_awareness"]


def project_facts(settings: Settings, agent: str) -> JsonObject:
    """What is known of the project without anybody having written it down. It holds still from turn
    to turn: where the chain stands is told elsewhere.
    """
    home, _, persona = agent.rpartition("/")
    routes = {route.name: route.model for route in settings.every_route()}
    return {
        "home": home,
        "persona": persona,
        "routes": routes,
        "rules": settings.model.status.profile,
    }


def read_project(folder: StatusFolder, settings: Settings, agent: str) -> JsonObject:
    """The owner's `project_awareness.json`, or what is known without it."""
    return read_context(folder, "project_awareness") or project_facts(settings, agent)


def read_context(folder: StatusFolder, name: ContextName) -> JsonObject:
    """The object in `<name>.json` of the folder; an empty one when there is no such file."""
    file = f"{name}.json"
    if not os.path.lexists(folder.path / file):
        return {}
    try:
        with opened_folder(folder.path) as opened:
            snapshot = take_snapshot(opened, file, max_bytes=MAX_BYTES, owners={user_id()})
        return read_strict_object(snapshot.content)
    except Changing as error:
        raise BadInput(f"{file} is being written just now", hint="ask again") from error
    except NotCanonical as error:
        message = f"{file}: {error.message}"
        raise BadInput(message, hint=error.hint or "correct the file") from error

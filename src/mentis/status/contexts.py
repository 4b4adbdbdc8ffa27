"""Two JSON objects beside a persona's drafts: the owner wants every window to carry them."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from mentis.errors import BadInput, NotCanonical
from mentis.ledger.canon import MAX_BYTES
from mentis.ledger.channel.folder import StatusFolder
from mentis.ledger.channel.intake import Changing, opened_folder, take_snapshot
from mentis.ledger.strict_json import read_strict_object
from mentis.values.json import JsonObject

ContextName: TypeAlias = Literal["persistent_context", "project_awareness"]


def read_context(folder: StatusFolder, name: ContextName) -> JsonObject:
    """The object in `<name>.json` of the folder; an empty one when there is no such file."""
    file = f"{name}.json"
    if not os.path.lexists(folder.path / file):
        return {}
    try:
        with opened_folder(folder.path) as opened:
            snapshot = take_snapshot(opened, file, max_bytes=MAX_BYTES, owners={os.geteuid()})
        return read_strict_object(snapshot.content)
    except Changing as error:
        raise BadInput(f"{file} is being written just now", hint="ask again") from error
    except NotCanonical as error:
        message = f"{file}: {error.message}"
        raise BadInput(message, hint=error.hint or "correct the file") from error

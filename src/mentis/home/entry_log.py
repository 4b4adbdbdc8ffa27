"""A line in the log for every entry that was recorded: which, whose, in which talk; never what."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import cast

from mentis.values.entry import Entry

_LOG = logging.getLogger("mentis.record")


def log_entries(agent: str, made: Sequence[Entry]) -> None:
    """Nothing is even looked at where nobody listens."""
    if not _LOG.isEnabledFor(logging.INFO):
        return
    for entry in made:
        facts: dict[str, object] = {"agent": agent, "persona": agent.rpartition("/")[2]}
        if session := _session(entry):
            facts["session"] = session
        facts |= {"entry": entry.index, "kind": entry.kind, "source": entry.source}
        extra = {"event": "entry_recorded", "facts": facts}
        _LOG.info("entry %d of %s", entry.index, agent, extra=extra)


def _session(entry: Entry) -> str:
    turn = entry.body.get("turn")
    found = cast("Mapping[str, object]", turn).get("session") if isinstance(turn, Mapping) else ""
    return found if isinstance(found, str) else ""

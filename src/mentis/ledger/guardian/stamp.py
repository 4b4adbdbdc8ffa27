"""Writes into a draft what only the ledger can know, and says what the draft had made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mentis.values.json import JsonObject
from mentis.values.window import TIME_PREFIX, StampedWindow

from .reading import object_at
from .rules_stamped import attempts


def stamp_window(
    draft: JsonObject,
    *,
    time: str,
    prev: str | None,
    digest: Callable[[JsonObject], str],
    place: Mapping[str, str] | None = None,
) -> StampedWindow:
    """The draft with the time of its entry, its predecessor and its hash; the draft stays as it is.

    `place` is the step and the cycle to write into it, where the ledger's are not the draft's.

    `time` is an ISO text with its zone, exactly as the entry has it. `digest` is given the stamped
    window without its `window_hash` and returns 64 lower-case hex digits: the recipe decides how.
    """
    window: dict[str, object] = {
        **{name: value for name, value in draft.items() if name != "window_hash"},
        **(place or {}),
        "time_source": f"{TIME_PREFIX}{time}",
        "prev_window_hash": prev,
        "mcp_trigger": {**object_at(draft, "mcp_trigger"), "timestamp": time},
    }
    final = digest(window)
    return StampedWindow({**window, "window_hash": final}, time, prev, final, attempts(draft))

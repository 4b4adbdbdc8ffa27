"""Holds what a server declares against what was trusted before. A changed description counts too:
it is what the model is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from mentis.act.registry import spec_digest
from mentis.values.act import ActSpec
from mentis.values.digest import Digest
from mentis.values.entry import Entry
from mentis.values.json import JsonObject

from .declared import FirstUse
from .told import PinChange

PIN = "pin"  # of the marks that say which definitions are trusted
KIND = "tool"  # of the entries that say so


def compare(
    specs: Sequence[ActSpec], pins: Mapping[str, Digest], first_use: FirstUse
) -> tuple[PinChange, ...]:
    """One for each definition that is not the trusted one."""
    changes: list[PinChange] = []
    for spec in specs:
        name, found = spec.name, spec_digest(spec)
        known = pins.get(name)
        if known == found:
            continue
        verdict = "changed" if known else "pinned" if first_use == "pin" else "asked"
        changes.append(PinChange(spec.source, name, found, verdict, known or ""))
    return tuple(changes)


def reason_of(change: PinChange) -> str:
    """Why it is not done as it stands; "" when it may be."""
    match change.verdict:
        case "pinned":
            return ""
        case "asked":
            return f"nobody has approved of {change.name} yet ({change.digest})"
        case "changed":
            return (
                f"the definition of {change.name} is not the one that was trusted: it was"
                f" {change.before} and is {change.digest} now"
            )


def granted_digest(entry: Entry) -> tuple[str, Digest]:
    """The tool, and which definition of it is trusted by this entry; "" for neither."""
    told = entry.body.get("tool")
    tool = cast("JsonObject", told if isinstance(told, Mapping) else {})
    if tool.get("verdict") not in ("pinned", "approved"):
        return "", ""
    return str(tool.get("name") or ""), str(tool.get("digest") or "")

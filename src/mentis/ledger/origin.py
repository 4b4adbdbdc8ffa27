"""Recipe `s2-v4`: the status histories of the origin system, taken over bit for bit.

Each entry of such a history becomes the body of an `import` entry of ours: `link` says what it
hangs on, `original` holds the exact text that was hashed, and its salt. A canonical form would not
do: 1.0 and 1 are one number to JSON, and two hashes to the origin.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mentis.errors import HistoryBroken
from mentis.values.entry import Draft, Entry
from mentis.values.json import JsonObject
from mentis.values.value import Value

from .strict_json import read_strict

RECIPE = "s2-v4"
KIND = "import"
MAX_HISTORY = 256 * 1024 * 1024
_ALGORITHM = "without_window_hash"
_NEEDED = ("timestamp", "salt", "window_hash")


@dataclass(frozen=True, slots=True)
class OriginHistory(Value):
    """A history that verified. `begins_after` is the hash of an entry it does not hold."""

    drafts: tuple[Draft, ...]
    begins_after: str | None
    head: str | None


def window_text(window: Mapping[str, object]) -> str:
    """The text the origin hashes: without its own hash, keys sorted, nothing escaped."""
    rest = {name: value for name, value in window.items() if name != "window_hash"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def hash_window(text: str, timestamp: str, salt: str) -> str:
    return hashlib.sha256(f"{text}|{timestamp}|{salt}".encode()).hexdigest()


def import_history(data: bytes) -> OriginHistory:
    """Read and verify a history file, also in its bare list form; the drafts to append, in order.

    Each draft's delivery is named after its hash, so that what is known already can be told.
    """
    entries = _entries(read_strict(data, max_bytes=MAX_HISTORY))
    drafts: list[Draft] = []
    last: str | None = None
    for place, entry in enumerate(entries):
        window = _window(place, entry)
        prev = window.get("prev_window_hash")
        if place and prev != last:
            raise _broken(place, "prev_window_hash", f"expected {last!r}, got {prev!r}")
        drafts.append(_draft(place, entry, window))
        last = cast("str", entry["window_hash"])
    first = _window(0, entries[0]).get("prev_window_hash") if entries else None
    return OriginHistory(tuple(drafts), cast("str | None", first), last)


def fresh_drafts(history: OriginHistory, known: Callable[[str], bool]) -> tuple[Draft, ...]:
    """The drafts that are not in the ledger yet; the first of each run says that it begins one."""
    fresh: list[Draft] = []
    begins = True
    for draft in history.drafts:
        if known(str(draft.delivery)):
            begins = True
            continue
        fresh.append(_begin(draft) if begins else draft)
        begins = False
    return tuple(fresh)


def _begin(draft: Draft) -> Draft:
    link = {**cast("JsonObject", draft.body["link"]), "begins": True}
    return replace(draft, body={**draft.body, "link": link})


def window_of(entry: Entry) -> JsonObject | None:
    """The status window an entry carries, its own or an imported one; None when it has none."""
    window = entry.body.get("window")
    if isinstance(window, Mapping):
        return cast("JsonObject", window)
    original = entry.body.get("original")
    if entry.kind != KIND or not isinstance(original, Mapping):
        return None
    text = _parsed(str(cast("JsonObject", original).get("text")))
    return None if text is None else {**text, "window_hash": linked_hash(entry)}


def check_import(entry: Entry, before: str | None) -> Iterator[str]:
    """What does not hold in an `import` entry.

    `before` is the origin's hash of the one before; None when there is none or it was erased.
    """
    link, original = entry.body.get("link"), entry.body.get("original")
    if not isinstance(link, Mapping):
        return
    told = cast("JsonObject", link)
    if told.get("recipe") != RECIPE:
        yield f"unknown recipe {told.get('recipe')!r}"
        return
    prev = told.get("prev")
    if before is not None and not told.get("begins") and prev != before:
        yield f"the origin's chain breaks: expected {before!r}, got {prev!r}"
    if isinstance(original, Mapping):
        yield from _check_original(told, cast("JsonObject", original))


def linked_hash(entry: Entry) -> str | None:
    """The origin's hash of an imported entry."""
    link = entry.body.get("link")
    value = cast("JsonObject", link).get("hash") if isinstance(link, Mapping) else None
    return value if isinstance(value, str) else None


def _check_original(link: JsonObject, original: JsonObject) -> Iterator[str]:
    text, salt = str(original.get("text")), str(original.get("salt"))
    derived = hash_window(text, str(link.get("timestamp")), salt)
    if derived != link.get("hash"):
        yield f"the origin's hash: expected {link.get('hash')!r}, got {derived!r}"
        return
    window = _parsed(text)
    if window is None:
        yield "the origin's text is not a JSON object"
        return
    prev = window.get("prev_window_hash")
    if prev != link.get("prev"):
        yield f"the origin's link: expected {prev!r}, got {link.get('prev')!r}"


def _parsed(text: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _entries(value: object) -> Sequence[Mapping[str, object]]:
    listed = cast("JsonObject", value).get("entries") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise HistoryBroken(
            "this is not a status history: it has no list of entries",
            hint="give the origin's status_window_history.json, or the bare list of its entries",
        )
    entries = cast("list[object]", listed)
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise _broken(place, "", "it is not an object")
    return cast("list[Mapping[str, object]]", entries)


def _window(place: int, entry: Mapping[str, object]) -> Mapping[str, object]:
    window = entry.get("status_window")
    if not isinstance(window, dict):
        raise _broken(place, "status_window", "it is missing or not an object")
    return cast("Mapping[str, object]", window)


def _draft(place: int, entry: Mapping[str, object], window: Mapping[str, object]) -> Draft:
    for name in _NEEDED:
        if not isinstance(entry.get(name), str):
            raise _broken(place, name, "it is missing or not a text")
    timestamp, salt, expected = (cast("str", entry[name]) for name in _NEEDED)
    _check_algorithm(place, entry)
    text = window_text(window)
    derived = hash_window(text, timestamp, salt)
    if derived != expected:
        raise _broken(place, "window_hash", f"expected {derived!r}, got {expected!r}")
    if window.get("window_hash", expected) != expected:
        raise _broken(place, "status_window", f"it names another hash than {expected!r}")
    link = {
        "recipe": RECIPE,
        "index": entry.get("entry_index"),
        "timestamp": timestamp,
        "source": entry.get("source"),
        "prev": window.get("prev_window_hash"),
        "hash": expected,
        "begins": place == 0,
    }
    original = {"text": text, "salt": salt, "metadata": entry.get("metadata", {})}
    body = {"link": link, "original": original}
    return Draft(KIND, "import", body, delivery=f"{RECIPE}/{expected}")


def _check_algorithm(place: int, entry: Mapping[str, object]) -> None:
    algorithm = entry.get("hash_algo")
    if algorithm is not None and _ALGORITHM not in str(algorithm):
        raise _broken(place, "hash_algo", f"{algorithm!r} is not the recipe {RECIPE}")


def _broken(place: int, column: str, reason: str) -> HistoryBroken:
    return HistoryBroken(
        f"entry {place} of the history does not verify, column `{column}`: {reason}",
        hint="nothing was imported; entries are counted from 0",
        index=place,
        column=column,
        reason=reason,
    )

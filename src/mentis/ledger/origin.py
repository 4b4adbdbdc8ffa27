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

from mentis.codec.strict_json import read_strict
from mentis.errors import HistoryBroken
from mentis.values.entry import Draft, Entry
from mentis.values.json import JsonObject
from mentis.values.value import Value

RECIPE = "s2-v4"
LEGACY = "s2-legacy"  # older recipes of the origin: taken over as they are, and marked unverified
KIND = "import"
MAX_HISTORY = 256 * 1024 * 1024
_ALGORITHM = "without_window_hash"
_NEEDED = ("timestamp", "salt", "window_hash")


@dataclass(frozen=True, slots=True)
class OriginHistory(Value):
    """A history that was read. `begins_after` is the hash of an entry it does not hold,
    `unverified` how many entries have a hash that cannot be derived.
    """

    drafts: tuple[Draft, ...]
    begins_after: str | None
    head: str | None
    unverified: int = 0


@dataclass(frozen=True, slots=True)
class OriginPlace(Value):
    """Where and when an imported window was recorded first, as the origin's entry says.

    `verified`: its hash was derived from its text when it was imported.
    """

    index: int | None
    timestamp: str | None
    source: str | None
    verified: bool


def window_text(window: Mapping[str, object]) -> str:
    """The text the origin hashes: without its own hash, keys sorted, nothing escaped."""
    rest = {name: value for name, value in window.items() if name != "window_hash"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def hash_window(text: str, timestamp: str, salt: str) -> str:
    return hashlib.sha256(f"{text}|{timestamp}|{salt}".encode()).hexdigest()


def import_history(data: bytes, *, legacy: bool = False) -> OriginHistory:
    """Read and verify a history file, also in its bare list form; the drafts to append, in order.

    Each draft's delivery is named after its hash, so that what is known already can be told. With
    `legacy` an entry that does not verify is taken all the same, marked as unverified with the
    reason: older programs of the origin hashed in ways that cannot be done again.
    """
    entries = _entries(read_strict(data, max_bytes=MAX_HISTORY))
    drafts: list[Draft] = []
    last: str | None = None
    unverified = 0
    for place, entry in enumerate(entries):
        window = _window(place, entry)
        try:
            draft = _verified(place, entry, window, last)
        except HistoryBroken as broken:
            if not legacy:
                raise
            unverified += 1
            draft = _unverified(entry, window, str(broken.facts["reason"]))
        drafts.append(draft)
        stored = entry.get("window_hash")
        last = stored if isinstance(stored, str) else None
    first = _window(0, entries[0]).get("prev_window_hash") if entries else None
    begins = first if isinstance(first, str) else None
    return OriginHistory(tuple(drafts), begins, last, unverified)


def _verified(
    place: int, entry: Mapping[str, object], window: Mapping[str, object], last: str | None
) -> Draft:
    prev = window.get("prev_window_hash")
    if place and prev != last:
        raise _broken(place, "prev_window_hash", f"expected {last!r}, got {prev!r}")
    return _draft(place, entry, window)


def _unverified(entry: Mapping[str, object], window: Mapping[str, object], reason: str) -> Draft:
    text = json.dumps(window, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    whole = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    link = {
        "recipe": LEGACY,
        "index": entry.get("entry_index"),
        "timestamp": entry.get("timestamp"),
        "source": entry.get("source"),
        "prev": window.get("prev_window_hash"),
        "hash": entry.get("window_hash"),
        "begins": True,
        "verified": False,
        "reason": reason,
    }
    original = {"text": text, "salt": entry.get("salt"), "metadata": entry.get("metadata", {})}
    named = hashlib.sha256(whole.encode()).hexdigest()
    body = {"link": link, "original": original}
    return Draft(KIND, "import", body, delivery=f"{LEGACY}/{named}")


def origin_place(entry: Entry) -> OriginPlace | None:
    """Where an imported window comes from; None for an entry that is no import, or is erased."""
    link = entry.body.get("link")
    if entry.kind != KIND or not isinstance(link, Mapping):
        return None
    told = cast("JsonObject", link)
    index, time, source = told.get("index"), told.get("timestamp"), told.get("source")
    return OriginPlace(
        index if isinstance(index, int) else None,
        time if isinstance(time, str) else None,
        source if isinstance(source, str) else None,
        told.get("recipe") == RECIPE,
    )


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
    if text is None:
        return None
    return {**text, "window_hash": linked_hash(entry) or text.get("window_hash")}


def check_import(entry: Entry, before: str | None) -> Iterator[str]:
    """What does not hold in an `import` entry.

    `before` is the origin's hash of the one before; None when there is none or it was erased.
    """
    link, original = entry.body.get("link"), entry.body.get("original")
    if not isinstance(link, Mapping):
        return
    told = cast("JsonObject", link)
    if told.get("recipe") == LEGACY and told.get("verified") is False:
        return  # nothing was claimed of it
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
        hint="nothing was imported; entries are counted from 0. `--legacy` takes what does not"
        " verify as unverified",
        index=place,
        column=column,
        reason=reason,
    )

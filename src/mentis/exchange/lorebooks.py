"""Lorebooks in the dialects of several programs, as entries of one kind. docs/design/formats.md.

What has no place in an entry of ours is named in `losses` of the entry; keys that are patterns are
never run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from mentis.errors import BadInput
from mentis.values.json import JsonObject
from mentis.values.keywords import Keywords, SecondaryLogic
from mentis.values.value import Value

Dialect: TypeAlias = Literal[
    "SillyTavern", "character book", "lorebook V3", "NovelAI", "Agnai", "Risu"
]
_MOST_ENTRIES = 20_000
_PATTERN = re.compile(r"/.*/[a-z]*", re.DOTALL)
_DECORATOR = re.compile(r"@@(@?)(\w+)[ \t]*(.*)")
_LOGIC: Sequence[SecondaryLogic] = ("any", "not_all", "none", "all")  # by number
_HINT = "export the lorebook anew"
# Fields of SillyTavern that do something which is not done here, and what that is.
_NOT_DONE: Mapping[str, str] = {
    "vectorized": "found by meaning there, by its keys here",
    "group": "of a group one is told there; here each that is brought up",
    "delayUntilRecursion": "woken by entries alone there; here by messages, too",
    "ignoreBudget": "the budget counts for it here",
    "matchPersonaDescription": "keys are looked for in messages alone",
    "matchCharacterDescription": "keys are looked for in messages alone",
    "matchCharacterPersonality": "keys are looked for in messages alone",
    "matchScenario": "keys are looked for in messages alone",
    "characterFilter": "not kept apart by character",
    "triggers": "told whatever brought the answer about",
}


@dataclass(frozen=True, slots=True)
class LoreEntry(Value):
    """`constant` entries are always told, `before` the persona or after it."""

    name: str
    content: str
    keywords: Keywords
    constant: bool = False
    enabled: bool = True
    before: bool = True
    order: float = 100
    priority: int = 0
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lorebook(Value):
    dialect: Dialect
    name: str
    entries: tuple[LoreEntry, ...]
    description: str = ""


def lorebook_dialect(document: object) -> Dialect | None:
    """Which dialect a JSON document is in; None where it is no lorebook."""
    if not isinstance(document, Mapping):
        return None
    members = cast("JsonObject", document)
    entries, data = members.get("entries"), members.get("data")
    listed = isinstance(entries, list)
    found: Mapping[Dialect, bool] = {
        "lorebook V3": members.get("spec") == "lorebook_v3" and isinstance(data, Mapping),
        "Risu": members.get("type") == "risu" and isinstance(data, list),
        "SillyTavern": isinstance(entries, Mapping),
        "NovelAI": listed and "lorebookVersion" in members,
        "Agnai": listed and members.get("kind") == "memory",
        "character book": listed,
    }
    return next((dialect for dialect, holds in found.items() if holds), None)


def lorebook_rows(document: JsonObject) -> tuple[Dialect, JsonObject, Sequence[object]]:
    """The dialect, the book itself, and its entries as they stand."""
    dialect = lorebook_dialect(document)
    if dialect is None:
        raise BadInput("it holds no lorebook", hint=_HINT)
    book = _object(document.get("data")) if dialect == "lorebook V3" else document
    held = book.get("data") if dialect == "Risu" else book.get("entries")
    if isinstance(held, Mapping):
        held = list(cast("JsonObject", held).values())
    if not isinstance(held, list):
        raise BadInput("the lorebook has no entries", hint=_HINT)
    rows = cast("Sequence[object]", held)
    if len(rows) > _MOST_ENTRIES:
        raise BadInput(f"the lorebook has more than {_MOST_ENTRIES} entries", hint="split it")
    return dialect, book, rows


def read_lorebook(document: JsonObject, name: str = "") -> Lorebook:
    """The lorebook that a document holds; BadInput where it holds none."""
    dialect, book, rows = lorebook_rows(document)
    called = _text(book, "name") or name or "Lorebook"
    whole = Keywords(
        (),
        book=called,
        scan_depth=_whole(book, "scan_depth", 2, least=1),
        budget=_whole(book, "token_budget", 0),
        wakes=book.get("recursive_scanning") is not False,
        woken=book.get("recursive_scanning") is not False,
    )
    entries = tuple(
        _entry(dialect, _object(row), whole, number) for number, row in enumerate(rows, 1)
    )
    return Lorebook(dialect, called, entries, _text(book, "description"))


def _entry(dialect: Dialect, row: JsonObject, book: Keywords, number: int) -> LoreEntry:
    match dialect:
        case "SillyTavern":
            made = _of_tavern(row, book)
        case "character book" | "lorebook V3":
            made = _of_card(row, book)
        case "NovelAI":
            settings = _object(row.get("contextConfig"))
            words = replace(book, keys=_texts(row, "keys"))
            made = LoreEntry(
                _text(row, "displayName"),
                _text(row, "text"),
                words,
                constant=row.get("forceActivation") is True,
                order=_number(settings, "budgetPriority", 0),
            )
        case "Agnai":
            words = replace(book, keys=_texts(row, "keywords"))
            made = LoreEntry(
                _text(row, "name"),
                _text(row, "entry"),
                words,
                order=_number(row, "weight", 0),
                priority=_whole(row, "priority", 0),
            )
        case "Risu":
            made = _of_risu(row, book)
    if dialect in ("NovelAI", "Agnai"):
        made = replace(made, enabled=row.get("enabled") is not False)
    made = replace(made, name=made.name.strip() or f"{book.book} {number}")
    return _without_patterns(_without_decorators(made), all_of=row.get("use_regex") is True)


def _of_tavern(row: JsonObject, book: Keywords) -> LoreEntry:
    lost = [f"{name}: {why}" for name, why in _NOT_DONE.items() if _does_something(row.get(name))]
    position = _whole(row, "position", 0)
    if position > 1:
        lost.append("position: told where it is brought up, not at a place of its own")
    whole_words, cased = row.get("matchWholeWords"), row.get("caseSensitive")
    selective = row.get("selective") is not False
    words = replace(
        book,
        keys=_texts(row, "key"),
        secondary=_texts(row, "keysecondary") if selective else (),
        logic=_LOGIC[min(_whole(row, "selectiveLogic", 0), 3)],
        whole_words=book.whole_words if whole_words is None else whole_words is True,
        case_sensitive=cased is True,
        scan_depth=_whole(row, "scanDepth", book.scan_depth, least=1),
        sticky=_whole(row, "sticky", 0),
        cooldown=_whole(row, "cooldown", 0),
        delay=_whole(row, "delay", 0),
        probability=_percent(row),
        woken=book.woken and row.get("excludeRecursion") is not True,
        wakes=book.wakes and row.get("preventRecursion") is not True,
        depth=_whole(row, "depth", 4),
    )
    return LoreEntry(
        _text(row, "comment"),
        _text(row, "content"),
        words,
        constant=row.get("constant") is True,
        enabled=row.get("disable") is not True,
        before=position == 0,
        order=_number(row, "order", 100),
        losses=tuple(lost),
    )


def world_row(entry: LoreEntry, number: int) -> JsonObject:
    """An entry as SillyTavern keeps it in a file of its own."""
    words = entry.keywords
    return {
        "uid": number,
        "key": list(words.keys),
        "keysecondary": list(words.secondary),
        "comment": entry.name,
        "content": entry.content,
        "constant": entry.constant,
        "vectorized": False,
        "selective": bool(words.secondary),
        "selectiveLogic": _LOGIC.index(words.logic),
        "addMemo": True,
        "order": entry.order,
        "position": 0 if entry.before else 1,
        "disable": not entry.enabled,
        "excludeRecursion": not words.woken,
        "preventRecursion": not words.wakes,
        "probability": words.probability,
        "useProbability": True,
        "depth": words.depth,
        "scanDepth": words.scan_depth,
        "caseSensitive": words.case_sensitive,
        "matchWholeWords": words.whole_words,
        "sticky": words.sticky,
        "cooldown": words.cooldown,
        "delay": words.delay,
        "displayIndex": number,
    }


def card_row(entry: LoreEntry, number: int) -> JsonObject:
    """An entry as a card has it, with what SillyTavern keeps beside it."""
    row = world_row(entry, number)
    theirs = {name: own for own, name in _EXTENSIONS.items()}
    taken = ("uid", "key", "keysecondary", "comment", "content", "constant", "order", "disable")
    more = {theirs.get(name, name): value for name, value in row.items() if name not in taken}
    return {
        "id": number,
        "keys": row["key"],
        "secondary_keys": row["keysecondary"],
        "name": entry.name,
        "comment": entry.name,
        "content": entry.content,
        "constant": entry.constant,
        "selective": row["selective"],
        "insertion_order": entry.order,
        "enabled": entry.enabled,
        "position": "before_char" if entry.before else "after_char",
        "use_regex": False,
        "case_sensitive": entry.keywords.case_sensitive,
        "priority": entry.priority,
        "extensions": {name: value for name, value in more.items() if name != "selective"},
    }


# What SillyTavern keeps of an entry in the `extensions` of a card, by its own names.
_EXTENSIONS: Mapping[str, str] = {
    "match_whole_words": "matchWholeWords",
    "case_sensitive": "caseSensitive",
    "scan_depth": "scanDepth",
    "exclude_recursion": "excludeRecursion",
    "prevent_recursion": "preventRecursion",
    "delay_until_recursion": "delayUntilRecursion",
}


def _of_card(row: JsonObject, book: Keywords) -> LoreEntry:
    """An entry of a card, with what SillyTavern keeps in its extensions."""
    more = {_EXTENSIONS.get(k, k): value for k, value in _object(row.get("extensions")).items()}
    more = {name: value for name, value in more.items() if value is not None}
    same: JsonObject = {
        "caseSensitive": row.get("case_sensitive"),
        **more,
        "key": row.get("keys"),
        "keysecondary": row.get("secondary_keys"),
        "selective": row.get("selective") is True,
        "comment": row.get("name") or row.get("comment"),
        "content": row.get("content"),
        "constant": row.get("constant"),
        "disable": row.get("enabled") is False,
        "order": row.get("insertion_order"),
    }
    same.setdefault("position", 0 if row.get("position") == "before_char" else 1)
    return replace(_of_tavern(same, book), priority=_whole(row, "priority", 0))


def _of_risu(row: JsonObject, book: Keywords) -> LoreEntry:
    selective = row.get("selective") is True
    words = replace(
        book,
        keys=_parts(_text(row, "key")),
        secondary=_parts(_text(row, "secondkey")) if selective else (),
        probability=_whole(row, "activationPercent", 100),
    )
    return LoreEntry(
        _text(row, "comment"),
        _text(row, "content"),
        words,
        constant=row.get("alwaysActive") is True,
        order=_number(row, "insertorder", 100),
    )


def _without_decorators(entry: LoreEntry) -> LoreEntry:
    """Lines of V3 that begin with `@@`: done where we can, and named where we cannot."""
    lines = entry.content.split("\n")
    known = True
    while lines and (match := _DECORATOR.fullmatch(lines[0].strip())):
        lines.pop(0)
        if match[1] and known:
            continue  # it stands in for one that was done
        done = _decorated(entry, match[2], match[3].strip())
        known = done is not None
        lost = f"@@{match[2]}: not known here"
        entry = replace(entry, losses=(*entry.losses, lost)) if done is None else done
    return replace(entry, content="\n".join(lines).strip("\n"))


def _decorated(entry: LoreEntry, name: str, value: str) -> LoreEntry | None:
    words = entry.keywords
    number = min(int(value), 1000) if value.isdecimal() and len(value) < 9 else None
    match name:
        case "depth" if number is not None:
            words = replace(words, depth=number)
        case "scan_depth" if number:
            words = replace(words, scan_depth=number)
        case "additional_keys" if not words.secondary:
            words = replace(words, secondary=_parts(value))
        case "exclude_keys" if not words.secondary:
            words = replace(words, secondary=_parts(value), logic="none")
        case "activate":
            return replace(entry, constant=True)
        case "dont_activate":
            return replace(entry, enabled=entry.constant and entry.enabled)
        case _:
            return None
    return replace(entry, keywords=words)


def _without_patterns(entry: LoreEntry, *, all_of: bool) -> LoreEntry:
    """Keys that are patterns are not run; an entry that has no other is off."""
    words = entry.keywords
    keys = () if all_of else tuple(one for one in words.keys if not _PATTERN.fullmatch(one))
    secondary = tuple(one for one in words.secondary if not _PATTERN.fullmatch(one))
    if keys == words.keys and secondary == words.secondary:
        return entry
    lost = "keys that are patterns are never run"
    off = not keys and not entry.constant
    lost = f"{lost}; it has no other, and is switched off" if off else lost
    return replace(
        entry,
        keywords=replace(words, keys=keys, secondary=secondary),
        enabled=entry.enabled and not off,
        losses=(*entry.losses, lost),
    )


def _does_something(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(bool(one) for one in cast("JsonObject", value).values())
    return bool(value)


def _percent(row: JsonObject) -> int:
    given = row.get("useProbability") is not False
    return min(_whole(row, "probability", 100), 100) if given else 100


def _object(value: object) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput("a part of the lorebook is no object", hint=_HINT)
    return cast("JsonObject", value)


def _text(row: JsonObject, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _texts(row: JsonObject, name: str) -> tuple[str, ...]:
    value = row.get(name)
    if isinstance(value, str):
        return _parts(value)
    items = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return tuple(one.strip() for one in items if isinstance(one, str) and one.strip())


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _number(row: JsonObject, name: str, default: float) -> float:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    return max(-1e6, min(1e6, value))


def _whole(row: JsonObject, name: str, default: int, *, least: int = 0) -> int:
    value = _number(row, name, -1)
    return min(int(value), 1000 if "epth" in name else 1_000_000) if value >= least else default

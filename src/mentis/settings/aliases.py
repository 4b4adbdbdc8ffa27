"""Older names of settings, and of their values: they load for ever, and are never written.

The program that Mentis comes from called them so, and homes that were made with these names must
open. Whoever reads settings, and `mentis settings`, sees the name of now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

# The keys that lead to a setting; a key may itself hold a dot.
KeyPath: TypeAlias = tuple[str, ...]

OLDER_KEYS: Mapping[KeyPath, KeyPath] = {
    ("features", "cortexEnabled"): ("features", "persona_memory"),
    ("features", "experimentalMode"): ("features", "experimental_variant"),
    ("features", "nachgedankeEnabled"): ("features", "afterthoughts"),
}
OLDER_VALUES: Mapping[KeyPath, Mapping[str, str]] = {
    ("afterthought", "mode"): {"selten": "rare", "mittel": "medium", "hoch": "frequent"},
}


def current_key(key: KeyPath) -> KeyPath:
    """The name of now."""
    return OLDER_KEYS.get(key, key)


def current_name(name: str) -> str:
    """The same of a key as text, its steps parted by dots."""
    return next((".".join(now) for old, now in OLDER_KEYS.items() if ".".join(old) == name), name)


def older_keys(key: KeyPath) -> tuple[KeyPath, ...]:
    """The names that a setting had before."""
    return tuple(old for old, now in OLDER_KEYS.items() if now == key)


def current_value(key: KeyPath, value: object) -> object:
    """The value of now, of a setting by its name of now."""
    return OLDER_VALUES.get(key, {}).get(value, value) if isinstance(value, str) else value


def older_names(section: KeyPath) -> list[str]:
    """The last steps of the older keys in a section."""
    return [key[-1] for key in OLDER_KEYS if key[:-1] == section]


def move_older(data: dict[str, object]) -> tuple[dict[KeyPath, KeyPath], list[KeyPath]]:
    """Give the values in `data` their keys and words of now. Of each key that moved, how it was
    written; and those that stand there under both names with different values.
    """
    moved: dict[KeyPath, KeyPath] = {}
    clashes: list[KeyPath] = []
    for old, now in OLDER_KEYS.items():
        table = _section(data, old)
        if table is None or old[-1] not in table:
            continue
        value = table.pop(old[-1])
        # Keys move within their section: `test_an_alias_stays_in_its_section`.
        if table.setdefault(now[-1], value) != value:
            clashes.append(old)
        moved.setdefault(now, old)
    for key in OLDER_VALUES:
        table = _section(data, key)
        if table is not None and key[-1] in table:
            table[key[-1]] = current_value(key, table[key[-1]])
    return moved, clashes


def _section(data: dict[str, object], key: KeyPath) -> dict[str, object] | None:
    found: dict[str, object] | None = data
    for step in key[:-1]:
        inner = found.get(step) if found else None
        found = cast("dict[str, object]", inner) if isinstance(inner, dict) else None
    return found

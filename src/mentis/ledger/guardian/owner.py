"""Profiles an owner wrote, from the tables of `guardian.toml`: a shipped profile and what differs.

[profiles.mine]
base = "mentis"
block = ["S2-W-VERSIONS"]
off = ["S2-W-RESURRECT"]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import NoReturn, cast, get_args

from mentis.errors import SettingsError
from mentis.values.guardian import GuardianLimits, GuardianProfile, Level
from mentis.values.window import WindowType

from .profiles import DEFAULT, SETTLEMENTS, SHIPPED, find_profile
from .table import BY_ID

_LEVELS: tuple[Level, ...] = ("block", "warn", "off")
_KEYS = ("base", *_LEVELS, "types", "schema_versions", "settles", "limits")
_LIMITS = tuple(field.name for field in fields(GuardianLimits))
_TYPES: tuple[str, ...] = get_args(WindowType)
_WHOLE = ("planner_items", "fresh_seconds")


def read_profiles(tables: Mapping[str, object], *, file: str) -> dict[str, GuardianProfile]:
    """Every profile of the file. They are not proved yet: `activate` does that."""
    _refuse_others(tables, ("profiles",), file)
    profiles = tables.get("profiles", {})
    if not isinstance(profiles, Mapping):
        _refuse(file, "`profiles` is not a table", "write [profiles.NAME]")
    named = cast("Mapping[str, object]", profiles)
    return {name: _profile(name, table, f"{file}: {name}") for name, table in named.items()}


def _profile(name: str, table: object, where: str) -> GuardianProfile:
    if name in SHIPPED:
        _refuse(where, "a shipped profile has this name", "choose another one")
    if not isinstance(table, Mapping):
        _refuse(where, "it is not a table", f"write [profiles.{name}]")
    given = cast("Mapping[str, object]", table)
    _refuse_others(given, _KEYS, where)
    base = find_profile(_text(given.get("base", DEFAULT), f"{where}: base"))
    return replace(
        base,
        name=name,
        # What a shipped profile is excused for is excused there only.
        known=(),
        levels={**base.levels, **_levels(given, where)},
        types=_names(given, "types", where, known=_TYPES) or base.types,
        schema_versions=_names(given, "schema_versions", where) or base.schema_versions,
        settles=_names(given, "settles", where, known=tuple(SETTLEMENTS))
        if "settles" in given
        else base.settles,
        limits=_limits(base.limits, given.get("limits", {}), f"{where}: limits"),
    )


def _levels(given: Mapping[str, object], where: str) -> dict[str, Level]:
    levels: dict[str, Level] = {}
    for level in _LEVELS:
        for rule in _names(given, level, where, known=tuple(BY_ID)):
            if rule in levels:
                _refuse(where, f"{rule} has two levels", "keep one of them")
            if BY_ID[rule].stage == "commit" and level != "block":
                hint = "rules about kept windows always block: the record stands on them"
                _refuse(where, f"{rule} cannot be set to {level}", hint)
            if BY_ID[rule].kind == "model" and level == "block":
                _refuse(where, f"{rule} cannot block", "no program can judge it")
            levels[rule] = level
    return levels


def _limits(base: GuardianLimits, given: object, where: str) -> GuardianLimits:
    if not isinstance(given, Mapping):
        _refuse(where, "it is not a table", "write [profiles.NAME.limits]")
    numbers = cast("Mapping[str, object]", given)
    _refuse_others(numbers, _LIMITS, where)
    return replace(base, **{name: _number(name, numbers[name], where) for name in numbers})


def _number(name: str, value: object, where: str) -> float:
    whole = name in _WHOLE
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        _refuse(where, f"{name} is not a {'whole ' if whole else ''}number", "give a number")
    top = 10_000 if whole else 1
    if not math.isfinite(value) or not 0 <= value <= top:
        _refuse(where, f"{name} is {value}", f"give a number from 0 to {top}")
    return value if whole else float(value)


def _names(
    given: Mapping[str, object], key: str, where: str, *, known: tuple[str, ...] = ()
) -> tuple[str, ...]:
    value = given.get(key, [])
    if not isinstance(value, list):
        _refuse(where, f"{key} is not a list", f'write {key} = ["..."]')
    names = [_text(item, f"{where}: {key}") for item in cast("list[object]", value)]
    for name in names:
        if known and name not in known:
            _refuse(where, f"{key}: there is no {name!r}", _meant(name, known))
    return tuple(names)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        _refuse(where, "it is not a string", "write it in quotes")
    return value


def _refuse_others(given: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in known:
            _refuse(where, f"unknown key {key!r}", _meant(key, known))


def _meant(name: str, known: tuple[str, ...]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known[:12])}"


def _refuse(where: str, what: str, hint: str) -> NoReturn:
    raise SettingsError(f"{where}: {what}", hint=hint, where=where)

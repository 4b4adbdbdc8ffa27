"""Repairs: one key of a program's own settings, with the difference shown before, and undo.

Only keys that the program documents are written, and none that its owner has chosen already. What
was changed is noted in the user's configuration folder, so that it can be taken back and measured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mentis.disk.atomic import write_atomic
from mentis.disk.bounded import read_bounded
from mentis.errors import BadInput, StoreError
from mentis.stores.files.key_folder import config_folder
from mentis.values.json import JsonObject, json_object

from .claude_code import CLAUDE_CODE
from .places import claude_folder, codex_folder
from .report import LogFinding, SettingPatch

_MOST_BYTES = 4 * 1024 * 1024
_JOURNAL = "doctor.jsonl"
# Of these, one at most may be chosen.
_EITHER = (frozenset({"ENABLE_PROMPT_CACHING_1H", "FORCE_PROMPT_CACHING_5M"}),)


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """One key that is set. `before` None: it was not there. `diff` is that of the file."""

    finding: str
    program: str
    file: str
    key: tuple[str, ...]
    value: str | int
    before: str | int | None = None
    diff: str = ""
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """`left` says of what is not changed, why not."""

    changes: tuple[ProgramChange, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SettingsPlaces:
    """Where programs have their settings, and where changes are noted."""

    environ: Mapping[str, str]
    user: Path

    @staticmethod
    def usual() -> SettingsPlaces:
        return SettingsPlaces(os.environ, Path.home())

    def file(self, patch: SettingPatch) -> Path:
        folder = claude_folder if patch.program == CLAUDE_CODE else codex_folder
        return folder(self.environ, self.user) / patch.file

    @property
    def journal(self) -> Path:
        return config_folder(self.environ) / _JOURNAL


def plan_repairs(findings: Iterable[LogFinding], places: SettingsPlaces) -> RepairPlan:
    """The changes that the findings name a patch for. Nothing is written."""
    changes, left = list[ProgramChange](), list[str]()
    texts: dict[Path, str] = {}
    for one in findings:
        patch = one.patch
        if patch is None or not one.saving:
            continue
        path, name = places.file(patch), ".".join(patch.key)
        if not path.parent.is_dir():
            left.append(f"{name}: there is no folder {path.parent}")
            continue
        text = texts.get(path, _text(path))
        there = _value_at(_parsed(path, text), patch.key)
        taken = _other_side(changes, _parsed(path, text), patch)
        if there is not None:
            left.append(f"{name}: is {there!r} in {path} already, and stays so")
        elif taken:
            left.append(f"{name}: does not go with {taken}")
        else:
            texts[path] = _with_value(path, text, patch.key, patch.value)
            diff = _diff(path, text, texts[path])
            changes.append(
                ProgramChange(one.id, patch.program, str(path), patch.key, patch.value, diff=diff)
            )
    return RepairPlan(tuple(changes), tuple(left))


def apply_repairs(plan: RepairPlan, places: SettingsPlaces, *, now: float) -> None:
    """Writes what was planned, and notes it. A file that changed since is read again."""
    for one in plan.changes:
        path = Path(one.file)
        text = _text(path)
        if _value_at(_parsed(path, text), one.key) is not None:
            raise BadInput(f"{'.'.join(one.key)} was set in {path} by somebody else meanwhile")
        _note(places, {**_plain(one), "time": now, "done": True})
        _write(path, _with_value(path, text, one.key, one.value))


def undo_repairs(places: SettingsPlaces, *, now: float) -> tuple[tuple[ProgramChange, ...], str]:
    """Takes back the newest changes, those that were made together; says what was left as it is."""
    changes = noted_changes(places)
    if not changes:
        raise BadInput("the doctor has changed nothing that could be taken back")
    newest = [one for one in changes if one.time == changes[-1].time]
    undone, left = list[ProgramChange](), list[str]()
    for one in reversed(newest):
        path = Path(one.file)
        text = _text(path)
        there = _value_at(_parsed(path, text), one.key)
        if there == one.value:
            _write(path, _without_value(path, text, one.key))
            undone.append(one)
        else:
            left.append(f"{'.'.join(one.key)} in {path} is not as it was left: it stays")
        _note(places, {**_plain(one), "time": one.time, "done": False, "undone": now})
    return tuple(undone), "; ".join(left)


def noted_changes(places: SettingsPlaces) -> tuple[ProgramChange, ...]:
    """Those that were made and not taken back, in order."""
    found: dict[tuple[str, tuple[str, ...], float], ProgramChange] = {}
    for told in _noted(places.journal):
        one = _change(told)
        if one is None:
            continue
        identity = one.file, one.key, one.time
        if told.get("done"):
            found[identity] = one
        else:
            found.pop(identity, None)
    return tuple(found.values())


def _write(path: Path, text: str) -> None:
    """Where a link leads to, and as open to others as it was: people keep settings elsewhere."""
    target = path.resolve()
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    write_atomic(target, text)
    if mode is not None:
        target.chmod(mode)


def _noted(journal: Path) -> Iterator[JsonObject]:
    if not journal.is_file():
        return
    for line in read_bounded(journal, _MOST_BYTES).splitlines():
        try:
            yield json_object(json.loads(line))
        except ValueError:
            continue  # half a line, of a write that was cut off


def _note(places: SettingsPlaces, told: JsonObject) -> None:
    journal = places.journal
    before = read_bounded(journal, _MOST_BYTES) if journal.is_file() else b""
    journal.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(journal, before + json.dumps(told).encode() + b"\n")


def _plain(one: ProgramChange) -> dict[str, object]:
    return {
        "finding": one.finding,
        "program": one.program,
        "file": one.file,
        "key": list(one.key),
        "value": one.value,
    }


def _change(told: JsonObject) -> ProgramChange | None:
    key, value, time = told.get("key"), told.get("value"), told.get("time")
    if not (isinstance(key, list) and isinstance(value, str | int)):
        return None
    if not isinstance(time, int | float):
        return None
    names = tuple(map(str, cast("list[object]", key)))
    finding, program = str(told.get("finding", "")), str(told.get("program", ""))
    return ProgramChange(finding, program, str(told.get("file", "")), names, value, time=time)


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        return read_bounded(path, _MOST_BYTES).decode()
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} is not UTF-8: it is left as it is") from error


def _parsed(path: Path, text: str) -> JsonObject:
    try:
        if path.suffix == ".toml":
            return cast("JsonObject", tomlkit.parse(text).unwrap())
        found: object = json.loads(text or "{}")
    except (ValueError, TOMLKitError) as error:
        raise StoreError(f"{path} cannot be read, and is left as it is: {error}") from error
    if not isinstance(found, dict):
        raise StoreError(f"{path} holds no JSON object, and is left as it is")
    return json_object(cast("object", found))


def _value_at(told: JsonObject, key: tuple[str, ...]) -> object:
    found: object = told
    for name in key:
        found = json_object(found).get(name)
    return found


def _other_side(changes: Iterable[ProgramChange], told: JsonObject, patch: SettingPatch) -> str:
    """The name of what must not be chosen together with it, where that is."""
    for names in _EITHER:
        if patch.key[-1] in names:
            others = names - {patch.key[-1]}
            planned = {one.key[-1] for one in changes}
            there = {n for n in others if _value_at(told, (*patch.key[:-1], n)) is not None}
            return ", ".join(sorted(others & planned | there))
    return ""


def _with_value(path: Path, text: str, key: tuple[str, ...], value: str | int) -> str:
    if path.suffix == ".toml":
        document = tomlkit.parse(text)
        document[key[0]] = value
        made = tomlkit.dumps(document)
        # A key of the root stands before the first table, whatever is there.
        at_root = tomlkit.parse(made).unwrap().get(key[0]) == value
        return made if at_root else f"{key[0]} = {json.dumps(value)}\n{text}"
    told = cast("dict[str, Any]", json.loads(text or "{}"))
    inner = told
    for name in key[:-1]:
        found: object = inner.setdefault(name, {})
        if not isinstance(found, dict):
            raise StoreError(f"{name} in {path} is no object: it is left as it is")
        inner = cast("dict[str, Any]", found)
    inner[key[-1]] = value
    return _dumped(told, text)


def _without_value(path: Path, text: str, key: tuple[str, ...]) -> str:
    if path.suffix == ".toml":
        document = tomlkit.parse(text)
        document.remove(key[0])
        return tomlkit.dumps(document)
    told = cast("dict[str, Any]", json.loads(text))
    inner = told
    for name in key[:-1]:
        inner = inner[name]
    del inner[key[-1]]
    if len(key) > 1 and not inner:
        del told[key[0]]
    return _dumped(told, text)


def _dumped(told: dict[str, Any], before: str) -> str:
    """With the indent that the file has."""
    second = before.split("\n")[1] if before.count("\n") > 1 else "  "
    indent = second[: len(second) - len(second.lstrip())] or "  "
    return json.dumps(told, ensure_ascii=False, indent=indent) + "\n"


def _diff(path: Path, before: str, after: str) -> str:
    lines = unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        str(path),
        str(path),
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

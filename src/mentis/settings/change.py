"""Sets one setting in mentis.toml, or takes it out: checked first, comments kept, undone as easily.

`edit` and `tables` change what a command owns; here the owner names any key there is.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mentis.codec.locate import locate
from mentis.codec.toml import parse_toml, read_text
from mentis.disk.atomic import write_atomic
from mentis.errors import SettingsError, UsageError

from .aliases import KeyPath, current_key, current_value, older_keys
from .settings import Setting, Settings, constants, leaves
from .sources import FILE, check_settings, load_settings

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_PLACE = re.compile(r"^.*?mentis\.toml:\d+:\d+: ")


@dataclass(frozen=True, slots=True)
class SettingChange:
    """`before` is what the file said, None where it said nothing; so is `after`. `overridden_by`
    names the environment variable that counts instead.
    """

    key: str
    before: object
    after: object
    overridden_by: str = ""


class HomeSettings:
    """The settings of one home, opened with `open_settings(path)`.

    ```python
    settings = open_settings("my-home")
    settings.set("routes.default.max_tokens", 64)
    settings.unset("routes.default.max_tokens")
    ```
    """

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._path = home / FILE
        self._home = home
        self._environ = environ

    def effective(self) -> list[Setting]:
        """Every setting with its value and where it comes from."""
        return load_settings(self._home, self._environ).effective()

    def set(self, key: str, value: object) -> SettingChange:
        """Write one setting; a value that does not fit is refused and nothing is written. An older
        name is written as the one of now.
        """
        key, path = _current(key)
        _check_turnable(key, path)
        text, before = self._read()
        document = _parsed(_renamed(text, path))
        _put(document, path, current_value(path, value), key)
        return self._write(key, path, before, document)

    def set_text(self, key: str, text: str) -> SettingChange:
        """As `set`, from words: a TOML value where they are one that fits, else a string."""
        try:
            value: object = tomllib.loads(f"x = {text}")["x"]
        except tomllib.TOMLDecodeError:
            return self.set(key, text)
        try:
            return self.set(key, value)
        except SettingsError:
            if isinstance(value, str):
                raise
            try:
                return self.set(key, text)
            except SettingsError:
                pass
            raise

    def unset(self, key: str) -> SettingChange:
        """Take one setting out of the file, so that its default counts."""
        key, path = _current(key)
        text, before = self._read()
        if _said(before, path) is None:
            raise UsageError(
                f"{self._path}: {key} is not set there",
                hint="`mentis settings` shows where each value comes from",
            )
        document = _parsed(text)
        for name in (path, *older_keys(path)):
            if _at(before, name) is not None:
                _take_out(document, name)
        return self._write(key, path, before, document)

    def _read(self) -> tuple[str, dict[str, object]]:
        text = read_text(self._path, error=SettingsError)
        return text, parse_toml(text, str(self._path), error=SettingsError)

    def _write(
        self, key: str, path: KeyPath, before: Mapping[str, object], document: TOMLDocument
    ) -> SettingChange:
        text = document.as_string()
        after = tomllib.loads(text)
        if _others(after, path) != _others(before, path):
            raise SettingsError(
                f"{self._path} is written in a way that cannot be changed for you",
                hint=f"change {key} there by hand",
            )
        settings = self._checked(key, text)
        write_atomic(self._path, text)
        variable = settings.origins.get(path, "").partition("environment ")[2]
        return SettingChange(key, _said(before, path), _at(after, path), variable)

    def _checked(self, key: str, text: str) -> Settings:
        try:
            settings = check_settings(text, self._path, self._environ)
            settings.effective()  # routes that lead nowhere
        except SettingsError as fault:
            said = _PLACE.sub("", fault.message)
            raise SettingsError(f"{key} was not changed: {said}", hint=fault.hint) from fault
        return settings


def open_settings(path: str | Path, environ: Mapping[str, str] | None = None) -> HomeSettings:
    """The settings of the home at `path`, to look at and to change."""
    return HomeSettings(Path(path), os.environ if environ is None else environ)


def _key_path(key: str) -> KeyPath:
    """The steps of `routes.default.model`; a step with a dot in it is quoted."""
    try:
        found = list(leaves(tomllib.loads(f"{key} = 0")))
    except tomllib.TOMLDecodeError:
        found = []
    if len(found) != 1 or "\n" in key:
        hint = "name it as `mentis settings` does, such as routes.default.model"
        raise UsageError(f"{key!r} is no key of a setting", hint=hint)
    return found[0][0]


def _current(key: str) -> tuple[str, KeyPath]:
    """The name of now, as text and as steps."""
    path = _key_path(key)
    now = current_key(path)
    return (key, path) if now == path else (".".join(now), now)


def _check_turnable(key: str, path: KeyPath) -> None:
    if (constant := constants().get(path)) is not None:
        raise SettingsError(
            f"{key} was not changed: it is no setting any more, and always {constant.value}",
            hint=constant.reason,
        )


def _said(data: Mapping[str, object], path: KeyPath) -> object:
    """What the file says, under whichever name."""
    found = (_at(data, name) for name in (path, *older_keys(path)))
    return next((value for value in found if value is not None), None)


def _parsed(text: str) -> TOMLDocument:
    import tomlkit

    return tomlkit.parse(text)


def _put(document: TOMLDocument, path: KeyPath, value: object, key: str) -> None:
    import tomlkit

    table = cast("dict[str, object]", document)
    for step in path[:-1]:
        inner = table.get(step)
        if inner is None:
            table[step] = tomlkit.table()
            inner = table[step]
        if not isinstance(inner, dict):
            raise SettingsError(f"{key} was not changed: {step!r} is not a section")
        table = cast("dict[str, object]", inner)
    try:
        table[path[-1]] = value
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{key} was not changed: TOML cannot say {value!r}") from error


def _renamed(text: str, path: KeyPath) -> str:
    """The file with the name of now where an older one stands; everything else is as it was."""
    for old in older_keys(path):
        data = tomllib.loads(text)
        if _at(data, old) is None:
            continue
        if _at(data, path) is not None:
            document = _parsed(text)
            _take_out(document, old)
            text = document.as_string()
            continue
        line, column = locate(text, old, "toml", key=True)
        lines = text.splitlines(keepends=True)
        head, tail = lines[line - 1][: column - 1], lines[line - 1][column - 1 :]
        lines[line - 1] = head + tail.replace(old[-1], path[-1], 1)
        text = "".join(lines)
    return text


def _take_out(document: TOMLDocument, path: KeyPath) -> None:
    table = cast("dict[str, object]", document)
    for step in path[:-1]:
        table = cast("dict[str, object]", table[step])
    del table[path[-1]]


def _at(data: Mapping[str, object], path: KeyPath) -> object:
    found: object = data
    for step in path:
        found = cast("Mapping[str, object]", found).get(step) if isinstance(found, dict) else None
    return found


def _others(data: Mapping[str, object], path: KeyPath) -> dict[KeyPath, object]:
    """Every value but the one at this place, by whichever name, and those below it."""
    names = (path, *older_keys(path))
    return {
        key: value for key, value in leaves(data) if all(key[: len(name)] != name for name in names)
    }

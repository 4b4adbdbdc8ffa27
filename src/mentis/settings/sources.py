"""Where settings come from: mentis.toml, then the environment; every problem with its place."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mentis.codec.locate import locate, problem_at
from mentis.codec.strict_json import read_outside
from mentis.codec.toml import parse_toml, read_text
from mentis.disk.seen import SeenFile
from mentis.errors import BadInput, HomeTooNew, MentisError, SettingsError
from mentis.values.location import Location, Problem

from .acts import TOOL_NAME, TOOL_NAME_RULE
from .aliases import KeyPath, current_key, current_value, move_older, older_names
from .constant import RetiredSettingWarning, SettingNotice
from .settings import FORMAT, Settings, SettingsModel, constants, did_you_mean, leaves, names_in

FILE = "mentis.toml"
PREFIX = "MENTIS_"
# Variables with our prefix that are not settings: where things are, and how the program logs.
PLACES = frozenset(
    {"MENTIS_HOME", "MENTIS_CACHE", "MENTIS_CONFIG", "MENTIS_STATE", "MENTIS_LOG_FORMAT"}
)
# Variables without our prefix that set something, because they always have.
_OLDER: dict[str, KeyPath] = {"ENABLE_PROMPT_CACHING": ("features", "prompt_caching")}


Check: TypeAlias = Callable[[Settings], None]


def load_settings(home: Path | None, environ: Mapping[str, str]) -> Settings:
    """Read and check everything; every problem is reported, with the place it stands at."""
    path = home / FILE if home else None
    return _load(read_text(path, error=SettingsError) if path else "", path, environ)


def check_settings(text: str, path: Path, environ: Mapping[str, str]) -> Settings:
    """What a file of settings would amount to, before it is written."""
    return _load(text, path, environ)


class LiveSettings:
    """The settings of a home as they are now: the file is looked at each time it is asked for."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._path = home / FILE
        self._environ = dict(environ)
        self._file = SeenFile[str](self._path)
        self._text = self._read()
        self._settings = _load(self._text, self._path, self._environ)
        self._check: Check = _nothing

    @property
    def home(self) -> Path:
        return self._path.parent

    def hold_to(self, check: Check) -> None:
        """Refuse what this refuses, now and whenever the file is another one."""
        check(self._settings)
        self._check = check

    def current(self) -> tuple[Settings, MentisError | None]:
        """The settings; where the file went wrong since, the earlier ones and what is wrong."""
        try:
            text = self._read()
            if text != self._text:
                settings = _load(text, self._path, self._environ)
                self._check(settings)
                self._settings, self._text = settings, text
        except MentisError as fault:
            return self._settings, fault
        return self._settings, None

    def _read(self) -> str:
        return self._file.read(partial(read_text, self._path, error=SettingsError))


def _nothing(_settings: Settings) -> None:
    """Nobody knows more than the settings do."""


def _load(text: str, path: Path | None, environ: Mapping[str, str]) -> Settings:
    data = parse_toml(text, str(path), error=SettingsError)
    _check_format(data, path)
    written, clashes = move_older(data)
    if clashes:
        raise _two_names(clashes[0], str(path), text)
    origins = {key: _line(text, key, written.get(key, key)) for key, _ in leaves(data)}
    variables = _variables(environ)
    for key, (name, value) in variables.items():
        _put(data, key, value, name)
        origins[key] = f"environment {name}"
    _complete(data)
    notices = _take_out_constants(data, origins)
    try:
        model = SettingsModel.model_validate(data)
    except ValidationError as error:
        names = {key: name for key, (name, _) in variables.items()}
        raise _settings_error(error, text, path, WrittenKeys(names, written)) from None
    for notice in notices:
        # From one place, so that Python shows each once however often settings are loaded.
        warnings.warn(RetiredSettingWarning(notice), stacklevel=1)
    return Settings(model, origins, notices)


def _line(text: str, key: KeyPath, written: KeyPath) -> str:
    line = f"{FILE}:{locate(text, written, 'toml')[0]}"
    return line if key == written else f"{line} (as {written[-1]})"


def _two_names(old: KeyPath, file: str, text: str) -> SettingsError:
    lines = {key: locate(text, key, "toml", key=True)[0] for key in (old, current_key(old))}
    names = " and ".join(f"{'.'.join(key)} (line {line})" for key, line in lines.items())
    return SettingsError(
        f"{file}: {names} are one setting, with two values",
        hint=f"keep {'.'.join(current_key(old))}, and take the other line out",
    )


def _take_out_constants(
    data: dict[str, object], origins: dict[KeyPath, str]
) -> tuple[SettingNotice, ...]:
    """What is no setting any more is taken out of what was given, and told."""
    notices: list[SettingNotice] = []
    for key, constant in constants().items():
        section = data.get(key[0])
        table = cast("dict[str, object]", section) if isinstance(section, dict) else {}
        if key[1] in table:
            given, origin = table.pop(key[1]), origins.pop(key, FILE)
            notices.append(
                SettingNotice(".".join(key), origin, given, constant.value, constant.reason)
            )
    return tuple(notices)


def _check_format(data: Mapping[str, object], path: Path | None) -> None:
    """A newer format is said before anything else: its keys would all look unknown."""
    found = data.get("format", FORMAT)
    if isinstance(found, int) and found > FORMAT:
        raise HomeTooNew(
            f"{path}: this home has format {found}, and this Mentis knows {FORMAT}",
            hint="use the newer version of Mentis that made it",
            found=found,
            known=FORMAT,
        )


def _variables(environ: Mapping[str, str]) -> dict[KeyPath, tuple[str, str]]:
    """MENTIS_ROUTES__DEFAULT__MODEL=x becomes the key path (routes, default, model)."""
    chosen = {key: (name, environ[name]) for name, key in _OLDER.items() if name in environ}
    older: dict[KeyPath, tuple[str, str]] = {}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in PLACES:
            key = _spelled(tuple(name.removeprefix(PREFIX).lower().split("__")))
            there = chosen if current_key(key) == key else older
            there[current_key(key)] = (name, str(current_value(current_key(key), environ[name])))
    for key, (name, value) in older.items():
        first, said = chosen.setdefault(key, (name, value))
        if said != value:
            raise SettingsError(
                f"environment {name} and {first} are one setting, with two values",
                hint=f"keep {first}, and unset the other",
            )
    return chosen


def _spelled(key: KeyPath) -> KeyPath:
    """As the settings are spelled: a variable is all capitals, a setting need not be all small."""
    spelled: KeyPath = ()
    for step in key:
        known = {name.lower(): name for name in (*older_names(spelled), *names_in(spelled))}
        spelled = (*spelled, known.get(step, step))
    return spelled


def _put(data: dict[str, object], key: KeyPath, value: str, name: str) -> None:
    section = data
    for step in key[:-1]:
        inner = section.setdefault(step, {})
        if not isinstance(inner, dict):
            raise SettingsError(
                f"environment {name}: {step!r} is not a section", hint="see `mentis settings`"
            )
        section = cast("dict[str, object]", inner)
    section[key[-1]] = _listed(value)


def _listed(value: str) -> object:
    """A list is written as a JSON array; everything else is taken as it is."""
    if not value.startswith("["):
        return value
    try:
        return read_outside(value, what="a list")
    except BadInput:
        return value  # the check that follows names the variable and what it should hold


def _complete(data: dict[str, object]) -> None:
    """The route `default` is always there, whatever other routes were named."""
    routes = data.setdefault("routes", {})
    if isinstance(routes, dict):
        cast("dict[str, object]", routes).setdefault("default", {})


@dataclass(frozen=True, slots=True)
class WrittenKeys:
    """How keys were given: by variables, and by their older names in the file."""

    variables: Mapping[KeyPath, str]
    older: Mapping[KeyPath, KeyPath]


def _settings_error(
    error: ValidationError, text: str, path: Path | None, written: WrittenKeys
) -> SettingsError:
    found = (_problem(detail, text, path, written) for detail in error.errors())
    problems = sorted(found, key=lambda problem: problem.location or Location(""))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    first = problems[0]
    return SettingsError(
        f"{_told(first)}{more}",
        hint=first.hint or "`mentis settings` shows every key; docs/reference/settings.md explains",
        problems=[_told(problem) for problem in problems],
    )


def _told(problem: Problem) -> str:
    return f"{problem.location}: {problem.message}" if problem.location else problem.message


def _meant(steps: KeyPath) -> str:
    """The nearest name at that place; a bare name that a section has is taken for that one."""
    sections = [(name,) for name in names_in(())]
    places = [*sections, ("routes", "default"), ("routes", "default", "options")]
    inner = [".".join((*at, steps[0])) for at in places if steps[0] in names_in(at)]
    if len(steps) == 1 and inner:
        return f"did you mean {' or '.join(map(repr, inner[:3]))}?"
    return did_you_mean(steps[-1], [*names_in(steps[:-1]), *older_names(steps[:-1])])


def _problem(detail: ErrorDetails, text: str, path: Path | None, written: WrittenKeys) -> Problem:
    steps = tuple(str(step) for step in detail["loc"])
    unknown = detail["type"] == "extra_forbidden"
    hint = _meant(steps) if unknown else ""
    name = next((n for k, n in written.variables.items() if k[: len(steps)] == steps), None)
    steps = steps if name else written.older.get(steps, steps)
    key = ".".join(steps)
    message = f"unknown setting {key!r}" if unknown else f"{key}: {_plain(detail)}"
    if name:
        return Problem("settings", f"environment {name}: {message}", hint=hint)
    return problem_at(
        str(path),
        text,
        steps,
        syntax="toml",
        code="settings",
        message=message,
        hint=hint,
        key=True,
    )


def _plain(detail: ErrorDetails) -> str:
    said = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "tuple_type":  # as it is kept; in the file it is a list
        said = "Input should be a list"
    if detail.get("ctx", {}).get("pattern") == TOOL_NAME:
        said = TOOL_NAME_RULE
    if isinstance(detail["input"], Mapping):
        return said
    return f"{said}, not {detail['input']!r}"

"""Where settings come from: mentis.toml, then the environment; every problem with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mentis.codec.locate import locate, problem_at
from mentis.codec.toml import parse_toml, read_text
from mentis.disk.seen import SeenFile
from mentis.errors import HomeTooNew, MentisError, SettingsError
from mentis.values.location import Location, Problem

from .acts import TOOL_NAME, TOOL_NAME_RULE
from .settings import FORMAT, Settings, SettingsModel, did_you_mean, leaves, names_in

FILE = "mentis.toml"
PREFIX = "MENTIS_"
# Variables with our prefix that are not settings: they say where things are.
PLACES = frozenset({"MENTIS_HOME", "MENTIS_CACHE", "MENTIS_CONFIG", "MENTIS_STATE"})
# Variables without our prefix that set something, because they always have.
_OLDER: dict[str, tuple[str, ...]] = {"ENABLE_PROMPT_CACHING": ("features", "prompt_caching")}


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
    origins = {key: f"{FILE}:{locate(text, key, 'toml')[0]}" for key, _ in leaves(data)}
    variables = _variables(environ)
    for key, (name, value) in variables.items():
        _put(data, key, value, name)
        origins[key] = f"environment {name}"
    _complete(data)
    try:
        model = SettingsModel.model_validate(data)
    except ValidationError as error:
        names = {key: name for key, (name, _) in variables.items()}
        raise _settings_error(error, text, path, names) from None
    return Settings(model, origins)


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


def _variables(environ: Mapping[str, str]) -> dict[tuple[str, ...], tuple[str, str]]:
    """MENTIS_ROUTES__DEFAULT__MODEL=x becomes the key path (routes, default, model)."""
    chosen = {key: (name, environ[name]) for name, key in _OLDER.items() if name in environ}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in PLACES:
            key = tuple(name.removeprefix(PREFIX).lower().split("__"))
            chosen[_spelled(key)] = (name, environ[name])
    return chosen


def _spelled(key: tuple[str, ...]) -> tuple[str, ...]:
    """As the settings are spelled: a variable is all capitals, a setting need not be all small."""
    spelled: tuple[str, ...] = ()
    for step in key:
        known = {name.lower(): name for name in names_in(spelled)}
        spelled = (*spelled, known.get(step, step))
    return spelled


def _put(data: dict[str, object], key: tuple[str, ...], value: str, name: str) -> None:
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
        return json.loads(value)
    except ValueError:
        return value  # the check that follows names the variable and what it should hold


def _complete(data: dict[str, object]) -> None:
    """The route `default` is always there, whatever other routes were named."""
    routes = data.setdefault("routes", {})
    if isinstance(routes, dict):
        cast("dict[str, object]", routes).setdefault("default", {})


def _settings_error(
    error: ValidationError, text: str, path: Path | None, names: Mapping[tuple[str, ...], str]
) -> SettingsError:
    found = (_problem(detail, text, path, names) for detail in error.errors())
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


def _problem(
    detail: ErrorDetails, text: str, path: Path | None, names: Mapping[tuple[str, ...], str]
) -> Problem:
    steps = tuple(str(step) for step in detail["loc"])
    key = ".".join(steps)
    unknown = detail["type"] == "extra_forbidden"
    message = f"unknown setting {key!r}" if unknown else f"{key}: {_plain(detail)}"
    hint = did_you_mean(steps[-1], names_in(steps[:-1])) if unknown else ""
    if name := next((n for k, n in names.items() if k[: len(steps)] == steps), None):
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

"""Where settings come from: mentis.toml, then the environment; every problem with its place."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mentis.codec.locate import locate, problem_at
from mentis.errors import HomeTooNew, SettingsError
from mentis.values.location import Location, Problem

from .settings import (
    FORMAT,
    LimitSettings,
    RouteSettings,
    Settings,
    SettingsModel,
    StoreSettings,
    leaves,
    meant,
)

FILE = "mentis.toml"
PREFIX = "MENTIS_"
# Variables with our prefix that are not settings: they say where things are.
PLACES = frozenset({"MENTIS_HOME", "MENTIS_CACHE", "MENTIS_STATE"})


def load_settings(home: Path | None, environ: Mapping[str, str]) -> Settings:
    """Read and check everything; every problem is reported, with the place it stands at."""
    path = home / FILE if home else None
    text = _read(path) if path else ""
    data = _parse(text, path) if path else {}
    _check_format(data, path)
    origins = {key: f"{FILE}:{_line(text, key)}" for key, _ in leaves(data)}
    variables = _variables(environ)
    for key, (name, value) in variables.items():
        _put(data, key, value, name)
        origins[".".join(key)] = f"environment {name}"
    _complete(data)
    try:
        model = SettingsModel.model_validate(data)
    except ValidationError as error:
        names = {key: name for key, (name, _) in variables.items()}
        raise _settings_error(error, text, path, names) from None
    return Settings(model, origins)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}", file=str(path)) from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}", file=str(path)) from error


def _parse(text: str, path: Path | None) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        # The message of the parser ends in "(at line L, column C)".
        raise SettingsError(
            f"{path}: {error}",
            hint="mend the file, or compare it with `mentis init` in a new folder",
        ) from error


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
    chosen: dict[tuple[str, ...], tuple[str, str]] = {}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in PLACES:
            key = tuple(name.removeprefix(PREFIX).lower().split("__"))
            chosen[key] = (name, environ[name])
    return chosen


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


def _line(text: str, key: str) -> int:
    return locate(text, key.split("."), "toml")[0]


def _settings_error(
    error: ValidationError, text: str, path: Path | None, names: Mapping[tuple[str, ...], str]
) -> SettingsError:
    found = (_problem(detail, text, path, names) for detail in error.errors())
    problems = sorted(found, key=lambda problem: problem.location or Location(""))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    first = problems[0]
    where = f"{first.location}: " if first.location else ""
    return SettingsError(
        f"{where}{first.message}{more}",
        hint=first.hint or "`mentis settings` shows every key; docs/reference/settings.md explains",
        problems=[str(problem) for problem in problems],
    )


def _problem(
    detail: ErrorDetails, text: str, path: Path | None, names: Mapping[tuple[str, ...], str]
) -> Problem:
    steps = tuple(str(step) for step in detail["loc"])
    key = ".".join(steps)
    unknown = detail["type"] == "extra_forbidden"
    message = f"unknown setting {key!r}" if unknown else f"{key}: {_plain(detail)}"
    hint = meant(steps[-1], _siblings(steps)) if unknown else ""
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
    if isinstance(detail["input"], Mapping):
        return said
    return f"{said}, not {detail['input']!r}"


def _siblings(steps: tuple[str, ...]) -> list[str]:
    """The names that would have been right at this place."""
    model: type[BaseModel] = SettingsModel
    if steps[0] == "routes" and len(steps) > 2:
        model = RouteSettings
    elif len(steps) > 1:
        sections: dict[str, type[BaseModel]] = {"store": StoreSettings, "limits": LimitSettings}
        model = sections.get(steps[0], SettingsModel)
    return list(model.model_fields)

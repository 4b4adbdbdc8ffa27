"""Functions of a file in the home, or of a module that can be imported, as acts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from mentis.act.functions import FunctionAct
from mentis.act.printing import capture_prints
from mentis.errors import MentisError, SettingsError
from mentis.ports.act_handler import ActHandler
from mentis.settings.acts import ToolSettings
from mentis.values.digest import digest

_HINT = "put @tool before each function that is to be an act"


def load_functions(
    name: str, tool: ToolSettings, home: Path, content: bytes
) -> tuple[ActHandler, ...]:
    """Every act in it. The code is run: ask before whether `content`, what its file holds, is
    trusted. SettingsError on failure. What it prints meanwhile goes to the log.
    """
    try:
        with capture_prints(name):
            module = _run(name, content, home / tool.file) if content else _imported(tool)
    except MentisError:
        raise
    except (Exception, SystemExit) as error:  # foreign code: its failure is told
        raise SettingsError(
            f"tools.{name}: {tool.file or tool.module} cannot be loaded:"
            f" {type(error).__name__}: {error}",
            hint="fix it, or switch it off: enabled = false",
        ) from error
    found = tuple(_acts(module, f"python:{name}"))
    if not found:
        raise SettingsError(f"tools.{name}: there is no act in it", hint=_HINT)
    return found


def _run(name: str, content: bytes, path: Path) -> ModuleType:
    """From the bytes that were read, so that what is run is what was looked at."""
    module = ModuleType(f"mentis_tool_{name.replace('-', '_')}_{digest(content)[7:15]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # annotations are looked up there
    exec(compile(content, str(path), "exec"), module.__dict__)  # noqa: S102  # its owner trusts it
    return module


def _imported(tool: ToolSettings) -> ModuleType:
    if not tool.module:
        raise SettingsError(f"{tool.file} is empty", hint=_HINT)
    return import_module(tool.module)


def _acts(module: ModuleType, source: str) -> Iterator[ActHandler]:
    seen: set[int] = set()
    for name, value in vars(module).items():
        if isinstance(value, FunctionAct) and not name.startswith("_") and id(value) not in seen:  # pyright: ignore[reportUnknownArgumentType]  # whatever it takes
            seen.add(id(value))  # pyright: ignore[reportUnknownArgumentType]
            yield value.of(source)

"""Writes docs/reference/ from the code (`--write`), or says which of its files are out of date."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import mentis.ports
from api_page import api_page, values_page
from errors_drawn import read_drawing
from http_page import http_page
from mentis import errors, testing
from mentis.act.builtin.table import BUILT_IN
from mentis.codec.forms import schema_of
from mentis.ledger.guardian.profiles import SETTLEMENTS, SHIPPED, level_words
from mentis.ledger.guardian.table import RULES as GUARDIAN_RULES
from mentis.library.acts import load_acts, load_message
from mentis.library.checking.table import IMPORT_RULES, RULES, CheckRule
from mentis.library.schemas import KINDS, file_schema
from mentis.record.input_rows import TurnInputs
from mentis.settings.aliases import OLDER_KEYS, OLDER_VALUES
from mentis.settings.settings import constants, describe
from mentis.surfaces.cli.main import cli
from mentis.values.assembly import AssembledPrompt
from mentis.values.cognition import CognitionState, Memory
from mentis.values.entry import Entry, Verdict
from mentis.values.guardian import Judgement
from mentis.values.health import Health
from mentis.values.library import Library
from mentis.values.memories import (
    FoundMemories,
    HygieneFinding,
    ImportedMemories,
    StoredMemory,
    VectorRebuild,
)
from mentis.values.persona import Persona, Profile
from mentis.values.recalled import RecalledContext
from mentis.values.rendering import Rendering
from mentis.values.reply import Reply
from mentis.values.request import PromptRequest
from mentis.values.status import BackendState, ImportedHistory, Stats, WindowResult
from mentis.values.tick import TickReport
from mentis.values.trace import Trace
from mentis.values.value import Value
from mentis.values.window import StampedWindow, WindowDraft

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("docs/reference")
NOTE = "<!-- Written by `make docs` from the code; edit that instead. -->\n"
SCHEMAS: tuple[type[Value], ...] = (
    WindowResult,
    AssembledPrompt,
    BackendState,
    CognitionState,
    Entry,
    FoundMemories,
    Health,
    HygieneFinding,
    ImportedHistory,
    ImportedMemories,
    Judgement,
    Library,
    Memory,
    Persona,
    Profile,
    PromptRequest,
    VectorRebuild,
    RecalledContext,
    StoredMemory,
    Rendering,
    Reply,
    StampedWindow,
    Stats,
    TickReport,
    Trace,
    TurnInputs,
    Verdict,
    WindowDraft,
)


def commands(
    command: click.Command = cli, parent: click.Context | None = None, name: str = "mentis"
) -> Iterator[tuple[click.Context, click.Command]]:
    """Every command with a context that knows its full name, in the order of the help."""
    settings: dict[str, Any] = {**command.context_settings, "terminal_width": 96, "color": False}
    context = click.Context(command, parent=parent, info_name=name, **settings)
    yield context, command
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None and not found.hidden:
                yield from commands(found, context, child)


def cli_page() -> str:
    sections = [
        f"## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```\n"
        for context, command in commands()
    ]
    return "\n".join([NOTE, "# Commands\n", *sections])


def settings_page() -> str:
    lines = [
        _row(f"`{setting.key}`", setting.type, setting.default, setting.doc)
        for setting in describe()
    ]
    head = "| key | type | default | meaning |\n|---|---|---|---|\n"
    words = (
        "Keys of `mentis.toml`. Each can be set by an environment variable too: `MENTIS_`, then\n"
        "the key in capitals, with two underscores for each dot"
        " (`MENTIS_ROUTES__DEFAULT__MODEL`).\n\n"
    )
    count = (
        f"There are {len(lines)}; [the guide](../guides/settings.md) says when to turn which.\n\n"
    )
    table = head + "\n".join(lines) + "\n"
    return f"{NOTE}\n# Settings\n\n{words}{count}{table}{_older_settings()}{_constants()}"


def _older_settings() -> str:
    keys = [_row(f"`{'.'.join(old)}`", f"`{'.'.join(now)}`") for old, now in OLDER_KEYS.items()]
    values = [
        _row(f'`{".".join(key)} = "{old}"`', f'`{".".join(key)} = "{now}"`')
        for key, names in OLDER_VALUES.items()
        for old, now in names.items()
    ]
    words = "These load for ever, from the file and from variables. New ones are written."
    head = "| older | now |\n|---|---|\n"
    return f"\n## Older names\n\n{words}\n\n{head}" + "\n".join([*keys, *values]) + "\n"


def _constants() -> str:
    lines = [
        _row(f"`{'.'.join(key)}`", f"`{one.value}`", one.doc, one.reason)
        for key, one in constants().items()
    ]
    words = (
        f"These {len(lines)} were settings. A home that sets one opens, and says that it has no"
        " effect any more."
    )
    head = "| key | value | meaning | why nobody turns it |\n|---|---|---|---|\n"
    return f"\n## Constants\n\n{words}\n\n{head}" + "\n".join(lines) + "\n"


def errors_page() -> str:
    lines = [
        _row(f"`{_code(line.name)}`", f"`{line.name}`", _parent(line.parent), line.meaning)
        for line in read_drawing()
    ]
    head = "| code | class | kind of | meaning |\n|---|---|---|---|\n"
    words = (
        "Every error carries its code, a message (what happened and where), a hint (what to do"
        " next)\nand facts. With `--json` a command prints them to stderr as one JSON object.\n\n"
    )
    return f"{NOTE}\n# Errors\n\n{words}{head}" + "\n".join(lines) + "\n"


def _code(name: str) -> str:
    cls: type[errors.MentisError] = getattr(errors, name)
    return cls.code


def _parent(name: str) -> str:
    return f"`{name}`" if name else ""


def ports_page() -> str:
    head = "| port | what it does | double |\n|---|---|---|\n"
    names = [module.name for module in pkgutil.iter_modules(mentis.ports.__path__)]
    lines = [_port_line(f"mentis.ports.{name}") for name in sorted(names)]
    words = (
        "The seams to the outside. Each has a double in memory that ships with Mentis, for tests of"
        " your\nown: `from mentis.testing import FixedClock`.\n\n"
    )
    return f"{NOTE}\n# Ports\n\n{words}{head}" + "\n".join(lines) + "\n"


def _port_line(module_name: str) -> str:
    """The double stands beside the port, or the module's first line says where."""
    module = importlib.import_module(module_name)
    first = (module.__doc__ or "").splitlines()[0]
    classes = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module_name
    ]
    port = next(cls for cls in classes if getattr(cls, "_is_protocol", False))
    beside = [
        cls.__name__ for cls in classes if cls is not port and cls.__name__ in testing.__all__
    ]
    named = re.search(r" *The double is `[\w.]+\.(\w+)`\.", first)
    doubles = [named[1]] if named else beside
    words = first.replace(named[0], "") if named else first
    return _row(
        f"`{module_name}.{port.__name__}`",
        words,
        ", ".join(f"`mentis.testing.{double}`" for double in doubles),
    )


def prompt_checks_page() -> str:
    words = (
        "What `mentis prompts check` finds, each with file, line, column and a hint. An error makes"
        " it\nexit with 1; a warning does not.\n"
    )
    imports = "What the plan of `mentis prompts import` may say of an archive.\n"
    return "\n".join(
        [
            NOTE,
            "# Checks of prompt files\n",
            words,
            _rules(RULES),
            "## Imports\n",
            imports,
            _rules(IMPORT_RULES),
            "## Files\n",
            "The JSON Schema of each file is in `schemas/prompts/`; the checker uses the same.",
            "Fields that a schema does not name are allowed and kept.",
            "",
        ]
    )


def _rules(rules: tuple[CheckRule, ...]) -> str:
    head = "| code | severity | finds |\n|---|---|---|\n"
    return head + "\n".join(_row(f"`{r.code}`", r.severity, r.what) for r in rules) + "\n"


def guardian_page() -> str:
    words = (
        "What the guardian holds windows against (`mentis guardian explain RULE` tells more), and"
        " what each\nprofile does about it. Nobody but the model can keep a rule of kind `model`;"
        " of one of kind\n`heuristic` a program can only suspect that it is broken.\n"
    )
    names = " | ".join(f"`{name}`" for name in SHIPPED)
    lines = "---|" * (len(SHIPPED) + 5)
    head = f"| no. | rule | {names} | stage | kind | says |\n|{lines}\n"
    rows = [
        _row(
            rule.number,
            f"`{rule.id}`",
            *(level_words(profile, rule) for profile in SHIPPED.values()),
            rule.stage,
            rule.kind,
            rule.what,
        )
        for rule in GUARDIAN_RULES
    ]
    settled = [
        _row(name, what, ", ".join(p.name for p in SHIPPED.values() if name in p.settles))
        for name, what in SETTLEMENTS.items()
    ]
    return "\n".join(
        [
            NOTE,
            "# Rules of the guardian\n",
            words,
            head + "\n".join(rows) + "\n",
            "## What profiles settle\n",
            "Where a conflict is settled, what it decides is reported as a warning.\n",
            "| name | settled so | by |\n|---|---|---|\n" + "\n".join(settled) + "\n",
        ]
    )


def acts_page() -> str:
    words = (
        "What every agent can do without a tool being added. `message_NAME` is there once for each"
        " interface\nthat messages can leave through. Acts that reach outside wait for a person"
        " when what they are given came\nfrom untrusted text; idempotent ones may be tried again"
        " after a crash. The gate judges all of them.\n\n"
    )
    head = (
        "| act | what it does | scope | reaches outside | idempotent | on | limits |\n"
        f"|{'---|' * 7}\n"
    )
    told = {**load_acts(), "message_NAME": load_message("NAME")}
    lines = [
        _row(
            f"`{kind.name}`",
            told[kind.name].description,
            kind.scope,
            _yes(kind.external_effects),
            _yes(kind.idempotent),
            _yes(kind.on),
            kind.limits,
        )
        for kind in BUILT_IN
    ]
    return f"{NOTE}\n# Built-in acts\n\n{words}{head}" + "\n".join(lines) + "\n"


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _row(*cells: str) -> str:
    clean = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(clean)} |"


def schema_file(schema: dict[str, object]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def pages() -> dict[str, str]:
    """Every generated file, by its path under docs/reference."""
    written = {
        "cli.md": cli_page(),
        "settings.md": settings_page(),
        "errors.md": errors_page(),
        "ports.md": ports_page(),
        "prompt-checks.md": prompt_checks_page(),
        "guardian-rules.md": guardian_page(),
        "acts.md": acts_page(),
        "api.md": f"{NOTE}\n{api_page()}",
        "api-values.md": f"{NOTE}\n{values_page()}",
        "http-api.md": _formatted(f"{NOTE}\n{http_page()}"),
    }
    values = {f"schemas/{c.__name__}.schema.json": schema_file(schema_of(c)) for c in SCHEMAS}
    files = {f"schemas/prompts/{k}.schema.json": schema_file(file_schema(k)) for k in KINDS}
    return written | values | files


def _formatted(page: str) -> str:
    """With its examples as the formatter lays them out, which looks into pages, too."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "page.md", "-"]
    done = subprocess.run(command, input=page, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def write(folder: Path) -> None:
    fresh = pages()
    for stale in _schemas(folder) - fresh.keys():
        (folder / stale).unlink()
    for name, text in fresh.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def out_of_date(folder: Path) -> list[str]:
    fresh = pages()
    differing = [name for name, text in fresh.items() if _read(folder / name) != text]
    return sorted({*differing, *(_schemas(folder) - fresh.keys())})


def _schemas(folder: Path) -> set[str]:
    """The schemas on disk, also those of values and files that are no more."""
    found = (path for path in (folder / "schemas").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(arguments: list[str]) -> int:
    if "--write" in arguments:
        write(ROOT / FOLDER)
        return 0
    stale = out_of_date(ROOT / FOLDER)
    for name in stale:
        print(f"{(FOLDER / name).as_posix()}:1: out of date; run `make docs`")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

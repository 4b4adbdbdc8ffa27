"""`mentis manifest`: tools and skills with their vectors, built ahead and checked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from mentis.errors import UsageError

from .groups import RenamedGroup
from .options import home_option, home_path
from .output import say
from .report import Note, Report, Text, prints_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from mentis.engines.embedders import Choice
    from mentis.values.selection import Capability

embedder_option = click.option(
    "--embedder",
    "choice",
    type=click.Choice(["auto", "minilm", "ngrams"]),
    default="auto",
    show_default=True,
    help="By meaning (minilm), by letters (ngrams), or the better one that is installed.",
)
tools_option = click.option(
    "--tools",
    "tool_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON list of tools: name, description, examples, stances; without it, the home's own.",
)
skills_option = click.option(
    "--skills",
    "skill_folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of SKILL.md folders; without it, that of the home.",
)
patterns_option = click.option(
    "--patterns",
    "pattern_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with texts that screening drops, and what is like them; without it, those that"
    " the manifest of the home has stay.",
)
file_option = click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the manifest is; by default in the home.",
)


def _sources(command: Callable[..., Report]) -> Callable[..., int]:
    printed = file_option(embedder_option(home_option(prints_report(command))))
    return tools_option(skills_option(patterns_option(printed)))


@click.group(cls=RenamedGroup)
def manifest() -> None:
    """Embed tools, skills and screening patterns ahead of time."""


@manifest.command(epilog="For example: mentis manifest build --tools tools.json")
@click.option("--anew", is_flag=True, help="Embed everything again, changed or not.")
@_sources
def build(
    tool_files: tuple[Path, ...],
    skill_folders: tuple[Path, ...],
    pattern_files: tuple[Path, ...],
    *,
    file: Path | None,
    choice: Choice,
    anew: bool,
) -> Report:
    """Embed tools and skills; what did not change is kept as it is."""
    from functools import partial

    from mentis.tools.selection import build as build_it

    capabilities, problems = _gather(tool_files, skill_folders, pattern_files, file)
    made = anyio.run(partial(build_it, capabilities, _place(file), choice=choice, anew=anew))
    for step in made.degraded:
        say(f"note: {step.part}: {step.reason}")
    header = made.manifest.header
    return Report(
        {
            "file": str(made.path),
            "entries": len(made.manifest.entries),
            "embedded": made.embedded,
            "model": header.model,
            "dimension": header.dimension,
            "content": header.content,
            "problems": list(problems),
        },
        (
            str(made.path),
            Note(f"{len(made.manifest.entries)} entries, {made.embedded} of them embedded now"),
        ),
    )


@manifest.command(epilog="For example: mentis manifest check --tools tools.json")
@_sources
def check(
    tool_files: tuple[Path, ...],
    skill_folders: tuple[Path, ...],
    pattern_files: tuple[Path, ...],
    *,
    file: Path | None,
    choice: Choice,
) -> Report:
    """Show what a build would change. Exit code 1 when it would change something."""
    from mentis.tools.selection import check as check_it

    capabilities, problems = _gather(tool_files, skill_folders, pattern_files, file)
    differences = check_it(capabilities, _place(file), choice=choice)
    told = [{"name": one.name, "what": one.what} for one in differences]

    def text() -> Iterator[Text]:
        if differences:
            for one in differences:
                yield f"{one.name} {one.what}".strip()
        else:
            yield "the manifest is current"

    return Report(
        {"current": not differences, "differences": told, "problems": list(problems)},
        text(),
        code=1 if differences else 0,
    )


def _gather(
    tools: tuple[Path, ...],
    skills: tuple[Path, ...],
    patterns: tuple[Path, ...],
    file: Path | None,
) -> tuple[tuple[Capability, ...], tuple[str, ...]]:
    """A file of its own may be for patterns alone; the manifest of the home holds all."""
    from mentis.tools.selection import gather_capabilities

    alone = bool(patterns) and file is not None
    folders = skills or (() if alone else (home_path() / "skills",))
    home = None if skills else home_path()
    capabilities, problems = gather_capabilities(tools, folders, patterns, home=home)
    if not tools and not alone:
        capabilities = (*_own_tools(), *capabilities)
    if file is None and not patterns:
        capabilities = (*capabilities, *_known_patterns())
    for problem in problems:
        say(f"left out: {problem}")
    if not capabilities:
        raise UsageError(
            "there is nothing to select from: no tools and no skills",
            hint="name a file with --tools or a folder with --skills",
        )
    return capabilities, problems


def _known_patterns() -> tuple[Capability, ...]:
    """Those of the manifest that is there: screening goes by them until others are given."""
    from mentis.errors import BadInput
    from mentis.recall.manifest_file import load_manifest

    try:
        held = load_manifest(_place(None))
    except BadInput as error:
        say(f"note: {error.message}: patterns it may have had are gone; give them with --patterns")
        return ()
    entries = () if held is None else held.entries
    return tuple(one.capability for one in entries if one.capability.kind == "pattern")


def _own_tools() -> tuple[Capability, ...]:
    """What the agent of the home can do, its servers asked; nothing where there is no home."""
    from mentis.app.unstored import open_anyhow
    from mentis.errors import HomeMissing
    from mentis.tools.selection import of_tools

    try:
        with open_anyhow(home_path()) as agent:
            return of_tools(anyio.run(agent.connect))
    except HomeMissing:
        return ()


def _place(file: Path | None) -> Path:
    from mentis.recall.manifest_file import FILE

    return file or home_path() / FILE

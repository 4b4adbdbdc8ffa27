"""Taking prompts elsewhere: export and import."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from .options import home_option, open_prompts
from .prompts_change import apply
from .report import Note, Report, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.library.archive import ImportRow


@click.command(epilog="For example: mentis prompts export my-prompts.zip")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--no-date", is_flag=True, help="Leave the date out: the same set, the same bytes.")
@home_option
@prints_report
def export(file: Path, *, no_date: bool) -> Report:
    """Write the whole prompt set to a zip file: shipped blocks, your changes, both registries."""
    from mentis.disk.atomic import write_atomic
    from mentis.library.archive import export_set
    from mentis.values.digest import digest

    date = "" if no_date else datetime.now(UTC).isoformat(timespec="seconds")
    with open_prompts() as prompts:
        data = export_set(prompts.loaded_library, date=date)
        count = len(prompts.loaded_library.library.blocks)
    write_atomic(file, data)
    return Report(
        {"file": str(file), "blocks": count, "digest": digest(data)},
        Note(f"{file}: {count} blocks, {len(data)} bytes, {digest(data)}"),
    )


@click.command("import", epilog="For example: mentis prompts import theirs.zip --dry-run")
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--mode",
    type=click.Choice(["merge", "overwrite", "replace"]),
    default="merge",
    show_default=True,
    help="Add what is missing; also replace what differs; or have exactly the file's blocks on.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would happen.")
@click.option("--force", is_flag=True, help="Allow a change of the constitution.")
@home_option
@prints_report
def import_(file: Path, mode: str, *, dry_run: bool, force: bool) -> Report:
    """Take blocks from a zip file or from the folder of another prompt set, block by block.

    A folder is one with `_meta/prompt_manifest.json`. Every change is a revision you can undo.

    With `--mode replace` exactly the blocks of the file are on afterwards: your own blocks that are
    not in it are removed, shipped ones switched off (the constitution only with --force). `mentis
    prompts undo --import` takes the whole import back.
    """
    with open_prompts() as prompts:
        chosen = cast("Literal['merge', 'overwrite', 'replace']", mode)
        plan = prompts.plan_import(file, chosen, force=force)
        refused = any(problem.severity == "error" for problem in plan.problems)
        rows = TextTable(("block", "action", "fields", "note"), [_row(row) for row in plan.rows])
        problems = [
            Note(f"{problem}\n  hint: {problem.hint}" if problem.hint else str(problem))
            for problem in plan.problems
        ]
        if dry_run or refused:
            data = {"rows": plan.rows, "problems": plan.problems}
            return Report(data, (rows, problems), code=1 if refused else 0)
        words = f"imported from {file.resolve().name} ({mode})"
        done = apply(prompts, lambda _: prompts.import_set(plan, words=words, force=force))
    off = [row.block for row in plan.rows if row.what == "off"]
    named = f"{len(off)} shipped blocks that {file.name} has not are off: {', '.join(off)}"
    back = Note("to take all of it back: mentis prompts undo --import")
    return Report(done.data, (rows, problems, done.text, Note(named) if off else (), back))


def _row(row: ImportRow) -> tuple[str, str, str, str]:
    name = row.block if row.kind == "block" else f"{row.kind} {row.block}"
    return name, row.what, ", ".join(row.fields), row.note

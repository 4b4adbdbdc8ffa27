"""Taking prompts elsewhere: export and import."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from .options import home_option, home_path, open_prompts
from .prompts_change import apply
from .report import Note, Report, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.library.archive import ImportRow


@click.command(epilog="For example: mentis prompts export my-prompts.zip")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--no-date", is_flag=True, help="Leave the date out: the same set, the same bytes.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["zip", "world", "character-book", "preset"]),
    default="zip",
    show_default=True,
    help="All as a zip; lore as SillyTavern's world or a card's book; blocks as a preset.",
)
@click.option("--persona", default="", metavar="ID", help="Blocks for this persona alone.")
@click.option("--book", default="", metavar="NAME", help="Lore of this book alone.")
@home_option
@prints_report
def export(file: Path, *, no_date: bool, kind: str, persona: str, book: str) -> Report:
    """Write the whole prompt set to a zip file: shipped blocks, your changes, both registries.

    With --format, a lorebook or a preset that other programs read: blocks for every persona, or
    with --persona those for one alone. What was imported and not changed since leaves as it came.
    """
    if kind == "zip" and (persona or book):
        raise click.UsageError("a zip file has all blocks: choose a --format for some of them")
    if kind != "zip":
        return _export_as(file, kind, persona, book)
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


def _export_as(file: Path, kind: str, persona: str, book: str) -> Report:
    from mentis.app.lore_export import export_lorebook
    from mentis.app.preset_export import export_preset

    from .export_file import write_export

    if kind == "preset":
        if book:
            raise click.UsageError("a preset has no books")
        return write_export(file, export_preset(home_path(), persona=persona))
    chosen = cast("Literal['world', 'character-book']", kind)
    made = export_lorebook(home_path(), format=chosen, persona=persona, book=book)
    return write_export(file, made)


@click.command(epilog='For example: mentis prompts promote project-agents -m "I read it"')
@click.argument("block_ids", metavar="ID...", nargs=-1, required=True)
@click.option("-m", "--reason", default="", metavar="TEXT", help="Why: it is recorded.")
@home_option
@prints_report
def promote(block_ids: tuple[str, ...], *, reason: str) -> Report:
    """Vouch for imported blocks: their words count as your own from then on.

    For blocks that every persona is told, as of an AGENTS.md or a preset; those of one persona come
    with `mentis persona promote`. Read them first: `mentis prompts show ID`.
    """
    from mentis.prompts.personas import Personas

    with Personas.open(home_path()) as personas:
        made = personas.promote_blocks(block_ids, reason=reason)
    return Report(made, Note(f"{', '.join(made.blocks)}: promoted [entry {made.entry}]"))


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

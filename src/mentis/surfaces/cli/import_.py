"""`mentis import`: files of other programs become part of a home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mentis.values.words import quantity

from .options import home_option, home_path
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.app.home_import import HomeImport, HomeImportPlan


@click.command("import", epilog="For example: mentis import seraphina.png --dry-run")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--as",
    "persona",
    default="",
    metavar="ID",
    help="The id of the new persona; of a lorebook, who alone is told it; of a chat, whose it is.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="TITLE|ID",
    help="Of an export only this conversation; may come again. --dry-run lists them.",
)
@click.option("--dry-run", is_flag=True, help="Only show the plan: nothing is written.")
@click.option("--undo", is_flag=True, help="Take back the newest import that still stands.")
@home_option
@prints_report
def import_(
    file: Path | None, *, persona: str, only: tuple[str, ...], dry_run: bool, undo: bool
) -> Report:
    """Move in from another program: what you had there becomes yours here.

    What FILE is, is seen from its bytes: a character card V1, V2 or V3 as JSON, as a PNG picture or
    as CHARX; a lorebook of SillyTavern, of a card, of NovelAI, Agnai or Risu; a chat of SillyTavern
    as JSONL; its presets, regex scripts and personas of the user; the export of ChatGPT or Claude,
    as the zip file that it comes in or the conversations.json in it; an agent of Letta (.af); a
    history of status windows. FILE may also be a folder, or a zip file of one: PersonaUI, skills
    (SKILL.md), instructions (AGENTS.md, CLAUDE.md), or an agent's workspace with a SOUL.md and what
    belongs to it. The plan says what
    becomes what, what is not done as the other program does it, and what is only shown. It is one
    change, and --undo takes it back; the original stays in imports/ of the home. What comes so
    counts as `reference`, not as your own words, until you have read it and say `mentis persona
    promote ID` (`mentis prompts promote ID` of a block that is for all); what was said in a chat
    stays untrusted. Scripts and patterns in it are never run.
    """
    from mentis.app.home_import import import_file, plan_file_import, undo_import

    if undo:
        if file is not None or dry_run or persona or only:
            raise click.UsageError("--undo stands alone: it takes back the newest import")
        return _undone(undo_import(home_path()))
    if file is None:
        raise click.UsageError("name the file to import, or --undo")
    if dry_run:
        plan = plan_file_import(home_path(), file, persona=persona, only=only)
        return Report(plan, (*_plan_text(plan), Note("nothing was written")))
    made = import_file(home_path(), file, persona=persona, only=only)
    return Report(made, (*_plan_text(made.plan), *_next_steps(made)))


def _plan_text(plan: HomeImportPlan) -> Iterator[Text]:
    kind = f"{plan.format} {plan.version}".strip()
    yield Note(f"{plan.file}: {kind}, {plan.name}")
    rows = [(one.part, one.becomes, one.trust, one.note) for one in plan.parts]
    yield TextTable(("part", "becomes", "trust", "note"), rows)
    for loss in plan.losses:
        yield Note(f"not as there: {loss.part}: {loss.reason}")
    for shown in plan.shown:
        yield Note(f"shown only: {shown}")


def _next_steps(made: HomeImport) -> Iterator[Text]:
    for number in made.broken_off:
        yield Note(f"import {number} had been broken off: what it had made is taken back")
    persona = made.plan.persona
    found = (quantity(len(made.blocks), "block"), quantity(len(made.files), "file"))
    name = persona or " and ".join(one for one in found if not one.startswith("0 "))
    yield Note(f"imported as {name} [entry {made.entry}]; to take it back: mentis import --undo")
    for whose, session in made.sessions[:1]:
        yield Note(f"read it: mentis sessions show {session} --persona {whose}")
        yield Note(f"talk on: mentis chat --persona {whose} --session {session}")
        return
    if not persona:
        if made.blocks:
            names = " ".join(made.blocks[:3]) + (" ..." if len(made.blocks) > 3 else "")
            yield Note(f'once you have read it: mentis prompts promote {names} -m "I read it"')
        yield Note("see it: mentis prompts list, mentis prompts lore WORDS, mentis skills list")
        return
    yield Note(f'once you have read it: mentis persona promote {persona} -m "I read it"')
    yield Note(f"talk to it: mentis chat --persona {persona}")


def _undone(made: HomeImport) -> Report:
    text = f"import {made.number} of {made.plan.file} is taken back; what it made is kept"
    place = f"in imports/{made.number:04}/ beside the original"
    said = "; what was said stays in the record, and is no longer told" if made.sessions else ""
    return Report(made, Note(f"{text} {place}{said}"))

"""`mentis persona export`: a persona as one file, or as a character card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import home_option, home_path, persona_option
from .report import Report, prints_report

if TYPE_CHECKING:
    from mentis.app.persona_export import PersonaFormat

_BY_ENDING: dict[str, PersonaFormat] = {".png": "card-png", ".json": "card-v3", ".af": "af"}


@click.command(epilog="For example: mentis persona export seraphina.png --persona seraphina")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["mentis", "card-v2", "card-v3", "card-png", "af"]),
    help="By default as the end of FILE says: .png, .json, .af; else all of the persona.",
)
@click.option(
    "--with",
    "more",
    type=click.Choice(["memories"]),
    multiple=True,
    help="Also its memories; in the format mentis alone.",
)
@click.option(
    "--session", default="", metavar="NAME", help="Also this conversation; in `af` alone."
)
@persona_option
@home_option
@prints_report
def export(
    file: Path,
    *,
    kind: PersonaFormat | None,
    more: tuple[str, ...],
    session: str,
    persona: str | None,
) -> Report:
    """Write a persona to one file: whole, as a character card or as an agent file of Letta (.af).

    Whole, it is what `mentis import` makes the same persona of: its fields, the blocks for it
    alone, its memory files and its picture. A card has no memory file: what the persona knows of
    you stays here. A card that was imported leaves with all that its file had; what a card has no
    field for travels beside it, for Mentis alone, and is named.
    """
    from mentis.app.persona_export import export_persona

    from .export_file import write_export

    kind = kind or _BY_ENDING.get(file.suffix.lower(), "mentis")
    made = export_persona(
        home_path(), persona, format=kind, memories="memories" in more, session=session
    )
    return write_export(file, made)

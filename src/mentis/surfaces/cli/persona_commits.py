"""`mentis persona commit`, `log`, `diff` and `checkout`: a persona kept as it was."""

from __future__ import annotations

from collections.abc import Iterator

import click

from mentis.values.words import quantity

from .options import home_option, home_path, persona_option
from .report import Note, Report, Text, TextDiff, prints_report
from .tables import TextTable


@click.command(epilog='For example: mentis persona commit -m "before the holidays"')
@click.option("-m", "--message", required=True, metavar="TEXT", help="What it is: recorded.")
@click.option("--memories", is_flag=True, help="Its memories, too, and not its files alone.")
@persona_option
@home_option
@prints_report
def commit(*, message: str, memories: bool, persona: str | None) -> Report:
    """Keep a persona as it stands: its files, its picture and the blocks that are for it alone.

    An entry of the record names its digest. A memory that is forgotten goes out of every commit.
    """
    from mentis.app.persona_commits import open_persona_commits

    with open_persona_commits(home_path(), persona) as commits:
        made = commits.commit(message, memories=memories)
    held = [quantity(len(made.files), "file"), quantity(len(made.blocks), "block")]
    held += [] if made.memories is None else [quantity(made.memories, "memory", "memories")]
    text = f"commit {made.number}: {', '.join(held)} [entry {made.entry}, {made.digest}]"
    return Report(made, Note(text))


@click.command(epilog="For example: mentis persona log")
@persona_option
@home_option
@prints_report
def log(persona: str | None) -> Report:
    """List the commits of a persona, the newest first."""
    from mentis.app.persona_commits import open_persona_commits

    with open_persona_commits(home_path(), persona) as commits:
        found = commits.log()
    rows = [
        (
            str(one.number),
            one.time,
            str(one.entry),
            str(len(one.blocks)),
            "-" if one.memories is None else str(one.memories),
            one.message,
        )
        for one in found
    ]
    columns = ("commit", "time", "entry", "blocks", "memories", "message")
    return Report(found, TextTable(columns, rows, right=("commit", "entry", "blocks", "memories")))


@click.command(epilog="For example: mentis persona diff 1 2")
@click.argument("older", type=int, required=False)
@click.argument("newer", type=int, required=False)
@persona_option
@home_option
@prints_report
def diff(older: int | None, newer: int | None, *, persona: str | None) -> Report:
    """Show what changed between two commits, or since one of them; by default since the newest."""
    from mentis.app.persona_commits import open_persona_commits

    with open_persona_commits(home_path(), persona) as commits:
        difference = commits.diff(older, newer)
        name = commits.persona
    shown = TextDiff(difference) if difference else "no difference"
    return Report({"name": name, "diff": difference}, shown)


@click.command(epilog="For example: mentis persona checkout 1")
@click.argument("number", type=int)
@persona_option
@home_option
@prints_report
def checkout(number: int, *, persona: str | None) -> Report:
    """Make a persona what it was at a commit. How it stands now is committed first.

    What nobody vouched for then still waits for review, and what was forgotten since stays gone.
    """
    from mentis.app.persona_commits import open_persona_commits

    with open_persona_commits(home_path(), persona) as commits:
        made = commits.restore(number)

    def text() -> Iterator[Text]:
        what = ", ".join(made.changed) or "no file or block was another one"
        yield Note(f"back at commit {made.restored}: {what} [entry {made.entry}]")
        for loss in made.lost:
            yield Note(f"not brought back: {loss}")
        yield Note(f"to go forth again: mentis persona checkout {made.before}")

    return Report(made, text())

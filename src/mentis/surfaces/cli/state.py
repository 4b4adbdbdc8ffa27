"""`mentis state`: goals and what is held in mind, every revision of them, and the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .groups import RenamedGroup
from .options import MAX_INDEX, Number, home_option, home_path, persona_option
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.prompts.cognition import Cognition
    from mentis.values.cognition import CognitionState

number_option = Number(0, MAX_INDEX)


def open_own(persona: str | None) -> Cognition:
    from mentis.prompts.cognition import open_cognition

    return open_cognition(home_path(), persona)


@click.group(cls=RenamedGroup)
def state() -> None:
    """See and edit a persona's goals and what it holds in mind."""


@state.command(epilog="For example: mentis state show --revision 3")
@click.option("--revision", type=number_option, metavar="NUMBER", help="As it was then.")
@persona_option
@home_option
@prints_report
def show(revision: int | None, *, persona: str | None) -> Report:
    """Show the drives, the goals and what is held in mind."""
    with open_own(persona) as cognition:
        found = cognition.state(revision)
    return _state_report(found)


@state.command(epilog="For example: mentis state history --last 20")
@click.option(
    "--last",
    type=Number(1, MAX_INDEX),
    default=50,
    show_default=True,
    metavar="COUNT",
    help="How many, at most.",
)
@persona_option
@home_option
@prints_report
def history(last: int, *, persona: str | None) -> Report:
    """List the newest revisions and what made each."""
    from mentis.prompts.cognition import revision_data

    with open_own(persona) as cognition:
        revisions = cognition.history(last=last)
    rows = [revision_data(one) for one in revisions]

    def text() -> Iterator[Text]:
        if not rows:
            yield Note("nothing was changed yet")
        else:
            lines = [(str(row["number"]), str(row["time"]), str(row["words"])) for row in rows]
            yield TextTable(("revision", "time", "reason"), lines, right=("revision",))

    return Report(rows, text())


@state.command(epilog="For example: mentis state diff 3 7")
@click.argument("older", type=number_option, required=False)
@click.argument("newer", type=number_option, required=False)
@persona_option
@home_option
@prints_report
def diff(older: int | None, newer: int | None, *, persona: str | None) -> Report:
    """Show what changed between two revisions; by default, in the newest."""
    with open_own(persona) as cognition:
        difference = cognition.diff(older, newer)
    return Report({"diff": difference}, difference or "no difference")


@state.command(epilog="For example: mentis state undo --to 3")
@click.option("--to", type=number_option, metavar="NUMBER", help="Go back to this revision.")
@persona_option
@home_option
@prints_report
def undo(to: int | None, *, persona: str | None) -> Report:
    """Undo the newest change; again, the one before it. This is a revision of its own."""
    with open_own(persona) as cognition:
        back = cognition.undo(to)
    return _state_report(back)


@state.command(epilog="For example: mentis state review")
@persona_option
@home_option
@prints_report
def review(*, persona: str | None) -> Report:
    """List goals and entries that were made from outside text."""
    with open_own(persona) as cognition:
        found = cognition.in_review()

    def text() -> Iterator[Text]:
        if not found:
            yield Note("nothing is in review")
        else:
            rows = [(one.kind, one.name, one.lineage.value, one.text) for one in found]
            yield TextTable(("kind", "name", "lineage", "text"), rows)

    return Report(found, text())


@state.command(epilog='For example: mentis state accept buy-coins -m "I asked for it"')
@click.argument("name")
@click.option("-m", "--reason", required=True, metavar="TEXT", help="Why: it is recorded.")
@persona_option
@home_option
@prints_report
def accept(name: str, *, reason: str, persona: str | None) -> Report:
    """Vouch for a goal (by id) or an entry (by hash). This is an entry of the ledger.

    Where a name could mean both, say goal:ID or memory:HASH.
    """
    with open_own(persona) as cognition:
        accepted = cognition.accept(name, reason=reason)
    return _state_report(accepted)


@state.command(epilog='For example: mentis state add --goal polish "Learn Polish" --weight 500')
@click.argument("text")
@click.option("--goal", metavar="ID", help="As a goal of this id; else it is held in mind.")
@click.option("--weight", type=Number(-1000, 1000), metavar="NUMBER", help="Of the goal.")
@click.option("--under", metavar="ID", help="The goal that it stands under.")
@persona_option
@home_option
@prints_report
def add(
    text: str,
    *,
    goal: str | None,
    weight: int | None,
    under: str | None,
    persona: str | None,
) -> Report:
    """Add a goal, or something to hold in mind, of your own.

    The persona may remove it, or weigh it less, only in a moment without text from outside.
    """
    if goal is None and (weight is not None or under is not None):
        raise click.UsageError("--weight and --under are of a goal: say --goal ID too")
    with open_own(persona) as cognition:
        if goal is None:
            added = cognition.add(text)
        else:
            parent = {} if under is None else {"parent": under}
            added = cognition.add_goal(goal, text, weight=weight or 0, **parent)
    return _state_report(added)


@state.command("rm", epilog="For example: mentis state rm polish")
@click.argument("name")
@persona_option
@home_option
@prints_report
def remove(name: str, *, persona: str | None) -> Report:
    """Remove a goal (by id) or an entry (by the start of its hash).

    A goal goes with all below it. Where a name could mean both, say goal:ID or memory:HASH.
    `mentis state undo` brings it back.
    """
    with open_own(persona) as cognition:
        left = cognition.remove(name)
    return _state_report(left)


def _state_report(state: CognitionState) -> Report:
    def text() -> Iterator[Text]:
        from mentis.prompts.cognition import state_lines

        yield Note(f"revision {state.revision}")
        yield "\n".join(state_lines(state))

    return Report(state, text())

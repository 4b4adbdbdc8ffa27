"""`mentis state`: goals and what is held in mind, every revision of them, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import MAX_INDEX, home_option, home_path, persona_option
from .output import emit, emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.prompts.cognition import Cognition
    from mentis.values.cognition import CognitionState

number_option = click.IntRange(0, MAX_INDEX)


def open_own(persona: str | None) -> Cognition:
    from mentis.prompts.cognition import open_cognition

    return open_cognition(home_path(), persona)


@click.group()
def state() -> None:
    """See what a persona wants and holds in mind, how that changed; go back."""


@state.command(epilog="For example: mentis state show --revision 3")
@click.option("--revision", type=number_option, metavar="NUMBER", help="As it was then.")
@persona_option
@home_option
@json_option
def show(revision: int | None, *, persona: str | None, as_json: bool) -> None:
    """Show the drives, the goals and what is held in mind."""
    with open_own(persona) as cognition:
        found = cognition.state(revision)
    _show(found, as_json=as_json)


@state.command(epilog="For example: mentis state history --last 20")
@click.option(
    "--last",
    type=click.IntRange(1, MAX_INDEX),
    default=50,
    show_default=True,
    metavar="COUNT",
    help="How many, at most.",
)
@persona_option
@home_option
@json_option
def history(last: int, *, persona: str | None, as_json: bool) -> None:
    """List the newest revisions and what made each."""
    from mentis.prompts.cognition import revision_data

    with open_own(persona) as cognition:
        revisions = cognition.history(last=last)
    rows = [revision_data(one) for one in revisions]
    if as_json:
        emit_json(rows)
    elif not rows:
        say("nothing was changed yet")
    else:
        lines = [(str(row["number"]), str(row["time"]), str(row["words"])) for row in rows]
        table(("revision", "time", "words"), lines, right=("revision",))


@state.command(epilog="For example: mentis state diff 3 7")
@click.argument("older", type=number_option, required=False)
@click.argument("newer", type=number_option, required=False)
@persona_option
@home_option
@json_option
def diff(older: int | None, newer: int | None, *, persona: str | None, as_json: bool) -> None:
    """Show what changed from one revision to another; without numbers, what the newest changed."""
    with open_own(persona) as cognition:
        difference = cognition.diff(older, newer)
    if as_json:
        emit_json({"diff": difference})
    else:
        emit(difference or "no difference")


@state.command(epilog="For example: mentis state undo --to 3")
@click.option("--to", type=number_option, metavar="NUMBER", help="Go back to this revision.")
@persona_option
@home_option
@json_option
def undo(to: int | None, *, persona: str | None, as_json: bool) -> None:
    """Take back the newest change; again, the one before it. This is a revision of its own."""
    with open_own(persona) as cognition:
        back = cognition.undo(to)
    _show(back, as_json=as_json)


@state.command(epilog="For example: mentis state review")
@persona_option
@home_option
@json_option
def review(*, persona: str | None, as_json: bool) -> None:
    """List goals and entries made from outside text that nobody has looked at."""
    from mentis.codec.forms import to_object

    with open_own(persona) as cognition:
        found = cognition.in_review()
    if as_json:
        emit_json([to_object(one) for one in found])
    elif not found:
        say("nothing is in review")
    else:
        rows = [(one.kind, one.name, one.lineage.value, one.text) for one in found]
        table(("kind", "name", "lineage", "text"), rows)


@state.command(epilog='For example: mentis state accept buy-coins -m "I asked for it"')
@click.argument("name")
@click.option("-m", "--reason", required=True, metavar="TEXT", help="Why: it is recorded.")
@persona_option
@home_option
@json_option
def accept(name: str, *, reason: str, persona: str | None, as_json: bool) -> None:
    """Vouch for a goal (by id) or an entry (by hash). This is an entry of the ledger.

    Where a name could mean both, say goal:ID or memory:HASH.
    """
    with open_own(persona) as cognition:
        accepted = cognition.accept(name, reason=reason)
    _show(accepted, as_json=as_json)


@state.command(epilog='For example: mentis state add --goal polish "Learn Polish" --weight 500')
@click.argument("text")
@click.option("--goal", metavar="ID", help="As a goal of this id; else it is held in mind.")
@click.option("--weight", type=click.IntRange(-1000, 1000), metavar="NUMBER", help="Of the goal.")
@click.option("--under", metavar="ID", help="The goal that it stands under.")
@persona_option
@home_option
@json_option
def add(
    text: str,
    *,
    goal: str | None,
    weight: int | None,
    under: str | None,
    persona: str | None,
    as_json: bool,
) -> None:
    """Put something into the persona's mind that is yours.

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
    _show(added, as_json=as_json)


@state.command("rm", epilog="For example: mentis state rm polish")
@click.argument("name")
@persona_option
@home_option
@json_option
def remove(name: str, *, persona: str | None, as_json: bool) -> None:
    """Take away a goal (by id, with all below it) or an entry (by the beginning of its hash).

    Where a name could mean both, say goal:ID or memory:HASH. `mentis state undo` brings it back.
    """
    with open_own(persona) as cognition:
        left = cognition.remove(name)
    _show(left, as_json=as_json)


def _show(state: CognitionState, *, as_json: bool) -> None:
    if as_json:
        from mentis.codec.forms import to_object

        emit_json(to_object(state))
        return
    from mentis.prompts.cognition import state_lines

    say(f"revision {state.revision}")
    emit("\n".join(state_lines(state)))

"""`mentis trust`: what a home may do outside of it, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError
from mentis.values.words import quantity

from .asking import confirm
from .groups import RenamedGroup
from .options import call_parts, home_option, home_path
from .report import Note, Report, Text, prints_report
from .shown import safe
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.tools.reach import HomeReach


@click.group(cls=RenamedGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as `mentis trust list` does.")
@click.pass_context
def trust(ctx: click.Context, *, as_json: bool) -> None:
    """List what a home may reach, run, read or send; take it back.

    Naming something in a home does not allow it: keys, programs and anchors wait until their owner
    says yes on this machine (`mentis routes trust`, `mentis tools trust`, `mentis ledger anchor
    add`), which is remembered outside of the home, for exactly what was shown. Without a command,
    the list is shown.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_reached, as_json=as_json)


@trust.command("list", epilog="For example: mentis trust list --json")
@home_option
@prints_report
def list_reached() -> Report:
    """Show all of it, in full, with who allowed each.

    `provider`: the key of a known provider, to that provider. `environment`: a variable says so.
    `trusted`: you said so. `untrusted`: nobody did, so it is not done. `free`: it needs no word.
    `stale`: you said so once, and the settings name it no more. Nothing is started or called.
    """
    from mentis.tools.reach import list_reach

    found = list_reach(home_path(), call_parts())
    columns = ("name", "does", "what", "variables", "state")

    def text() -> Iterator[Text]:
        yield TextTable(columns, [_row(one) for one in found])
        for one in found:
            if one.allow:
                yield Note(f"{safe(one.name)}: look at it, then: {safe(one.allow)}")

    return Report({"reach": found}, text())


@trust.command(epilog="For example: mentis trust revoke key:GROQ_API_KEY@https://api.example")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Take back all that you allowed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@prints_report
def revoke(names: tuple[str, ...], *, everything: bool, yes: bool) -> Report:
    """Take back what you allowed, by its name in the list."""
    from mentis.tools.reach import list_reach, revoke_reach

    if bool(names) == everything:
        raise UsageError("name what is taken back, or --all", hint="`mentis trust` lists it")
    home, parts = home_path(), call_parts()
    if everything:
        allowed = ("trusted", "stale")
        names = tuple(one.name for one in list_reach(home, parts) if one.state in allowed)
    if names and not yes:
        confirm(f"take back {', '.join(map(quote, names))}?")
    done = [revoke_reach(home, name, parts) for name in names]
    lines: list[Text] = [f"{safe(one.name)}: allowed no more" for one in done]
    return Report({"revoked": done}, [*lines, Note(f"{quantity(len(done), 'thing')} taken back")])


def _row(one: HomeReach) -> tuple[str, ...]:
    return (one.name, one.does, one.what, ", ".join(one.variables) or "-", one.state)

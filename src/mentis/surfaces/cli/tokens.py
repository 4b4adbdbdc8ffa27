"""`mentis tokens`: who may reach the agents of a home over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .groups import RenamedGroup
from .options import home_option, home_path
from .report import Note, Report, Text, prints_report
from .tables import TextTable

if TYPE_CHECKING:
    from mentis.web.tokens import PersonTrust, Scope, Tokens


@click.group(cls=RenamedGroup)
def tokens() -> None:
    """Create, list and revoke the tokens that clients use.

    They are kept outside the home, as digests: a token is shown once, when it is made.
    """


@tokens.command(epilog="For example: mentis tokens new laptop --scope chat")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "chat", "edit", "admin"]),
    default="chat",
    show_default=True,
    help="What it may do; each may do what those before it may.",
)
@click.option("--agent", metavar="PERSONA", default="", help="Only with this persona.")
@click.option("--session", metavar="NAME", default="", help="Only in this conversation.")
@click.option(
    "--person",
    metavar="ID",
    default="owner",
    show_default=True,
    help="Whose it is. Somebody new is a guest; see `mentis tokens person`.",
)
@home_option
@prints_report
def new(  # one parameter an option
    *, name: str, scope: Scope, agent: str, session: str, person: str
) -> Report:
    """Create a token, and print it this once."""
    secret = _opened().new(name, scope=scope, agent=agent, session=session, person=person)
    return Report(
        {"name": name, "token": secret, "scope": scope, "person": person},
        (Note("It is shown only now. Give it to the client as its API key:"), secret),
    )


@tokens.command("list")
@home_option
@prints_report
def list_all() -> Report:
    """List the tokens, without their secrets."""
    from mentis.web.tokens import token_data

    found = _opened().list()

    def text() -> Iterator[Text]:
        if not found:
            yield Note("There is none yet: mentis tokens new NAME")
            return
        rows = [
            [
                one.name,
                one.scope,
                one.person.id,
                one.person.trust,
                one.agent,
                one.session,
                one.created,
            ]
            for one in found
        ]
        yield TextTable(["name", "scope", "person", "trust", "agent", "session", "created"], rows)

    return Report([token_data(one) for one in found], text())


@tokens.command(epilog="For example: mentis tokens revoke laptop")
@click.argument("name")
@home_option
@prints_report
def revoke(*, name: str) -> Report:
    """Revoke a token, from the next request on."""
    if not _opened().revoke(name):
        raise UsageError(f"there is no token {name!r}", hint="mentis tokens list")
    return Report({"name": name, "revoked": True}, Note(f"{name} counts no more"))


@tokens.command(epilog='For example: mentis tokens person bob --name "Bob" --trust guest')
@click.argument("person")
@click.option("--name", metavar="TEXT", help="What the agent calls them.")
@click.option(
    "--trust",
    type=click.Choice(["owner", "guest"]),
    help="Whether their words are yours, or a guest's.",
)
@click.option("--about", metavar="TEXT", help="What the agent is told of a guest.")
@home_option
@prints_report
def person(
    *, person: str, name: str | None, trust: PersonTrust | None, about: str | None
) -> Report:
    """Say who the person behind a token is; this applies to all of their tokens."""
    known = _opened().set_person(person, name=name, trust=trust, about=about)
    return Report(
        known,
        Note(f"{known.id}: {known.name}, {known.trust}{f', {known.about}' if known.about else ''}"),
    )


def _opened() -> Tokens:
    from mentis.web.tokens import open_tokens

    return open_tokens(home_path())

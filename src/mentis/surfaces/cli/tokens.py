"""`mentis tokens`: who may reach the agents of a home over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mentis.errors import UsageError

from .options import home_option, home_path
from .output import emit, emit_json, json_option, say, table

if TYPE_CHECKING:
    from mentis.web.tokens import PersonTrust, Scope, Tokens


@click.group()
def tokens() -> None:
    """Make, list and revoke the tokens that clients reach your agents with.

    They are kept outside of the home, as digests: a token is shown once, when it is made.
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
@json_option
def new(  # one parameter an option
    *, name: str, scope: Scope, agent: str, session: str, person: str, as_json: bool
) -> None:
    """Make a token and print it, this once."""
    secret = _opened().new(name, scope=scope, agent=agent, session=session, person=person)
    if as_json:
        emit_json({"name": name, "token": secret, "scope": scope, "person": person})
        return
    say("It is shown only now. Give it to the client as its API key:")
    emit(secret)


@tokens.command("list")
@home_option
@json_option
def list_all(*, as_json: bool) -> None:
    """List the tokens there are, without their secrets."""
    from mentis.web.tokens import token_data

    found = _opened().list()
    if as_json:
        emit_json([token_data(one) for one in found])
        return
    if not found:
        say("There is none yet: mentis tokens new NAME")
        return
    rows = [
        [one.name, one.scope, one.person.id, one.person.trust, one.agent, one.session, one.created]
        for one in found
    ]
    table(["name", "scope", "person", "trust", "agent", "session", "created"], rows)


@tokens.command(epilog="For example: mentis tokens revoke laptop")
@click.argument("name")
@home_option
@json_option
def revoke(*, name: str, as_json: bool) -> None:
    """Let a token count no more, from the next request on."""
    if not _opened().revoke(name):
        raise UsageError(f"there is no token {name!r}", hint="mentis tokens list")
    if as_json:
        emit_json({"name": name, "revoked": True})
    else:
        say(f"{name} counts no more")


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
@json_option
def person(
    *, person: str, name: str | None, trust: PersonTrust | None, about: str | None, as_json: bool
) -> None:
    """Say who somebody is that has tokens; it counts for all of theirs."""
    from mentis.codec.forms import to_object

    known = _opened().set_person(person, name=name, trust=trust, about=about)
    if as_json:
        emit_json(to_object(known))
    else:
        say(f"{known.id}: {known.name}, {known.trust}{f', {known.about}' if known.about else ''}")


def _opened() -> Tokens:
    from mentis.web.tokens import open_tokens

    return open_tokens(home_path())

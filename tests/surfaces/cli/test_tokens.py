from __future__ import annotations

from pathlib import Path

from mentis.web.tokens import open_tokens

from .conftest import Mentis


def test_a_token_is_printed_once_listed_without_its_secret_and_revoked(
    mentis: Mentis, home: Path
) -> None:
    made = mentis("tokens", "new", "laptop", "--scope", "edit", "--home", home)
    secret = made.out.strip()
    assert (made.code, secret[:11]) == (0, "mts_laptop_")
    found = open_tokens(home).find(secret)
    assert found is not None
    assert found.scope == "edit"
    listed = mentis("tokens", "list", "--home", home)
    assert "laptop" in listed.out
    assert secret not in listed.out
    assert not [
        path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert mentis("tokens", "revoke", "laptop", "--home", home).code == 0
    assert open_tokens(home).find(secret) is None
    assert mentis("tokens", "revoke", "laptop", "--home", home).code == 2


def test_a_token_can_be_for_one_persona_one_session_and_one_person(
    mentis: Mentis, home: Path
) -> None:
    chosen = ("--agent", "iris", "--session", "garden", "--person", "bob")
    assert mentis("tokens", "new", "bobs", *chosen, "--home", home, "--json").json()["person"] == (
        "bob"
    )
    named = ("--name", "Bob", "--about", "a gardener")
    assert mentis("tokens", "person", "bob", *named, "--home", home).code == 0
    (token,) = open_tokens(home).list()
    assert (token.agent, token.session) == ("iris", "garden")
    assert (token.person.name, token.person.trust, token.person.about) == (
        "Bob",
        "guest",
        "a gardener",
    )

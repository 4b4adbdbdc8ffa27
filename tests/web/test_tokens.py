"""Tokens: shown once, kept as digests outside of the home, and whose they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mentis.errors import SigningKeyError, StoreDamaged, UsageError
from mentis.web.tokens import Tokens


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    (tmp_path / "home").mkdir()
    return Tokens(tmp_path / "config", tmp_path / "home")


def test_a_token_is_found_by_its_secret_which_is_kept_nowhere(tokens: Tokens) -> None:
    secret = tokens.new("laptop", scope="edit", agent="ada", session="work")
    found = tokens.find(secret)
    assert found is not None
    assert (found.name, found.scope, found.agent, found.session) == (
        "laptop",
        "edit",
        "ada",
        "work",
    )
    kept = tokens.path.read_text("utf-8")
    assert secret not in kept
    assert secret.rpartition("_")[2] not in kept
    assert found.digest not in repr(found)


def test_a_guess_a_revoked_one_and_one_of_another_home_are_nobodys(
    tokens: Tokens, tmp_path: Path
) -> None:
    secret = tokens.new("laptop")
    (tmp_path / "copy").mkdir()
    other = Tokens(tmp_path / "config", tmp_path / "copy")
    assert other.find(secret) is None
    assert tokens.find("mts_laptop_guess") is None
    assert tokens.revoke("laptop")
    assert tokens.find(secret) is None
    assert not tokens.revoke("laptop")


def test_somebody_new_is_a_guest_and_the_owner_is_the_owner(tokens: Tokens) -> None:
    tokens.new("mine")
    secret = tokens.new("bobs", person="bob")
    assert [(one.id, one.trust) for one in tokens.people()] == [
        ("bob", "guest"),
        ("owner", "owner"),
    ]
    tokens.set_person("bob", name="Bob", trust="owner", about="a gardener")
    found = tokens.find(secret)
    assert found is not None
    assert (found.person.name, found.person.trust, found.person.about) == (
        "Bob",
        "owner",
        "a gardener",
    )
    with pytest.raises(UsageError, match="owner cannot be a guest"):
        tokens.set_person("owner", trust="guest")


@pytest.mark.parametrize("name", ["", "A", "a b", "a--b", "-a", "x" * 33, "../x"])
def test_a_name_that_could_be_taken_for_another_is_refused(tokens: Tokens, name: str) -> None:
    with pytest.raises(UsageError):
        tokens.new(name)


def test_a_taken_name_is_refused(tokens: Tokens) -> None:
    tokens.new("laptop")
    with pytest.raises(UsageError, match="already"):
        tokens.new("laptop")


def test_a_file_that_cannot_be_read_or_that_others_can_write_lets_nobody_in(tokens: Tokens) -> None:
    secret = tokens.new("laptop")
    tokens.path.chmod(0o666)
    with pytest.raises(SigningKeyError):
        Tokens(tokens.path.parents[1], tokens.path.parents[2] / "home").find(secret)
    tokens.path.chmod(0o600)
    kept = json.loads(tokens.path.read_text("utf-8"))
    tokens.path.write_text(json.dumps({**kept, "home": "/elsewhere"}), "utf-8")
    with pytest.raises(StoreDamaged, match="another home"):
        tokens.find(secret)


def test_tokens_are_not_kept_inside_the_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with pytest.raises(StoreDamaged, match="inside the home"):
        Tokens(tmp_path / "home" / "config", tmp_path / "home").new("laptop")

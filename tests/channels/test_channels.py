"""Channels of a home: what the commands and `open_channels` do with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cli.conftest import Mentis, home, mentis

from mentis.homes import open_channels
from mentis.tools.reach import list_reach

__all__ = ("home", "mentis")


def test_a_channel_is_added_paired_listed_and_removed(mentis: Mentis, home: Path) -> None:
    there = ("--home", home)
    added = mentis("channels", "add", "telegram", "phone", *there, "--json").json()
    assert (added["server"], added["state"]) == ("https://api.telegram.org:443", "unpaired")
    assert (added["key_env"], added["persona"]) == ("TELEGRAM_BOT_TOKEN", "ada")
    code = mentis("channels", "pair", "phone", *there).out.strip()
    assert len(code) == 9
    listed = mentis("channels", "list", *there)
    assert ("phone" in listed.out, "mentis channels pair phone" in listed.err) == (True, True)
    (reached,) = [one for one in list_reach(home) if one.name == "channel:phone"]
    assert (reached.state, reached.variables) == ("trusted", ("TELEGRAM_BOT_TOKEN",))
    assert mentis("channels", "rm", "phone", *there).code == 0
    assert mentis("channels", "list", *there, "--json").json() == []
    again = mentis("channels", "rm", "phone", *there)
    assert (again.code, "there is no channel 'phone'" in again.err) == (2, True)
    assert open_channels(home).owners.all() == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("telegram", "Phone!"), "small letters and digits"),
        (("telegram", "a.b"), "small letters and digits"),
        (("matrix", "home"), "homeserver"),
        (("telegram", "phone", "--url", "http://example.org"), "unencrypted"),
        (("telegram", "phone", "--url", "https://169.254.169.254"), "link-local"),
        (("telegram", "phone", "--persona", "nobody"), "no persona 'nobody'"),
        (("telegram", "phone", "--key-env", "not a name"), "key_env"),
    ],
)
def test_what_would_not_work_is_refused_and_nothing_is_written(
    mentis: Mentis, home: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = (home / "mentis.toml").read_bytes()
    done = mentis("channels", "add", *arguments, "--home", home)
    assert done.code in (1, 2)
    assert said in done.err
    assert (home / "mentis.toml").read_bytes() == before


def test_two_of_one_name_are_refused(mentis: Mentis, home: Path) -> None:
    assert mentis("channels", "add", "discord", "club", "--home", home).code == 0
    done = mentis("channels", "add", "telegram", "club", "--home", home)
    assert (done.code, "mentis channels rm club" in done.err) == (2, True)


def test_a_home_from_elsewhere_sends_no_key_until_its_owner_says_so(
    mentis: Mentis, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (home / "mentis.toml").open("a", encoding="utf-8") as file:
        file.write(
            '\n[channels.phone]\nkind = "telegram"\nkey_env = "BOT"\nurl = "https://evil.example"\n'
        )
    monkeypatch.setenv("BOT", "12:secret")
    done = mentis("channels", "run", "--home", home)
    assert (done.code, "mentis channels trust phone" in done.err) == (1, True)
    (reached,) = [one for one in list_reach(home) if one.name == "channel:phone"]
    assert (reached.state, reached.allow) == ("untrusted", "mentis channels trust phone")
    assert mentis("channels", "trust", "phone", "--yes", "--home", home).code == 0
    assert list_reach(home)[-1].state == "trusted"
    # A word for one server is none for another.
    text = (home / "mentis.toml").read_text(encoding="utf-8").replace("evil", "worse")
    (home / "mentis.toml").write_text(text, encoding="utf-8")
    assert list_reach(home)[-1].state == "untrusted"
    assert mentis("trust", "revoke", "channel:phone", "--yes", "--home", home).code == 2


def test_a_channel_without_its_key_says_which_variable_is_missing(
    mentis: Mentis, home: Path
) -> None:
    assert mentis("channels", "add", "telegram", "phone", "--home", home).code == 0
    done = mentis("channels", "run", "--home", home)
    assert (done.code, "TELEGRAM_BOT_TOKEN holds none" in done.err) == (2, True)
    assert mentis("channels", "run", "other", "--home", home).code == 2


def test_a_persona_without_channels_says_how_to_add_one(mentis: Mentis, home: Path) -> None:
    done = mentis("channels", "run", "--home", home)
    assert (done.code, "mentis channels add" in done.err) == (2, True)

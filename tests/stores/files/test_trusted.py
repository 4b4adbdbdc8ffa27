"""What may be run of a home is remembered outside of it, for exactly that home and that content."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from mentis.errors import StoreDamaged
from mentis.stores.files.trusted import TrustedRoutes, TrustedTools

ONE, OTHER = "sha256:1", "sha256:2"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def test_only_what_was_trusted_is(tmp_path: Path, home: Path) -> None:
    trusted = TrustedTools(tmp_path / "config")
    assert not trusted.is_trusted(home, "mine", ONE)
    trusted.trust(home, "mine", ONE)
    assert trusted.is_trusted(home, "mine", ONE)
    assert not trusted.is_trusted(home, "mine", OTHER)
    assert not trusted.is_trusted(home, "other", ONE)
    trusted.trust(home, "mine", OTHER)
    assert not trusted.is_trusted(home, "mine", ONE)
    assert (trusted.forget(home, "mine"), trusted.forget(home, "mine")) == (True, False)
    assert not trusted.is_trusted(home, "mine", OTHER)


def test_a_copy_of_a_home_is_another_home(tmp_path: Path, home: Path) -> None:
    trusted = TrustedTools(tmp_path / "config")
    trusted.trust(home, "mine", ONE)
    assert not trusted.is_trusted(tmp_path / "copy", "mine", ONE)
    # Also where two names would make one file.
    trusted.file(home).rename(trusted.file(tmp_path / "copy"))
    assert not trusted.is_trusted(tmp_path / "copy", "mine", ONE)


def test_nobody_else_can_read_or_write_it(tmp_path: Path, home: Path) -> None:
    trusted = TrustedTools(tmp_path / "config")
    trusted.trust(home, "mine", ONE)
    assert stat.S_IMODE(trusted.file(home).stat().st_mode) == 0o600
    assert stat.S_IMODE(trusted.file(home).parent.stat().st_mode) == 0o700


def test_the_home_cannot_hold_its_own_trust(home: Path) -> None:
    inside = TrustedTools(home / "config")
    for look in (
        lambda: inside.trust(home, "mine", ONE),
        lambda: inside.is_trusted(home, "mine", ONE),
    ):
        with pytest.raises(StoreDamaged, match="inside the home"):
            look()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"tools": 7}', "\udcff"])
def test_a_file_that_cannot_be_read_trusts_nothing(
    tmp_path: Path, home: Path, content: str
) -> None:
    trusted = TrustedTools(tmp_path / "config")
    trusted.trust(home, "mine", ONE)
    trusted.file(home).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(StoreDamaged, match="cannot be read"):
        trusted.is_trusted(home, "mine", ONE)


def test_it_is_plain_to_read(tmp_path: Path, home: Path) -> None:
    trusted = TrustedTools(tmp_path / "config")
    trusted.trust(home, "b", ONE)
    trusted.trust(home, "a", OTHER)
    told = json.loads(trusted.file(home).read_text())
    assert told == {"home": str(home.resolve()), "tools": {"a": OTHER, "b": ONE}}


def test_a_yes_to_a_tool_is_none_to_a_route(tmp_path: Path, home: Path) -> None:
    tools, routes = TrustedTools(tmp_path / "config"), TrustedRoutes(tmp_path / "config")
    tools.trust(home, "mine", ONE)
    assert not routes.is_trusted(home, "mine", ONE)
    routes.trust(home, "KEY https://a.example:443", OTHER)
    told = json.loads(routes.file(home).read_text())
    assert told == {"home": str(home.resolve()), "routes": {"KEY https://a.example:443": OTHER}}
    assert tools.trusted_parts(home) == {"mine": ONE}

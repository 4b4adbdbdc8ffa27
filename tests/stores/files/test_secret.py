"""The home's secret is made once, kept from others, and never guessed at when it is damaged."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mentis.errors import HomeError
from mentis.ports.ids import CountingIds
from mentis.stores.files.home import Home
from mentis.stores.files.secret import make_secret, read_secret


def test_it_is_made_once_and_read_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert read_secret(home) is None
    made = make_secret(home, CountingIds().salt)
    assert len(made) == 32
    assert read_secret(home) == made
    # Whoever comes second takes what is there.
    assert make_secret(home, lambda: b"\xff" * 16) == made
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    make_secret(Home(tmp_path), CountingIds().salt)
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600


def test_it_is_made_where_a_file_cannot_have_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_paths: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    made = make_secret(Home(tmp_path), CountingIds().salt)
    assert read_secret(Home(tmp_path)) == made
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


@pytest.mark.parametrize("content", [b"", b"abc", b"g" * 64, b"a" * 63, b"a" * 10_000, b"\0" * 32])
def test_a_damaged_one_is_an_error_that_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secret.key").write_bytes(content)
    with pytest.raises(HomeError, match=r"secret\.key: this is not a home's secret") as caught:
        read_secret(Home(tmp_path))
    assert "delete" in caught.value.hint


def test_one_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "secret.key").mkdir()
    with pytest.raises(HomeError, match="cannot be read"):
        read_secret(Home(tmp_path))

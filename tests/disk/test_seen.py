"""A file that is looked at often is read again whenever it may be another one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mentis.disk.seen import SeenFile


class Reader:
    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self.seen: SeenFile[str] = SeenFile(path)

    def __call__(self) -> str:
        return self.seen.read(self._read)

    def _read(self) -> str:
        self.count += 1
        return self.path.read_text(encoding="utf-8")


def _age(path: Path) -> None:
    """As if it had been written a while ago."""
    back = time.time_ns() - 60_000_000_000
    os.utime(path, ns=(back, back))


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Of a file that was written a while ago."""
    path = tmp_path / "file.md"
    path.write_text("one", encoding="utf-8")
    _age(path)
    monkeypatch.setattr("mentis.disk.seen._STEP", -(10**18))  # its other time cannot be set back
    return Reader(path)


def test_a_file_that_stays_the_same_is_read_once(reader: Reader) -> None:
    assert [reader(), reader(), reader()] == ["one"] * 3
    assert reader.count == 1


@pytest.mark.parametrize("text", ["two", "longer"])
def test_a_file_written_again_is_read_again(reader: Reader, text: str) -> None:
    reader()
    reader.path.write_text(text, encoding="utf-8")
    assert reader() == text


def test_a_file_put_in_its_place_is_read(reader: Reader) -> None:
    reader()
    other = reader.path.with_name("other")
    other.write_text("two", encoding="utf-8")
    _age(other)
    other.replace(reader.path)
    assert reader() == "two"


def test_a_file_that_goes_is_missed(reader: Reader) -> None:
    reader()
    reader.path.unlink()
    with pytest.raises(FileNotFoundError):
        reader()


def test_what_stands_behind_a_link_is_read_each_time(reader: Reader, tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(reader.path)
    through = Reader(link)
    assert through() == "one"
    reader.path.write_text("two", encoding="utf-8")
    assert through() == "two"


def test_a_file_written_just_now_is_read_again(tmp_path: Path) -> None:
    """File systems count time in steps: a second change in the same one would not tell."""
    path = tmp_path / "file.md"
    path.write_text("one", encoding="utf-8")
    reader = Reader(path)
    future = time.time_ns() + 60_000_000_000
    os.utime(path, ns=(future, future))
    assert [reader(), reader()] == ["one", "one"]
    assert reader.count == 2

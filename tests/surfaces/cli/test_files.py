"""Files named on the command line: none is read without a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mentis.surfaces.cli.files import MOST_BYTES

from .conftest import Mentis


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As good as endless, and takes no room on the disk."""
    file = tmp_path_factory.mktemp("large") / "endless"
    with file.open("wb") as stream:
        stream.truncate(MOST_BYTES + 1)
    return file


@pytest.mark.parametrize(
    "command",
    [
        "fork 0 --block style={}",
        "fork 0 --block style=/dev/null --script {}",
        "tick --sense {}",
        "sense add --file {}",
        "normalise {} --provider text",
        "ledger proof --check {}",
    ],
)
def test_a_file_without_an_end_is_refused_and_not_read_to_it(
    mentis: Mentis, home: Path, endless: Path, command: str
) -> None:
    done = mentis("--home", home, *command.format(endless).split())
    assert (done.code, done.out) == (1, "")
    assert f"endless is longer than {MOST_BYTES} bytes" in done.err


def test_a_prompt_set_without_an_end_is_refused_and_not_read_to_it(
    mentis: Mentis, home: Path, endless: Path
) -> None:
    done = mentis("--home", home, "prompts", "import", endless)
    assert (done.code, done.out) == (1, "")
    assert "endless is larger than" in done.err


@pytest.mark.parametrize(
    "command",
    [
        "guardian check none.json",
        "status add --file none.json",
        "normalise none.json --provider text",
        "fork 0 --block style=none.json",
        "prompts import none.json",
        "sense add --file none.json",
    ],
)
def test_a_file_that_is_not_there_is_wrong_usage_for_every_command(
    mentis: Mentis, home: Path, command: str
) -> None:
    done = mentis("--home", home, *command.split())
    assert (done.code, done.out) == (2, "")
    assert "none.json" in done.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("status verify --checkpoint /dev/zero", "too large for a file of checkpoints"),
        ("eval screening /dev/zero", "is larger than"),
    ],
)
def test_a_device_that_says_it_is_empty_is_not_read_without_end(
    mentis: Mentis, home: Path, command: str, said: str
) -> None:
    done = mentis("--home", home, *command.split())
    assert (done.code, done.out, said in done.err) == (1, "", True)

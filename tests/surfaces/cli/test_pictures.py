"""Screens of the page on the command line, drawn again."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.docs.pictures import check_picture

from mentis.surfaces.cli.main import run

PAGE = "reference/command-line.md"
WIDTH = 80


class Terminal(io.StringIO):
    """Shows both streams in one place, as a screen does."""

    encoding = "utf-8"  # pyright: ignore[reportAssignmentType]  # of what is written to it

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("first-screen", "mentis"),
        ("help", "mentis --help"),
        ("table", "mentis tools list"),
    ],
)
def test_a_screen_in_the_docs_is_what_the_command_shows(
    name: str, line: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENTIS_HOME", str(home))
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    screen = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        patch.setattr("sys.stderr", screen)
        run(line.split()[1:])
    shown = screen.getvalue()
    assert all(len(one) <= WIDTH for one in shown.splitlines())
    check_picture(PAGE, name, f"$ {line}\n{shown}")

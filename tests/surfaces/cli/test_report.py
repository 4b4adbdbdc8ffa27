from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mentis.surfaces.cli.report import Note, Report, Text, prints_report
from mentis.surfaces.cli.tables import TextTable, cell_width, table_lines
from mentis.values.act import Action

ID = "3fa09c1e7b2d4c8f9a0b1c2d3e4f5a6b"
PROSE = "It was asked for in a mail that nobody vouches for, so it waits for a person."
WORDS = st.text("abcdefg漢é", min_size=1, max_size=30)
CELLS = st.lists(WORDS, max_size=6).map(" ".join)


def lines(*rows: tuple[str, ...], width: int | None) -> list[str]:
    return list(table_lines(TextTable(("id", "state", "why"), rows), width=width))


def test_prose_is_broken_between_words_and_an_id_never() -> None:
    assert lines((ID, "queued", PROSE), width=80) == [
        "id                                state   why",
        f"{32 * '-'}  ------  {38 * '-'}",
        "3fa09c1e7b2d4c8f9a0b1c2d3e4f5a6b  queued  It was asked for in a mail that nobody",
        "                                          vouches for, so it waits for a person.",
    ]


def test_a_table_too_wide_for_the_terminal_is_written_row_by_row() -> None:
    assert lines((ID, "queued", "a mail"), (ID, "done", ""), width=38) == [
        f"id     {ID}",
        "state  queued",
        "why    a mail",
        "",
        f"id     {ID}",
        "state  done",
    ]


def test_a_last_column_of_prose_hangs_below_its_row_before_it_becomes_a_tower() -> None:
    assert lines((ID, "queued", PROSE), (ID, "done", "as asked"), width=60) == [
        "id                                state   why",
        f"{32 * '-'}  ------",
        f"{ID}  queued",
        "      It was asked for in a mail that nobody vouches for, so",
        "      it waits for a person.",
        f"{ID}  done    as asked",
    ]


def test_one_long_word_does_not_take_the_grid_from_all_other_rows() -> None:
    rows = (*[("a", "queued", "x")] * 3, ("b", "queued", "y" * 70))
    assert lines(*rows, width=60) == [
        "id  state   why",
        "--  ------  ---",
        *["a   queued  x"] * 3,
        "id     b",
        "state  queued",
        f"why    {'y' * 70}",
    ]


def test_a_word_too_long_for_its_column_spills_over_and_is_whole() -> None:
    rows = (*[("a", "queued", "x")] * 3, (ID, "queued", "by hand"))
    assert lines(*rows, width=36)[2:] == [
        *["a   queued  x"] * 3,
        ID,
        "    queued  by hand",
    ]


def test_a_column_that_says_nothing_takes_no_room_on_a_terminal_and_stays_in_a_pipe() -> None:
    assert lines(("a", "", "x"), width=80)[0] == "id  why"
    assert lines(("a", "", "x"), width=None)[0] == "id  state  why"


def test_a_row_in_a_pipe_is_one_line() -> None:
    head, rule, row = lines((ID, "queued", PROSE * 5), width=None)
    assert head.split() == ["id", "state", "why"]
    assert set(rule) == {"-", " "}
    assert row == f"{ID}  queued  {PROSE * 5}"


def test_numbers_stand_on_the_right() -> None:
    found = TextTable(("name", "n"), (("a", "5"), ("b", "1000")), right=("n",))
    assert list(table_lines(found, width=80))[2:] == ["a        5", "b     1000"]


@settings(max_examples=40)
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4), width=st.integers(80, 120))
def test_no_word_is_lost_and_no_line_is_wider_than_the_terminal(
    rows: list[tuple[str, ...]], width: int
) -> None:
    made = lines(*rows, width=width)
    assert all(cell_width(line) <= width for line in made)
    told = " ".join(made).split()
    for word in " ".join(cell for row in rows for cell in row).split():
        assert word in told


def report(*, code: int = 0) -> Report:
    def text() -> Iterator[Text]:
        yield "a line of data"
        yield Note("a word beside it")
        yield TextTable(("id",), (("\x1b[31mred\x1b[0m",),))

    return Report({"act": Action("mail.send", {"to": "bob\u202e"})}, text(), code=code)


@click.command()
@click.option("--code", default=0)
@prints_report
def command(code: int) -> Report:
    return report(code=code)


def test_a_report_is_text_on_stdout_and_notes_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--code", "1"], standalone_mode=False) == 1
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "a line of data",
        *out.splitlines()[1:3],
        "\\u001b[31mred\\u001b[0m",
    ]
    assert err == "a word beside it\n"


def test_the_same_report_is_json_and_shows_what_cannot_be_seen(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--json"], standalone_mode=False) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["act"]["payload"] == {"to": "bob\u202e"}
    assert "\\u202e" in out
    assert not err

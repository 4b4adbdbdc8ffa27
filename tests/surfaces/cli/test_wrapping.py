from __future__ import annotations

import io

from mentis.surfaces.cli.wrapping import prose_lines, stream_width

NOTE = "note: No checkpoint from outside was given: entries removed from the end cannot be seen."


def test_prose_is_broken_between_words_and_says_the_same() -> None:
    shown = prose_lines(NOTE, 40)
    assert all(len(line) <= 40 for line in shown.split("\n"))
    assert shown.split() == NOTE.split()


def test_what_stands_below_another_line_stays_indented_and_hangs_below_its_label() -> None:
    assert prose_lines("  a server: one that runs", 20) == "  a server: one that\n    runs"
    assert prose_lines("ok  ada: 2 entries, head abc", 20) == "ok  ada: 2 entries,\n    head abc"


def test_a_command_is_never_broken_so_that_it_can_be_copied() -> None:
    told = "hint: make one with: mentis init my-home --yes, or go on"
    assert prose_lines(told, 36) == ("hint: make one with:\nmentis init my-home --yes, or go on")
    command = f"python -I verify.py ada.zip --origin {'x' * 40} --key {'y' * 40}"
    assert prose_lines(command, 80) == command


def test_data_and_texts_of_several_lines_are_left_as_they_are() -> None:
    for text in (f"{NOTE}\n{NOTE}", '{"a": "b", "c": "d"}', "x" * 60):
        assert prose_lines(text, 20) == text


def test_nothing_is_broken_where_there_is_no_terminal() -> None:
    assert prose_lines(NOTE, stream_width(io.StringIO())) == NOTE

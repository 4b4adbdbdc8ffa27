"""What people write above their functions is what a model is told of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mentis.act.docstrings import read_docstring

GOOGLE = """Send a letter
    to somebody.

    It is sent at once.

    - registered
    - or not

    Args:
        to (str): Who gets it: a name,
            or an address.
        *words: What it says.

        urgent: Whether it is.

    Returns:
        to: not a parameter.
    """
NUMPY = """Send a letter.

    Parameters
    ----------
    to, copy : str
        Who gets it.
        Or an address.
    urgent : bool, optional
        Whether it is.

    Returns
    -------
    str
        to
    """
REST = """Send a letter.

    :param to: Who gets it,
        or an address.
    :param bool urgent: Whether it is.
    :returns: to
    """


def test_google_style_with_continued_lines_and_types() -> None:
    read = read_docstring(GOOGLE)
    assert read.description == (
        "Send a letter to somebody.\n\nIt is sent at once.\n\n- registered\n- or not"
    )
    assert read.parameters == {
        "to": "Who gets it: a name, or an address.",
        "words": "What it says.",
        "urgent": "Whether it is.",
    }


def test_numpy_style_with_two_names_on_a_line() -> None:
    read = read_docstring(NUMPY)
    assert read.description == "Send a letter."
    assert read.parameters == {
        "to": "Who gets it. Or an address.",
        "copy": "Who gets it. Or an address.",
        "urgent": "Whether it is.",
    }


def test_rest_style_with_and_without_types() -> None:
    read = read_docstring(REST)
    assert read.description == "Send a letter."
    assert read.parameters == {"to": "Who gets it, or an address.", "urgent": "Whether it is."}


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_nothing_said_is_nothing_told(text: str | None) -> None:
    assert read_docstring(text).description == ""


def test_words_after_a_section_belong_to_no_parameter() -> None:
    read = read_docstring("Do it.\n\nArgs:\n    a: One.\nAnd more words.\n")
    assert read.parameters == {"a": "One."}
    assert read_docstring("Returns the size.").description == "Returns the size."


@given(st.text(alphabet="Args:\n -paramRetunsx*()", max_size=80))
def test_no_docstring_is_too_odd_to_read(text: str) -> None:
    assert isinstance(read_docstring(text).description, str)

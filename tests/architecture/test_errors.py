from __future__ import annotations

from mentis.errors import Defect, HomeMissing, MentisError, UserError


def test_an_error_says_what_happened_what_to_do_and_the_facts() -> None:
    error = HomeMissing("there is no home at x", hint="mentis init x", path="x", line=None)
    assert str(error) == "there is no home at x"
    assert error.as_problem() == {
        "code": "home-missing",
        "message": "there is no home at x",
        "hint": "mentis init x",
        "facts": {"path": "x"},
    }


def test_whose_fault_it_is_decides_the_branch() -> None:
    assert issubclass(HomeMissing, UserError)
    assert Defect.__mro__[1] is MentisError

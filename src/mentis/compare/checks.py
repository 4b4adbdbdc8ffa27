"""Whether a check holds of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, assert_never, cast

from mentis.errors import BadInput, OutputInvalid
from mentis.library.problems import did_you_mean
from mentis.turn.output import output_form
from mentis.values.comparison import AnswerCheck, CompareCase

# Takes the words of an answer. True or None: it holds. False, or a text that says why: it does not.
OwnCheck: TypeAlias = Callable[[str], bool | str | None]


def faults_of(
    text: str, checks: Iterable[AnswerCheck], functions: Mapping[str, OwnCheck]
) -> Iterator[str]:
    """Each check that does not hold, and why."""
    for check in checks:
        if fault := _fault(text, check, functions):
            yield fault


def _fault(text: str, check: AnswerCheck, functions: Mapping[str, OwnCheck]) -> str:
    match check.kind:
        case "contains":
            return "" if check.value in text else f"does not contain {check.value!r}"
        case "lacks":
            return f"contains {check.value!r}" if check.value in text else ""
        case "regex":
            return "" if re.search(check.value, text) else f"nothing matches {check.value!r}"
        case "schema":
            return _schema_fault(text, check)
        case "function":
            return _own_fault(text, check.value, functions[check.value])
        case _:
            assert_never(check.kind)


def _schema_fault(text: str, check: AnswerCheck) -> str:
    try:
        output_form(check.schema).read(text)
    except OutputInvalid as error:
        return f"schema: {error.problems[0]}"
    return ""


def _own_fault(text: str, name: str, holds: OwnCheck) -> str:
    """A function that breaks says nothing good of the answer, and why is told."""
    try:
        told = holds(text)
    except Exception as error:  # noqa: BLE001  # somebody else's function
        return f"{name}: {type(error).__name__}: {error}"
    if told is True or told is None or told == "":
        return ""
    return f"{name}: {told}" if isinstance(told, str) else f"{name} does not hold"


def check_functions(cases: Iterable[CompareCase], functions: Mapping[str, OwnCheck]) -> None:
    """BadInput where a message names a function that nobody brought."""
    for case in cases:
        for check in case.checks:
            if check.kind == "function" and check.value not in functions:
                known = did_you_mean(check.value, functions)
                hint = "name the file that has it: --functions checks.py"
                raise BadInput(
                    f"message {case.name}: there is no function {check.value!r}", hint=known or hint
                )


def load_functions(file: Path) -> dict[str, OwnCheck]:
    """The functions in a file of Python, by their names. It is run: name none that is not yours."""
    from runpy import run_path

    try:
        found = run_path(str(file))
    except Exception as error:
        raise BadInput(
            f"{file} cannot be run: {type(error).__name__}: {error}",
            hint="it is Python, with a function for each check: def polite(answer): ...",
        ) from error
    return {
        name: cast("OwnCheck", value)
        for name, value in found.items()
        if callable(value) and not name.startswith("_") and not isinstance(value, type)
    }

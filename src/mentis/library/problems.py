"""Turns what a parser or validator found into an error that names the place and the fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mentis.codec.locate import Syntax, locate
from mentis.errors import UserError
from mentis.values.location import Location

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_QUOTED = re.compile(r"'([^']+)'")
_UNION = frozenset({"str", "int", "float", "list[str]"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file's name and text, and which error a fault in it becomes."""

    file: str
    text: str
    syntax: Syntax
    error: type[UserError]

    def fault(
        self, path: Sequence[str | int], message: str, *, hint: str = "", key: bool = False
    ) -> UserError:
        """The error for the value at `path`, or for its key."""
        line, column = locate(self.text, path, self.syntax, key=key)
        return self.fault_at(Location(self.file, line, column), message, hint=hint)

    def fault_at(self, location: Location, message: str, *, hint: str = "") -> UserError:
        return fault_at(self.error, location, message, hint=hint)


def fault_at(
    error: type[UserError], location: Location, message: str, *, hint: str = ""
) -> UserError:
    return error(
        f"{location}: {message}",
        hint=hint,
        file=location.file,
        line=location.line,
        column=location.column,
    )


def first_fault(
    source: SourceFile,
    found: ValidationError,
    known: Mapping[str, Sequence[str]],
    *,
    place: tuple[str, ...] = (),
) -> UserError:
    """The first thing a validator found in the value at `place` of the file.

    `known` names, per parent key, the fields there are.
    """
    errors = sorted(found.errors(include_url=False), key=lambda details: not _unknown(details))
    details = errors[0]  # an unknown field first: it is often the one reported missing
    path = (*place, *real_path(details))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    parent = next((str(step) for step in reversed(path[:-1]) if isinstance(step, str)), "")
    hint = hint_for(details, known.get(parent, ()))
    message = f"{message_for(details, path)}{more}"
    fault = source.fault(path, message, hint=hint, key=_unknown(details))
    fault.problems = tuple(message_for(each, real_path(each)) for each in errors)
    return fault


def did_you_mean(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def _unknown(details: ErrorDetails) -> bool:
    return details["type"] in ("extra_forbidden", "unexpected_keyword_argument")


def real_path(details: ErrorDetails) -> tuple[str | int, ...]:
    """Without the steps a validator adds: `[key]`, and the members of a union."""
    steps = tuple(step for step in details["loc"] if step != "[key]")
    return steps[:-1] if steps and steps[-1] in _UNION else steps


def message_for(details: ErrorDetails, path: Sequence[str | int]) -> str:
    where = ".".join(str(step) for step in path) or "the file"
    match details["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden" | "unexpected_keyword_argument":
            return f"there is no field {where}"
        case "string_pattern_mismatch":
            return f"{where} has a form that is not allowed: {details['input']!r}"
        case _:
            said = details["msg"]
            return f"{where}: {said[0].lower()}{said[1:]}"


def hint_for(details: ErrorDetails, known: Sequence[str]) -> str:
    match details["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            fields = ", ".join(known)
            return did_you_mean(str(details["loc"][-1]), known) or f"the fields are: {fields}"
        case "literal_error" | "enum":
            allowed = _QUOTED.findall(details["msg"])
            return did_you_mean(str(details["input"]), allowed)
        case "missing":
            return "add it"
        case "string_pattern_mismatch" if details["loc"][-1] == "domain_file":
            return "give the plain name of a .json file that stands beside the others"
        case _:
            return ""

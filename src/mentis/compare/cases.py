"""The file of messages to compare over: JSON lines, a JSON list, or a message on each line.

{"message": "Who are you?", "contains": "Ada", "lacks": ["assistant"]}
{"message": "Name a colour as JSON.", "schema": {"type": "object", "required": ["colour"]}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import cast, get_args

from mentis.codec.forms import parse
from mentis.errors import BadInput, OutputInvalid
from mentis.library.problems import did_you_mean
from mentis.turn.output import output_form
from mentis.values.comparison import AnswerCheck, CheckKind, CompareCase

KINDS: tuple[CheckKind, ...] = get_args(CheckKind)
_MEMBERS = ("message", "name", *KINDS)
_MOST_CASES = 10_000
_HINT = 'a line is a text, or {"message": "...", "contains": "..."}: docs/guides/compare.md'


def read_cases(text: str, where: str) -> tuple[CompareCase, ...]:
    """Messages of a file; `where` is its name, whose ending says what is in it."""
    ending = PurePath(where).suffix.lower()
    rows: list[object]
    if ending == ".json":
        found = parse(text, what=where)
        if not isinstance(found, list):
            raise BadInput(f"{where} holds no list of messages", hint=_HINT)
        rows = cast("list[object]", found)
    else:
        lines = [line.strip() for line in text.splitlines()]
        form = ending == ".jsonl"
        rows = [_row(line, f"{where}, line {n}", form) for n, line in enumerate(lines, 1) if line]
    return make_cases(rows, where)


def _row(line: str, where: str, is_json: bool) -> object:
    if not is_json and not line.startswith("{"):
        return line
    return parse(line, what=where)


def make_cases(rows: Sequence[object], where: str) -> tuple[CompareCase, ...]:
    """Cases of plain data: a text, a mapping, or what is a case already; each with a name."""
    if not rows or len(rows) > _MOST_CASES:
        told = f"more than {_MOST_CASES}" if rows else "no"
        raise BadInput(f"{where} holds {told} messages", hint=_HINT)
    return tuple(_case(row, f"{where}, message {n}", n) for n, row in enumerate(rows, 1))


def _case(row: object, where: str, number: int) -> CompareCase:
    if isinstance(row, CompareCase):
        made = row
    elif isinstance(row, str):
        made = CompareCase(row)
    elif isinstance(row, Mapping):
        made = _from_members(cast("Mapping[str, object]", row), where)
    else:
        raise BadInput(f"{where} is neither a text nor an object", hint=_HINT)
    if not made.message.strip():
        raise BadInput(f"{where} says nothing", hint=_HINT)
    for check in made.checks:
        _refuse_broken(check, where)
    return made if made.name else replace(made, name=str(number))


def _from_members(row: Mapping[str, object], where: str) -> CompareCase:
    for name in row:
        if name not in _MEMBERS:
            meant = did_you_mean(name, _MEMBERS) or f"there are: {', '.join(_MEMBERS)}"
            raise BadInput(f"{where}: {name!r} is no check", hint=meant)
    message, name = row.get("message"), row.get("name", "")
    if not isinstance(message, str) or not isinstance(name, str):
        raise BadInput(f"{where} has no message", hint=_HINT)
    checks = (one for kind in KINDS if kind in row for one in _checks(kind, row[kind], where))
    return CompareCase(message, tuple(checks), name)


def _checks(kind: CheckKind, given: object, where: str) -> Iterator[AnswerCheck]:
    for one in cast("list[object]", given) if isinstance(given, list) else [given]:
        if kind == "schema" and isinstance(one, Mapping):
            yield AnswerCheck(kind, schema=cast("Mapping[str, object]", one))
        elif kind != "schema" and isinstance(one, str) and one:
            yield AnswerCheck(kind, one)
        else:
            wanted = "a JSON Schema" if kind == "schema" else "a text, or a list of texts"
            raise BadInput(f"{where}: {kind} is {json.dumps(one):.60}", hint=f"it takes {wanted}")


def _refuse_broken(check: AnswerCheck, where: str) -> None:
    """What can never be checked is found before anybody is asked."""
    if check.kind == "schema":
        try:
            output_form(check.schema)
        except (BadInput, OutputInvalid) as error:
            raise BadInput(f"{where}: {error.message}", hint=error.hint) from error
    elif check.kind == "regex":
        try:
            re.compile(check.value)
        except re.error as error:
            raise BadInput(
                f"{where}: {check.value!r} is no regular expression: {error}",
                hint="write it as Python's re takes it",
            ) from error

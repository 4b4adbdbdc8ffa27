"""Rules for what is left out of an export: by the name of a field, by a pattern, or by both.

A text with holes could not be checked against its digest, so a text or field that a rule finds is
left out whole, and the export names it with the rule.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from mentis.errors import UsageError
from mentis.ledger.statements import FIELD as STATEMENT
from mentis.values.entry import Entry
from mentis.values.json import json_object

_KEYS = frozenset({"name", "field", "pattern"})
_COLUMNS = ("agent", "source", "kind", "ruleset")
_HINT = "a rule has a `name`, and a `field`, a `pattern`, or both: [[rule]] in TOML"


@dataclass(frozen=True, slots=True)
class RedactionRule:
    """`field` is the name of a field (`payload`) or the place of a text (`digests/payload`), and
    may hold `*`. With a `pattern` as well, both must fit.
    """

    name: str
    field: str = ""
    pattern: re.Pattern[str] | None = None

    def fits(self, place: str, texts: Sequence[str]) -> bool:
        if self.field and not fnmatchcase(place, self.field):
            return False
        return self.pattern is None or any(self.pattern.search(text) for text in texts)


@dataclass(frozen=True, slots=True)
class WithheldField:
    """A field of an entry that is not in the export, and the rule that says so."""

    name: str
    rule: str


def make_rules(patterns: Sequence[str] = (), fields: Sequence[str] = ()) -> list[RedactionRule]:
    """Rules named by their number, since a pattern may say what it hides, or by their field;
    UsageError where a pattern is none.
    """
    made = [
        RedactionRule(f"pattern {number}", pattern=_compiled(one))
        for number, one in enumerate(patterns, 1)
    ]
    return [*made, *(RedactionRule(f"field {one}", field=one) for one in fields)]


def read_rules(file: Path) -> list[RedactionRule]:
    """The rules in a TOML file; UsageError where it holds something else."""
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as rules: {error}", hint=_HINT) from error
    rows = told.get("rule")
    if told.keys() != {"rule"} or not isinstance(rows, list):
        raise UsageError(f"{file} holds something else than rules", hint=_HINT)
    return [_rule(file, n, row) for n, row in enumerate(cast("list[object]", rows), 1)]


def _rule(file: Path, number: int, row: object) -> RedactionRule:
    told = json_object(row)
    good = bool(told.get("name")) and bool(told.keys() - {"name"}) and told.keys() <= _KEYS
    if not good or not all(isinstance(value, str) and value for value in told.values()):
        raise UsageError(f"{file}: rule {number} is not one", hint=_HINT)
    pattern = cast("str | None", told.get("pattern"))
    return RedactionRule(
        str(told["name"]),
        str(told.get("field", "")),
        None if pattern is None else _compiled(pattern),
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"{pattern!r} is no pattern: {error}", hint="see the syntax of Python's `re`"
        ) from error


def withhold(
    entry: Entry, rules: Sequence[RedactionRule]
) -> tuple[Entry, tuple[WithheldField, ...]]:
    """The entry without the fields that a rule finds: their commitments stay. UsageError where it
    finds something that no export can do without.
    """
    if not rules:
        return entry, ()
    for column in _COLUMNS:
        if rule := find_rule(rules, column, getattr(entry, column)):
            raise _needed(entry, f"column `{column}`", rule)
    gone: list[WithheldField] = []
    for name, value in entry.body.items():
        if rule := find_rule(rules, name, value):
            if name == STATEMENT:
                raise _needed(entry, f"field `{name}`", rule)
            gone.append(WithheldField(name, rule))
    names = {one.name for one in gone}
    if not names:
        return entry, ()
    return replace(
        entry,
        body={name: value for name, value in entry.body.items() if name not in names},
        salts={name: salt for name, salt in entry.salts.items() if name not in names},
        delivery=None if "delivery" in names else entry.delivery,
    ), tuple(gone)


def find_rule(rules: Sequence[RedactionRule], place: str, value: object) -> str:
    """The name of the first rule that fits what stands there; "" where none does."""
    texts = list(_texts(value))
    return next((rule.name for rule in rules if rule.fits(place, texts)), "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in cast("Mapping[str, object]", value).items():
            yield name
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in cast("Sequence[object]", value):
            yield from _texts(one)
    elif value is not None:
        yield str(value)


def _needed(entry: Entry, what: str, rule: str) -> UsageError:
    return UsageError(
        f"rule {rule!r} finds the {what} of entry {entry.index}, which cannot be left out",
        hint="without it the export could not be checked; narrow the rule with `field`",
    )

"""The recipes side by side: which checks an entry passes is named in the entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mentis.errors import NotCanonical
from mentis.values.entry import Entry, Finding

from .chain import RECIPE, commit_field, derives, hash_entry
from .origin import KIND, check_import

_SALT = re.compile(r"[0-9a-f]{32}")


def check_recipe(entry: Entry, before: str | None) -> Iterable[Finding]:
    """What does not hold inside one entry. `before` is the origin's hash of the last import."""
    return () if entry.kind != KIND and holds(entry) else _check(entry, before)


def _check(entry: Entry, before: str | None) -> Iterator[Finding]:
    if entry.recipe != RECIPE:
        yield _differs(entry, "recipe", RECIPE, entry.recipe)
        return
    yield from _check_hash(entry)
    for name in sorted({*entry.fields, *entry.body, *entry.salts}):
        yield from _check_field(entry, name)
    yield from _check_delivery(entry)
    if entry.kind == KIND:
        for reason in check_import(entry, before):
            yield Finding(entry.index, "original", reason)


def erased_fields(entry: Entry) -> tuple[str, ...]:
    """Fields of which only the commitment is left."""
    if len(entry.body) == len(entry.fields):
        return ()
    return tuple(
        name for name in entry.fields if name not in entry.body and name not in entry.salts
    )


def holds(entry: Entry) -> bool:
    """The quick look that most entries pass: everything is there and derives to what is written."""
    body, fields, salts = entry.body, entry.fields, entry.salts
    if entry.recipe != RECIPE or entry.delivery != body.get("delivery"):
        return False
    if len(body) != len(fields) or len(salts) != len(fields):
        return False
    try:
        return derives(body, salts, fields) and hash_entry(entry) == entry.hash
    except (NotCanonical, KeyError, ValueError):
        return False


def _check_hash(entry: Entry) -> Iterator[Finding]:
    try:
        derived = hash_entry(entry)
    except NotCanonical as refusal:
        yield Finding(entry.index, "hash", f"the header cannot be hashed: {refusal.message}")
        return
    if entry.hash != derived:
        yield Finding(
            entry.index,
            "hash",
            "the hash, or what it covers (time, source, kind, ruleset, commitments), was changed:"
            f" expected {derived!r}, got {entry.hash!r}",
        )


def _check_delivery(entry: Entry) -> Iterator[Finding]:
    """The column is a copy of a committed body field; erased, both must be gone."""
    committed = entry.body.get("delivery")
    if entry.delivery != committed:
        yield _differs(entry, "delivery", committed, entry.delivery)


def _check_field(entry: Entry, name: str) -> Iterator[Finding]:
    if name not in entry.fields:
        column = "body" if name in entry.body else "salts"
        yield Finding(entry.index, column, f"field {name!r} has no commitment")
    elif name not in entry.body:
        if name in entry.salts:
            message = f"field {name!r} is gone, but its salt is still there"
            yield Finding(entry.index, "salts", message, "erased")
    elif name not in entry.salts:
        yield Finding(entry.index, "salts", f"field {name!r} has no salt")
    elif not _SALT.fullmatch(entry.salts[name]):
        yield Finding(entry.index, "salts", f"field {name!r}: expected 32 hexadecimal digits")
    else:
        yield from _check_commitment(entry, name)


def _check_commitment(entry: Entry, name: str) -> Iterator[Finding]:
    try:
        derived = commit_field(name, entry.body[name], bytes.fromhex(entry.salts[name]))
    except NotCanonical as refusal:
        yield Finding(entry.index, "body", f"field {name!r} cannot be hashed: {refusal.message}")
        return
    committed = entry.fields[name]
    if committed != derived:
        message = f"field {name!r} with its salt: expected {committed!r}, got {derived!r}"
        yield Finding(entry.index, "body", message)


def _differs(entry: Entry, column: str, expected: object, got: object) -> Finding:
    return Finding(entry.index, column, f"expected {expected!r}, got {got!r}")

"""Derives a chain anew, entry by entry, and names what does not match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mentis.errors import NotCanonical, StoreDamaged
from mentis.values.entry import Entry, Finding, Verdict

from .chain import RECIPE, commit_field, hash_entry

MAX_FINDINGS = 20
NOTE = (
    "No checkpoint from outside was given: entries removed from the end, or a history"
    " rewritten with new hashes, cannot be seen."
)
EMPTY_NOTE = f"There are no entries. {NOTE}"
_SALT = re.compile(r"[0-9a-f]{32}")


def verify_chain(agent: str, entries: Iterable[Entry]) -> Verdict:
    """Read a whole chain once, in constant memory; every link and every field is derived anew."""
    seen = _Seen(agent)
    try:
        for entry in entries:
            seen.take(entry)
    except StoreDamaged as damage:
        seen.stop(damage)
    return Verdict(
        agent=agent,
        entries=seen.count,
        head=None if seen.last is None else seen.last.hash,
        findings=tuple(seen.findings),
        completeness=_completeness(seen),
        more=seen.more,
    )


class _Seen:
    """How far verification has come: the entry before, and what was found so far."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.count = 0
        self.last: Entry | None = None
        self.findings: list[Finding] = []
        self.more = 0

    def take(self, entry: Entry) -> None:
        for finding in _check_entry(self.agent, self.last, entry):
            self.note(finding)
        self.count += 1
        self.last = entry

    def stop(self, damage: StoreDamaged) -> None:
        """Nothing can be read beyond this point, which is a finding like any other."""
        index, column = damage.facts.get("index"), damage.facts.get("column")
        expected = 0 if self.last is None else self.last.index + 1
        self.note(
            Finding(
                index=index if isinstance(index, int) else expected,
                column=column if isinstance(column, str) else "",
                message=f"{damage.message}; the chain could not be read further",
            )
        )

    def note(self, finding: Finding) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)
        else:
            self.more += 1


def _check_entry(agent: str, last: Entry | None, entry: Entry) -> Iterator[Finding]:
    yield from _check_place(agent, last, entry)
    if entry.recipe != RECIPE:
        yield _differs(entry, "recipe", RECIPE, entry.recipe)
        return
    yield from _check_hash(entry)
    yield from _check_delivery(entry)
    for name in sorted({*entry.fields, *entry.body, *entry.salts}):
        yield from _check_field(entry, name)


def _check_place(agent: str, last: Entry | None, entry: Entry) -> Iterator[Finding]:
    expected = 0 if last is None else last.index + 1
    if entry.index != expected:
        message = f"expected entry {expected} here, got entry {entry.index}"
        yield Finding(expected, "index", message)
    if entry.agent != agent:
        yield _differs(entry, "agent", agent, entry.agent)
    prev = None if last is None else last.hash
    if entry.prev != prev:
        yield _differs(entry, "prev", prev, entry.prev)
    if last is not None and entry.time < last.time:
        message = f"{entry.time!r} is earlier than {last.time!r} of the entry before"
        yield Finding(entry.index, "time", message)


def _check_hash(entry: Entry) -> Iterator[Finding]:
    try:
        derived = hash_entry(entry)
    except NotCanonical as refusal:
        yield Finding(entry.index, "hash", f"the header cannot be hashed: {refusal.message}")
        return
    if entry.hash != derived:
        yield _differs(entry, "hash", derived, entry.hash)


def _check_delivery(entry: Entry) -> Iterator[Finding]:
    """The column is a copy of a committed body field; an erased field leaves nothing to compare."""
    if "delivery" in entry.fields and "delivery" not in entry.body:
        return
    committed = entry.body.get("delivery")
    if entry.delivery != committed:
        yield _differs(entry, "delivery", committed, entry.delivery)


def _check_field(entry: Entry, name: str) -> Iterator[Finding]:
    if name not in entry.fields:
        column = "body" if name in entry.body else "salts"
        yield Finding(entry.index, column, f"field {name!r} has no commitment")
    elif name not in entry.body:
        # Nothing in the chain says that it was erased on purpose.
        yield Finding(entry.index, "body", f"field {name!r} is gone; only its commitment is left")
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


def _completeness(seen: _Seen) -> str:
    return NOTE if seen.count else EMPTY_NOTE

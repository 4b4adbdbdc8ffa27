"""Entries that speak about the ledger itself, signed: erasure, key, rollback, rotation, retention.

They are drafts like any other; what makes them count is the signature inside, which whoever only
holds the database cannot make.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import cast

from mentis.errors import UsageError
from mentis.ports.signer import Signer
from mentis.values.checkpoint import Checkpoint
from mentis.values.entry import Before, Draft, Entry, ErasedFields
from mentis.values.inventory import KIND as INVENTORY
from mentis.values.json import JsonObject

from .signature import as_object, encode_key, sign_statement

ERASURE, KEY, ROLLBACK, REPAIR = "erasure", "key", "rollback", "repair"
ROTATION, RETENTION = "rotation", "retention"
KINDS = (ERASURE, KEY, ROLLBACK, ROTATION, RETENTION)
FIELD = "signed"
SOURCE = "ledger"


def erasure(entry: Entry, fields: Collection[str], reason: str, signer: Signer) -> Draft:
    """The tombstone for fields of an entry. Value and salt go, the commitment stays."""
    unknown = sorted(set(fields) - set(entry.fields))
    if unknown or not fields:
        raise UsageError(
            f"entry {entry.index} has no field {unknown[0]!r}" if unknown else "no field is named",
            hint=f"its fields are: {', '.join(sorted(entry.fields)) or 'none'}",
        )
    if entry.kind in (*KINDS, INVENTORY):
        raise UsageError(
            f"entry {entry.index} is itself a record of kind `{entry.kind}` and cannot be erased",
            hint="only what others have said can be erased",
        )
    statement = {
        "what": ERASURE,
        "agent": entry.agent,
        "index": entry.index,
        "hash": entry.hash,
        "fields": sorted(fields),
        "reason": reason,
    }
    return Draft(ERASURE, SOURCE, {FIELD: sign_statement(statement, signer)})


def erasable(entry: Entry) -> list[str]:
    """What goes when no field is named: all that is left but the delivery.

    By that the same draft is known when it comes again: without it, what was erased would be
    recorded anew. It goes when it is named.
    """
    return [name for name in entry.body if name != "delivery"]


def erase_fields(entry: Entry, fields: Collection[str]) -> Entry:
    """The entry as it is left; also the copy of the delivery goes with its field."""
    return replace(
        entry,
        body={name: value for name, value in entry.body.items() if name not in fields},
        salts={name: salt for name, salt in entry.salts.items() if name not in fields},
        delivery=None if "delivery" in fields else entry.delivery,
    )


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What a rollback costs: only these checkpoints are excused, one by one.

    `kept` is how many entries a checkpoint proves to be those from before. `keys` are signed
    changes of the key that went with the lost entries, and hold nevertheless. `missing` are the
    first and last index of entries that are gone between others; `unread` names the anchors that
    could not be asked what they know; `segments` the files of the lost history that are set aside.
    """

    lost: tuple[Checkpoint, ...]
    kept: int = 0
    keys: tuple[JsonObject, ...] = ()
    missing: tuple[tuple[int, int], ...] = ()
    unread: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()


def key_change(agent: str, head: Before | None, old: Signer, new: Signer) -> Draft:
    """From the next entry on `new` signs. Both sign this, so that either leads to the other."""
    statement = {
        "what": KEY,
        "agent": agent,
        "after": None if head is None else head.hash,
        "old": encode_key(old.public),
        "new": encode_key(new.public),
    }
    return Draft(KEY, SOURCE, {FIELD: sign_statement(statement, old, new)})


def adoption(
    agent: str, head: Before | None, old: Signer, new: Signer, *, logs: tuple[str, str]
) -> Draft:
    """A change of the key with which a copy goes on as another log than what it was copied from."""
    statement = {
        "what": KEY,
        "agent": agent,
        "after": None if head is None else head.hash,
        "old": encode_key(old.public),
        "new": encode_key(new.public),
        "copied": logs[0],
        "log": logs[1],
    }
    return Draft(KEY, SOURCE, {FIELD: sign_statement(statement, old, new)})


def rollback(
    agent: str, head: Before | None, given_up: GivenUp, *, reason: str, signer: Signer
) -> Draft:
    """A person has accepted that the ledger goes on from `head` although more had been seen."""
    statement: dict[str, object] = {
        "what": ROLLBACK,
        "agent": agent,
        "after": None if head is None else head.hash,
        "kept": given_up.kept,
        "lost": [{"size": one.size, "root": one.root} for one in given_up.lost],
        "keys": list(given_up.keys),
        "reason": reason,
    }
    if given_up.missing:
        statement["missing"] = [{"first": low, "last": high} for low, high in given_up.missing]
    if given_up.unread:
        statement["unread"] = list(given_up.unread)
    if given_up.segments:
        statement["segments"] = list(given_up.segments)
    return Draft(ROLLBACK, SOURCE, {FIELD: sign_statement(statement, signer)})


def rotation(agent: str, cut: JsonObject, signer: Signer) -> Draft:
    """The entries of this cut were moved into a segment. Only then the store lets them go."""
    statement = {"what": ROTATION, "agent": agent, **cut}
    return Draft(ROTATION, SOURCE, {FIELD: sign_statement(statement, signer)})


def retention(
    agent: str, cuts: Collection[JsonObject], *, days: int, before: str, signer: Signer
) -> Draft:
    """The segments of these cuts are deleted, as the policy says."""
    statement = {
        "what": RETENTION,
        "agent": agent,
        "days": days,
        "before": before,
        "segments": list(cuts),
    }
    return Draft(RETENTION, SOURCE, {FIELD: sign_statement(statement, signer)})


def erased_in(told: JsonObject, tombstone: int) -> ErasedFields | None:
    """The fields of an entry that a tombstone names; None when it names none."""
    index, fields = whole_number(told.get("index")), _listed(told.get("fields"))
    if index is None or not fields or not all(isinstance(name, str) for name in fields):
        return None
    return ErasedFields(index, tuple(map(str, fields)), str(told.get("reason")), tombstone)


def lost_in(rollback: JsonObject) -> Iterator[tuple[int, str]]:
    """Size and root of each checkpoint that the statement gives up."""
    for one in map(as_object, _listed(rollback.get("lost"))):
        size, root = whole_number(one.get("size")), one.get("root")
        if size is not None and isinstance(root, str):
            yield size, root


def missing_in(rollback: JsonObject) -> Iterator[tuple[int, int]]:
    """First and last index of each run of entries that the statement gives up."""
    for one in map(as_object, _listed(rollback.get("missing"))):
        first, last = whole_number(one.get("first")), whole_number(one.get("last"))
        if first is not None and last is not None:
            yield first, last


def unread_in(rollback: JsonObject) -> list[str]:
    """The anchors that nobody could ask when it was accepted."""
    return list(map(str, _listed(rollback.get("unread"))))


def aside_in(rollback: JsonObject) -> list[str]:
    """The segments of another history, which were set aside."""
    return list(map(str, _listed(rollback.get("segments"))))


def keys_in(rollback: JsonObject) -> list[object]:
    """The changes of the key that the statement carries on."""
    return _listed(rollback.get("keys"))


def whole_number(number: object) -> int | None:
    """A whole number, however it is written: what is hashed and signed says 0 for -0.0."""
    if type(number) is float and number.is_integer():
        return int(number)
    return number if type(number) is int else None


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def repair(agent: str, findings: Collection[str]) -> Draft:
    """Points at what is wrong. Nothing is rewritten."""
    return Draft(REPAIR, SOURCE, {"agent": agent, "findings": list(findings)})
